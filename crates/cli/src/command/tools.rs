//! `onecall tools`: what the backends offer, shown or saved for `check --tools`.

use crate::args::ToolsArgs;
use crate::exit::Exit;
use crate::{print, waiting, wire};
use anyhow::Context;
use onecall_runtime::runtime::Runtime;
use std::time::Duration;

/// How long backends may take to connect and tell their tools.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(mut args: ToolsArgs) -> anyhow::Result<Exit> {
    args.paths = args.files.paths_or_here(args.paths, "onecall tools PATH")?;
    let url = args.paths.first().and_then(|path| path.to_str());
    let url = url.filter(|word| args.paths.len() == 1 && wire::is_url(word));
    let loaded = args.files.load_or_reach(url, &args.token, &args.paths)?;
    let Some(mut settings) = loaded.usable(None) else {
        return Ok(Exit::Failed);
    };
    let mut server = wire::only_server(&mut settings)?;
    if server.backends.is_empty() {
        return Ok(wire::nothing_there());
    }
    // What is saved stands under a name that files can have.
    if let Some(url) = url.filter(|_| !args.json && args.save.is_none()) {
        wire::name_by_url(&mut server, url);
    }
    let runtime = wire::start_to_look(server, &settings).await?;
    let exit = show(&runtime, &args, url.is_some()).await;
    runtime.shutdown(Duration::ZERO).await;
    exit
}

/// `is_elsewhere`: the tools are those of one server, which need not be told apart.
async fn show(runtime: &Runtime, args: &ToolsArgs, is_elsewhere: bool) -> anyhow::Result<Exit> {
    let saved = waiting::for_tools(runtime, PATIENCE).await;
    let missing: Vec<String> = saved.missing(runtime);
    for reason in &missing {
        print::err(format!("error: {reason}"));
        if let Some(help) = args.token.help(reason).filter(|_| is_elsewhere) {
            print::err(format!("  = help: {help}"));
        }
    }
    let exit = if missing.is_empty() {
        Exit::Ok
    } else {
        Exit::Unreachable
    };
    if let Some(path) = &args.save {
        // `check --tools` would take what is missing for absent.
        if !missing.is_empty() {
            return Ok(exit);
        }
        std::fs::write(path, saved.to_text())
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        print::err(format!(
            "saved {} to `{}`",
            print::counted(saved.count(), "tool"),
            path.display()
        ));
    } else if args.json {
        print::out(saved.to_text().trim_end());
    } else {
        for tool in &runtime.catalog().tools {
            let name = tool.name.as_ref().map_or("-", |name| name.as_str());
            let hidden = if tool.listed { "" } else { "  (hidden)" };
            let about = tool
                .tool
                .description()
                .unwrap_or("")
                .lines()
                .next()
                .unwrap_or("");
            let origin = if is_elsewhere {
                String::new()
            } else {
                format!("{}.{}{hidden}  ", tool.backend, tool.original)
            };
            print::out(format!("{name:<28} {origin}{about}").trim_end());
        }
    }
    Ok(exit)
}
