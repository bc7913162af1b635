//! Faults of nested outputs that every dialect with typed outputs tells alike.

use onecall_source::{Diagnostic, Node, Text, codes};
use onecall_workflow::limits::OUTPUT_DEPTH_MAX;

/// `what` is what the dialect calls an output.
pub(crate) fn too_deep(what: &str, node: &Node) -> Diagnostic {
    let message = format!("{what} are nested more than {OUTPUT_DEPTH_MAX} deep");
    Diagnostic::error(codes::OUTPUT_DEPTH, message)
        .label(&node.place, "too deep")
        .help("give an outer one a `value` that is the whole object")
}

pub(crate) fn two_sources(what: &str, name: &Text, below: &Node) -> Diagnostic {
    let message = format!("{what} `{name}` has both `value` and `properties`");
    Diagnostic::error(codes::OUTPUT_SHAPE, message)
        .label(name.place(), "only one of them can give the value")
        .secondary(&below.place, "the properties")
        .help("remove one of them")
}
