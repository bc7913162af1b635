//! A step of a workflow: what it does, when it may start, what happens when it fails.
//! A new kind of step is a variant of `Action`; the compiler then shows every place that must know it.

use crate::expression::{Expression, JqProgram, ValueTemplate, nowhere, present};
use crate::name::{StepName, ToolName};
use crate::policy;
use onecall_source::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    pub name: StepName,
    pub title: Option<String>,
    pub description: Option<String>,
    pub needs: Vec<Need>,
    pub when: Option<Condition>,
    pub action: Action,
    /// Bounds all attempts together, or the whole loop.
    #[serde(with = "policy::optional_millis")]
    pub timeout: Option<Duration>,
    pub on_error: policy::OnError,
    pub skipped_need: policy::SkippedNeed,
    /// The output of the step when it was skipped, or failed and was continued.
    pub default: Option<Value>,
    /// Stands in for the result of the call, or for those of the whole loop; nothing is called.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub mock: Option<Value>,
    #[serde(skip, default = "nowhere")]
    pub place: Place,
}

/// An edge of the graph: this step starts after that one has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Need {
    pub step: StepName,
    /// For pictures and messages only: no part of the meaning, so it is not stored.
    #[serde(default, skip_serializing)]
    pub origin: NeedOrigin,
    /// The step runs whatever became of the other one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// What the step reads as the output of the other one if that was skipped or failed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub default: Option<Value>,
    #[serde(skip, default = "nowhere")]
    pub place: Place,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedOrigin {
    #[default]
    Declared,
    /// An expression of the step reads the other step.
    Inferred,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Condition {
    pub test: Expression,
    pub truth: Truth,
}

/// What counts as true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truth {
    /// A boolean, or one of the six words; anything else fails the step.
    Words,
    /// Everything but false and null.
    Jq,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Call(Call),
    Ask(Ask),
    Each(Each),
}

/// One call of a backend tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    pub tool: ToolName,
    pub arguments: ValueTemplate,
    pub reading: Reading,
    #[serde(default, skip_serializing_if = "Unfound::is_left_out")]
    pub missing: Unfound,
    /// The author says that repeating the call does no harm.
    pub idempotent: bool,
    /// Reshapes what was read from the result before anything else sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<JqProgram>,
    /// What one call may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<policy::CallBudget>,
    #[serde(skip, default = "nowhere")]
    pub tool_place: Place,
    /// Where each argument was written, by its path (`a.b[0]`).
    #[serde(skip)]
    pub argument_places: BTreeMap<String, Place>,
}

/// How a call result becomes the output of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// Structured content when it is an object, else the content map.
    ContentMap,
    /// Structured content, else a sole text block parsed as JSON, else the result object.
    Payload,
}

/// What becomes of an argument that is one read of a step or an item, if the read finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfound {
    /// It is left out, unless the tool requires it.
    #[default]
    LeftOut,
    /// The step fails. Parameters that the caller leaves out are left out all the same.
    Fails,
}

impl Unfound {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    fn is_left_out(&self) -> bool {
        *self == Self::LeftOut
    }
}

/// What the output of a question or a loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// An object that tells how it went and what came of it.
    #[default]
    Report,
    /// What came of it alone: the answer, or the list of the items' outputs.
    Plain,
}

impl Shape {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    fn is_report(&self) -> bool {
        *self == Self::Report
    }
}

/// A question to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ask {
    pub message: Expression,
    /// An object schema; `None` asks for confirmation only.
    pub schema: Option<Value>,
    /// The author's schema was not an object: it is asked as the field `value` and read back bare.
    pub bare: bool,
    pub on_decline: policy::Refusal,
    /// Applies to a time-out too, unless there is a default response.
    pub on_cancel: policy::Refusal,
    pub default_response: Option<Value>,
    #[serde(default, skip_serializing_if = "Shape::is_report")]
    pub output: Shape,
}

/// The item name of a loop whose own name for it is invalid: any read of an item is taken for one of it.
pub const UNREADABLE_ITEM: &str = "";

/// A loop over a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Each {
    pub items: Expression,
    pub item_name: String,
    pub parallel_max: u32,
    pub iterations_max: u32,
    #[serde(default, skip_serializing_if = "Shape::is_report")]
    pub output: Shape,
    /// The first item that fails ends the loop, also where the run goes on after that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_at_failure: bool,
    pub body: Box<Step>,
}

impl Call {
    /// Stands in for a call that could not be read, so that other steps can refer to its step.
    /// The builder gives no workflow that holds one.
    pub fn unreadable(arguments: ValueTemplate) -> Self {
        Self {
            tool: ToolName::from(""),
            arguments,
            reading: Reading::Payload,
            missing: Unfound::LeftOut,
            idempotent: false,
            transform: None,
            budget: None,
            tool_place: nowhere(),
            argument_places: BTreeMap::new(),
        }
    }
}

impl Step {
    /// Stands in for a step of which nothing but its name could be read.
    pub fn unreadable(name: StepName, place: Place) -> Self {
        Self {
            name,
            title: None,
            description: None,
            needs: Vec::new(),
            when: None,
            action: Action::Call(Call::unreadable(ValueTemplate::empty_object())),
            timeout: None,
            on_error: policy::OnError::ABORT,
            skipped_need: policy::SkippedNeed::Runs,
            default: None,
            mock: None,
            place,
        }
    }

    pub(crate) fn is_readable(&self) -> bool {
        self.written_call()
            .is_none_or(|call| !call.tool.as_str().is_empty())
    }

    /// The call this step can make: its own, or that of its loop body. A step with a mock makes none.
    pub fn call(&self) -> Option<&Call> {
        self.written_call().filter(|_| self.mock.is_none())
    }

    /// The call as it is written, whether it is made or not.
    pub fn written_call(&self) -> Option<&Call> {
        match &self.action {
            Action::Call(call) => Some(call),
            Action::Ask(_) => None,
            Action::Each(each) => each.body.written_call(),
        }
    }

    /// Whether the step may end without an output of its own while the run goes on.
    pub fn is_skippable(&self) -> bool {
        if self.when.is_some() || self.on_error.then == policy::Then::Continue {
            return true;
        }
        match &self.action {
            Action::Ask(ask) => {
                ask.on_decline == policy::Refusal::Continues
                    || ask.on_cancel == policy::Refusal::Continues
            }
            Action::Call(_) | Action::Each(_) => false,
        }
    }
}
