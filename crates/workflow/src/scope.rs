//! What an expression can see of a run. The engine implements it over its state; nothing is copied to build it.

use crate::limits::Bounds;
use serde_json::Value;

/// The outside of every expression: parameters, earlier steps, the current loop item, the run.
pub trait Scope {
    fn input(&self) -> &Value;
    fn step(&self, name: &str) -> Option<StepView<'_>>;
    /// All step names in declared order.
    fn step_names(&self) -> Vec<&str>;
    fn run(&self) -> RunView<'_>;
    /// The current item, inside the body of a loop.
    fn item(&self) -> Option<ItemView<'_>>;
    /// What the expression may use.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct StepView<'a> {
    pub status: &'static str,
    pub output: Option<&'a Value>,
    /// The tool result as the backend sent it, where the step is a call that returned.
    pub result: Option<&'a Value>,
    pub error: Option<&'a str>,
    pub failure: Option<&'a Value>,
}

#[derive(Clone, Copy, Debug)]
pub struct ItemView<'a> {
    pub name: &'a str,
    pub value: &'a Value,
    pub index: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub status: &'static str,
    /// RFC 3339.
    pub started: &'a str,
    pub duration_ms: u64,
    pub step_count: u64,
}
