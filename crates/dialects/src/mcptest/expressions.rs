//! What the `${…}` and the jq programs of a composition read: nodes, the element of a loop, variables.
//! The environment is read only where the configuration names the variable.

use super::template::{self, Part, Read, Step, Template};
use super::{Compat, TestVariable};
use crate::arguments;
use onecall_source::{Diagnostic, Diagnostics, Node, NodeKind, Text, codes, suggest};
use onecall_workflow::expression::{
    Expression, Facet, Path, Piece, Program, Root, Segment, ValueTemplate,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Keys of a tool result that are found beside the payload.
const RESULT_KEYS: [&str; 4] = ["content", "structuredContent", "isError", "_meta"];

/// What names stand for in one composition.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) ids: &'a BTreeSet<&'a str>,
    pub(super) variables: &'a BTreeMap<String, String>,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(super) compat: Compat,
    /// The caller's variables are declared, so that each has a value or is missing.
    pub(super) has_inputs: bool,
}

/// Reads the expressions of one composition, and keeps the variables that its callers give.
pub(super) struct Reader<'a> {
    names: Names<'a>,
    /// The variable, and whether it has a default of its own.
    inputs: BTreeMap<String, bool>,
}

/// What one `${…}` comes to.
enum Found {
    Path(Path),
    Text(String),
}

impl<'a> Reader<'a> {
    pub(super) fn new(names: Names<'a>) -> Self {
        Self {
            names,
            inputs: BTreeMap::new(),
        }
    }

    pub(super) fn compat(&self) -> Compat {
        self.names.compat
    }

    /// The schema of the variables. A tool insists on those without a default; a test lets them pass through.
    pub(super) fn inputs(&self, is_published: bool) -> Value {
        if self.inputs.is_empty() {
            return json!({ "type": "object" });
        }
        let properties: Map<String, Value> = self
            .inputs
            .keys()
            .map(|name| (name.clone(), json!({})))
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        let needed = self.inputs.iter().filter(|(_, has_default)| !**has_default);
        let needed: Vec<&String> = needed.map(|(name, _)| name).collect();
        if is_published && !needed.is_empty() {
            schema["required"] = json!(needed);
        }
        schema
    }

    /// What was read as `${var.…}` so far.
    pub(super) fn variables(&self) -> Vec<TestVariable> {
        let read = self.inputs.iter().map(|(name, has_default)| TestVariable {
            name: name.clone(),
            has_default: *has_default,
        });
        read.collect()
    }

    /// A JSON value with templates at its leaves.
    pub(super) fn values(&mut self, node: &Node, diagnostics: &mut Diagnostics) -> ValueTemplate {
        arguments::values(node, "", &mut |node, _| match &node.kind {
            NodeKind::String(text) => Some(self.value(text, diagnostics)),
            NodeKind::Mapping(entries) => {
                diagnostics.extend(
                    entries
                        .iter()
                        .filter_map(|entry| template_as_key(&entry.key)),
                );
                None
            }
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::Sequence(_) => {
                None
            }
        })
    }

    /// The expression of a text.
    pub(super) fn expression(&mut self, text: &Text, diagnostics: &mut Diagnostics) -> Expression {
        match self.value(text, diagnostics) {
            ValueTemplate::Expression(expression) => expression,
            ValueTemplate::Literal(Value::String(own)) => {
                Expression::new(Program::Text(own), Some(text.clone()))
            }
            ValueTemplate::Literal(_) | ValueTemplate::Object(_) | ValueTemplate::Array(_) => {
                Expression::new(Program::Text(text.to_string()), Some(text.clone()))
            }
        }
    }

    fn value(&mut self, text: &Text, diagnostics: &mut Diagnostics) -> ValueTemplate {
        let parts = match template::parse(text) {
            Ok(Template { parts, unclosed }) => {
                diagnostics.extend(unclosed.map(|start| never_closed(text, start)));
                parts
            }
            Err(fault) => {
                diagnostics.push(template_fault(text, fault));
                return ValueTemplate::Literal(Value::from(text.as_str()));
            }
        };
        if let [Part::Read(read)] = parts.as_slice() {
            return match self.read(text, read, diagnostics) {
                Found::Text(found) => ValueTemplate::Literal(Value::from(found)),
                Found::Path(path) => ValueTemplate::Expression(path_at(path, text, read)),
            };
        }
        let mut pieces: Vec<Piece> = Vec::new();
        for part in &parts {
            let piece = match part {
                Part::Text(own) => Piece::Text(own.clone()),
                Part::Read(read) => match self.read(text, read, diagnostics) {
                    Found::Text(found) => Piece::Text(found),
                    Found::Path(path) => Piece::Value(path_at(path, text, read)),
                },
            };
            match (pieces.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(more)) => before.push_str(&more),
                (_, piece) => pieces.push(piece),
            }
        }
        match pieces.as_slice() {
            [] => ValueTemplate::Literal(Value::from("")),
            [Piece::Text(only)] => ValueTemplate::Literal(Value::from(only.as_str())),
            _ => {
                let program = Program::Mixed(pieces);
                ValueTemplate::Expression(Expression::new(program, Some(text.clone())))
            }
        }
    }

    /// What a name stands for: the element, a node, `var`, `env`, else a variable of the suite.
    fn read(&mut self, text: &Text, read: &Read, diagnostics: &mut Diagnostics) -> Found {
        let name = read.head.as_str();
        if self.names.compat == Compat::Program && read.is_bare() {
            // The program fills in variables before it knows nodes.
            let value = self.names.variables.get(name).cloned();
            return Found::Text(value.unwrap_or_default());
        }
        if self.names.ids.contains(name) || name == "item" {
            if self.names.variables.contains_key(name) {
                diagnostics.push(hides_variable(text, read));
            }
            return Found::Path(named_path(read));
        }
        let written = text[read.range.clone()].to_owned();
        match (name, read.path.as_slice()) {
            ("var", [Step::Key(variable), rest @ ..]) => {
                let path = self.variable(variable, rest, read, &written);
                Found::Path(path)
            }
            ("var", []) => Found::Path(Path {
                default: read.default.clone(),
                ..Path::new(Root::Input, Vec::new())
            }),
            ("env", [Step::Key(variable)]) => {
                if let Some(value) = (self.names.environment)(variable) {
                    return Found::Text(value);
                }
                if read.default.is_none() {
                    diagnostics.push(environment_not_named(text, read, variable));
                }
                Found::Text(read.default.as_ref().map_or(written, as_text))
            }
            (_, []) if self.names.variables.contains_key(name) => {
                Found::Text(self.names.variables[name].clone())
            }
            _ => {
                diagnostics.push(self.unknown_name(text, read));
                Found::Text(written)
            }
        }
    }

    /// `${var.x}` is given by the caller; without a value its text is left as it stands.
    fn variable(&mut self, variable: &str, rest: &[Step], read: &Read, written: &str) -> Path {
        let has_default = read.default.is_some();
        self.inputs
            .entry(variable.to_owned())
            .and_modify(|known| *known &= has_default)
            .or_insert(has_default);
        let mut segments = vec![Segment::Key(variable.to_owned())];
        segments.extend(rest.iter().map(segment));
        Path {
            root: Root::Input,
            segments,
            default: match &read.default {
                Some(default) => Some(default.clone()),
                None if self.names.has_inputs => None,
                None => Some(Value::from(written)),
            },
        }
    }

    fn unknown_name(&self, text: &Text, read: &Read) -> Diagnostic {
        let name = &read.head;
        let diagnostic = Diagnostic::error(
            codes::UNKNOWN_STEP,
            format!("a template reads `{name}`, but no node and no variable is named so"),
        )
        .label(text.place_of(read.head_range.clone()), "unknown name");
        let known = self.names.ids.iter().copied();
        let known = known.chain(self.names.variables.keys().map(String::as_str));
        match suggest(name, known) {
            Some(near) => diagnostic.help(format!("there is a `{near}`")),
            None => diagnostic.help(format!(
                "read a node of this composition; what the caller gives is `${{var.{name}}}`, a literal `$${{{name}}}`"
            )),
        }
    }

    /// The list that a loop runs over: a node, as `${node}` or `${node[*]}`.
    pub(super) fn items(&self, text: &Text, diagnostics: &mut Diagnostics) -> Option<Expression> {
        let parts = template::parse(text).unwrap_or_default().parts;
        let takes_bare = self.names.compat == Compat::Page;
        if let [Part::Read(read)] = parts.as_slice()
            && (read.path == [Step::Every] || takes_bare && read.is_bare())
            && read.default.is_none()
        {
            let root = output_root(&read.head);
            return Some(path_at(Path::new(root, Vec::new()), text, read));
        }
        diagnostics.push(loop_template(text));
        None
    }

    /// The output of one node as that of the whole; null where it has none.
    pub(super) fn output_of(id: &Text) -> ValueTemplate {
        let path = Path {
            root: output_root(id),
            segments: Vec::new(),
            default: Some(Value::Null),
        };
        ValueTemplate::Expression(Expression::new(Program::Path(path), Some(id.clone())))
    }
}

/// An expression that is one path, with the place inside of the braces.
fn path_at(path: Path, text: &Text, read: &Read) -> Expression {
    let inside = read.head_range.start..read.path_end;
    Expression::new(Program::Path(path), Some(text.part(inside)))
}

fn output_root(id: &str) -> Root {
    Root::Step {
        name: id.to_owned(),
        facet: Facet::Output,
    }
}

/// A path from a node or from the element of a loop.
fn named_path(read: &Read) -> Path {
    let beside_payload =
        matches!(read.path.first(), Some(Step::Key(key)) if RESULT_KEYS.contains(&key.as_str()));
    let root = if read.head == "item" {
        Root::Item {
            name: read.head.clone(),
        }
    } else if beside_payload {
        Root::Result {
            step: read.head.clone(),
        }
    } else {
        output_root(&read.head)
    };
    Path {
        root,
        segments: read.path.iter().map(segment).collect(),
        default: read.default.clone(),
    }
}

fn segment(step: &Step) -> Segment {
    match step {
        Step::Key(key) => Segment::Key(key.clone()),
        Step::Index(index) => Segment::Index(*index),
        Step::Every => Segment::Every,
    }
}

fn as_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn template_fault(text: &Text, fault: template::Fault) -> Diagnostic {
    Diagnostic::error(codes::TEMPLATE_SYNTAX, fault.message)
        .label(text.place_of(fault.range), "at this place")
        .help(fault.help)
}

fn never_closed(text: &Text, start: usize) -> Diagnostic {
    Diagnostic::warning(
        codes::TEMPLATE_SYNTAX,
        "a template is opened and never closed, so it is sent as it stands",
    )
    .label(text.place_of(start..start + 2), "opened here")
    .help("close it with `}`, or write `$${` for the text `${`")
}

/// Keys are sent as they stand.
fn template_as_key(key: &Text) -> Option<Diagnostic> {
    let start = template::opened(key)?;
    let message = format!("the key `{key}` is sent as it stands: keys are no templates");
    Some(
        Diagnostic::warning(codes::TEMPLATE_SYNTAX, message)
            .label(key.place_of(start..key.len()), "not a template here")
            .help("make the object in the `transform` of a node, and pass it on as a whole"),
    )
}

fn hides_variable(text: &Text, read: &Read) -> Diagnostic {
    let name = &read.head;
    let what = if name == "item" { "element" } else { "node" };
    Diagnostic::remark(
        codes::NAME_HIDES_VARIABLE,
        format!("`${{{name}}}` reads the {what}, not the variable of this name"),
    )
    .label(
        text.place_of(read.head_range.clone()),
        format!("the {what} `{name}`"),
    )
    .help("give one of them another name")
}

fn environment_not_named(text: &Text, read: &Read, variable: &str) -> Diagnostic {
    Diagnostic::warning(
        codes::ENVIRONMENT_NOT_NAMED,
        format!("the environment variable `{variable}` is not read: no configuration names it"),
    )
    .label(text.place_of(read.range.clone()), "left as it stands")
    .help(format!(
        "name it in `onecall.yaml`: `environment: [{variable}]`"
    ))
}

fn loop_template(text: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::LOOP_TEMPLATE,
        "`for_each` must be the output of one node",
    )
    .label(text.place(), "neither `${node}` nor `${node[*]}`")
    .help("give the node a `transform` that makes its output the list, and loop over the node")
}
