//! Policies spelled out: the key `policy` of a composition or a node, which mcptest does not have. It replaces what the
//! dialect implies, so that a composition can mean exactly what a workflow of another dialect means.

use crate::duration;
use onecall_source::{Diagnostics, Fields};
use onecall_workflow::builder::Builder;
use onecall_workflow::policy::{
    AllFailed, AnyFailed, Durability, OnDisconnect, Retry, RetryOn, Run, RunTimeout, SkippedNeed,
    Then, WhileAsking,
};
use onecall_workflow::step::{Action, Call, Each, Reading, Shape, Step, Truth};
use onecall_workflow::workflow::Output;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Limit: a number of steps or items.
const COUNTS: RangeInclusive<i64> = 1..=u32::MAX as i64;

/// Replaces policies of a run.
pub(super) fn of_run(mut fields: Fields<'_>, builder: &mut Builder, diagnostics: &mut Diagnostics) {
    let policy = &mut builder.policy;
    run_timeout(&mut fields, policy, diagnostics);
    if let Some(node) = fields.optional("parallel") {
        let is_unlimited = node.as_text().is_some_and(|text| *text == *"unlimited");
        let stated = (!is_unlimited)
            .then(|| node.expect_integer("parallel", COUNTS, diagnostics))
            .flatten();
        policy.steps_parallel_max = stated.and_then(|value| u32::try_from(value).ok());
    }
    let all = [
        ("completes", AllFailed::Completes),
        ("fails", AllFailed::Fails),
    ];
    replace(
        &mut policy.all_failed,
        &mut fields,
        "all_failed",
        &all,
        diagnostics,
    );
    let any = [
        ("completes", AnyFailed::Completes),
        ("is_error", AnyFailed::IsError),
    ];
    replace(
        &mut policy.any_failed,
        &mut fields,
        "any_failed",
        &any,
        diagnostics,
    );
    let durabilities = [
        ("none", Some(Durability::None)),
        ("async", Some(Durability::Async)),
        ("sync", Some(Durability::Sync)),
    ];
    replace(
        &mut policy.durability,
        &mut fields,
        "durability",
        &durabilities,
        diagnostics,
    );
    let leaving = [
        ("cancel", OnDisconnect::Cancel),
        ("continue", OnDisconnect::Continue),
    ];
    replace(
        &mut policy.on_disconnect,
        &mut fields,
        "on_disconnect",
        &leaving,
        diagnostics,
    );
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
    let asking = [
        ("ticks", WhileAsking::Ticks),
        ("stands", WhileAsking::Stands),
    ];
    if let Some(timeout) = &mut policy.timeout {
        replace(
            &mut timeout.while_asking,
            fields,
            "while_asking",
            &asking,
            diagnostics,
        );
    }
}

/// Replaces policies of a step; `item` holds those of the step inside of a loop.
pub(super) fn of_step(mut fields: Fields<'_>, step: &mut Step, diagnostics: &mut Diagnostics) {
    if let Some(timeout) = timeout(&mut fields, diagnostics) {
        step.timeout = timeout;
    }
    let thens = [("abort", Then::Abort), ("continue", Then::Continue)];
    replace(
        &mut step.on_error.then,
        &mut fields,
        "on_error",
        &thens,
        diagnostics,
    );
    if let Some(own) = fields.optional_fields("retry", diagnostics) {
        step.on_error.retry = retry(own, diagnostics);
    }
    let needs = [
        ("runs", SkippedNeed::Runs),
        ("skips", SkippedNeed::Skips),
        ("skips_after_failure", SkippedNeed::SkipsAfterFailure),
    ];
    replace(
        &mut step.skipped_need,
        &mut fields,
        "skipped_need",
        &needs,
        diagnostics,
    );
    if let Some(entry) = fields.entry("default") {
        step.default = Some(entry.value.to_json());
    }
    let truths = [("words", Truth::Words), ("jq", Truth::Jq)];
    if let Some(condition) = &mut step.when {
        replace(
            &mut condition.truth,
            &mut fields,
            "truth",
            &truths,
            diagnostics,
        );
    }
    match &mut step.action {
        Action::Call(call) => of_call(&mut fields, call, diagnostics),
        Action::Each(each) => of_loop(&mut fields, each, diagnostics),
        Action::Ask(_) => {}
    }
    fields.finish(diagnostics);
}

fn of_call(fields: &mut Fields<'_>, call: &mut Call, diagnostics: &mut Diagnostics) {
    let readings = [
        ("content_map", Reading::ContentMap),
        ("payload", Reading::Payload),
    ];
    replace(&mut call.reading, fields, "reading", &readings, diagnostics);
    if let Some(idempotent) = fields.optional_bool("idempotent", diagnostics) {
        call.idempotent = idempotent.value;
    }
}

fn of_loop(fields: &mut Fields<'_>, each: &mut Each, diagnostics: &mut Diagnostics) {
    let shapes = [("report", Shape::Report), ("list", Shape::Plain)];
    replace(&mut each.output, fields, "output", &shapes, diagnostics);
    let ends = [("ends_loop", true), ("by_on_error", false)];
    replace(
        &mut each.ends_at_failure,
        fields,
        "failed_item",
        &ends,
        diagnostics,
    );
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

/// Puts what a word stands for in place of a policy, where the key is given.
fn replace<T: Copy>(
    policy: &mut T,
    fields: &mut Fields<'_>,
    key: &'static str,
    words: &[(&'static str, T)],
    diagnostics: &mut Diagnostics,
) {
    let choices: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
    let stated = fields.optional_choice(key, &choices, diagnostics);
    let meant = stated.and_then(|stated| words.iter().find(|(word, _)| *word == stated.value));
    if let Some((_, meant)) = meant {
        *policy = *meant;
    }
}
