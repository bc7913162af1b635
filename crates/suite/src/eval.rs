//! Judged metrics: a model provider grades the trace of a row. Reading `eval`, asking and scoring are apart, so that
//! everything but the request itself is pure.

mod ask;
mod prompt;
mod provider;
mod read;
mod score;

pub use ask::{Judgements, ReadJudgementsError};
pub(crate) use prompt::candidate;

use crate::case::Composition;
use crate::row;
use provider::Kind;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// What `eval` of one composition demands, with the judge it names.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    pub(crate) metrics: Vec<Metric>,
    judge: Option<Judge>,
    providers: BTreeMap<String, Stated>,
}

/// A provider as the suite states it.
#[derive(Clone, Debug)]
struct Stated {
    kind: Kind,
    base_url: Option<String>,
    key_variable: Option<String>,
}

/// Who judges, and how often.
#[derive(Clone, Debug, Default)]
struct Judge {
    provider: Option<String>,
    model: Option<String>,
    samples: u32,
    /// Further members; with none the judge is alone.
    jury: Vec<Member>,
    is_cached: bool,
}

/// One model of a jury.
#[derive(Clone, Debug)]
struct Member {
    provider: Option<String>,
    model: String,
    weight: f64,
}

#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) threshold: f64,
    test: Test,
}

#[derive(Debug)]
enum Test {
    /// One question, which this crate asks.
    Question(&'static str),
    Criteria(Rubric),
    Tree(Tree),
}

#[derive(Debug)]
struct Rubric {
    criteria: Vec<Criterion>,
    takes_minimum: bool,
}

#[derive(Debug)]
struct Criterion {
    name: String,
    description: Option<String>,
    weight: f64,
    threshold: Option<f64>,
    /// The metric fails if this one does.
    required: bool,
    /// The lower the score, the better.
    guard: bool,
    when: Option<When>,
}

/// The criterion is only asked about candidates with this text.
#[derive(Debug)]
enum When {
    Contains(String),
    Regex(Regex),
}

/// A decision tree: each question leads to the next, a leaf has the score.
#[derive(Debug)]
enum Tree {
    Ask {
        question: String,
        yes: Box<Tree>,
        no: Box<Tree>,
    },
    Leaf {
        score: f64,
        reason: Option<String>,
    },
}

impl Evaluation {
    /// None if no judge is named.
    pub(crate) fn answers_per_question(&self) -> u64 {
        self.judge.as_ref().map_or(0, |judge| {
            u64::from(judge.samples) * judge.jury.len().max(1) as u64
        })
    }
}

impl Metric {
    /// The questions it asks at most.
    pub(crate) fn requests_max(&self) -> u64 {
        match &self.test {
            Test::Question(_) => 1,
            Test::Criteria(rubric) => rubric.criteria.len() as u64,
            Test::Tree(tree) => tree.depth(),
        }
    }
}

impl Tree {
    fn depth(&self) -> u64 {
        match self {
            Self::Leaf { .. } => 0,
            Self::Ask { yes, no, .. } => 1 + yes.depth().max(no.depth()),
        }
    }
}

/// Judges the metrics of a row.
pub(crate) async fn judge(
    composition: &Composition,
    candidate: &Value,
    judgements: &Judgements,
) -> Vec<row::Eval> {
    let evaluation = &composition.evaluation;
    let asker = ask::Asker::new(evaluation, judgements);
    let mut evals = Vec::with_capacity(evaluation.metrics.len());
    for metric in &evaluation.metrics {
        evals.push(score::metric(metric, candidate, &asker).await);
    }
    evals
}

#[cfg(test)]
mod tests;
