//! Policies of workflow files: time, failure, retry, budgets, and what a run does as a whole.

use super::duration;
use crate::failures;
use crate::limits::NATIVE_RETRIES_MAX;
use crate::words::{
    ALL_FAILED, ANY_FAILED, DURABILITY, ON_DISCONNECT, ON_ERROR, WHILE_ASKING, Word, stated,
};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Spanned, codes};
use onecall_workflow::policy::{
    AllFailed, AnyFailed, Budget, CallBudget, OnDisconnect, OnError, Refusal, Retry, RetryOn, Run,
    RunTimeout, SkippedNeed, Then, WhileAsking,
};
use onecall_workflow::workflow::Annotations;
use std::time::Duration;

/// The first wait before another attempt.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const AFTER_SKIP: [Word<SkippedNeed>; 3] = [
    ("skip", SkippedNeed::Skips),
    ("run", SkippedNeed::Runs),
    ("skip_after_failure", SkippedNeed::SkipsAfterFailure),
];

const REFUSAL: [Word<Refusal>; 3] = [
    ("fail", Refusal::Fails),
    ("continue", Refusal::Continues),
    ("skip_remaining", Refusal::SkipsRemaining),
];

pub(super) fn run(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Run {
    let all_failed = stated(fields, "all_failed", &ALL_FAILED, diagnostics);
    let any_failed = stated(fields, "any_failed", &ANY_FAILED, diagnostics);
    let on_disconnect = stated(fields, "on_disconnect", &ON_DISCONNECT, diagnostics);
    let parallel = fields.optional_integer("parallel", 1..=10_000, diagnostics);
    Run {
        timeout: run_timeout(fields, diagnostics),
        steps_parallel_max: parallel.and_then(|most| u32::try_from(most.value).ok()),
        all_failed: all_failed.unwrap_or(AllFailed::Completes),
        any_failed: any_failed.unwrap_or(AnyFailed::Completes),
        durability: stated(fields, "durability", &DURABILITY, diagnostics),
        on_disconnect: on_disconnect.unwrap_or(OnDisconnect::Cancel),
        budget: fields
            .optional_fields("budget", diagnostics)
            .map(|fields| budget(fields, diagnostics)),
    }
}

/// `10m`, or `{limit: 30m, while_asking: stands}`.
fn run_timeout(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<RunTimeout> {
    let is_mapping = matches!(
        fields.node().get("timeout").map(|node| &node.kind),
        Some(NodeKind::Mapping(_))
    );
    if !is_mapping {
        return duration(fields, "timeout", diagnostics).map(|limit| RunTimeout {
            limit,
            while_asking: WhileAsking::Ticks,
        });
    }
    let mut own = fields.optional_fields("timeout", diagnostics)?;
    let limit = duration(&mut own, "limit", diagnostics);
    let asking = stated(&mut own, "while_asking", &WHILE_ASKING, diagnostics);
    own.finish(diagnostics);
    Some(RunTimeout {
        limit: limit?,
        while_asking: asking.unwrap_or(WhileAsking::Ticks),
    })
}

fn budget(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Budget {
    let mut count = |fields: &mut Fields<'_>, key| {
        let stated = fields.optional_integer(key, 0..=i64::MAX, diagnostics)?;
        u64::try_from(stated.value).ok()
    };
    let (calls, tokens) = (count(&mut fields, "calls"), count(&mut fields, "tokens"));
    let cost = fields.optional_amount("cost_usd", diagnostics);
    let budget = Budget {
        calls,
        tokens,
        cost_usd: cost.map(|cost| cost.value),
        time: duration(&mut fields, "time", diagnostics),
    };
    fields.finish(diagnostics);
    budget
}

pub(super) fn call_budget(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> CallBudget {
    let cost = fields.optional_amount("cost_usd", diagnostics);
    let tokens = fields.optional_integer("tokens", 0..=i64::MAX, diagnostics);
    fields.finish(diagnostics);
    CallBudget {
        cost_usd: cost.map(|cost| cost.value),
        tokens: tokens.and_then(|tokens| u64::try_from(tokens.value).ok()),
    }
}

pub(super) fn annotations(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Annotations {
    let mut hint = |fields: &mut Fields<'_>, key| {
        fields
            .optional_bool(key, diagnostics)
            .map(|hint| hint.value)
    };
    let annotations = Annotations {
        read_only: hint(&mut fields, "read_only"),
        destructive: hint(&mut fields, "destructive"),
        idempotent: hint(&mut fields, "idempotent"),
        open_world: hint(&mut fields, "open_world"),
        title: fields
            .optional_string("title", diagnostics)
            .map(ToString::to_string),
    };
    fields.finish(diagnostics);
    annotations
}

/// `on_error: continue` and `retry: {times, delay, on}`.
pub(super) fn on_error(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> OnError {
    OnError {
        then: then(fields, diagnostics),
        retry: retry(fields, diagnostics),
    }
}

pub(super) fn then(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Then {
    stated(fields, "on_error", &ON_ERROR, diagnostics).unwrap_or(Then::Abort)
}

/// `3`, or `{times: 3, delay: 2s, on: [transport]}`.
pub(super) fn retry(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Retry> {
    let node = fields.node().get("retry");
    if node.is_some_and(|node| matches!(node.kind, NodeKind::Number(_))) {
        let times = fields.optional_integer("retry", 1..=NATIVE_RETRIES_MAX, diagnostics)?;
        return Some(Retry {
            times: whole(&times),
            delay: RETRY_DELAY,
            on: RetryOn::Retryable,
        });
    }
    if let Some(node) = node.filter(|node| !node.is_null() && node.as_mapping().is_none()) {
        diagnostics.push(not_a_retry(node));
        fields.optional("retry");
        return None;
    }
    let mut own = fields.optional_fields("retry", diagnostics)?;
    let times = own.optional_integer("times", 1..=NATIVE_RETRIES_MAX, diagnostics);
    let delay = duration(&mut own, "delay", diagnostics);
    let on = own.string_sequence("on", diagnostics);
    let has_on = own.has("on");
    for text in &on {
        diagnostics.extend(failures::unknown("on", text));
    }
    if times.is_none() && !own.has("times") {
        diagnostics.push(
            Diagnostic::error(codes::RETRY_COUNT, "a retry needs `times`")
                .label(own.place(), "retried how often?")
                .help("add `times: 3`"),
        );
    }
    own.finish(diagnostics);
    Some(Retry {
        times: times.as_ref().map_or(1, whole),
        delay: delay.unwrap_or(RETRY_DELAY),
        on: if has_on {
            RetryOn::Listed(on.iter().map(ToString::to_string).collect())
        } else {
            RetryOn::Retryable
        },
    })
}

fn not_a_retry(node: &Node) -> Diagnostic {
    let message = "`retry` must be a number or a mapping";
    let fault = Diagnostic::error(codes::WRONG_TYPE, message).label(&node.place, "neither of them");
    let times = node.as_text().and_then(|text| text.trim().parse().ok());
    let times: u32 = times.unwrap_or(3);
    fault.help(format!(
        "write `retry: {times}`, or `retry: {{times: {times}, delay: 2s}}`"
    ))
}

fn whole(stated: &Spanned<i64>) -> u32 {
    u32::try_from(stated.value).unwrap_or(u32::MAX)
}

pub(super) fn after_skip(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> SkippedNeed {
    stated(fields, "after_skip", &AFTER_SKIP, diagnostics).unwrap_or(SkippedNeed::Skips)
}

pub(super) fn refusal(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Refusal {
    stated(fields, key, &REFUSAL, diagnostics).unwrap_or(Refusal::Fails)
}
