//! `operational`: time-outs, and when backends count as dead.

use crate::keys;
use crate::limits::OPERATIONAL_COUNT_MAX;
use crate::settings::Health;
use crate::workloads::Workloads;
use onecall_dialects::toolhive::{parse_duration, read_duration};
use onecall_source::{Diagnostic, Diagnostics, Fields, codes};
use std::time::Duration;

/// Failures in a row that open a circuit breaker which is enabled and says no more.
const FAILURES: u32 = 5;

const REST: Duration = Duration::from_mins(1);

pub(super) fn read(
    mut fields: Fields<'_>,
    workloads: &mut Workloads,
    diagnostics: &mut Diagnostics,
) {
    if let Some(own) = fields.optional_fields("timeouts", diagnostics) {
        timeouts(own, workloads, diagnostics);
    }
    if let Some(own) = fields.optional_fields("failureHandling", diagnostics) {
        workloads.health = Some(failure_handling(own, diagnostics));
    }
    keys::warn_inert(&mut fields, "operational.", &["logLevel"], diagnostics);
    fields.finish(diagnostics);
}

fn failure_handling(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Health {
    let mut health = Health {
        probe_every: positive(&mut fields, "healthCheckInterval", diagnostics),
        probe_timeout: positive(&mut fields, "healthCheckTimeout", diagnostics),
        unanswered_max: count(&mut fields, "unhealthyThreshold", diagnostics),
        ..Health::default()
    };
    if let Some(mut breaker) = fields.optional_fields("circuitBreaker", diagnostics) {
        let enabled = breaker.optional_bool("enabled", diagnostics);
        let failures_max = count(&mut breaker, "failureThreshold", diagnostics);
        let rest = positive(&mut breaker, "timeout", diagnostics);
        breaker.finish(diagnostics);
        if enabled.is_some_and(|enabled| enabled.value) {
            health.failures_max = failures_max.or(Some(FAILURES));
            health.rest = rest.or(Some(REST));
        }
    }
    let inert = ["statusReportingInterval", "partialFailureMode"];
    let path = "operational.failureHandling.";
    keys::warn_inert(&mut fields, path, &inert, diagnostics);
    fields.finish(diagnostics);
    health
}

fn count(fields: &mut Fields<'_>, key: &'static str, diagnostics: &mut Diagnostics) -> Option<u32> {
    let count = fields.optional_integer(key, 1..=OPERATIONAL_COUNT_MAX, diagnostics)?;
    u32::try_from(count.value).ok()
}

/// Shorter than a second would be thrashing.
fn positive(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<Duration> {
    let duration = read_duration(fields, key, diagnostics)?;
    if duration.value < Duration::from_secs(1) {
        diagnostics.push(
            Diagnostic::error(
                codes::INVALID_DURATION,
                format!("`{key}` must be at least 1s"),
            )
            .label(&duration.place, "too short")
            .help("write `1s` or more"),
        );
        return None;
    }
    Some(duration.value)
}

fn timeouts(mut fields: Fields<'_>, workloads: &mut Workloads, diagnostics: &mut Diagnostics) {
    let default = read_duration(&mut fields, "default", diagnostics);
    workloads.default_timeout = default.map(|default| default.value);
    let own = fields.mapping("perWorkload", diagnostics);
    fields.finish(diagnostics);
    for entry in own {
        let Some(text) = entry.value.expect_string(&entry.key, diagnostics) else {
            continue;
        };
        let Some(duration) = parse_duration(text) else {
            diagnostics.push(
                Diagnostic::error(
                    codes::INVALID_DURATION,
                    format!("`{}` is `{text}`, which is no duration", entry.key),
                )
                .label(text.place(), "not a duration")
                .help("write a number and a unit, such as `30s`"),
            );
            continue;
        };
        workloads.names.push(entry.key.clone());
        // `0s` is the default, here as everywhere.
        if !duration.is_zero() {
            workloads.timeouts.push((entry.key.clone(), duration));
        }
    }
}
