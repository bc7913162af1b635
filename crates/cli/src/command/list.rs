//! `onecall list`: the suites, workflows and tests that paths hold, with what they say of themselves.

use crate::exit::Exit;
use crate::files::FileArgs;
use crate::print;
use clap::Args;
use onecall_source::Diagnostics;
use onecall_suite::Composition;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onecall list\n  onecall list suites/ --json")]
pub(crate) struct ListArgs {
    /// Files or directories [default: `onecall.yaml`, `mcptest.yaml` or `mcptest.yml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: FileArgs,
}

/// What one file holds. A file with tests is a suite.
#[derive(Debug)]
struct Held {
    file: String,
    tests: Vec<Test>,
    workflows: Vec<Named>,
}

/// A composition, which is a test.
#[derive(Debug)]
struct Test {
    named: Named,
    tags: Vec<String>,
    cases: Vec<String>,
}

#[derive(Debug)]
struct Named {
    name: String,
    description: Option<String>,
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<Exit> {
    let paths = args
        .files
        .paths_or_here(args.paths.clone(), "onecall list PATH")?;
    let mut all: Vec<Held> = Vec::new();
    let mut has_errors = false;
    for file in args.files.each(&paths)? {
        let (held, is_sound) = held(args, &file)?;
        has_errors |= !is_sound;
        if !held.tests.is_empty() || !held.workflows.is_empty() {
            all.push(held);
        }
    }
    if args.json {
        let all: Vec<Value> = all.iter().map(Held::json).collect();
        let document = json!({ "files": all });
        print::data(serde_json::to_string_pretty(&document)?);
    } else {
        for line in all.iter().flat_map(Held::lines) {
            print::out(line);
        }
    }
    if has_errors {
        return Ok(Exit::Failed);
    }
    if all.is_empty() {
        print::err("error: the paths hold no workflow and no suite with compositions");
        return Ok(Exit::NothingSelected);
    }
    Ok(Exit::Ok)
}

/// The tests and workflows of a file, as far as they can be read, and whether all of it can. Each file is read alone, as in
/// `onecall test`.
fn held(args: &ListArgs, file: &Path) -> anyhow::Result<(Held, bool)> {
    let mut loaded = args.files.load(&[file.to_owned()])?;
    let mut own = Diagnostics::new();
    let settings = &loaded.settings;
    let read = settings.tests.iter();
    let compositions: Vec<Composition> = read
        .map(|tests| Composition::read(tests, &mut own))
        .collect();
    let tests: Vec<Test> = compositions.iter().map(test).collect();
    let is_test = |name: &str| tests.iter().any(|test| test.named.name == name);
    let workflows = settings.workflows();
    let workflows = workflows.filter(|workflow| !is_test(workflow.name.as_str()));
    let workflows = workflows.map(|workflow| Named {
        name: workflow.name.to_string(),
        description: workflow.description.clone(),
    });
    let held = Held {
        file: file.display().to_string(),
        workflows: workflows.collect(),
        tests,
    };
    loaded.diagnostics.append(own);
    loaded.diagnostics.sort();
    let is_sound = loaded.sound().is_some();
    Ok((held, is_sound))
}

fn test(composition: &Composition) -> Test {
    Test {
        named: Named {
            name: composition.name().to_owned(),
            description: composition.description().map(str::to_owned),
        },
        tags: composition.tags().to_vec(),
        cases: composition.case_names().map(str::to_owned).collect(),
    }
}

impl Held {
    fn json(&self) -> Value {
        let tests = self.tests.iter().map(|test| {
            let mut own = test.named.json();
            own["tags"] = json!(test.tags);
            own["cases"] = json!(test.cases);
            own
        });
        json!({
            "file": self.file,
            "is_suite": !self.tests.is_empty(),
            "tests": tests.collect::<Vec<Value>>(),
            "workflows": self.workflows.iter().map(Named::json).collect::<Vec<Value>>(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let file = &self.file;
        let mut lines = vec![if self.tests.is_empty() {
            file.clone()
        } else {
            format!("suite {file}")
        }];
        for test in &self.tests {
            lines.push(format!("  test {}", test.named.line()));
            let cases = test.cases.iter();
            lines.extend(cases.map(|case| format!("    case {case}")));
        }
        let workflows = self.workflows.iter();
        lines.extend(workflows.map(|own| format!("  workflow {}", own.line())));
        lines
    }
}

impl Named {
    fn json(&self) -> Value {
        json!({ "name": self.name, "description": self.description })
    }

    /// The name, and the first line of the description.
    fn line(&self) -> String {
        let name = &self.name;
        let description = self.description.as_deref().unwrap_or_default();
        match description.trim().lines().next() {
            Some(first) => format!("{name}: {first}"),
            None => name.clone(),
        }
    }
}
