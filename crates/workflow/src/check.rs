//! The rules that need the tool catalog, one file a rule. They run on publishing, and again when the
//! catalog changes; what a backend has not told yet is not held against a workflow.

mod annotations;
mod arguments;
mod defaults;
mod derived;
mod fields;
mod hidden;
mod parallel;
pub(crate) mod schema;
mod tools;
mod unusable;
mod unused;

pub(crate) use fields::no_field;
pub use hidden::hidden_characters;
pub use parallel::check_parallel;

use crate::catalog::{Catalog, CatalogTool, Resolution};
use crate::derive;
use crate::reads;
use crate::step::Step;
use crate::workflow::Workflow;
use onecall_source::Diagnostics;

/// Everything about a workflow that does not fit the tools there are.
pub fn check(workflow: &Workflow, catalog: &Catalog) -> Diagnostics {
    let workflow = &*derive::resolve(workflow, catalog);
    let mut diagnostics = check_calls(workflow, catalog);
    let reads = reads::of(&workflow.steps, &workflow.output);
    unused::check(&Bound::new(workflow, catalog), &reads, &mut diagnostics);
    diagnostics.sort();
    diagnostics
}

/// As much of a workflow with faults. Whether a step is used is not known while templates cannot be read.
pub(crate) fn check_draft(workflow: &Workflow, catalog: &Catalog) -> Diagnostics {
    let mut diagnostics = check_calls(&derive::resolve(workflow, catalog), catalog);
    diagnostics.sort();
    diagnostics
}

fn check_calls(workflow: &Workflow, catalog: &Catalog) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let bound = Bound::new(workflow, catalog);
    tools::check(&bound, catalog, &mut diagnostics);
    unusable::check(&bound, catalog, &mut diagnostics);
    arguments::check(&bound, &mut diagnostics);
    let reads = reads::of(&workflow.steps, &workflow.output);
    derived::check(&bound, &reads, &mut diagnostics);
    fields::check(&bound, &reads, &mut diagnostics);
    defaults::check(&bound, &mut diagnostics);
    annotations::check(&bound, &mut diagnostics);
    diagnostics
}

/// A workflow with the tool of each step, where it is known.
pub(crate) struct Bound<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) tools: Vec<Option<&'a CatalogTool>>,
}

impl<'a> Bound<'a> {
    fn new(workflow: &'a Workflow, catalog: &'a Catalog) -> Self {
        let found = |step: &Step| match catalog.resolve(step.call()?.tool.as_str()) {
            Resolution::Found(tool) => Some(tool),
            Resolution::NotYetKnown | Resolution::Absent => None,
        };
        let tools = workflow.steps.iter().map(found).collect();
        Self { workflow, tools }
    }

    /// Steps whose tool is known.
    pub(crate) fn known(&self) -> impl Iterator<Item = (&'a Step, &'a CatalogTool)> {
        let steps = self.workflow.steps.iter().zip(&self.tools);
        steps.filter_map(|(step, tool)| Some((step, (*tool)?)))
    }
}
