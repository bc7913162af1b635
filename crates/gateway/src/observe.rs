//! What an operator sees: readiness and status. Numbers are in `metrics`.

use crate::server::Shared;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use onecall_runtime::publish::{Target, Withheld};
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The state that readiness depends on.
#[derive(Clone, Debug)]
pub(crate) struct Readiness {
    pub(crate) stop: CancellationToken,
    pub(crate) runtimes: Arc<[Runtime]>,
}

/// Whether new calls are welcome, and if not, why.
pub(crate) async fn readiness(State(own): State<Readiness>) -> (StatusCode, String) {
    let reason = if own.stop.is_cancelled() {
        Some("stopping".to_owned())
    } else {
        let mut faults = own.runtimes.iter().filter_map(Runtime::store_fault);
        faults.next().map(|fault| format!("not ready: {fault}"))
    };
    match reason {
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
        None => (StatusCode::OK, "ready\n".to_owned()),
    }
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
    let unfit = |own: &Withheld| json!({ own.kind.as_str(): own.name, "reason": own.reason });
    let all = |unfits: &[Withheld]| unfits.iter().map(unfit).collect::<Vec<_>>();
    let reloads = shared.runtime.reloads();
    Json(json!({
        "reloads": { "count": reloads.count, "refused": reloads.refused },
        "server": shared.server_info.value(),
        "stopping": shared.stop.is_cancelled(),
        "store": { "fault": shared.runtime.store_fault() },
        "sessions": shared.session_count(),
        "answering": shared.answering.len(),
        "tools": tools.collect::<Vec<_>>(),
        "withheld": all(&published.withheld),
        "outdated": all(&published.outdated),
        "backends": shared.runtime.backend_reports(),
    }))
}
