//! Running rows: each row is one run of its composition on the engine, then judged.

use crate::baseline::Baseline;
use crate::case::{Case, Composition};
use crate::eval::{self, candidate};
use crate::judge::judge;
use crate::limits::JOBS_MAX;
use crate::report::Reporter;
use crate::row::{Eval, Judged, Row, Verdict};
use crate::stage::{Played, Stage};
use futures::StreamExt as _;
use serde_json::{Map, Value};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// How rows are run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Values of `${var.…}`; a case's own come first.
    pub variables: Map<String, Value>,
    /// How often a row that did not pass is run again.
    pub retries: u32,
    /// A row whose checks are all empty fails.
    pub denies_empty: bool,
    /// A judged metric that is deferred fails its row.
    pub requires_evals: bool,
    /// How many rows run at the same time; at least one does.
    pub jobs: usize,
    /// A row that uses much more than this fails.
    pub baseline: Option<Baseline>,
    /// Ends the rows that run; no further one begins.
    pub stop: CancellationToken,
}

/// A row that was selected.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'c> {
    pub(crate) composition: &'c Composition,
    pub(crate) case: Option<&'c Case>,
}

impl Selected<'_> {
    /// `NAME` or `NAME [CASE]`.
    pub fn label(&self) -> String {
        match self.case {
            Some(case) => format!("{} [{}]", self.composition.name, case.name),
            None => self.composition.name.clone(),
        }
    }

    pub fn composition(&self) -> &Composition {
        self.composition
    }

    pub fn description(&self) -> Option<&str> {
        self.composition.description.as_deref()
    }
}

/// Runs the rows of one suite, at most `jobs` at the same time, and reports them in order as they end. Once it is
/// stopped, the rows that had ended are all there is.
pub async fn run(
    stage: &Stage,
    suite: &str,
    rows: &[Selected<'_>],
    options: &Options,
    reporter: &mut dyn Reporter,
) -> Vec<Row> {
    let running = rows.iter().map(|selected| {
        let row = row(stage, suite, *selected, options);
        options.stop.run_until_cancelled(row)
    });
    let mut ending = futures::stream::iter(running).buffered(options.jobs.clamp(1, JOBS_MAX));
    let mut ended = Vec::with_capacity(rows.len());
    while let Some(row) = ending.next().await {
        if let Some(row) = row {
            reporter.row(&row);
            ended.push(row);
        }
    }
    ended
}

async fn row(stage: &Stage, suite: &str, selected: Selected<'_>, options: &Options) -> Row {
    let mut row = attempt(stage, suite, selected, options).await;
    for _ in 0..options.retries {
        if !matches!(row.verdict, Verdict::Fail | Verdict::Error) {
            break;
        }
        row = attempt(stage, suite, selected, options).await;
        row.flaky = row.verdict == Verdict::Pass;
    }
    row
}

async fn attempt(stage: &Stage, suite: &str, selected: Selected<'_>, options: &Options) -> Row {
    let Selected { composition, case } = selected;
    let mut variables = options.variables.clone();
    variables.extend(case.iter().flat_map(|case| case.vars.clone()));
    let start = Instant::now();
    let played = stage.play(composition, Value::Object(variables)).await;
    let mut row = Row {
        suite: suite.to_owned(),
        name: composition.name.clone(),
        case: case.map(|case| case.name.clone()),
        verdict: Verdict::Error,
        flaky: false,
        duration: start.elapsed(),
        assertions: Vec::new(),
        evals: Vec::new(),
        budget_tripped: None,
        reason: None,
        is_unchecked: false,
        place: composition.place.clone(),
        needs: stage.needs(composition),
        trace: None,
    };
    match played {
        Ok(played) => {
            row.evals = evals(stage, composition, &played).await;
            judge_into(&mut row, selected, played, options);
        }
        Err(reason) => row.reason = Some(reason),
    }
    if let Some(baseline) = &options.baseline {
        baseline.apply(&mut row);
    }
    row
}

/// Judges the metrics of a run, in order.
async fn evals(stage: &Stage, composition: &Composition, played: &Played) -> Vec<Eval> {
    if composition.evaluation.metrics.is_empty() {
        return Vec::new();
    }
    let description = composition.description.as_deref();
    let tools = stage.tools(composition);
    let scrub = stage.tapes().scrub();
    let candidate = candidate(description, &played.trace, &tools, scrub);
    eval::judge(composition, &candidate, stage.judgements()).await
}

fn judge_into(row: &mut Row, selected: Selected<'_>, played: Played, options: &Options) {
    let Played { trace, reason } = played;
    let found = judge(selected.composition, selected.case, &trace, row.duration);
    row.verdict = found.verdict;
    row.assertions = found.assertions;
    row.is_unchecked = found.is_unchecked;
    row.reason = found.reason;
    row.budget_tripped = trace.budget_tripped;
    row.trace = Some(trace);
    if let Some(reason) = reason {
        row.verdict = Verdict::Error;
        row.reason = Some(reason);
    }
    if row.verdict == Verdict::Skipped && options.denies_empty {
        row.verdict = Verdict::Fail;
        row.reason = Some("every check is empty, and `--deny-empty` refuses that".to_owned());
    }
    let has = |verdict| row.evals.iter().any(|eval| eval.verdict == verdict);
    let (is_failed, is_deferred) = (has(Judged::Fail), has(Judged::Deferred));
    if is_failed && matches!(row.verdict, Verdict::Pass | Verdict::Skipped) {
        row.verdict = Verdict::Fail;
    }
    if is_deferred && options.requires_evals && row.verdict == Verdict::Pass {
        row.verdict = Verdict::Fail;
        row.reason =
            Some("a judged metric was deferred, and `--require-eval` refuses that".to_owned());
    }
}
