//! Policies spelled out: the key `policy` of a composition or a node, which mcptest does not have. It replaces what the
//! dialect implies, so that a composition can mean exactly what a workflow of another dialect means.

use crate::duration;
use crate::words::{
    ALL_FAILED, ANY_FAILED, DURABILITY, FAILED_ITEM, MISSING, ON_DISCONNECT, ON_ERROR, READING,
    TRUTH, WHILE_ASKING, Word, stated,
};
use onecall_source::{Diagnostics, Fields};
use onecall_workflow::builder::Builder;
use onecall_workflow::policy::{Retry, RetryOn, Run, RunTimeout, SkippedNeed, WhileAsking};
use onecall_workflow::step::{Action, Call, Each, Shape, Step};
use onecall_workflow::workflow::Output;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Limit: a number of steps or items.
const COUNTS: RangeInclusive<i64> = 1..=u32::MAX as i64;

const SKIPPED_NEED: [Word<SkippedNeed>; 3] = [
    ("runs", SkippedNeed::Runs),
    ("skips", SkippedNeed::Skips),
    ("skips_after_failure", SkippedNeed::SkipsAfterFailure),
];

const LOOP_OUTPUT: [Word<Shape>; 2] = [("report", Shape::Report), ("list", Shape::Plain)];

/// Replaces policies of a run.
pub(super) fn of_run(mut fields: Fields<'_>, builder: &mut Builder, diagnostics: &mut Diagnostics) {
    let policy = &mut builder.policy;
    run_timeout(&mut fields, policy, diagnostics);
    if let Some(node) = fields.optional("parallel") {
        let is_unlimited = node.as_text().is_some_and(|text| *text == *"unlimited");
        let most = (!is_unlimited)
            .then(|| node.expect_integer("parallel", COUNTS, diagnostics))
            .flatten();
        policy.steps_parallel_max = most.and_then(|value| u32::try_from(value).ok());
    }
    let all_failed = stated(&mut fields, "all_failed", &ALL_FAILED, diagnostics);
    set(&mut policy.all_failed, all_failed);
    let any_failed = stated(&mut fields, "any_failed", &ANY_FAILED, diagnostics);
    set(&mut policy.any_failed, any_failed);
    let durability = stated(&mut fields, "durability", &DURABILITY, diagnostics);
    set(&mut policy.durability, durability.map(Some));
    let leaving = stated(&mut fields, "on_disconnect", &ON_DISCONNECT, diagnostics);
    set(&mut policy.on_disconnect, leaving);
    let outputs = ["last_completed", "last_in_order"];
    if let Some(output) = fields.optional_choice("output", &outputs, diagnostics) {
        builder.output = match output.value {
            "last_completed" => Output::LastCompleted,
            _ => Output::LastInOrder,
        };
    }
    fields.finish(diagnostics);
}

fn run_timeout(fields: &mut Fields<'_>, policy: &mut Run, diagnostics: &mut Diagnostics) {
    if let Some(timeout) = timeout(fields, diagnostics) {
        policy.timeout = timeout.map(|limit| RunTimeout {
            limit,
            while_asking: WhileAsking::Ticks,
        });
    }
    if let Some(timeout) = &mut policy.timeout {
        let asking = stated(fields, "while_asking", &WHILE_ASKING, diagnostics);
        set(&mut timeout.while_asking, asking);
    }
}

/// Replaces policies of a step; `item` holds those of the step inside of a loop.
pub(super) fn of_step(mut fields: Fields<'_>, step: &mut Step, diagnostics: &mut Diagnostics) {
    if let Some(timeout) = timeout(&mut fields, diagnostics) {
        step.timeout = timeout;
    }
    let then = stated(&mut fields, "on_error", &ON_ERROR, diagnostics);
    set(&mut step.on_error.then, then);
    if let Some(own) = fields.optional_fields("retry", diagnostics) {
        step.on_error.retry = retry(own, diagnostics);
    }
    let skipped_need = stated(&mut fields, "skipped_need", &SKIPPED_NEED, diagnostics);
    set(&mut step.skipped_need, skipped_need);
    if let Some(entry) = fields.entry("default") {
        step.default = Some(entry.value.to_json());
    }
    if let Some(condition) = &mut step.when {
        let truth = stated(&mut fields, "truth", &TRUTH, diagnostics);
        set(&mut condition.truth, truth);
    }
    match &mut step.action {
        Action::Call(call) => of_call(&mut fields, call, diagnostics),
        Action::Each(each) => of_loop(&mut fields, each, diagnostics),
        Action::Ask(_) => {}
    }
    fields.finish(diagnostics);
}

fn of_call(fields: &mut Fields<'_>, call: &mut Call, diagnostics: &mut Diagnostics) {
    let reading = stated(fields, "reading", &READING, diagnostics);
    set(&mut call.reading, reading);
    let missing = stated(fields, "missing", &MISSING, diagnostics);
    set(&mut call.missing, missing);
    if let Some(idempotent) = fields.optional_bool("idempotent", diagnostics) {
        call.idempotent = idempotent.value;
    }
}

fn of_loop(fields: &mut Fields<'_>, each: &mut Each, diagnostics: &mut Diagnostics) {
    let output = stated(fields, "output", &LOOP_OUTPUT, diagnostics);
    set(&mut each.output, output);
    let ends = stated(fields, "failed_item", &FAILED_ITEM, diagnostics);
    set(&mut each.ends_at_failure, ends);
    if let Some(item) = fields.optional_fields("item", diagnostics) {
        of_step(item, &mut each.body, diagnostics);
    }
}

fn retry(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Retry> {
    fields.required("times", diagnostics);
    let times = fields.optional_integer("times", 1..=10, diagnostics);
    let delay = duration::read(&mut fields, "delay", diagnostics);
    let is_listed = fields.has("on");
    let on = fields.string_sequence("on", diagnostics);
    fields.finish(diagnostics);
    let on = if is_listed {
        RetryOn::Listed(on.iter().map(ToString::to_string).collect())
    } else {
        RetryOn::Retryable
    };
    Some(Retry {
        times: u32::try_from(times?.value).ok()?,
        delay: delay.map_or(Duration::from_secs(1), |delay| delay.value),
        on,
    })
}

/// A duration, or `none`.
#[expect(
    clippy::option_option,
    reason = "not stated, stated as none, and stated are three things"
)]
fn timeout(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Option<Duration>> {
    let text = fields.optional("timeout")?.as_text();
    if text.is_some_and(|text| *text == *"none") {
        return Some(None);
    }
    let stated = duration::read(fields, "timeout", diagnostics)?;
    Some(Some(stated.value))
}

/// Puts what is stated in place of a policy.
fn set<T>(policy: &mut T, stated: Option<T>) {
    if let Some(stated) = stated {
        *policy = stated;
    }
}
