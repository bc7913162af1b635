//! Calls counted by tool and outcome, with how long they took, and all that an operator scrapes, in the text format of
//! Prometheus. Counting is a lookup and a few additions; whatever costs more is done when somebody scrapes.

use crate::answer::Answer;
use crate::limits::{NAME_LOGGED_MAX, TOOLS_COUNTED_MAX};
use crate::server::Shared;
use axum::extract::State;
use http::header::CONTENT_TYPE;
use onecall_mcp::RpcError;
use onecall_runtime::backend_calls::{BUCKETS_MS, Ending, Histogram};
use onecall_runtime::publish::{PublishedTool, PublishedWorkflow, Target, WithheldKind};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Completed,
    Failed,
    /// It was answered with a handle: its run goes on, or waits for a person.
    Pending,
    Asked,
    Task,
    /// An error of the protocol, such as an unknown tool.
    Refused,
}

impl Outcome {
    const ALL: [Self; 6] = [
        Self::Completed,
        Self::Failed,
        Self::Pending,
        Self::Asked,
        Self::Task,
        Self::Refused,
    ];

    fn of(called: &Result<Answer, RpcError>) -> Self {
        match called {
            Err(_) => Self::Refused,
            Ok(answer) if answer.is_of_type("input_required") => Self::Asked,
            Ok(answer) if answer.is_of_type("task") => Self::Task,
            Ok(answer) if answer.is_pending() => Self::Pending,
            Ok(answer) if answer.is_error() => Self::Failed,
            Ok(_) => Self::Completed,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Asked => "input_required",
            Self::Task => "task",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Default)]
struct ToolCounts {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    took: Histogram,
}

/// Calls by outcome, in all and by tool.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    tools: RwLock<BTreeMap<String, Arc<ToolCounts>>>,
    in_flight: AtomicUsize,
}

/// A call while it lasts.
pub(crate) struct Counting<'a> {
    counts: &'a Counts,
    since: Instant,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.counts.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counting<'_> {
    /// Counts the end of the call. `tool`: the name it is published under, where it is.
    fn ended(self, tool: Option<&str>, outcome: Outcome) -> Duration {
        let lasted = self.since.elapsed();
        let add = |count: &AtomicU64, more| count.fetch_add(more, Ordering::Relaxed);
        add(&self.counts.outcomes[outcome as usize], 1);
        if let Some(counts) = tool.and_then(|tool| self.counts.of_tool(tool)) {
            add(&counts.outcomes[outcome as usize], 1);
            counts.took.add(lasted);
        }
        lasted
    }
}

impl Counts {
    pub(crate) fn begin(&self) -> Counting<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Counting {
            counts: self,
            since: Instant::now(),
        }
    }

    /// Beyond the limit tools are counted together with all others only.
    fn of_tool(&self, tool: &str) -> Option<Arc<ToolCounts>> {
        let known = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = known.get(tool) {
            return Some(Arc::clone(counts));
        }
        drop(known);
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        if tools.len() >= TOOLS_COUNTED_MAX && !tools.contains_key(tool) {
            return None;
        }
        let counts = tools.entry(tool.to_owned()).or_default();
        Some(Arc::clone(counts))
    }
}

/// A tool that is called, as it is published where it is.
pub(crate) struct Tool {
    published: Option<Arc<PublishedTool>>,
    /// As the client wrote it.
    given: String,
}

impl Tool {
    pub(crate) fn of(shared: &Shared, given: &str) -> Self {
        let published = shared.runtime.current();
        Self {
            published: published.find(given).cloned(),
            given: given.chars().take(NAME_LOGGED_MAX).collect(),
        }
    }

    /// The workflow that it is, if it is one.
    pub(crate) fn workflow(&self) -> Option<&Arc<PublishedWorkflow>> {
        match &self.published.as_ref()?.target {
            Target::Workflow(workflow) => Some(workflow),
            Target::Backend { .. } => None,
        }
    }

    /// Counts and logs the end of a call of it.
    pub(crate) fn note(&self, counting: Counting<'_>, called: &Result<Answer, RpcError>) {
        let outcome = Outcome::of(called);
        let published = self.published.as_ref().map(|tool| tool.name.as_str());
        let lasted = counting.ended(published, outcome);
        let millis = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
        let (tool, outcome) = (self.given.as_str(), outcome.as_str());
        let code = called.as_ref().err().map(|error| error.code);
        tracing::debug!(tool, outcome, code, ms = millis, "a call was answered");
    }
}

type Text = ([(http::HeaderName, &'static str); 1], String);

/// What operators scrape.
pub(crate) async fn show(State(shared): State<Arc<Shared>>) -> Text {
    let mut page = Page(String::new());
    calls(&mut page, &shared.counts);
    let runs = shared.runtime.run_counts().await;
    page.head(
        "onecall_runs",
        "gauge",
        "Runs that have not ended, by phase.",
    );
    for (phase, count) in runs.open {
        page.row("onecall_runs", &[("phase", phase.as_str())], count);
    }
    let ended = "onecall_runs_ended_total";
    page.head(
        ended,
        "counter",
        "Runs that ended in this process, by phase.",
    );
    for (phase, count) in runs.ended {
        page.row(ended, &[("phase", phase.as_str())], count);
    }
    let published = Arc::clone(&shared.runtime.published().borrow());
    let withheld = |kind| {
        let all = published.withheld.iter();
        all.filter(|own| own.kind == kind).count()
    };
    let gauges = [
        (
            "onecall_sessions",
            "Sessions of handshake clients.",
            shared.session_count(),
        ),
        (
            "onecall_requests_in_flight",
            "Requests being answered.",
            shared.answering.len(),
        ),
        (
            "onecall_tools_published",
            "Tools that clients see.",
            published.tools.len(),
        ),
        (
            "onecall_workflows_withheld",
            "Workflows that do not fit.",
            withheld(WithheldKind::Workflow),
        ),
        (
            "onecall_tools_withheld",
            "Tools of backends that are not as they were locked.",
            withheld(WithheldKind::Tool),
        ),
    ];
    for (name, help, value) in gauges {
        page.head(name, "gauge", help);
        page.row(name, &[], value);
    }
    store(&mut page, &shared).await;
    backends(&mut page, &shared);
    backend_calls(&mut page, &shared);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], page.0)
}

fn calls(page: &mut Page, counts: &Counts) {
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let name = "onecall_calls_total";
    page.head(name, "counter", "Tool calls answered, by outcome.");
    for outcome in Outcome::ALL {
        let count = of(&counts.outcomes[outcome as usize]);
        page.row(name, &[("outcome", outcome.as_str())], count);
    }
    let name = "onecall_calls_in_flight";
    page.head(name, "gauge", "Tool calls being answered.");
    page.row(name, &[], counts.in_flight.load(Ordering::Relaxed));
    let tools = counts.tools.read().unwrap_or_else(PoisonError::into_inner);
    let name = "onecall_tool_calls_total";
    page.head(name, "counter", "Calls of published tools, by outcome.");
    for (tool, counts) in &*tools {
        for outcome in Outcome::ALL {
            let count = of(&counts.outcomes[outcome as usize]);
            // A tool that never did so has no row for it.
            if count > 0 {
                let labels = [("tool", tool.as_str()), ("outcome", outcome.as_str())];
                page.row(name, &labels, count);
            }
        }
    }
    let name = "onecall_tool_call_seconds";
    page.head(name, "histogram", "How long calls of published tools took.");
    for (tool, counts) in &*tools {
        page.histogram(name, ("tool", tool), &counts.took);
    }
}

async fn store(page: &mut Page, shared: &Shared) {
    let name = "onecall_store_bytes";
    page.head(
        name,
        "gauge",
        "Size of the store, on its disk or in memory.",
    );
    match shared.runtime.journal().bytes().await {
        Ok(bytes) => page.row(name, &[], bytes),
        Err(error) => tracing::warn!(%error, "cannot measure the store"),
    }
    let name = "onecall_store_writable";
    page.head(
        name,
        "gauge",
        "1 if the store can be written, as far as is known.",
    );
    page.row(name, &[], u8::from(shared.runtime.store_fault().is_none()));
}

fn backend_calls(page: &mut Page, shared: &Shared) {
    let all = shared.runtime.backend_counts();
    let name = "onecall_backend_calls_total";
    page.head(name, "counter", "Calls of backends that ended, by how.");
    for (backend, counts) in &all {
        for how in Ending::ALL {
            let labels = [("backend", backend.as_str()), ("outcome", how.as_str())];
            page.row(name, &labels, counts.ended(how));
        }
    }
    let name = "onecall_backend_retries_total";
    page.head(
        name,
        "counter",
        "Calls of backends that repeat an earlier one of their step.",
    );
    for (backend, counts) in &all {
        page.row(name, &[("backend", backend.as_str())], counts.retries());
    }
    let name = "onecall_backend_call_seconds";
    page.head(name, "histogram", "How long calls of backends took.");
    for (backend, counts) in &all {
        page.histogram(name, ("backend", backend.as_str()), &counts.took);
    }
}

fn backends(page: &mut Page, shared: &Shared) {
    let backends = shared.runtime.backends();
    let up = "onecall_backend_up";
    page.head(up, "gauge", "Whether a backend is connected and answers.");
    for backend in &backends {
        let is_up = u8::from(backend.state.word() == "ready");
        page.row(up, &[("backend", backend.name.as_str())], is_up);
    }
    let name = "onecall_backend_state";
    page.head(name, "gauge", "The state that a backend is in.");
    for backend in &backends {
        let labels = [
            ("backend", backend.name.as_str()),
            ("state", backend.state.word()),
        ];
        page.row(name, &labels, 1);
    }
    let name = "onecall_backend_in_flight";
    page.head(name, "gauge", "Calls in flight, by backend.");
    for backend in &backends {
        page.row(
            name,
            &[("backend", backend.name.as_str())],
            backend.in_flight,
        );
    }
}

/// A page in the text format.
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn histogram(&mut self, name: &str, of: (&str, &str), took: &Histogram) {
        let mut below = 0;
        let bucket = format!("{name}_bucket");
        let ends = BUCKETS_MS.map(|most| Duration::from_millis(most).as_secs_f64().to_string());
        let ends = ends.iter().map(String::as_str).chain(["+Inf"]);
        for (count, most) in took.counts().zip(ends) {
            below += count;
            self.row(&bucket, &[of, ("le", most)], below);
        }
        let sum = took.total().as_secs_f64();
        self.row(&format!("{name}_sum"), &[of], sum);
        self.row(&format!("{name}_count"), &[of], below);
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            let text = text.replace('\n', "\\n");
            let _ = write!(self.0, "{before}{label}=\"{text}\"");
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_counted_apart_up_to_a_number() {
        let counts = Counts::default();
        counts.begin().ended(Some("a\"b"), Outcome::Pending);
        counts.begin().ended(None, Outcome::Refused);
        for number in 0..TOOLS_COUNTED_MAX {
            let name = format!("tool-{number}");
            counts.begin().ended(Some(&name), Outcome::Completed);
        }
        let going = counts.begin();
        let mut page = Page(String::new());
        calls(&mut page, &counts);
        drop(going);
        for row in [
            "onecall_calls_total{outcome=\"pending\"} 1\n",
            "onecall_calls_total{outcome=\"failed\"} 0\n",
            "onecall_calls_in_flight 1\n",
            "onecall_tool_calls_total{tool=\"a\\\"b\",outcome=\"pending\"} 1\n",
            "onecall_tool_call_seconds_bucket{tool=\"tool-0\",le=\"60\"} 1\n",
            "onecall_tool_call_seconds_bucket{tool=\"tool-0\",le=\"0.001\"} ",
            "onecall_tool_call_seconds_count{tool=\"tool-0\"} 1\n",
        ] {
            assert!(page.0.contains(row), "{row}{}", page.0);
        }
        let last = format!("tool-{}\"", TOOLS_COUNTED_MAX - 1);
        assert!(!page.0.contains(&last));
    }
}
