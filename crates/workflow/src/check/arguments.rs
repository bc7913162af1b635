//! Arguments against the tool's `inputSchema`: names, what is required, and values that are fixed.

use super::{Bound, schema};
use crate::catalog::CatalogTool;
use crate::coerce::Coercer;
use crate::expression::{Expression, Program, Root, ValueTemplate};
use crate::step::{Call, Step};
use crate::workflow::Workflow;
use onecall_source::{Diagnostic, Diagnostics, Place, codes, suggest};
use serde_json::{Map, Value};

pub(super) fn check(bound: &Bound<'_>, diagnostics: &mut Diagnostics) {
    for (step, tool) in bound.known() {
        if let (Some(call), Some(input)) = (step.call(), tool.input_schema()) {
            let subject = Subject {
                workflow: bound.workflow,
                step,
                call,
                tool,
                input,
            };
            subject.check_names(diagnostics);
            subject.check_values(diagnostics);
        }
    }
}

struct Subject<'a> {
    workflow: &'a Workflow,
    step: &'a Step,
    call: &'a Call,
    tool: &'a CatalogTool,
    input: &'a Value,
}

impl Subject<'_> {
    fn check_names(&self, diagnostics: &mut Diagnostics) {
        let Some(given) = given_names(&self.call.arguments) else {
            return;
        };
        for name in &given {
            match schema::property(self.input, self.input, name) {
                schema::Property::Declared(own) => self.check_type(name, own, diagnostics),
                schema::Property::Unknown => {}
                schema::Property::Forbidden => diagnostics.push(self.unknown(name, true)),
                schema::Property::Allowed => diagnostics.push(self.unknown(name, false)),
            }
        }
        for name in schema::required(self.input, self.input) {
            if !given.contains(&name) {
                diagnostics.push(self.missing(name));
            }
        }
    }

    /// A parameter passed on as it is must be of a type that can become the one wanted.
    fn check_type(&self, name: &str, own: &Value, diagnostics: &mut Diagnostics) {
        let Some(wanted) = schema::sole_type(self.input, own) else {
            return;
        };
        let ValueTemplate::Object(entries) = &self.call.arguments else {
            return;
        };
        let Some((_, ValueTemplate::Expression(expression))) =
            entries.iter().find(|(key, _)| key == name)
        else {
            return;
        };
        let Some(given) = parameter_type(&self.workflow.inputs, expression) else {
            return;
        };
        if !can_become(given, wanted) {
            let fault = format!("the parameter is of type `{given}`, and `{wanted}` is wanted");
            diagnostics.push(self.unfit(name, &fault));
        }
    }

    /// Fixed values, at every depth; what only a run can tell is left out of sight.
    fn check_values(&self, diagnostics: &mut Diagnostics) {
        let mut open = Vec::new();
        let value = with_holes(&self.call.arguments, String::new(), &mut open);
        let coercer = Coercer::new(self.input.clone());
        let value = coercer.coerce(value);
        let given = given_names(&self.call.arguments).unwrap_or_default();
        for fault in coercer.validate(&value) {
            let top = fault.path.split(['.', '[']).next().unwrap_or_default();
            let declared = matches!(
                schema::property(self.input, self.input, top),
                schema::Property::Declared(_)
            );
            let hidden = open
                .iter()
                .any(|hole| is_within(hole, &fault.path) || is_within(&fault.path, hole));
            // Names that are missing or unknown are told by `check_names`.
            if given.contains(&top) && declared && !hidden {
                diagnostics.push(self.unfit(&fault.path, &fault.message));
            }
        }
    }

    fn place(&self, path: &str) -> &Place {
        let known = &self.call.argument_places;
        known.get(path).unwrap_or(&self.call.tool_place)
    }

    fn unknown(&self, name: &str, forbidden: bool) -> Diagnostic {
        let message = format!(
            "step `{}` passes `{name}`, which tool `{}` does not take",
            self.step.name,
            self.tool.tool.name()
        );
        let diagnostic = if forbidden {
            Diagnostic::error(codes::UNKNOWN_ARGUMENT, message)
        } else {
            Diagnostic::warning(codes::UNKNOWN_ARGUMENT, message)
        };
        let diagnostic = diagnostic.label(self.place(name), "unknown argument");
        no_argument(diagnostic, name, self.input)
    }

    fn missing(&self, name: &str) -> Diagnostic {
        let message = format!(
            "step `{}` does not pass `{name}`, which tool `{}` needs",
            self.step.name,
            self.tool.tool.name()
        );
        Diagnostic::error(codes::MISSING_ARGUMENT, message)
            .label(self.missing_place(name), format!("`{name}` is missing"))
            .help(format!("add `{name}` to the arguments"))
    }

    /// A derived tool may have hidden what is needed.
    fn missing_place(&self, name: &str) -> &Place {
        let derives = self.workflow.derives.as_ref();
        let hidden = derives.and_then(|derives| derives.hidden_places.get(name));
        hidden.unwrap_or(&self.call.tool_place)
    }

    fn unfit(&self, path: &str, fault: &str) -> Diagnostic {
        let message = format!(
            "argument `{path}` of step `{}` does not fit tool `{}`: {fault}",
            self.step.name,
            self.tool.tool.name()
        );
        Diagnostic::error(codes::ARGUMENT_TYPE, message)
            .label(self.place(path), "does not fit")
            .help("pass a value of the type the tool takes")
    }
}

/// Tells what the tool takes instead.
pub(super) fn no_argument(diagnostic: Diagnostic, name: &str, input: &Value) -> Diagnostic {
    let names = schema::names(input, input);
    match suggest(name, names.iter().copied()) {
        Some(near) => diagnostic.help(format!("an argument named `{near}` exists")),
        None if names.is_empty() => diagnostic.help("the tool takes no arguments"),
        None => diagnostic.help(format!("it takes `{}`", names.join("`, `"))),
    }
}

/// Whether a path is the other one or leads on from it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// `None` where only a run can tell, or where the arguments are no mapping, which was reported.
fn given_names(template: &ValueTemplate) -> Option<Vec<&str>> {
    match template {
        ValueTemplate::Object(entries) => {
            Some(entries.iter().map(|(key, _)| key.as_str()).collect())
        }
        ValueTemplate::Literal(Value::Object(object)) => {
            Some(object.keys().map(String::as_str).collect())
        }
        ValueTemplate::Literal(_) | ValueTemplate::Expression(_) | ValueTemplate::Array(_) => None,
    }
}

/// The value with null where only a run can tell, and the paths of those holes.
fn with_holes(template: &ValueTemplate, path: String, open: &mut Vec<String>) -> Value {
    match template {
        ValueTemplate::Literal(value) => value.clone(),
        ValueTemplate::Expression(_) => {
            open.push(path);
            Value::Null
        }
        ValueTemplate::Object(entries) => {
            let filled = entries.iter().map(|(key, below)| {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                (key.clone(), with_holes(below, path, open))
            });
            Value::Object(filled.collect::<Map<_, _>>())
        }
        ValueTemplate::Array(items) => {
            let filled = items
                .iter()
                .enumerate()
                .map(|(index, below)| with_holes(below, format!("{path}[{index}]"), open));
            Value::Array(filled.collect())
        }
    }
}

/// The declared type of a parameter that is passed on as it is.
fn parameter_type<'a>(inputs: &'a Value, expression: &Expression) -> Option<&'a str> {
    let Program::Path(path) = &expression.program else {
        return None;
    };
    if path.root != Root::Input {
        return None;
    }
    let mut at = inputs;
    for segment in &path.segments {
        match schema::property(inputs, at, &segment.to_string()) {
            schema::Property::Declared(own) => at = own,
            schema::Property::Allowed | schema::Property::Forbidden | schema::Property::Unknown => {
                return None;
            }
        }
    }
    schema::sole_type(inputs, at)
}

/// Whether some value of one type can be coerced to another.
fn can_become(given: &str, wanted: &str) -> bool {
    match (given, wanted) {
        ("string", _) | ("integer" | "number" | "boolean", "string") => true,
        ("integer" | "number", wanted) => matches!(wanted, "integer" | "number"),
        (given, wanted) => given == wanted,
    }
}
