//! JSON Schema for editors against files: what is sound fits, and what is misshapen does not.

use crate::world::load;
use jsonschema::Validator;
use onecall_config::schema;
use onecall_source::{SourceMap, parse};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases")
        .join(name)
}

fn texts(name: &str, ending: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = folder(name)
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(path).unwrap();
            (name, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect();
    all.sort();
    all
}

/// The documents of a text, as JSON.
fn documents(text: &str) -> Vec<Value> {
    let mut sources = SourceMap::new();
    let id = sources.add("file.yaml", text);
    let (documents, _) = parse(&sources, id);
    documents
        .iter()
        .map(|document| document.root.to_json())
        .collect()
}

struct Schemas {
    config: Validator,
    resources: Validator,
    workflow: Validator,
}

impl Schemas {
    fn new() -> Self {
        Self {
            config: jsonschema::validator_for(&schema::config()).unwrap(),
            resources: jsonschema::validator_for(&schema::resources()).unwrap(),
            workflow: jsonschema::validator_for(&onecall_dialects::native::schema()).unwrap(),
        }
    }

    /// What they say against a text: nothing when every document fits its own.
    fn faults(&self, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for document in documents(text) {
            let has = |key| document.get(key).is_some();
            let schema = if has("workflow") {
                &self.workflow
            } else if has("apiVersion") {
                &self.resources
            } else {
                &self.config
            };
            let found = schema.iter_errors(&document);
            faults.extend(found.map(|error| format!("{}: {error}", error.instance_path())));
        }
        faults
    }
}

#[test]
fn sound_files_fit() {
    let schemas = Schemas::new();
    let mut failures = Vec::new();
    let seeds = texts("seeds", ".yaml");
    // Suites and workflow files are described by no schema of this crate.
    let is_other = |text: &str| {
        let mut lines = text.lines();
        lines.any(|line| line.starts_with("compositions:") || line.starts_with("workflow:"))
    };
    let fixed = texts("diagnostics", ".fixed.yaml");
    assert!(seeds.len() > 40 && fixed.len() > 60);
    for (name, text) in seeds.iter().chain(&fixed) {
        if is_other(text) || load(&[(name, text)]).settings.is_none() {
            continue;
        }
        failures.extend(
            schemas
                .faults(text)
                .iter()
                .map(|fault| format!("{name}: {fault}")),
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Codes of faults in the shape of a file, which a schema sees too.
const OF_SHAPE: [&str; 6] = ["WF020", "WF021", "WF022", "WF024", "WF025", "WF031"];

#[test]
fn misshapen_files_do_not_fit() {
    let schemas = Schemas::new();
    for (name, text) in texts("diagnostics", ".bad.yaml") {
        let code = name.split('.').next().unwrap();
        if OF_SHAPE.contains(&code) {
            assert!(!schemas.faults(&text).is_empty(), "{name} fits the schema");
        }
    }
}
