//! Evaluation as in production, but stricter where a test must not pass by a typo: an argument that reads a node or an
//! element and finds nothing is an error, also if the tool does not need the argument.

use onecall_engine::evaluate::{Evaluator, PlanEvaluator};
use onecall_engine::failure::{Code, Failure};
use onecall_engine::limits::Limits;
use onecall_workflow::evaluate::{Found, Missing, value};
use onecall_workflow::expression::{Expression, JqProgram, Program, Root, ValueTemplate};
use onecall_workflow::output::{Absent, Produced};
use onecall_workflow::plan::BoundTool;
use onecall_workflow::scope::Scope;
use onecall_workflow::step::{Call, Condition, Each};
use onecall_workflow::workflow::OutputProperties;
use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct StrictEvaluator(PlanEvaluator);

/// The first read of a template that finds nothing.
fn missing(template: &ValueTemplate, scope: &dyn Scope) -> Option<Missing> {
    match template {
        ValueTemplate::Literal(_) => None,
        ValueTemplate::Object(entries) => {
            let mut below = entries.iter().map(|(_, below)| below);
            below.find_map(|below| missing(below, scope))
        }
        ValueTemplate::Array(items) => items.iter().find_map(|below| missing(below, scope)),
        ValueTemplate::Expression(expression) => {
            let Program::Path(path) = &expression.program else {
                return None;
            };
            // A variable that the caller leaves out stays verbatim.
            if path.root == Root::Input {
                return None;
            }
            match value(expression, scope) {
                Ok(Found::Missing(missing)) => Some(missing),
                Ok(Found::Value(_)) | Err(_) => None,
            }
        }
    }
}

fn refuse(template: &ValueTemplate, scope: &dyn Scope) -> Result<(), Failure> {
    missing(template, scope).map_or(Ok(()), |missing| {
        let text = format!("arguments: {missing}");
        Err(Failure::new(Code::ExpressionMissing, text))
    })
}

impl Evaluator for StrictEvaluator {
    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn condition(&self, condition: &Condition, scope: &dyn Scope) -> Result<bool, Failure> {
        self.0.condition(condition, scope)
    }

    fn arguments(
        &self,
        call: &Call,
        tool: &BoundTool,
        scope: &dyn Scope,
    ) -> Result<Value, Failure> {
        refuse(&call.arguments, scope)?;
        self.0.arguments(call, tool, scope)
    }

    fn misfit(&self, tool: &BoundTool, arguments: &Value) -> Option<String> {
        self.0.misfit(tool, arguments)
    }

    fn items(&self, each: &Each, scope: &dyn Scope) -> Result<Vec<Value>, Failure> {
        self.0.items(each, scope)
    }

    fn transform(
        &self,
        program: &JqProgram,
        result: &Value,
        payload: &Value,
    ) -> Result<Value, Failure> {
        self.0.transform(program, result, payload)
    }

    fn message(&self, message: &Expression, scope: &dyn Scope) -> Result<String, Failure> {
        self.0.message(message, scope)
    }

    fn answer(
        &self,
        schema: Option<&Value>,
        content: Option<Value>,
    ) -> Result<Option<Value>, String> {
        self.0.answer(schema, content)
    }

    fn properties(
        &self,
        output: &OutputProperties,
        scope: &dyn Scope,
        absent: Absent,
    ) -> Result<Produced, Failure> {
        self.0.properties(output, scope, absent)
    }

    fn filled(
        &self,
        what: &str,
        template: &ValueTemplate,
        scope: &dyn Scope,
    ) -> Result<Value, Failure> {
        // The output of a run may be that of a node without one.
        if what == "arguments" {
            refuse(template, scope)?;
        }
        self.0.filled(what, template, scope)
    }
}
