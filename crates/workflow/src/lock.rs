//! Tools as they were when somebody looked at them, by hash and in full. A tool is only called, from a workflow or by a
//! client, while it is still the same; differences are reported line by line.

use crate::catalog::{Catalog, CatalogTool, Resolution};
use crate::limits::{LOCK_LINES_MAX, LOCK_SHOWN_CHARS_MAX};
use crate::stored::hash_text;
use crate::workflow::Workflow;
use onecall_mcp::long_numbers;
use onecall_source::{Diagnostic, Diagnostics, codes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The form this build writes.
const VERSION: u64 = 1;

/// The content of a lock file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    version: u64,
    /// By `backend.tool`.
    tools: BTreeMap<String, Locked>,
    /// The paths that it locks, as a command line is given them; no part of the file.
    #[serde(skip)]
    paths: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Locked {
    hash: String,
    definition: Value,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadLockError {
    #[error("it is not a lock file: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it has form {found}, and this version reads up to {VERSION}")]
    TooNew { found: u64 },
}

/// How one tool differs between two locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    Added { tool: String },
    Removed { tool: String },
    Changed { tool: String, lines: Vec<String> },
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: VERSION,
            tools: BTreeMap::new(),
            paths: String::new(),
        }
    }
}

impl Lock {
    pub fn parse(text: &str) -> Result<Self, ReadLockError> {
        let lock: Self = serde_json::from_str(text)?;
        if lock.version > VERSION {
            return Err(ReadLockError::TooNew {
                found: lock.version,
            });
        }
        Ok(lock)
    }

    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a lock holds string keys only");
        text + "\n"
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Locks every tool that the workflow calls, as the catalog has it now. Returns those it does not have.
    pub fn add(&mut self, workflow: &Workflow, catalog: &Catalog) -> Vec<String> {
        let mut missing = Vec::new();
        for call in workflow.steps.iter().filter_map(|step| step.call()) {
            match catalog.resolve(call.tool.as_str()) {
                Resolution::Found(tool) => self.add_tool(tool),
                Resolution::NotYetKnown | Resolution::Absent => {
                    missing.push(call.tool.as_str().to_owned());
                }
            }
        }
        missing
    }

    /// Locks a tool as it is now.
    pub fn add_tool(&mut self, tool: &CatalogTool) {
        self.tools.insert(key(tool), Locked::of(tool));
    }

    pub fn contains(&self, tool: &CatalogTool) -> bool {
        self.tools.contains_key(&key(tool))
    }

    /// Says which paths it locks, for the advice it gives.
    #[must_use]
    pub fn of_paths(mut self, paths: String) -> Self {
        self.paths = paths;
        self
    }

    /// The command that writes it anew.
    fn command(&self, flag: &str) -> String {
        let words = ["onecall lock", &self.paths, flag];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }

    /// Takes in the tools of another.
    pub fn extend(&mut self, other: Self) {
        self.tools.extend(other.tools);
    }

    /// What is different now, by tool.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let names: BTreeSet<&String> = self.tools.keys().chain(now.tools.keys()).collect();
        let difference = |name: &String| match (self.tools.get(name), now.tools.get(name)) {
            (Some(then), Some(now)) => then.differs(now).map(|lines| Difference::Changed {
                tool: name.clone(),
                lines,
            }),
            (None, Some(_)) => Some(Difference::Added { tool: name.clone() }),
            (_, None) => Some(Difference::Removed { tool: name.clone() }),
        };
        names.into_iter().filter_map(difference).collect()
    }

    /// The tools of a workflow that are not as they were locked. What a backend has not told yet is not held against
    /// the workflow.
    pub fn check(&self, workflow: &Workflow, catalog: &Catalog) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        for call in workflow.steps.iter().filter_map(|step| step.call()) {
            let Resolution::Found(tool) = catalog.resolve(call.tool.as_str()) else {
                continue;
            };
            let fault = self.check_tool(tool);
            diagnostics.extend(fault.map(|fault| {
                let label = "called here";
                fault.label(&call.tool_place, label)
            }));
        }
        diagnostics
    }

    /// Why a tool is not the one that was locked.
    pub fn check_tool(&self, tool: &CatalogTool) -> Option<Diagnostic> {
        let key = key(tool);
        match self.tools.get(&key) {
            None => Some(not_locked(&key, &self.command(""))),
            Some(then) => then
                .differs(&Locked::of(tool))
                .map(|lines| changed(&key, &lines, &self.command("--update"))),
        }
    }
}

fn key(tool: &CatalogTool) -> String {
    format!("{}.{}", tool.backend, tool.original)
}

fn changed(tool: &str, lines: &[String], command: &str) -> Diagnostic {
    let message = format!(
        "tool `{tool}` is not as it was locked: {}",
        lines.join("; ")
    );
    Diagnostic::error(codes::TOOL_CHANGED, message)
        .help(format!("if the change is welcome, run `{command}`"))
}

fn not_locked(tool: &str, command: &str) -> Diagnostic {
    Diagnostic::error(
        codes::TOOL_CHANGED,
        format!("tool `{tool}` is not in the lock file"),
    )
    .help(format!("run `{command}` to add it"))
}

impl Locked {
    fn of(tool: &CatalogTool) -> Self {
        let own = tool.tool.renamed(&tool.original);
        let definition = sorted(&own.to_value());
        let mut text = definition.to_string();
        // A value does not hold these to the last digit.
        let fields = own.exact().fields();
        let keys: BTreeSet<&String> = own.object().keys().collect();
        for field in keys.into_iter().filter_map(|key| fields.get(key)) {
            for number in long_numbers(field.get()) {
                text.push('\n');
                text.push_str(number);
            }
        }
        Self {
            hash: format!("sha256-128:{}", hash_text(&text)),
            definition,
        }
    }

    fn differs(&self, now: &Self) -> Option<Vec<String>> {
        if self.hash == now.hash {
            return None;
        }
        let mut lines = Vec::new();
        compare(
            "",
            Some(&self.definition),
            Some(&now.definition),
            &mut lines,
        );
        if lines.is_empty() {
            let reason =
                "a number changed beyond the digits that are kept, or the lock file was edited";
            lines.push(reason.to_owned());
        }
        if lines.len() > LOCK_LINES_MAX {
            let rest = lines.len() - LOCK_LINES_MAX;
            lines.truncate(LOCK_LINES_MAX);
            lines.push(format!("and {rest} more"));
        }
        Some(lines)
    }
}

/// The same value with the keys of all objects in order, so that equal definitions have equal texts.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries = entries.into_iter();
            Value::Object(
                entries
                    .map(|(key, own)| (key.clone(), sorted(own)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// One line for each place that differs.
fn compare(path: &str, then: Option<&Value>, now: Option<&Value>, lines: &mut Vec<String>) {
    match (then, now) {
        (Some(Value::Object(then)), Some(Value::Object(now))) => {
            let keys: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
            for key in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                compare(&path, then.get(key), now.get(key), lines);
            }
        }
        (then, now) if then == now => {}
        (None, None) => {}
        (None, Some(now)) => lines.push(format!("{path} is new: {}", shown(now))),
        (Some(then), None) => lines.push(format!("{path} is gone, was {}", shown(then))),
        (Some(then), Some(now)) => {
            lines.push(format!("{path} is {}, was {}", shown(now), shown(then)));
        }
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LOCK_SHOWN_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests;
