//! Policies of workflow files: time, failure, retry, budgets, and what a run does as a whole.

use super::duration;
use crate::failures;
use onecall_source::{Diagnostic, Diagnostics, Fields, NodeKind, Spanned, codes};
use onecall_workflow::policy::{
    AllFailed, AnyFailed, Budget, Durability, OnDisconnect, OnError, Refusal, Retry, RetryOn, Run,
    RunTimeout, SkippedNeed, Then, WhileAsking,
};
use onecall_workflow::workflow::Annotations;
use std::time::Duration;

/// The first wait before another attempt.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Attempts after the first, at most.
const RETRIES_MAX: i64 = 100;

pub(super) fn run(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Run {
    let all_failed = fields.optional_choice("all_failed", &["completes", "fails"], diagnostics);
    let any_failed = fields.optional_choice("any_failed", &["completes", "is_error"], diagnostics);
    let choices = ["none", "async", "sync"];
    let durability = fields.optional_choice("durability", &choices, diagnostics);
    let on_disconnect =
        fields.optional_choice("on_disconnect", &["cancel", "continue"], diagnostics);
    let parallel = fields.optional_integer("parallel", 1..=10_000, diagnostics);
    Run {
        timeout: run_timeout(fields, diagnostics),
        steps_parallel_max: parallel.and_then(|most| u32::try_from(most.value).ok()),
        all_failed: match all_failed.map(|stated| stated.value) {
            Some("fails") => AllFailed::Fails,
            _ => AllFailed::Completes,
        },
        any_failed: match any_failed.map(|stated| stated.value) {
            Some("is_error") => AnyFailed::IsError,
            _ => AnyFailed::Completes,
        },
        durability: durability.map(|stated| match stated.value {
            "none" => Durability::None,
            "sync" => Durability::Sync,
            _ => Durability::Async,
        }),
        on_disconnect: match on_disconnect.map(|stated| stated.value) {
            Some("continue") => OnDisconnect::Continue,
            _ => OnDisconnect::Cancel,
        },
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
    let asking = own.optional_choice("while_asking", &["ticks", "stands"], diagnostics);
    own.finish(diagnostics);
    Some(RunTimeout {
        limit: limit?,
        while_asking: match asking.map(|stated| stated.value) {
            Some("stands") => WhileAsking::Stands,
            _ => WhileAsking::Ticks,
        },
    })
}

fn budget(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Budget {
    let mut count = |fields: &mut Fields<'_>, key| {
        let stated = fields.optional_integer(key, 0..=i64::MAX, diagnostics)?;
        u64::try_from(stated.value).ok()
    };
    let (calls, tokens) = (count(&mut fields, "calls"), count(&mut fields, "tokens"));
    let cost = fields.optional_number("cost_usd", diagnostics);
    let budget = Budget {
        calls,
        tokens,
        cost_usd: cost.and_then(|cost| cost.value.as_f64()),
        time: duration(&mut fields, "time", diagnostics),
    };
    fields.finish(diagnostics);
    budget
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
    let stated = fields.optional_choice("on_error", &["abort", "continue"], diagnostics);
    match stated.map(|stated| stated.value) {
        Some("continue") => Then::Continue,
        _ => Then::Abort,
    }
}

/// `3`, or `{times: 3, delay: 2s, on: [transport]}`.
pub(super) fn retry(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Retry> {
    let node = fields.node().get("retry");
    if node.is_some_and(|node| matches!(node.kind, NodeKind::Number(_))) {
        let times = fields.optional_integer("retry", 1..=RETRIES_MAX, diagnostics)?;
        return Some(Retry {
            times: whole(&times),
            delay: RETRY_DELAY,
            on: RetryOn::Retryable,
        });
    }
    let mut own = fields.optional_fields("retry", diagnostics)?;
    let times = own.optional_integer("times", 1..=RETRIES_MAX, diagnostics);
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

fn whole(stated: &Spanned<i64>) -> u32 {
    u32::try_from(stated.value).unwrap_or(u32::MAX)
}

pub(super) fn after_skip(fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> SkippedNeed {
    let choices = ["skip", "run", "skip_after_failure"];
    let stated = fields.optional_choice("after_skip", &choices, diagnostics);
    match stated.map(|stated| stated.value) {
        Some("run") => SkippedNeed::Runs,
        Some("skip_after_failure") => SkippedNeed::SkipsAfterFailure,
        _ => SkippedNeed::Skips,
    }
}

pub(super) fn refusal(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Refusal {
    let choices = ["fail", "continue", "skip_remaining"];
    let stated = fields.optional_choice(key, &choices, diagnostics);
    match stated.map(|stated| stated.value) {
        Some("continue") => Refusal::Continues,
        Some("skip_remaining") => Refusal::SkipsRemaining,
        _ => Refusal::Fails,
    }
}
