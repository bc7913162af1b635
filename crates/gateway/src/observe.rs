//! What an operator sees: readiness, status and metrics. The error rate is that of tool results, which HTTP
//! status codes do not show.

use crate::answer::Answer;
use crate::server::Shared;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use onecall_mcp::RpcError;
use onecall_runtime::publish::Target;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// Calls by outcome.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    completed: AtomicU64,
    failed: AtomicU64,
    asked: AtomicU64,
    tasks: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    pub(crate) fn called(&self, outcome: &Result<Answer, RpcError>) {
        let count = match outcome {
            Err(_) => &self.refused,
            Ok(answer) if answer.is_of_type("input_required") => &self.asked,
            Ok(answer) if answer.is_of_type("task") => &self.tasks,
            Ok(answer) if answer.is_error() => &self.failed,
            Ok(_) => &self.completed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn rows(&self) -> [(&'static str, u64); 5] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("completed", of(&self.completed)),
            ("failed", of(&self.failed)),
            ("input_required", of(&self.asked)),
            ("task", of(&self.tasks)),
            ("refused", of(&self.refused)),
        ]
    }
}

/// Whether new calls are welcome.
pub(crate) async fn readiness(State(stop): State<CancellationToken>) -> (StatusCode, &'static str) {
    if stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    (StatusCode::OK, "ready\n")
}

pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let published = Arc::clone(&shared.runtime.published().borrow());
    let tools = published.tools.iter().map(|tool| match &tool.target {
        Target::Workflow(workflow) => {
            json!({ "name": tool.name, "workflow": true, "bound": workflow.plan.is_some() })
        }
        Target::Backend { backend, .. } => {
            json!({ "name": tool.name, "backend": backend.as_str() })
        }
    });
    let withheld = published
        .withheld
        .iter()
        .map(|withheld| json!({ "workflow": withheld.workflow, "reason": withheld.reason }));
    let reloads = shared.runtime.reloads();
    Json(json!({
        "reloads": { "count": reloads.count, "refused": reloads.refused },
        "server": shared.server_info,
        "stopping": shared.stop.is_cancelled(),
        "sessions": shared.sessions.count(),
        "answering": shared.answering.len(),
        "tools": tools.collect::<Vec<_>>(),
        "withheld": withheld.collect::<Vec<_>>(),
        "backends": shared.runtime.backend_reports(),
    }))
}

type Text = ([(http::HeaderName, &'static str); 1], String);

pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Text {
    let mut text = String::new();
    text.push_str("# HELP onecall_calls_total Tool calls answered, by outcome.\n");
    text.push_str("# TYPE onecall_calls_total counter\n");
    for (outcome, count) in shared.counts.rows() {
        let _ = writeln!(text, "onecall_calls_total{{outcome=\"{outcome}\"}} {count}");
    }
    let published = Arc::clone(&shared.runtime.published().borrow());
    let (sessions, requests) = (shared.sessions.count(), shared.answering.len());
    let (tools, withheld) = (published.tools.len(), published.withheld.len());
    let mut gauge = |name: &str, help: &str, value: usize| {
        let head = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        let _ = writeln!(text, "{head}{name} {value}");
    };
    gauge(
        "onecall_sessions",
        "Sessions of handshake clients.",
        sessions,
    );
    gauge(
        "onecall_requests_in_flight",
        "Requests being answered.",
        requests,
    );
    gauge("onecall_tools_published", "Tools that clients see.", tools);
    gauge(
        "onecall_workflows_withheld",
        "Workflows that do not fit.",
        withheld,
    );
    text.push_str("# HELP onecall_backend_in_flight Calls in flight, by backend.\n");
    text.push_str("# TYPE onecall_backend_in_flight gauge\n");
    for backend in shared.runtime.backends() {
        let name = backend.name.to_string().replace(['\\', '"', '\n'], "_");
        let in_flight = backend.in_flight;
        let _ = writeln!(
            text,
            "onecall_backend_in_flight{{backend=\"{name}\"}} {in_flight}"
        );
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}
