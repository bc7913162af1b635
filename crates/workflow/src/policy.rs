//! Policies of runs and steps: time, failure, retry, durability, budgets.
//! Every policy is explicit here, so that the printed form of a workflow spells out what its dialect implied.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Policies of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub timeout: Option<RunTimeout>,
    /// How many steps of one run may be in flight at once; the iterations of a loop do not count.
    pub steps_parallel_max: Option<u32>,
    pub all_failed: AllFailed,
    #[serde(default, skip_serializing_if = "AnyFailed::completes")]
    pub any_failed: AnyFailed,
    pub durability: Option<Durability>,
    pub on_disconnect: OnDisconnect,
    pub budget: Option<Budget>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            timeout: None,
            steps_parallel_max: None,
            all_failed: AllFailed::Completes,
            any_failed: AnyFailed::Completes,
            durability: None,
            on_disconnect: OnDisconnect::Cancel,
            budget: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTimeout {
    #[serde(with = "millis")]
    pub limit: Duration,
    /// A default limit does not tick while the run waits only for people; an explicit one does.
    pub while_asking: WhileAsking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileAsking {
    Ticks,
    Stands,
}

/// What a run whose every step failed, and was continued, ends as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllFailed {
    Completes,
    Fails,
}

/// What the result of a run is in which a step failed, was continued and had no default to stand in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnyFailed {
    /// The output, with a list of the steps that failed.
    #[default]
    Completes,
    /// An error, with the output beside it.
    IsError,
}

impl AnyFailed {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature serde asks for"
    )]
    fn completes(&self) -> bool {
        *self == Self::Completes
    }
}

/// What a run's events survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing is stored; the run lives in memory.
    None,
    /// Survives the death of the process.
    Async,
    /// Survives power loss.
    Sync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    Cancel,
    Continue,
}

/// Caps of one run; passing any of them aborts it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub calls: Option<u64>,
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
    #[serde(with = "optional_millis")]
    pub time: Option<Duration>,
}

/// Caps of one call. A call whose result reports more fails its step; the run goes on as after any failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallBudget {
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
}

/// What happens when a step fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnError {
    pub retry: Option<Retry>,
    pub then: Then,
}

impl OnError {
    pub const ABORT: Self = Self {
        retry: None,
        then: Then::Abort,
    };
    pub const CONTINUE: Self = Self {
        retry: None,
        then: Then::Continue,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    Abort,
    Continue,
}

/// Further attempts of a failed call. Waits grow by half each time, with jitter of up to half either way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    pub times: u32,
    #[serde(with = "millis")]
    pub delay: Duration,
    pub on: RetryOn,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryOn {
    /// Everything but denied, invalid arguments and cancelled.
    Retryable,
    /// These categories or codes, and nothing else.
    Listed(Vec<String>),
}

/// Whether a step runs when a step it needs was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkippedNeed {
    /// It runs and sees the default of the skipped step.
    Runs,
    /// It is skipped too, unless the skipped step has a default.
    Skips,
    /// It is skipped after a step that was skipped or failed, unless that one has a default.
    SkipsAfterFailure,
}

/// What a refused question does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The step fails; its `on_error` applies.
    Fails,
    /// The step completes and says what the person did.
    Continues,
    /// The step completes, steps in flight finish, all others are skipped.
    SkipsRemaining,
}

pub(crate) mod millis {
    //! Durations are stored as whole milliseconds.
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(crate) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

pub(crate) mod optional_millis {
    //! As `millis`, for durations that may be absent.
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    #[expect(clippy::ref_option, reason = "the signature serde asks for")]
    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value
            .map(|value| u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
            .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

/// Every code that a failure can carry; the word before the point is its category. The engine gives them meaning.
pub const FAILURE_CODES: &[&str] = &[
    "input.invalid",
    "expression.missing",
    "expression.failed",
    "expression.limit",
    "expression.condition",
    "expression.collection",
    "expression.output",
    "tool.error",
    "tool.arguments",
    "tool.unknown",
    "tool.protocol",
    "transport.unavailable",
    "transport.protocol",
    "timeout.step",
    "timeout.run",
    "timeout.question",
    "denied.call",
    "denied.locked",
    "declined.question",
    "declined.invalid_answers",
    "declined.remaining",
    "cancelled.question",
    "cancelled.run",
    "cancelled.aborted",
    "budget.calls",
    "budget.cost",
    "budget.tokens",
    "budget.time",
    "limit.result",
    "limit.arguments",
    "limit.iterations",
    "limit.patterns",
    "limit.events",
    "limit.data",
    "limit.open_runs",
    "unknown_outcome.held",
    "unknown_outcome.unanswered",
    "pending.running",
    "pending.input",
    "internal.fault",
    "internal.store",
];
