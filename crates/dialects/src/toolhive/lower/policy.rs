//! What happens when a step fails: `onError`, with retries.

use super::super::syntax::OnError as Written;
use crate::failures;
use crate::limits::{TOOLHIVE_RETRIES_MAX, TOOLHIVE_RETRY_DELAY};
use onecall_source::{Diagnostic, Diagnostics, Spanned, codes};
use onecall_workflow::policy::{OnError, Retry, RetryOn, Then};

/// A step that states nothing follows `failureMode`; one that states `onError` follows that.
pub(super) fn on_error(
    written: Option<&Written<'_>>,
    mode_continues: bool,
    diagnostics: &mut Diagnostics,
) -> OnError {
    let Some(written) = written else {
        return if mode_continues {
            OnError::CONTINUE
        } else {
            OnError::ABORT
        };
    };
    let action = written
        .action
        .as_ref()
        .map_or("abort", |action| action.value);
    if action != "retry" {
        report_idle(written, action, diagnostics);
        return if action == "continue" {
            OnError::CONTINUE
        } else {
            OnError::ABORT
        };
    }
    let then = match &written.then {
        Some(then) if then.value == "continue" => Then::Continue,
        Some(_) | None => Then::Abort,
    };
    OnError {
        retry: Some(Retry {
            times: retry_count(written, diagnostics),
            delay: written
                .retry_delay
                .as_ref()
                .map_or(TOOLHIVE_RETRY_DELAY, |delay| delay.value),
            on: retry_on(written, diagnostics),
        }),
        then,
    }
}

fn is_written(written: &Written<'_>, key: &str) -> bool {
    let value = written.node.get(key);
    value.is_some_and(|value| !value.is_null())
}

fn retry_count(written: &Written<'_>, diagnostics: &mut Diagnostics) -> u32 {
    let (key, stated) = match (&written.retry_count, &written.max_retries) {
        (Some(count), Some(other)) => {
            diagnostics.push(two_counts(count, other));
            ("retryCount", count)
        }
        (Some(count), None) => ("retryCount", count),
        (None, Some(count)) => ("maxRetries", count),
        // A count that is none was told where it was read.
        (None, None)
            if ["retryCount", "maxRetries"]
                .iter()
                .any(|key| is_written(written, key)) =>
        {
            return 1;
        }
        (None, None) => {
            let place = written.action.as_ref().map(|action| action.place.clone());
            let place = place.unwrap_or_else(|| written.node.place.clone());
            diagnostics.push(no_count(&place));
            return 1;
        }
    };
    if stated.value == 0 {
        diagnostics.push(no_count(&stated.place));
    }
    let count = u32::try_from(stated.value).unwrap_or(u32::MAX);
    if count > TOOLHIVE_RETRIES_MAX {
        diagnostics.push(clamped(key, stated, TOOLHIVE_RETRIES_MAX));
    }
    count.clamp(1, TOOLHIVE_RETRIES_MAX)
}

fn retry_on(written: &Written<'_>, diagnostics: &mut Diagnostics) -> RetryOn {
    let Some(listed) = &written.retry_on else {
        return RetryOn::Retryable;
    };
    for text in listed {
        diagnostics.extend(failures::unknown("retryOn", text));
    }
    RetryOn::Listed(listed.iter().map(ToString::to_string).collect())
}

/// Keys of a retry say so when there is none.
fn report_idle(written: &Written<'_>, action: &str, diagnostics: &mut Diagnostics) {
    let idle = [
        (
            "retryCount",
            written.retry_count.as_ref().map(|it| &it.place),
        ),
        (
            "maxRetries",
            written.max_retries.as_ref().map(|it| &it.place),
        ),
        (
            "retryDelay",
            written.retry_delay.as_ref().map(|it| &it.place),
        ),
        ("then", written.then.as_ref().map(|it| &it.place)),
        (
            "retryOn",
            written
                .retry_on
                .as_ref()
                .and_then(|it| it.first())
                .map(|it| it.place()),
        ),
    ];
    for (key, place) in idle {
        if let Some(place) = place {
            diagnostics.push(
                Diagnostic::warning(
                    codes::KEY_NOT_APPLICABLE,
                    format!("`{key}` has no effect with `action: {action}`"),
                )
                .label(place, "only a retry uses this")
                .help(format!("write `action: retry`, or remove `{key}`")),
            );
        }
    }
}

fn two_counts(count: &Spanned<i64>, other: &Spanned<i64>) -> Diagnostic {
    Diagnostic::error(
        codes::KEYS_CONFLICT,
        "`retryCount` and `maxRetries` say the same thing twice",
    )
    .label(&other.place, "`maxRetries`")
    .secondary(&count.place, "`retryCount`")
    .help("keep one of them")
}

fn no_count(place: &onecall_source::Place) -> Diagnostic {
    Diagnostic::error(
        codes::RETRY_COUNT,
        "onError.retryCount must be at least 1 when action is retry",
    )
    .label(place, "retried how often?")
    .help("add `retryCount: 3`")
}

/// A number above what is done.
pub(super) fn clamped(key: &str, stated: &Spanned<i64>, limit: u32) -> Diagnostic {
    Diagnostic::warning(
        codes::CLAMPED,
        format!("`{key}` is {}, and at most {limit} is used", stated.value),
    )
    .label(&stated.place, format!("taken as {limit}"))
    .help(format!("write {limit} or less"))
}
