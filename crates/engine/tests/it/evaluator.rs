//! An evaluator that looks at the scope of every call and is content with everything.

use onecall_engine::evaluate::Evaluator;
use onecall_engine::failure::Failure;
use onecall_workflow::expression::{Expression, JqProgram, ValueTemplate};
use onecall_workflow::output::{Absent, Produced};
use onecall_workflow::plan::BoundTool;
use onecall_workflow::scope::Scope;
use onecall_workflow::step::{Call, Condition, Each};
use onecall_workflow::workflow::OutputProperties;
use serde_json::{Value, json};
use std::fmt;

/// What it does before it gives the arguments of a call.
pub(crate) struct Arguments<F>(pub(crate) F);

impl<F> fmt::Debug for Arguments<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Arguments")
    }
}

impl<F: Fn(&dyn Scope) + Send + Sync> Evaluator for Arguments<F> {
    fn condition(&self, _: &Condition, _: &dyn Scope) -> Result<bool, Failure> {
        Ok(true)
    }
    fn arguments(
        &self,
        _: &Call,
        _: Option<&BoundTool>,
        scope: &dyn Scope,
    ) -> Result<Value, Failure> {
        (self.0)(scope);
        Ok(json!({}))
    }
    fn misfit(&self, _: &BoundTool, _: &Value) -> Option<String> {
        None
    }
    fn items(&self, _: &Each, _: &dyn Scope) -> Result<Vec<Value>, Failure> {
        Ok(Vec::new())
    }
    fn transform(&self, _: &JqProgram, _: &Value, _: &Value) -> Result<Value, Failure> {
        Ok(Value::Null)
    }
    fn message(&self, _: &Expression, _: &dyn Scope) -> Result<String, Failure> {
        Ok(String::new())
    }
    fn answer(&self, _: Option<&Value>, content: Option<Value>) -> Result<Option<Value>, String> {
        Ok(content)
    }
    fn properties(
        &self,
        _: &OutputProperties,
        _: &dyn Scope,
        _: Absent,
    ) -> Result<Produced, Failure> {
        Ok(Produced::default())
    }
    fn filled(&self, _: &str, _: &ValueTemplate, _: &dyn Scope) -> Result<Value, Failure> {
        Ok(Value::Null)
    }
}
