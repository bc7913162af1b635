//! A derived tool against the tool it is derived from: what is hidden must be an argument of it, and what is read
//! must be an input that is left.

use super::arguments::no_argument;
use super::{Bound, schema};
use crate::builder::{Declared, undeclared_parameter};
use crate::derive::Derives;
use crate::expression::Target;
use crate::reads::Read;
use onecall_source::{Diagnostic, Diagnostics, codes};

/// The workflow has its inputs written out, so an input that it reads is one of them or is no argument at all.
pub(super) fn check(bound: &Bound<'_>, reads: &[Read<'_>], diagnostics: &mut Diagnostics) {
    let Some(derives) = &bound.workflow.derives else {
        return;
    };
    let Some(input) = bound.known().find_map(|(_, tool)| tool.input_schema()) else {
        return;
    };
    for name in &derives.hidden {
        diagnostics.extend(hidden(derives, name, input));
    }
    for read in reads {
        if let Target::Input { segments } = &read.reference.target {
            let declared = Declared {
                inputs: &bound.workflow.inputs,
                place: None,
                key: "inputs",
            };
            diagnostics.extend(undeclared_parameter(declared, read, segments));
        }
    }
}

fn hidden(derives: &Derives, name: &str, input: &serde_json::Value) -> Option<Diagnostic> {
    let place = derives.hidden_places.get(name)?;
    match schema::property(input, input, name) {
        schema::Property::Declared(_) | schema::Property::Unknown => None,
        schema::Property::Allowed | schema::Property::Forbidden => {
            let message = format!("`{name}` is hidden, but the tool takes no such argument");
            let diagnostic = Diagnostic::error(codes::UNKNOWN_ARGUMENT, message)
                .label(place, "unknown argument");
            Some(no_argument(diagnostic, name, input))
        }
    }
}
