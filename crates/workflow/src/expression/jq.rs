//! jq programs as expressions: compiled by jaq when made, stored as their text, run over a `Scope`.
//! They see no environment, files, clock or further input, give exactly one result, and are bounded in
//! steps, memory and stack. A bare path is no jq program; dialects make a `Path` of it.

mod budget;
mod compile;
mod functions;
mod reads;
mod run;
mod value;
mod view;

#[cfg(test)]
mod tests;

use super::{Expression, Reference, Target};
use crate::evaluate::{Fault, within};
use crate::limits::Bounds;
use crate::scope::Scope;
use compile::Compiled;
use onecall_source::{Diagnostic, Diagnostics, Text, codes, suggest};
use reads::Read;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use view::Wanted;

/// A jq program, ready to run.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct JqProgram {
    code: String,
    view: View,
    compiled: Arc<Compiled>,
    reads: Vec<Read>,
    wanted: Wanted,
}

/// What `.` is in a jq program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// `.inputs`, `.steps.<name>` (outputs), `.results.<name>.<part>`, `.run`; in a loop the item by its
    /// name, and `.index`.
    #[default]
    Run,
    /// `.parents.<name>`: the outputs of these steps.
    Parents(Vec<String>),
    /// `.nodes.<name>`: the outputs of all steps, null where there is none.
    Nodes,
    /// A tool result, with what was read from it at `.result`.
    Result,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    code: String,
    #[serde(default, skip_serializing_if = "View::is_run")]
    view: View,
}

impl View {
    fn is_run(&self) -> bool {
        *self == Self::Run
    }
}

/// Why a text is no jq program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.faults.first().map_or("no jq program", |fault| &fault.message))]
pub struct JqError {
    pub faults: Vec<JqFault>,
}

#[derive(Clone, Debug)]
pub struct JqFault {
    /// Bytes of the program.
    pub range: Range<usize>,
    pub message: String,
    /// The name that is not defined, if that is the fault.
    pub undefined: Option<String>,
}

impl JqError {
    /// The faults at their places in the text of the program. `what` names where it stands.
    pub fn report(&self, text: &Text, what: &str, diagnostics: &mut Diagnostics) {
        for fault in &self.faults {
            let place = text.place_of(fault.range.clone());
            let Some(name) = &fault.undefined else {
                let message = format!("the jq program of {what} cannot be read: {}", fault.message);
                let diagnostic = Diagnostic::error(codes::JQ_SYNTAX, message)
                    .label(place, "at this place")
                    .help("see the jq manual for the syntax");
                diagnostics.push(diagnostic);
                continue;
            };
            let message = format!("the jq program of {what} uses `{name}`, which does not exist");
            let diagnostic =
                Diagnostic::error(codes::JQ_UNDEFINED, message).label(place, &fault.message);
            let near = suggest(name, compile::names());
            diagnostics.push(match near {
                Some(near) => diagnostic.help(format!("`{near}` exists")),
                None => diagnostic.help(
                    "environment, files, further input, the clock and `halt` are not there in workflows",
                ),
            });
        }
    }
}

impl TryFrom<Stored> for JqProgram {
    type Error = JqError;

    fn try_from(stored: Stored) -> Result<Self, JqError> {
        Self::compile(&stored.code, stored.view)
    }
}

impl From<JqProgram> for Stored {
    fn from(program: JqProgram) -> Self {
        Self {
            code: program.code,
            view: program.view,
        }
    }
}

impl JqProgram {
    pub fn compile(code: &str, view: View) -> Result<Self, JqError> {
        let (compiled, reads) = compile::compile(code)?;
        let wanted = Wanted::of(&view, &reads);
        Ok(Self {
            code: code.to_owned(),
            view,
            compiled: Arc::new(compiled),
            reads,
            wanted,
        })
    }

    pub fn code(&self) -> &str {
        &self.code
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    /// The one result of the program over what its view shows of a run.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<Value, Fault> {
        let root = || self.wanted.root(&self.view, scope);
        self.run(root, scope.bounds())
    }

    /// The one result of the program over a tool result and what was read from it.
    pub fn transform(
        &self,
        result: &Value,
        payload: &Value,
        bounds: Bounds,
    ) -> Result<Value, Fault> {
        let root = || view::result_root(result, payload);
        self.run(root, bounds)
    }

    fn run(&self, root: impl FnOnce() -> value::Val, bounds: Bounds) -> Result<Value, Fault> {
        let result = run::run(&self.compiled, root, bounds)?;
        if let Value::String(text) = &result {
            within(text, bounds)?;
        }
        Ok(result)
    }

    /// The expression's text is the program.
    pub(crate) fn references(&self, expression: &Expression) -> Vec<Reference> {
        let references = self.reads.iter().map(|read| {
            let (target, name) = read.target(&self.view);
            let name = name.map_or_else(|| read.range.clone(), |name| name.range.clone());
            Reference {
                target,
                place: expression.place_of(read.range.clone()),
                name_place: expression.place_of(name),
                // A value that is not there is null in jq.
                is_lenient: true,
            }
        });
        references
            .filter(|reference| reference.target != Target::Ambient)
            .collect()
    }
}

impl fmt::Debug for JqProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JqProgram")
            .field("code", &self.code)
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}
