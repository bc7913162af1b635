//! `onecall check`: every fault of every file, at once.

use crate::args::{CheckArgs, CheckFormat, Portable};
use crate::exit::Exit;
use crate::input::read_text;
use crate::limits::TOOLS_BYTES_MAX;
use crate::{files, names, print, wire};
use anyhow::Context;
use onecall_config::in_words_of_suites;
use onecall_config::settings::Settings;
use onecall_runtime::publish::{list_cost, offered};
use onecall_runtime::saved::{SavedTools, check_parallel};
use onecall_runtime::sources;
use onecall_source::{Diagnostic, Diagnostics, Place, render};
use onecall_workflow::check::{check, hidden_characters};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let paths = args.paths.iter().chain(&args.config).cloned().collect();
    let paths = args.files.paths_or_here(paths, "onecall check PATH")?;
    let collected = args.files.collect(&paths)?;
    let inputs = collected.inputs.clone();
    let mut loaded = wire::understand(collected, args.files.compat());
    args.files.pick(&mut loaded)?;
    for tests in &loaded.settings.tests {
        onecall_suite::Composition::read(tests, &mut loaded.diagnostics);
    }
    let saved = args.tools.as_deref().map(read_tools).transpose()?;
    let unfit = check_tools(&loaded, saved.as_ref(), &sources::lock_path(&paths));
    loaded.diagnostics.extend(unfit.iter().cloned());
    if let Some(Portable::Toolhive) = args.portable {
        let notes = onecall_config::portability(&loaded.sources, &inputs);
        loaded.diagnostics.extend(notes);
    }
    loaded.diagnostics.sort();
    let faults = &loaded.diagnostics;
    let format = if args.json {
        CheckFormat::Json
    } else {
        args.format
    };
    match format {
        CheckFormat::Text if inputs.is_empty() && faults.is_empty() => {}
        CheckFormat::Text => {
            print_text(&loaded, saved.as_ref(), &suggested(args, &paths));
            if args.print {
                print_workflows(&loaded);
            }
        }
        CheckFormat::Json => {
            let all: Vec<Value> = faults
                .iter()
                .map(|fault| render::json(fault, &loaded.sources))
                .collect();
            print::data(serde_json::to_string_pretty(&all)?);
        }
        CheckFormat::Status => {
            let blocks = wire::statuses(&loaded, &inputs, &unfit);
            print::data(serde_json::to_string_pretty(&blocks)?);
        }
        CheckFormat::Sarif => {
            let report = render::sarif(faults, &loaded.sources, env!("CARGO_PKG_VERSION"));
            print::data(serde_json::to_string_pretty(&report)?);
        }
    }
    if inputs.is_empty() && !faults.has_errors() {
        print::err("error: the paths hold no YAML or JSON file");
        return Ok(Exit::NothingSelected);
    }
    let is_bad = faults.has_errors() || (args.deny_warnings && faults.warning_count() > 0);
    Ok(if is_bad { Exit::Failed } else { Exit::Ok })
}

/// The commands that save the tools and check against them, with the flags that were given here.
fn suggested(args: &CheckArgs, paths: &[PathBuf]) -> String {
    let given = args.files.shown(paths);
    let portable = args.portable.map(|_| " --portable toolhive");
    let deny = args.deny_warnings.then_some(" --deny-warnings");
    let more: String = portable.into_iter().chain(deny).collect();
    format!(
        "onecall tools {given} --save tools.json && onecall check {given}{more} --tools tools.json"
    )
}

fn read_tools(path: &Path) -> anyhow::Result<SavedTools> {
    let text = read_text(path, TOOLS_BYTES_MAX)?;
    SavedTools::parse(&text).with_context(|| format!("in `{}`", path.display()))
}

/// What does not fit the saved tools. Without any, what no backend of the files can have.
fn check_tools(loaded: &wire::Loaded, saved: Option<&SavedTools>, lock_file: &Path) -> Diagnostics {
    let none = SavedTools::default();
    let mut unfit = Diagnostics::new();
    let settings = &loaded.settings;
    if settings.lacks_backends {
        return unfit;
    }
    for (index, server) in settings.servers.iter().enumerate() {
        if saved.is_none() && server.backends.is_empty() {
            continue;
        }
        let (catalog, odd) = saved.unwrap_or(&none).catalog(server);
        unfit.append(odd);
        unfit.append(hidden_characters(&catalog));
        if saved.is_some() {
            // Without tools it was checked when the files were loaded.
            let crowded = check_parallel(server, &catalog);
            let known = &loaded.diagnostics;
            unfit.extend(
                crowded
                    .iter()
                    .filter(|own| known.iter().all(|other| other != *own))
                    .cloned(),
            );
        }
        // What no server publishes stands beside them, and is held against the backends of the first.
        let is_first = index == 0;
        let beside = settings.beside().filter(|_| is_first);
        let drafts = settings.unpublished_drafts.iter().filter(|_| is_first);
        for workflow in server.workflows.iter().chain(beside) {
            unfit.append(check(workflow, &catalog));
            if let Some(lock) = &server.lock {
                unfit.append(lock.check(workflow, &catalog));
            }
        }
        if let Some(lock) = &server.lock {
            let place = Place::path(lock_file.display().to_string(), "");
            for tool in offered(&catalog, server.expose) {
                let fault = lock.check_tool(tool);
                let is_new =
                    |fault: &Diagnostic| unfit.iter().all(|own| own.message != fault.message);
                let fault = fault.filter(is_new);
                unfit.extend(fault.map(|fault| fault.label(&place, "clients may call this tool")));
            }
        }
        for draft in server.drafts.iter().chain(drafts) {
            unfit.append(draft.check(&catalog));
        }
    }
    let is_of_suite = |own: &Diagnostic| {
        let span = own.place().and_then(Place::span);
        span.is_some_and(|span| settings.suites.contains(&span.source))
    };
    let worded = unfit.into_iter().map(|own| {
        if is_of_suite(&own) {
            in_words_of_suites(own)
        } else {
            own
        }
    });
    worded.collect()
}

fn print_workflows(loaded: &wire::Loaded) {
    for workflow in loaded.settings.workflows() {
        print::out(onecall_workflow::print::print(workflow).trim_end());
    }
}

/// `next`: the commands that check the tools too.
fn print_text(loaded: &wire::Loaded, saved: Option<&SavedTools>, next: &str) {
    wire::report(loaded);
    let count = counted_workflows(&loaded.settings);
    if !loaded.diagnostics.has_errors() {
        let files = counted_files(loaded);
        print::out(format!(
            "{}, {}: no faults",
            print::counted(count, "workflow"),
            print::counted(files, "file")
        ));
        print_cost(loaded, saved);
        let servers = &loaded.settings.servers;
        let has_calls = servers.iter().any(|own| !own.workflows.is_empty());
        if saved.is_none() && has_calls {
            print::out(format!("tools were not looked at; to check them: {next}"));
        }
    }
}

/// What the published list costs a model, and which hosts would refuse a name of it. Without saved tools only
/// workflows are counted.
fn print_cost(loaded: &wire::Loaded, saved: Option<&SavedTools>) {
    let servers = loaded.settings.servers.iter();
    for server in servers.filter(|server| !server.workflows.is_empty()) {
        let catalog = saved.map(|saved| saved.catalog(server).0);
        let catalog = catalog.unwrap_or_default();
        let cost = list_cost(server, &catalog);
        let (tools, tokens) = (
            print::counted(cost.tools, "tool"),
            print::counted(cost.tokens, "token"),
        );
        print::out(format!(
            "published as {tools}, about {tokens} of a model's context"
        ));
        for name in &cost.refused {
            print::out(format!(
                "  `{name}` is refused by Claude Desktop, claude.ai and the model interfaces, which take `^[a-zA-Z0-9_-]{{1,64}}$` only"
            ));
        }
        if let Some(advice) = cost.refused.iter().find_map(|name| names::advice(name)) {
            print::out(format!("  = help: {advice}"));
        }
    }
}

/// What is published, and what is not.
fn counted_workflows(settings: &Settings) -> usize {
    let published = settings.servers.iter().map(|server| server.workflows.len());
    published.sum::<usize>() + settings.beside().count()
}

/// The files that were read; a backend of a flag is not in a file, and other people's files are left out.
fn counted_files(loaded: &wire::Loaded) -> usize {
    let read = loaded.settings.read.iter();
    let names = read.map(|source| loaded.sources.get(*source).name());
    names.filter(|name| !files::is_flag(name)).count()
}
