//! `onecall graph`: the steps of a workflow and what they wait for; inferred edges are marked.

use crate::args::{GraphArgs, GraphFormat};
use crate::exit::Exit;
use crate::print;
use onecall_workflow::graph;
use onecall_workflow::workflow::Workflow;

pub(crate) fn run(args: &GraphArgs) -> anyhow::Result<Exit> {
    let path = std::slice::from_ref(&args.path);
    let Some(settings) = args.files.load(path)?.sound() else {
        return Ok(Exit::Failed);
    };
    let wanted = |workflow: &&Workflow| {
        args.workflow
            .as_deref()
            .is_none_or(|name| workflow.name == name)
    };
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
    match &args.workflow {
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
