//! Running rows: each row is one run of its composition on the engine, then judged.

use crate::case::{Case, Composition};
use crate::judge::judge;
use crate::limits::ROW_TIME_MAX;
use crate::report::Reporter;
use crate::row::{Row, Verdict};
use onecall_engine::identity::RunId;
use onecall_runtime::calls::{Reply, Request, RunHandle};
use onecall_runtime::nodes::{self, Trace};
use onecall_runtime::runtime::Runtime;
use onecall_runtime::sensitive::masked;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

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

    pub fn description(&self) -> Option<&str> {
        self.composition.description.as_deref()
    }
}

/// Runs the rows of one suite, one after the other, and reports each as it ends.
pub async fn run(
    runtime: &Runtime,
    suite: &str,
    rows: &[Selected<'_>],
    options: &Options,
    reporter: &mut dyn Reporter,
) -> Vec<Row> {
    let mut ended = Vec::with_capacity(rows.len());
    for selected in rows {
        let row = row(runtime, suite, *selected, options).await;
        reporter.row(&row);
        ended.push(row);
    }
    ended
}

async fn row(runtime: &Runtime, suite: &str, selected: Selected<'_>, options: &Options) -> Row {
    let mut row = attempt(runtime, suite, selected, options).await;
    for _ in 0..options.retries {
        if !matches!(row.verdict, Verdict::Fail | Verdict::Error) {
            break;
        }
        row = attempt(runtime, suite, selected, options).await;
        row.flaky = row.verdict == Verdict::Pass;
    }
    row
}

async fn attempt(runtime: &Runtime, suite: &str, selected: Selected<'_>, options: &Options) -> Row {
    let Selected { composition, case } = selected;
    let mut variables = options.variables.clone();
    variables.extend(case.iter().flat_map(|case| case.vars.clone()));
    let mut request = Request::new(&*composition.name, Value::Object(variables));
    request.watches = false;
    let start = Instant::now();
    let ran = match runtime.call(request).await {
        Reply::Started(handle) => follow(runtime, handle).await,
        Reply::Result(result) => Err(text_of(&result)),
        Reply::UnknownTool => Err("the composition is not published".to_owned()),
        Reply::Passed(_) | Reply::Rpc(_) | Reply::Asks(_) => {
            Err("a tool of a backend has the name of the composition".to_owned())
        }
    };
    let duration = start.elapsed();
    let mut row = Row {
        suite: suite.to_owned(),
        name: composition.name.clone(),
        case: case.map(|case| case.name.clone()),
        verdict: Verdict::Error,
        flaky: false,
        duration,
        assertions: Vec::new(),
        evals: Vec::new(),
        budget_tripped: None,
        reason: None,
        is_unchecked: false,
        place: composition.place.clone(),
        trace: None,
    };
    match ran {
        Ok(trace) => judge_into(&mut row, selected, trace, options),
        Err(reason) => row.reason = Some(reason),
    }
    row
}

fn judge_into(row: &mut Row, selected: Selected<'_>, trace: Trace, options: &Options) {
    let found = judge(selected.composition, selected.case, &trace, row.duration);
    row.verdict = found.verdict;
    row.assertions = found.assertions;
    row.evals = found.evals;
    row.is_unchecked = found.is_unchecked;
    row.reason = found.reason;
    row.budget_tripped = trace.budget_tripped;
    row.trace = Some(trace);
    if row.verdict == Verdict::Skipped && options.denies_empty {
        row.verdict = Verdict::Fail;
        row.reason = Some("every check is empty, and `--deny-empty` refuses that".to_owned());
    }
    if !row.evals.is_empty() && options.requires_evals && row.verdict == Verdict::Pass {
        row.verdict = Verdict::Fail;
        row.reason =
            Some("a judged metric was deferred, and `--require-eval` refuses that".to_owned());
    }
}

/// Waits for the end of a run. A row waits for nobody: a run that needs a person is cancelled.
async fn follow(runtime: &Runtime, mut handle: RunHandle) -> Result<Trace, String> {
    let run = handle.id.clone();
    let ended = tokio::time::timeout(ROW_TIME_MAX, handle.rest()).await;
    let needs = match ended {
        Ok(standing) if standing.result.is_some() => None,
        Ok(standing) => Some(match (standing.questions.first(), standing.held.first()) {
            (Some(question), _) => format!(
                "node `{}` asks a person: {}",
                question.step,
                question.text()
            ),
            (None, Some(held)) => format!("node `{}` is held: {}", held.name, held.reason),
            (None, None) => "the run waits for a person".to_owned(),
        }),
        Err(_) => Some(format!(
            "the row took more than {} minutes",
            ROW_TIME_MAX.as_secs() / 60
        )),
    };
    if needs.is_some() {
        handle.cancel("the test ended").await;
        let _ = tokio::time::timeout(Duration::from_secs(1), handle.result()).await;
    }
    match needs {
        Some(reason) => Err(reason),
        None => trace_of(runtime, &run).await,
    }
}

async fn trace_of(runtime: &Runtime, run: &RunId) -> Result<Trace, String> {
    let stored = runtime.journal().load(run).await;
    let stored = stored.map_err(|error| error.to_string())?;
    let stored =
        stored.ok_or("the run was not stored (`durability: none`), so there is no trace")?;
    let stored = masked(stored).map_err(|error| error.to_string())?;
    nodes::of_stored(&stored).map_err(|error| error.to_string())
}

/// The text of a refused call.
fn text_of(result: &Value) -> String {
    let text = result.pointer("/content/0/text").and_then(Value::as_str);
    text.unwrap_or("the call was refused").to_owned()
}
