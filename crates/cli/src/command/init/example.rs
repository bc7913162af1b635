//! A first workflow over tools that really exist: one that only reads, and one of another backend beside it.

use crate::limits::EXAMPLE_ARGUMENTS_MAX;
use onecall_workflow::catalog::{Catalog, CatalogTool};
use serde_json::{Map, Value, json};
use std::fmt::Write;

#[derive(Debug)]
pub(super) struct Example {
    pub(super) text: String,
    /// The words after `onecall call PATH`.
    pub(super) call: String,
}

/// `None` where no tool is simple enough.
pub(super) fn write(catalog: &Catalog) -> Option<Example> {
    let mut candidates: Vec<Candidate<'_>> =
        catalog.tools.iter().filter_map(Candidate::of).collect();
    candidates.sort_by_key(Candidate::rank);
    let first = candidates.first()?;
    let second = candidates
        .iter()
        .find(|candidate| candidate.tool.backend != first.tool.backend);
    let chosen: Vec<&Candidate<'_>> = std::iter::once(first).chain(second).collect();
    Some(example(&chosen))
}

struct Candidate<'a> {
    tool: &'a CatalogTool,
    /// The arguments it cannot do without, with their types.
    arguments: Vec<(String, &'static str)>,
}

impl<'a> Candidate<'a> {
    fn of(tool: &'a CatalogTool) -> Option<Self> {
        let empty = Map::new();
        let schema = tool.input_schema();
        let properties = schema
            .and_then(|schema| schema.get("properties"))
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required = schema
            .and_then(|schema| schema.get("required"))
            .and_then(Value::as_array);
        let arguments: Vec<(String, &'static str)> = required
            .into_iter()
            .flatten()
            .map(|name| {
                let name = name.as_str()?;
                let kind = properties.get(name)?.get("type")?.as_str()?;
                let kind = ["string", "integer", "number", "boolean"]
                    .into_iter()
                    .find(|known| *known == kind)?;
                Some((name.to_owned(), kind))
            })
            .collect::<Option<_>>()?;
        (arguments.len() <= EXAMPLE_ARGUMENTS_MAX).then_some(Self { tool, arguments })
    }

    /// Tools that only read come first, then those that ask for something, but for little.
    fn rank(&self) -> (bool, bool, usize) {
        let asked = self.arguments.len();
        (!self.tool.hints().read_only, asked == 0, asked)
    }

    fn name(&self) -> String {
        format!("{}.{}", self.tool.backend, self.tool.original)
    }

    /// The name of the step: the tool's, in letters that every file takes.
    fn step(&self) -> String {
        let step: String = self
            .tool
            .original
            .chars()
            .map(|char| {
                if char.is_ascii_alphanumeric() {
                    char
                } else {
                    '_'
                }
            })
            .collect();
        step.to_ascii_lowercase()
    }
}

fn example(chosen: &[&Candidate<'_>]) -> Example {
    let mut inputs = String::new();
    let mut steps = String::new();
    let mut outputs = String::new();
    let mut call = String::from("first");
    let mut known: Vec<(String, &'static str)> = Vec::new();
    for (index, candidate) in chosen.iter().enumerate() {
        let mut step = candidate.step();
        if index > 0 && chosen[0].step() == step {
            step.push_str("_2");
        }
        // The payload of a plain text would be the whole result, with all that goes around it.
        let tool = json!(candidate.name());
        let _ = writeln!(steps, "  {step}:\n    tool: {tool}\n    read: content_map");
        if !candidate.arguments.is_empty() {
            steps.push_str("    with:\n");
        }
        for argument in &candidate.arguments {
            let (name, kind) = argument;
            let clashes = known
                .iter()
                .any(|other| other.0 == *name && other.1 != *kind);
            let input = if clashes {
                format!("{step}_{name}")
            } else {
                name.clone()
            };
            if !known.contains(&(input.clone(), kind)) {
                let _ = writeln!(inputs, "  {}: {kind}", json!(input));
                call.push_str(&sample(&input, kind));
                known.push((input.clone(), kind));
            }
            let path = json!(input);
            let _ = writeln!(steps, "      {}: '${{{{ .inputs[{path}] }}}}'", json!(name));
        }
        let _ = writeln!(outputs, "  {step}: ${{{{ .steps.{step} }}}}");
    }
    let names: Vec<String> = chosen.iter().map(|candidate| candidate.name()).collect();
    let about = format!("Calls {}", names.join(" and "));
    let inputs = if inputs.is_empty() {
        String::new()
    } else {
        format!("inputs:\n{inputs}")
    };
    let text = format!(
        "# A first workflow, made from tools of your backends. Steps that read nothing of each other run at once.\n\
         workflow: first\ndescription: {}\n{inputs}steps:\n{steps}outputs:\n{outputs}",
        json!(about)
    );
    Example { text, call }
}

fn sample(name: &str, kind: &str) -> String {
    match kind {
        "integer" | "number" => format!(" {name}:=1"),
        "boolean" => format!(" {name}:=true"),
        _ => format!(" {name}=…"),
    }
}
