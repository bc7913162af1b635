//! Expressions: a bare path in any language is one `Path`; everything else is a program of its language.
//! Evaluation lives in `evaluate`; this file only says what an expression is and what it reads.

mod go;
pub mod jq;
mod path;

pub use go::{GoOptions, GoProgram};
pub use jq::{JqError, JqProgram, View};
use path::run_field_target;
pub use path::{Facet, Path, PathError, Root, RunField, Segment};
pub(crate) use path::{kind_of, present};

use onecall_source::{Place, Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The place of what was not written anywhere: a value read back from a store.
pub fn nowhere() -> Place {
    Place::path("", "")
}

/// One expression with the place it was written at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expression {
    pub program: Program,
    /// Where it was written; absent in a plan that was read back from a store.
    #[serde(skip)]
    pub written: Option<Text>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Text without any template in it.
    Text(String),
    Path(Path),
    Go(GoProgram),
    Jq(JqProgram),
    /// Text with values in it: strings as they are, everything else as compact JSON.
    Mixed(Vec<Piece>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Text(String),
    Value(Expression),
}

/// Something an expression reads, for edges and checks.
#[derive(Clone, Debug)]
pub struct Reference {
    pub target: Target,
    /// The whole read.
    pub place: Place,
    /// The name that says which: the step, the parameter, the loop item, or the unknown root.
    pub name_place: Place,
    /// A value that is not there does no harm to the reader.
    pub is_lenient: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A parameter; no segments is the whole input.
    Input { segments: Vec<String> },
    /// A step, and what of it is read; `None` is the whole view.
    Step {
        name: String,
        part: Option<Part>,
        segments: Vec<String>,
    },
    /// All steps at once, or a step whose name is computed.
    AllSteps,
    /// The loop item of this name, or `index`.
    Item { name: String },
    /// The item of the loop around, if that is its name; else a value that does not exist.
    Named { name: String },
    /// A root that does not exist in the view.
    Unknown { name: String },
    /// A field that is none of those that a root of fixed fields has.
    UnknownField { root: &'static str, name: String },
    /// A root that always exists and needs no check.
    Ambient,
}

/// The part of a step that a read names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Known(Facet),
    /// None of those that steps have in the language of the read.
    Unknown {
        name: String,
        known: &'static [Facet],
    },
}

impl Expression {
    pub fn new(program: Program, written: Option<Text>) -> Self {
        Self { program, written }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Program::Text(text.into()), None)
    }

    /// A path in the words of the file. In a plan that was read back from a store there are none, and it is written
    /// as every language means it.
    pub(crate) fn words_of(&self, path: &Path) -> String {
        let Some(written) = &self.written else {
            return path.to_string();
        };
        let text = written.as_str().trim();
        // What stands around a template is not what it reads.
        let inside = text.strip_prefix("${{").or_else(|| text.strip_prefix("{{"));
        let inside = inside.and_then(|inside| inside.strip_suffix("}}"));
        let inside = inside.map(|inside| {
            let inside = inside.strip_prefix("- ").unwrap_or(inside);
            inside.strip_suffix(" -").unwrap_or(inside)
        });
        inside.unwrap_or(text).trim().to_owned()
    }

    /// The place of the whole expression.
    pub fn place(&self) -> Place {
        self.written
            .as_ref()
            .map_or_else(nowhere, |text| text.place().clone())
    }

    /// The place of a byte range of the expression's text.
    pub fn place_of(&self, range: std::ops::Range<usize>) -> Place {
        self.written
            .as_ref()
            .map_or_else(nowhere, |text| text.place_of(range))
    }

    /// What the expression reads, in the order it is written.
    pub fn references(&self) -> Vec<Reference> {
        match &self.program {
            Program::Text(_) => Vec::new(),
            Program::Path(path) => {
                vec![self.path_reference(path)]
            }
            Program::Go(go) => go.references(self),
            Program::Jq(jq) => jq.references(self),
            Program::Mixed(pieces) => pieces.iter().flat_map(Piece::references).collect(),
        }
    }

    /// A bare path names what it reads once, so its name can be found in the text.
    fn path_reference(&self, path: &Path) -> Reference {
        let target = path.target();
        let name = match &target {
            Target::Input { segments } => segments.first(),
            Target::Step { name, .. }
            | Target::Item { name }
            | Target::Named { name }
            | Target::Unknown { name }
            | Target::UnknownField { name, .. } => Some(name),
            Target::AllSteps | Target::Ambient => None,
        };
        let found = self.written.as_ref().zip(name).and_then(|(text, name)| {
            if text.starts_with(name.as_str()) {
                return Some(text.place_of(0..name.len()));
            }
            let dotted = format!(".{name}");
            let after_root = text.find('.').map_or(0, |dot| dot + 1);
            let start = text[after_root..].find(&dotted)? + after_root + 1;
            Some(text.place_of(start..start + name.len()))
        });
        Reference {
            name_place: found.unwrap_or_else(|| self.place()),
            target,
            place: self.place(),
            is_lenient: path.default.is_some(),
        }
    }

    /// Whether evaluation can give a value that is not text.
    pub fn is_whole_value(&self) -> bool {
        match &self.program {
            Program::Text(_) | Program::Mixed(_) => false,
            Program::Path(_) | Program::Jq(_) => true,
            Program::Go(go) => go.is_whole_value(),
        }
    }

    pub fn is_constant(&self) -> bool {
        matches!(self.program, Program::Text(_))
    }
}

impl Piece {
    fn references(&self) -> Vec<Reference> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Value(expression) => expression.references(),
        }
    }
}

/// A JSON value with expressions at its leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueTemplate {
    Literal(Value),
    Expression(Expression),
    Object(Vec<(String, ValueTemplate)>),
    Array(Vec<ValueTemplate>),
}

impl ValueTemplate {
    pub fn empty_object() -> Self {
        Self::Object(Vec::new())
    }

    /// Every expression in it, with the path that leads there.
    pub fn expressions(&self) -> Vec<(String, &Expression)> {
        let mut found = Vec::new();
        self.collect(String::new(), &mut found);
        found
    }

    fn collect<'a>(&'a self, path: String, found: &mut Vec<(String, &'a Expression)>) {
        match self {
            Self::Literal(_) => {}
            Self::Expression(expression) => found.push((path, expression)),
            Self::Object(entries) => {
                for (key, value) in entries {
                    let below = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    value.collect(below, found);
                }
            }
            Self::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    value.collect(format!("{path}[{index}]"), found);
                }
            }
        }
    }
}
