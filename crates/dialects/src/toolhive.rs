//! The ToolHive dialect: one composite tool, inline or as a resource, becomes one workflow.
//! Configuration around it (backends, aggregation, authentication) is read by `config`.

mod expressions;
mod lower;
mod portability;
mod syntax;

pub use crate::duration::{parse as parse_duration, read as read_duration};
pub use expressions::FUNCTIONS;
pub use lower::name_faults;
pub use portability::portability;
pub use syntax::read_annotations;

use onecall_source::{Diagnostics, Node};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::GoOptions;
use std::collections::BTreeMap;

/// How a composite tool is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub go: GoOptions,
    pub home: Home,
    /// Labels and annotations of the resource around it.
    pub labels: BTreeMap<String, String>,
    pub version: Option<String>,
    /// Steps of one composite tool, where the configuration says another number.
    pub steps_max: Option<usize>,
}

/// Where the composite tool stands; names are held to the guide's pattern in resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    #[default]
    Config,
    Resource,
}

/// One composite tool: its definition in a configuration, or the `spec` of a definition resource.
pub fn read(node: &Node, options: &Options, diagnostics: &mut Diagnostics) -> Option<Built> {
    let before = diagnostics.error_count();
    let tool = syntax::CompositeTool::read(node, diagnostics)?;
    let built = lower::composite_tool(&tool, options, diagnostics).finish(diagnostics);
    Some(built.only_if(diagnostics.error_count() == before))
}

#[cfg(test)]
mod tests;
