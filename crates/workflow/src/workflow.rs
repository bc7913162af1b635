//! THE representation: one workflow, whatever dialect it was written in.
//! Only `Builder::finish` makes one, so whoever holds a `Workflow` need not check it again.

use crate::derive::Derives;
use crate::expression::{Expression, ValueTemplate, nowhere};
use crate::name::{StepName, WorkflowName};
use crate::policy;
use crate::step::Step;
use onecall_source::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub name: WorkflowName,
    pub version: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: Annotations,
    /// JSON Schema of the parameters; its root is an object.
    pub inputs: Value,
    /// In the order they were declared.
    pub steps: Vec<Step>,
    pub output: Output,
    pub policy: policy::Run,
    /// It passes its inputs on to the tool of its only step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derives: Option<Derives>,
    #[serde(skip, default = "nowhere")]
    pub place: Place,
}

impl Workflow {
    pub fn step_index(&self, name: &str) -> Option<usize> {
        self.steps
            .iter()
            .position(|step| step.name.as_str() == name)
    }

    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name.as_str() == name)
    }

    pub fn step_names(&self) -> impl Iterator<Item = &StepName> {
        self.steps.iter().map(|step| &step.name)
    }
}

/// Hints the author states; what is absent is derived from the tools of the steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    pub title: Option<String>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

/// What the run returns.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// The output of the last declared step that completed.
    LastCompleted,
    /// The output of the last step in topological order.
    LastInOrder,
    /// Typed properties, each with its own expression.
    Properties(OutputProperties),
    /// One expression gives the whole output.
    Value(ValueTemplate),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutputProperties {
    pub properties: Vec<OutputProperty>,
    pub required: Vec<String>,
    #[serde(default, skip_serializing_if = "Unset::fails")]
    pub unset: Unset,
}

/// What a property does whose value is missing and that has no default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unset {
    /// The run fails.
    #[default]
    Fails,
    /// The property is left out, unless it is required.
    LeftOut,
}

impl Unset {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    fn fails(&self) -> bool {
        *self == Self::Fails
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutputProperty {
    pub name: String,
    pub kind: OutputKind,
    pub description: Option<String>,
    pub source: OutputSource,
    pub default: Option<Value>,
    /// A JSON Schema of the value, beyond its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(skip, default = "nowhere")]
    pub place: Place,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    Value(Expression),
    Properties(Vec<OutputProperty>),
}

/// The JSON type a property is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
    /// Taken as it comes.
    Any,
}

impl Output {
    /// The schemas of its properties, at every depth, with their properties.
    pub(crate) fn schemas(&self) -> Vec<(&OutputProperty, &Value)> {
        let mut found = Vec::new();
        let mut open: Vec<&OutputProperty> = match self {
            Self::Properties(block) => block.properties.iter().collect(),
            Self::LastCompleted | Self::LastInOrder | Self::Value(_) => Vec::new(),
        };
        while let Some(property) = open.pop() {
            found.extend(property.schema.as_ref().map(|schema| (property, schema)));
            if let OutputSource::Properties(below) = &property.source {
                open.extend(below);
            }
        }
        found
    }
}

impl OutputKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Any => "any",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "string" => Some(Self::String),
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "boolean" => Some(Self::Boolean),
            "object" => Some(Self::Object),
            "array" => Some(Self::Array),
            _ => None,
        }
    }
}
