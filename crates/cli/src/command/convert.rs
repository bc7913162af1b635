//! `onecall convert`: the workflows of a file, written as workflow files.

use crate::exit::Exit;
use crate::{print, wire};
use clap::{Args, ValueEnum};
use onecall_dialects::native;
use onecall_source::SourceMap;
use onecall_workflow::workflow::Workflow;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onecall convert vmcp.yaml --to native > tools.workflow.yaml")]
pub(crate) struct ConvertArgs {
    /// A file or directory with ToolHive composite tools or mcptest compositions
    pub(crate) path: PathBuf,
    /// The dialect to write
    #[arg(long, value_enum)]
    pub(crate) to: Dialect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// The workflow file
    Native,
}

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Exit> {
    let loaded = wire::load(std::slice::from_ref(&args.path))?;
    loaded.tell();
    if loaded.diagnostics.has_errors() {
        return Ok(Exit::Failed);
    }
    let Dialect::Native = args.to;
    let documents: Vec<String> = loaded
        .settings
        .workflows()
        .map(|workflow| document(workflow, &loaded.sources))
        .collect();
    if documents.is_empty() {
        print::err("error: the path holds no workflow");
        return Ok(Exit::NothingSelected);
    }
    print::data(documents.join("---\n").trim_end());
    Ok(Exit::Ok)
}

/// A workflow file that says where it is from. A workflow holds no comments, so they stay behind.
fn document(workflow: &Workflow, sources: &SourceMap) -> String {
    let from = sources.describe(&workflow.place);
    format!(
        "# from {from}, without its comments\n{}",
        native::write(workflow)
    )
}
