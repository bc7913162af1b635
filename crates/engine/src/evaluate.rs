//! The engine's only door to expressions and schemas. `PlanEvaluator` is the real one; tests hand in one
//! that always errs, to show that folding a journal evaluates nothing.

use crate::failure::{Code, Failure};
use crate::limits::Limits;
use crate::limits::MISFIT_CHARS_MAX;
use onecall_workflow::coerce::{Coercer, Reason};
use onecall_workflow::evaluate::{self, Collection, Fault, FaultKind};
use onecall_workflow::expression::{Expression, JqProgram, ValueTemplate};
use onecall_workflow::output::{self, Absent, Produced};
use onecall_workflow::plan::BoundTool;
use onecall_workflow::scope::Scope;
use onecall_workflow::step::{Call, Condition, Each, Shape};
use onecall_workflow::workflow::OutputProperties;
use serde_json::Value;
use std::fmt::Debug;

/// Evaluates what a workflow says over what a run has.
pub trait Evaluator: Send + Sync + Debug {
    /// What the run and each of its expressions may use.
    fn limits(&self) -> Limits {
        Limits::default()
    }
    fn condition(&self, condition: &Condition, scope: &dyn Scope) -> Result<bool, Failure>;
    /// The arguments of a call, fitted to its tool. A mocked call has no tool.
    fn arguments(
        &self,
        call: &Call,
        tool: Option<&BoundTool>,
        scope: &dyn Scope,
    ) -> Result<Value, Failure>;
    /// What of the arguments does not fit the tool's schema, to be shown when the call has failed.
    fn misfit(&self, tool: &BoundTool, arguments: &Value) -> Option<String>;
    fn items(&self, each: &Each, scope: &dyn Scope) -> Result<Vec<Value>, Failure>;
    /// What a call gave, reshaped.
    fn transform(
        &self,
        program: &JqProgram,
        result: &Value,
        payload: &Value,
    ) -> Result<Value, Failure>;
    fn message(&self, message: &Expression, scope: &dyn Scope) -> Result<String, Failure>;
    /// The answer fitted to its schema, or why it does not fit.
    fn answer(
        &self,
        schema: Option<&Value>,
        content: Option<Value>,
    ) -> Result<Option<Value>, String>;
    fn properties(
        &self,
        output: &OutputProperties,
        scope: &dyn Scope,
        absent: Absent,
    ) -> Result<Produced, Failure>;
    /// A value with expressions in it, no schema given. `what` names it in a failure.
    fn filled(
        &self,
        what: &str,
        template: &ValueTemplate,
        scope: &dyn Scope,
    ) -> Result<Value, Failure>;
}

/// The evaluator of crate `workflow`.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanEvaluator {
    pub limits: Limits,
}

impl Evaluator for PlanEvaluator {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn condition(&self, condition: &Condition, scope: &dyn Scope) -> Result<bool, Failure> {
        evaluate::condition(condition, scope).map_err(|fault| failure("condition", &fault))
    }

    fn arguments(
        &self,
        call: &Call,
        tool: Option<&BoundTool>,
        scope: &dyn Scope,
    ) -> Result<Value, Failure> {
        evaluate::arguments(call, tool.map(|tool| &tool.input), scope)
            .map_err(|fault| failure("arguments", &fault))
    }

    fn misfit(&self, tool: &BoundTool, arguments: &Value) -> Option<String> {
        let fault = tool.input.validate(arguments).into_iter().next()?;
        // What says nothing about the arguments explains nothing.
        if fault.reason != Reason::Mismatch {
            return None;
        }
        let fault: String = fault.to_string().chars().take(MISFIT_CHARS_MAX).collect();
        Some(fault)
    }

    fn items(&self, each: &Each, scope: &dyn Scope) -> Result<Vec<Value>, Failure> {
        let accepted = Collection {
            iterations_max: each.iterations_max,
            is_lenient: each.output == Shape::Report || each.items.is_constant(),
        };
        evaluate::items(&each.items, scope, accepted).map_err(|mut fault| {
            if fault.kind == FaultKind::Iterations {
                fault.message.push_str(more_items(each));
            }
            failure("collection", &fault)
        })
    }

    fn transform(
        &self,
        program: &JqProgram,
        result: &Value,
        payload: &Value,
    ) -> Result<Value, Failure> {
        program
            .transform(result, payload, self.limits.expression)
            .map_err(|fault| failure("transform", &fault))
    }

    fn message(&self, message: &Expression, scope: &dyn Scope) -> Result<String, Failure> {
        evaluate::text(message, scope).map_err(|fault| failure("message", &fault))
    }

    fn answer(
        &self,
        schema: Option<&Value>,
        content: Option<Value>,
    ) -> Result<Option<Value>, String> {
        let Some(schema) = schema else {
            return Ok(content);
        };
        let content = content.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let coercer = Coercer::new(schema.clone());
        let content = coercer.coerce(content);
        if let Some(fault) = coercer.validate(&content).first() {
            return Err(fault.to_string());
        }
        Ok(Some(content))
    }

    fn properties(
        &self,
        block: &OutputProperties,
        scope: &dyn Scope,
        absent: Absent,
    ) -> Result<Produced, Failure> {
        output::produce(block, scope, absent).map_err(|fault| failure("output", &fault))
    }

    fn filled(
        &self,
        what: &str,
        template: &ValueTemplate,
        scope: &dyn Scope,
    ) -> Result<Value, Failure> {
        evaluate::filled(template, scope).map_err(|fault| failure(what, &fault))
    }
}

/// What to do about a collection with too many items, in the words of the files that have such loops.
fn more_items(each: &Each) -> &'static str {
    match each.output {
        Shape::Report => "; raise `maxIterations` (at most 1000)",
        Shape::Plain => "; raise `max_items`, or in a suite `max_iterations` (at most 100000)",
    }
}

fn failure(what: &str, fault: &Fault) -> Failure {
    let code = match fault.kind {
        FaultKind::Missing => Code::ExpressionMissing,
        FaultKind::Failed => Code::ExpressionFailed,
        FaultKind::Limit => Code::ExpressionLimit,
        FaultKind::Condition => Code::ExpressionCondition,
        FaultKind::Collection => Code::ExpressionCollection,
        FaultKind::Iterations => Code::LimitIterations,
        FaultKind::Output => Code::ExpressionOutput,
        FaultKind::Patterns => Code::LimitPatterns,
    };
    let message = &fault.message;
    // The message names what failed already.
    let begins = message.strip_prefix("required ").unwrap_or(message);
    let begins = begins.strip_prefix("the ").unwrap_or(begins);
    if begins.starts_with(what) {
        return Failure::new(code, message.clone());
    }
    Failure::new(code, format!("{what}: {message}"))
}
