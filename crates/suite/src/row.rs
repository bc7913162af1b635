//! What a row came to, as plain data: reports print it, the JSON report is its serialised form.

use crate::difference::shown;
use onecall_runtime::nodes::Trace;
use onecall_source::Place;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// One run of a composition and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The file of its suite.
    pub suite: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    pub verdict: Verdict,
    /// It failed first and passed when it was run again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    #[serde(rename = "duration_ms", serialize_with = "as_millis")]
    pub duration: Duration,
    pub assertions: Vec<Assertion>,
    pub evals: Vec<Eval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tripped: Option<&'static str>,
    /// Why there is no trace, or why the row is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Nothing was asserted.
    #[serde(skip)]
    pub is_unchecked: bool,
    #[serde(skip)]
    pub place: Place,
    /// What each node needs, for pictures.
    #[serde(skip)]
    pub needs: BTreeMap<String, Vec<String>>,
    pub trace: Option<Trace>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Pass,
    Fail,
    /// The composition did not run as it should, and no assertion says so.
    Error,
    /// Every check had nothing to examine.
    Skipped,
}

/// What one assertion came to.
#[derive(Clone, Debug, Serialize)]
pub struct Assertion {
    pub target: String,
    pub matcher: &'static str,
    pub verdict: Checked,
    pub expected: Value,
    /// Null if the target names nothing.
    pub actual: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The differences as lines, for people.
    #[serde(skip)]
    pub details: Vec<String>,
    #[serde(skip)]
    pub place: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Checked {
    Pass,
    Fail,
    /// There was nothing to examine.
    Empty,
}

/// What one judged metric came to.
#[derive(Clone, Debug, Serialize)]
pub struct Eval {
    pub metric: String,
    pub verdict: Judged,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// What the judge says, or why it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    Pass,
    Fail,
    /// No judge could be asked.
    Deferred,
}

/// The counts of a whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub passed: usize,
    pub failed: usize,
    pub errors: usize,
    pub skipped: usize,
    pub evals_deferred: usize,
}

impl Row {
    /// `NAME` or `NAME [CASE]`.
    pub fn label(&self) -> String {
        match &self.case {
            Some(case) => format!("{} [{case}]", self.name),
            None => self.name.clone(),
        }
    }

    /// The reasons for its verdict. A reason may have several lines.
    pub fn reasons(&self) -> Vec<String> {
        let assertions = self.assertions.iter().enumerate();
        let mut reasons: Vec<String> = assertions
            .filter(|(_, own)| own.verdict != Checked::Pass)
            .map(|(index, own)| format!("expect #{index}: {}", own.reason()))
            .collect();
        if let Some(cap) = self.budget_tripped {
            reasons.push(format!("budget exceeded: `{cap}`"));
        }
        let nodes = self.trace.iter().flat_map(|trace| &trace.nodes);
        for (id, node) in nodes {
            let reason = node["reason"].as_str();
            match node["status"].as_str() {
                Some("err") => {
                    let reason = reason.unwrap_or("without a reason");
                    reasons.push(format!("node `{id}` failed: {reason}"));
                }
                Some("skipped") if self.verdict != Verdict::Pass => {
                    let reason = reason.unwrap_or("a node that it needs did not complete");
                    reasons.push(format!("node `{id}` skipped: {reason}"));
                }
                _ => {}
            }
        }
        let evals = self.evals.iter();
        let failed = evals.filter(|eval| eval.verdict == Judged::Fail);
        reasons.extend(failed.map(Eval::line));
        reasons.extend(self.reason.clone());
        reasons
    }
}

impl Eval {
    /// One line for people.
    pub fn line(&self) -> String {
        let metric = &self.metric;
        let reason = self.reason.as_deref().unwrap_or_default();
        let word = match self.verdict {
            Judged::Pass => "pass",
            Judged::Fail => "fail",
            Judged::Deferred => return format!("eval {metric}: deferred ({reason})"),
        };
        let score = self.score.unwrap_or_default();
        let threshold = self.threshold.unwrap_or_default();
        let line = format!("eval {metric}: {word} (score {score:.2}, threshold {threshold:.2})");
        match reason {
            "" => line,
            reason => format!("{line}: {reason}"),
        }
    }
}

impl Assertion {
    pub(crate) fn reason(&self) -> String {
        let target = &self.target;
        let note = self.note.as_deref();
        if !self.details.is_empty() {
            let mut text = format!("`{target}` differs from the {} value:", self.matcher);
            for line in &self.details {
                text.push_str("\n    ");
                text.push_str(line);
            }
            return text;
        }
        if self.verdict == Checked::Empty {
            let note = note.unwrap_or("there is nothing to examine");
            return format!("`{target}` is empty: {note}");
        }
        let shown = format!(
            "`{target}` expected {} {}, got {}",
            self.matcher,
            shown(&self.expected),
            shown(&self.actual)
        );
        match note {
            Some(note) => format!("{shown}: {note}"),
            None => shown,
        }
    }
}

impl Summary {
    pub fn of(rows: &[Row]) -> Self {
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        Self {
            passed: count(Verdict::Pass),
            failed: count(Verdict::Fail),
            errors: count(Verdict::Error),
            skipped: count(Verdict::Skipped),
            evals_deferred: rows
                .iter()
                .flat_map(|row| &row.evals)
                .filter(|eval| eval.verdict == Judged::Deferred)
                .count(),
        }
    }

    pub fn is_ok(&self) -> bool {
        self.failed + self.errors == 0
    }
}

fn as_millis<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
