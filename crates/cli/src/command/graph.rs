//! `onecall graph`: the steps of a workflow and what they wait for; inferred edges are marked.

use crate::args::{GraphArgs, GraphFormat};
use crate::exit::Exit;
use crate::{files, print};
use onecall_workflow::graph;
use onecall_workflow::workflow::Workflow;
use std::path::PathBuf;

pub(crate) fn run(args: &GraphArgs) -> anyhow::Result<Exit> {
    let (path, named) = words(args);
    let usage = "onecall graph PATH WORKFLOW";
    let paths = args
        .files
        .paths_or_here(path.into_iter().collect(), usage)?;
    let Some(settings) = args.files.load(&paths)?.sound() else {
        return Ok(Exit::Failed);
    };
    let wanted = |workflow: &&Workflow| named.as_deref().is_none_or(|name| workflow.name == name);
    let branch = if print::Style::of_stdout().boxes {
        "└─ "
    } else {
        ""
    };
    let mut is_any = false;
    for workflow in settings.workflows().filter(wanted) {
        is_any = true;
        print::out(match args.format {
            GraphFormat::Text => graph::text(workflow, branch),
            GraphFormat::Mermaid => graph::mermaid(workflow),
            GraphFormat::Dot => graph::dot(workflow),
        });
    }
    if is_any {
        return Ok(Exit::Ok);
    }
    match &named {
        Some(name) => {
            print::err(format!("error: no workflow is named `{name}`"));
            let names = settings.workflows().map(|own| own.name.as_str());
            let names: Vec<&str> = names.collect();
            if !names.is_empty() {
                print::err(format!("  = help: there are: {}", names.join(", ")));
            }
        }
        None => print::err("error: the path holds no workflow"),
    }
    Ok(Exit::NothingSelected)
}

/// The path and the workflow. One word that leads to no file is the workflow, where this folder has a configuration.
fn words(args: &GraphArgs) -> (Option<PathBuf>, Option<String>) {
    let (path, workflow) = (args.path.clone(), args.workflow.clone());
    match path {
        Some(word) if workflow.is_none() && !word.exists() && files::of_this_folder().is_some() => {
            (None, Some(word.display().to_string()))
        }
        path => (path, workflow),
    }
}
