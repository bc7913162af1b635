//! One run of a jq program: its budget, its one result, and what its end means.

use super::budget::{self, Spent};
use super::compile::{Compiled, Counted, Terms};
use super::value::Val;
use crate::evaluate::{Fault, FaultKind};
use crate::limits::{Bounds, JQ_DEPTH_MAX, JQ_MEMORY_BYTES_MAX};
use jaq_core::{Ctx, Vars};
use serde_json::Value;

/// The one result of a program over the value that `input` makes.
pub(super) fn run(
    compiled: &Compiled,
    input: impl FnOnce() -> Val,
    bounds: Bounds,
) -> Result<Value, Fault> {
    budget::within(bounds.jq_steps(), || {
        let input = input();
        budget::inputs_are_held();
        result(compiled, input)
    })
    .unwrap_or_else(|spent| Err(spent_fault(spent, bounds)))
}

fn result(compiled: &Compiled, input: Val) -> Result<Value, Fault> {
    let context = Ctx::<Counted>::new(Terms(&compiled.lut), Vars::new([]));
    let mut results = compiled.id.run((context, input)).map(|result| {
        result.map_err(|exception| match exception.get_err() {
            Ok(error) => error.into_val().into_message(),
            Err(_) => "it was left by a jump".to_owned(),
        })
    });
    let first = match results.next() {
        None => return Err(failed("gave no result; exactly one is needed")),
        Some(Err(message)) => return Err(failed(&format!("failed: {message}"))),
        Some(Ok(first)) => first,
    };
    match results.next() {
        None => {}
        Some(Err(message)) => return Err(failed(&format!("failed: {message}"))),
        Some(Ok(_)) => return Err(failed("gave more than one result; exactly one is needed")),
    }
    first
        .to_json()
        .ok_or_else(|| failed("gave a number that JSON cannot hold"))
}

fn failed(what: &str) -> Fault {
    Fault::new(FaultKind::Failed, format!("the jq program {what}"))
}

fn spent_fault(spent: Spent, bounds: Bounds) -> Fault {
    let what = match spent {
        Spent::Steps => format!("takes more than {} steps", bounds.jq_steps()),
        Spent::Memory => format!("holds more than {JQ_MEMORY_BYTES_MAX} bytes"),
        Spent::Depth => format!("nests a value more than {JQ_DEPTH_MAX} deep"),
        Spent::Stack => "calls itself too deeply".to_owned(),
    };
    Fault::new(FaultKind::Limit, format!("the jq program {what}"))
}
