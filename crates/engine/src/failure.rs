//! Failure is data: one shape for every way a call, a step or a run can fail.
//! The codes are one documented enum; `docs/failures.md` explains each.

use onecall_mcp::code;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Input,
    Expression,
    Tool,
    Transport,
    Timeout,
    Denied,
    Declined,
    Cancelled,
    Budget,
    Limit,
    UnknownOutcome,
    Pending,
    Internal,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $category:ident, $retryable:literal;)*) => {
        /// Every code a failure can carry: `<category>.<word>`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            pub fn category(self) -> Category {
                match self { $(Self::$name => Category::$category,)* }
            }

            /// Whether the same call may succeed when it is made again later, without doing anything twice.
            pub fn is_retryable(self) -> bool {
                match self { $(Self::$name => $retryable,)* }
            }
        }
    };
}

codes! {
    /// The parameters do not fit the schema.
    InputInvalid = "input.invalid", Input, false;
    /// An expression read a value that is not there.
    ExpressionMissing = "expression.missing", Expression, false;
    /// An expression could not be evaluated.
    ExpressionFailed = "expression.failed", Expression, false;
    /// An expression passed its bounds.
    ExpressionLimit = "expression.limit", Expression, false;
    /// A condition gave neither true nor false.
    ExpressionCondition = "expression.condition", Expression, false;
    /// A collection is not a list.
    ExpressionCollection = "expression.collection", Expression, false;
    /// A value does not fit the declared type of the output.
    ExpressionOutput = "expression.output", Expression, false;
    /// The tool answered with an error.
    ToolError = "tool.error", Tool, true;
    /// The tool refused the arguments.
    ToolArguments = "tool.arguments", Tool, false;
    /// The backend does not have the tool.
    ToolUnknown = "tool.unknown", Tool, false;
    /// The backend answered with a protocol error.
    ToolProtocol = "tool.protocol", Tool, true;
    /// The call could not be sent.
    TransportUnavailable = "transport.unavailable", Transport, true;
    /// The backend broke the protocol.
    TransportProtocol = "transport.protocol", Transport, true;
    /// The step took longer than its time-out.
    TimeoutStep = "timeout.step", Timeout, true;
    /// The run took longer than its time-out.
    TimeoutRun = "timeout.run", Timeout, true;
    /// Nobody answered in time.
    TimeoutQuestion = "timeout.question", Timeout, true;
    /// The caller may not do this.
    DeniedCall = "denied.call", Denied, false;
    /// A tool is not as it was locked.
    DeniedLocked = "denied.locked", Denied, false;
    /// A person declined.
    DeclinedQuestion = "declined.question", Declined, false;
    /// A person was asked several times, and no answer matched the schema of the question.
    DeclinedInvalidAnswers = "declined.invalid_answers", Declined, false;
    /// A person declined, the rest was skipped and a required output is missing.
    DeclinedRemaining = "declined.remaining", Declined, false;
    /// A person cancelled the question.
    CancelledQuestion = "cancelled.question", Cancelled, false;
    /// The run was cancelled.
    CancelledRun = "cancelled.run", Cancelled, false;
    /// Another step failed and the run was aborted.
    CancelledAborted = "cancelled.aborted", Cancelled, false;
    /// The run made more calls than its budget allows.
    BudgetCalls = "budget.calls", Budget, false;
    /// The run cost more than its budget allows.
    BudgetCost = "budget.cost", Budget, false;
    /// The run used more tokens than its budget allows.
    BudgetTokens = "budget.tokens", Budget, false;
    /// The run took longer than its budget allows.
    BudgetTime = "budget.time", Budget, false;
    /// A result is larger than the limit.
    LimitResult = "limit.result", Limit, false;
    /// The arguments are larger than the limit.
    LimitArguments = "limit.arguments", Limit, false;
    /// A loop has more items than it may.
    LimitIterations = "limit.iterations", Limit, false;
    /// Checking a value against the patterns of a schema takes too many steps.
    LimitPatterns = "limit.patterns", Limit, false;
    /// The run has more events than it may.
    LimitEvents = "limit.events", Limit, false;
    /// The run holds more data than it may.
    LimitData = "limit.data", Limit, false;
    /// Too many runs are open, or they hold too much; try again once some have ended.
    LimitOpenRuns = "limit.open_runs", Limit, true;
    /// The call was sent and not answered; a person decides what happened.
    UnknownOutcomeHeld = "unknown_outcome.held", UnknownOutcome, false;
    /// The call was sent and not answered.
    UnknownOutcomeUnanswered = "unknown_outcome.unanswered", UnknownOutcome, false;
    /// The run goes on; fetch its result later.
    PendingRunning = "pending.running", Pending, true;
    /// The run waits for a person.
    PendingInput = "pending.input", Pending, true;
    /// Something of ours broke.
    InternalFault = "internal.fault", Internal, true;
    /// The store could not be written.
    InternalStore = "internal.store", Internal, true;
}

impl Code {
    /// What a protocol error of a backend means.
    pub fn of_protocol_error(error: i64) -> Self {
        match error {
            code::INVALID_PARAMS => Self::ToolArguments,
            code::METHOD_NOT_FOUND => Self::ToolUnknown,
            _ => Self::ToolProtocol,
        }
    }

    /// The tool ran, and only its answer was unusable: a repeated call must keep its idempotency key.
    pub fn may_have_acted(self) -> bool {
        matches!(
            self,
            Self::TransportProtocol | Self::LimitResult | Self::TimeoutStep
        )
    }

    /// The tool itself has said that the call failed. Whatever else goes wrong says nothing of an earlier call.
    pub fn is_told_by_the_tool(self) -> bool {
        self.category() == Category::Tool
    }
}

impl Category {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Expression => "expression",
            Self::Tool => "tool",
            Self::Transport => "transport",
            Self::Timeout => "timeout",
            Self::Denied => "denied",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Pending => "pending",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One failure: what, where, and whether trying again may help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    /// The step that failed, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Which attempt failed, counted from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Making the call again does no harm, whatever became of it: its tool is read-only or idempotent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub harmless: bool,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            step: None,
            item: None,
            attempt: None,
            harmless: false,
        }
    }

    /// A call that was sent and not answered. `harmless`: its tool is read-only or idempotent.
    pub fn unanswered(message: impl Into<String>, harmless: bool) -> Self {
        Self {
            harmless,
            ..Self::new(Code::UnknownOutcomeUnanswered, message)
        }
    }

    /// Whether the same call may be made again: an unknown outcome only where that does no harm.
    pub fn is_retryable(&self) -> bool {
        match self.code {
            Code::UnknownOutcomeUnanswered => self.harmless,
            code => code.is_retryable(),
        }
    }

    /// Whether `retryOn` names this failure, by category or by code.
    pub fn is_named_by(&self, names: &[String]) -> bool {
        names
            .iter()
            .any(|name| name == self.code.as_str() || name == self.code.category().as_str())
    }

    /// The object that templates see as `.failure` and clients see in `_meta`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "code": self.code.as_str(),
            "category": self.code.category().as_str(),
            "message": self.message,
            "step_id": self.step,
            "attempt": self.attempt,
            "retryable": self.is_retryable(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_can_name_every_code() {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(codes, onecall_workflow::policy::FAILURE_CODES);
    }

    #[test]
    fn an_unknown_outcome_is_tried_again_only_where_that_does_no_harm() {
        let retryable = |failure: Failure| failure.to_json()["retryable"].clone();
        assert_eq!(retryable(Failure::unanswered("lost", false)), false);
        assert_eq!(retryable(Failure::unanswered("lost", true)), true);
        let plain = Failure::new(Code::ToolError, "broken");
        assert_eq!(retryable(plain.clone()), true);
        assert!(!serde_json::to_string(&plain).unwrap().contains("harmless"));
    }

    #[test]
    fn every_code_begins_with_its_category_and_is_documented() {
        let page = include_str!("../../../docs/failures.md");
        for code in Code::ALL {
            let category = code.category().as_str();
            assert!(code.as_str().starts_with(&format!("{category}.")), "{code}");
            let retry = if code.is_retryable() { "yes" } else { "no" };
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| `{code}` |")));
            let row = row.unwrap_or_else(|| panic!("{code} is not in docs/failures.md"));
            assert!(row.ends_with(&format!("| {retry} |")), "{row}");
        }
        let rows = page.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(
            rows,
            Code::ALL.len(),
            "docs/failures.md names a code that does not exist"
        );
    }
}
