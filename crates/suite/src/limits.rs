//! Limits on what a suite can ask of the test runner.

use std::time::Duration;

/// Limit: characters of a value that a failed assertion prints.
pub(crate) const SHOWN_CHARACTERS_MAX: usize = 200;

/// Limit: names that are listed if a target finds nothing.
pub(crate) const NAMES_LISTED_MAX: usize = 20;

/// Limit: places of a golden value that are listed as different.
pub(crate) const DIFFERENCES_MAX: usize = 20;

/// Limit: how deeply matchers are nested in each other.
pub(crate) const MATCHER_DEPTH_MAX: usize = 16;

/// Limit: the compiled form of a regular expression, in bytes.
pub(crate) const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// Limit: characters of a text whose edit distance is computed. The work grows with the product of both lengths.
pub(crate) const DISTANCE_CHARACTERS_MAX: usize = 10_000;

/// Limit: how deeply a parsed SQL statement is nested.
pub(crate) const SQL_DEPTH_MAX: usize = 50;

/// The time one row may take if its composition states none. A row waits for nobody.
pub(crate) const ROW_TIME_MAX: Duration = Duration::from_mins(30);

/// Limit: lines of a text that are shown on each side of a difference.
pub(crate) const LINES_SHOWN_MAX: usize = 20;

/// Limit: exchanges of one tape.
pub(crate) const TAPE_RECORDS_MAX: usize = 100_000;

/// Limit: calls of one run that may be in flight at once and still be ended when their outcome is unknown.
pub(crate) const HELD_CALLS_MAX: usize = 10_001;

/// How long before the deadline of a node its call is abandoned, so that the node fails and nothing waits for a person.
pub(crate) const DEADLINE_MARGIN: Duration = Duration::from_millis(20);

/// How long a cancelled run has to end.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Limit: rows that run at the same time.
pub(crate) const JOBS_MAX: usize = 64;

/// Limit: samples of one question.
pub(crate) const SAMPLES_MAX: u32 = 25;

/// Limit: members of a jury.
pub(crate) const JURY_MAX: usize = 10;

/// Limit: questions in a row of a decision tree.
pub(crate) const TREE_DEPTH_MAX: usize = 32;

/// Limit: characters of a trace that a judge is shown.
pub(crate) const CANDIDATE_CHARACTERS_MAX: usize = 200_000;

/// Limit: tokens of the answer of a judge.
pub(crate) const ANSWER_TOKENS_MAX: u32 = 512;

/// Limit: how often one question is sent to a provider that is busy.
pub(crate) const JUDGE_ATTEMPTS_MAX: u32 = 3;

/// How long to wait before the second attempt if the provider does not say; doubles each time.
pub(crate) const JUDGE_PAUSE: Duration = Duration::from_millis(500);

/// Limit: how long a provider can make us wait between attempts.
pub(crate) const JUDGE_PAUSE_MAX: Duration = Duration::from_secs(20);

/// Limit: how long a provider may take to answer.
pub(crate) const JUDGE_TIME_MAX: Duration = Duration::from_mins(1);
