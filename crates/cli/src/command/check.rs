//! `onecall check`: every fault of every file, at once.

use crate::args::{CheckArgs, CheckFormat};
use crate::exit::Exit;
use crate::{print, wire};
use onecall_source::render;
use serde_json::Value;

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let paths: Vec<_> = args.paths.iter().chain(&args.config).cloned().collect();
    let loaded = wire::load(&paths)?;
    let faults = &loaded.diagnostics;
    match args.format {
        CheckFormat::Text => print_text(&loaded),
        CheckFormat::Json => {
            let all: Vec<Value> = faults
                .iter()
                .map(|fault| render::json(fault, &loaded.sources))
                .collect();
            print::out(serde_json::to_string_pretty(&all)?);
        }
        CheckFormat::Sarif => {
            let report = render::sarif(faults, &loaded.sources, env!("CARGO_PKG_VERSION"));
            print::out(serde_json::to_string_pretty(&report)?);
        }
    }
    let is_bad = faults.has_errors() || (args.deny_warnings && faults.warning_count() > 0);
    Ok(if is_bad { Exit::Failed } else { Exit::Ok })
}

fn print_text(loaded: &wire::Loaded) {
    wire::report(loaded);
    let count: usize = loaded
        .settings
        .iter()
        .flat_map(|settings| &settings.servers)
        .map(|server| server.workflows.len())
        .sum();
    if !loaded.diagnostics.has_errors() {
        let files = loaded.sources.len();
        print::out(format!(
            "{}, {}: no faults",
            counted(count, "workflow"),
            counted(files, "file")
        ));
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
