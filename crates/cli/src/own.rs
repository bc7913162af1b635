//! Backends that are this very program serving these very files: they are left out, since each would start itself again.

use crate::print;
use onecall_config::settings::{Settings, Transport};
use std::path::{Path, PathBuf};

/// Takes backends that serve any of the paths off the servers, with a notice for each.
pub(crate) fn leave_out(settings: &mut Settings, paths: &[PathBuf]) {
    let paths: Vec<PathBuf> = paths.iter().filter_map(|path| whole(path)).collect();
    for server in &mut settings.servers {
        server.backends.retain(|backend| {
            let is_own = serves(&backend.transport, &paths);
            if is_own {
                let name = &backend.name;
                print::err(format!(
                    "backend `{name}` is this program serving these files; it is left out"
                ));
            }
            !is_own
        });
    }
}

fn serves(transport: &Transport, paths: &[PathBuf]) -> bool {
    let Transport::Stdio {
        command, args, cwd, ..
    } = transport
    else {
        return false;
    };
    if !is_this_program(command) || args.first().is_none_or(|word| word != "serve") {
        return false;
    }
    let folder = Path::new(cwd.as_deref().unwrap_or_default());
    let words = args.iter().skip(1).filter(|word| !word.starts_with('-'));
    let mut served = words.filter_map(|word| whole(&folder.join(word)));
    // A folder holds its files, so either may lie in the other.
    served.any(|own| {
        let mut paths = paths.iter();
        paths.any(|path| path.starts_with(&own) || own.starts_with(path))
    })
}

/// Whether a command starts this program.
pub(crate) fn is_this_program(command: &str) -> bool {
    let stem = Path::new(command).file_stem();
    let this = std::env::current_exe().ok();
    stem.is_some_and(|stem| stem == "onecall")
        || this.is_some_and(|this| this == Path::new(command))
}

fn whole(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
