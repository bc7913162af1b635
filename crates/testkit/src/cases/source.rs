//! The workflow of a case: a composite tool, a workflow file, a composition, or a file of the seeds.

use super::Case;
use onecall_dialects::{mcptest, native, toolhive};
use onecall_source::{Diagnostics, Node, SourceMap, parse, render};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::GoOptions;
use onecall_workflow::workflow::Workflow;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Limit: bytes of a seed.
const SEED_BYTES_MAX: u64 = 1024 * 1024;

/// The only backend that compositions of cases know.
const BACKEND: &str = "t";

/// What reading a workflow gave and told.
type Understood = (Option<Workflow>, Diagnostics, SourceMap);

pub(super) fn read(case: &Case, go: GoOptions) -> Result<Understood, String> {
    if let Some(source) = case.block("yaml") {
        if source.starts_with("workflow:") {
            return workflow_file(source);
        }
        return composite_tool(source, go);
    }
    if let Some(source) = case.block("suite") {
        return composition(&suite(source));
    }
    match case.block("seed") {
        Some(name) => composition(&seed(name.trim())?),
        None => Err("the case has no `yaml`, `suite` or `seed` block".to_owned()),
    }
}

fn workflow_file(source: &str) -> Result<Understood, String> {
    let (node, sources) = document("case", source)?;
    let mut told = Diagnostics::new();
    let read = node.and_then(|node| native::read(&node, &mut told));
    Ok((read.and_then(|read| read.built.sound()), told, sources))
}

/// The composite tool of a case; its name and description go without saying.
fn composite_tool(source: &str, go: GoOptions) -> Result<Understood, String> {
    let text = format!("name: case\ndescription: A case.\n{source}");
    let (node, sources) = document("case", &text)?;
    let node = node.ok_or("the case is empty")?;
    let mut told = Diagnostics::new();
    let options = toolhive::Options {
        go,
        ..toolhive::Options::default()
    };
    let read = toolhive::read(&node, &options, &mut told);
    Ok((read.and_then(Built::sound), told, sources))
}

/// The suite around a composition; a line of `variables` belongs to the suite.
fn suite(source: &str) -> String {
    let (variables, rest): (Vec<&str>, Vec<&str>) = source
        .lines()
        .partition(|line| line.starts_with("variables:"));
    let mut text = variables.join("\n");
    text.push_str("\ncompositions:\n  - name: case\n");
    for line in rest {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// The first composition of a suite.
fn composition(text: &str) -> Result<Understood, String> {
    let (node, sources) = document("case", text)?;
    let node = node.ok_or("the case is empty")?;
    let mut told = Diagnostics::new();
    let options = mcptest::Options {
        backends: &[BACKEND.to_owned()],
        environment: &|_| None,
        compat: mcptest::Compat::Page,
    };
    let compositions = mcptest::read(&node, &options, &mut told);
    let first = compositions.into_iter().next();
    Ok((first.and_then(|own| own.built.sound()), told, sources))
}

fn seed(name: &str) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/seeds");
    let mut text = String::new();
    fs::File::open(folder.join(name))
        .and_then(|file| file.take(SEED_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| format!("{name}: {error}"))?;
    Ok(text)
}

pub(super) fn document(name: &str, text: &str) -> Result<(Option<Node>, SourceMap), String> {
    let mut sources = SourceMap::new();
    let id = sources.add(format!("{name}.yaml"), text.to_owned());
    let (documents, diagnostics) = parse(&sources, id);
    refuse(&diagnostics, &sources)?;
    let root = documents.into_iter().next().map(|document| document.root);
    Ok((root, sources))
}

pub(super) fn refuse(diagnostics: &Diagnostics, sources: &SourceMap) -> Result<(), String> {
    if diagnostics.has_errors() {
        let options = render::TextOptions::default();
        return Err(render::report(diagnostics, sources, options));
    }
    Ok(())
}
