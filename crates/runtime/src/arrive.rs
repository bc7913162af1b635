//! Waiting for the backends that one call needs, and for no others: a silent backend holds up only its own callers.

use crate::publish::{Published, Target};
use crate::runtime::Runtime;
use onecall_backends::{BackendName, BackendState};
use onecall_engine::failure::Code;
use onecall_workflow::catalog::Catalog;
use onecall_workflow::step::Step;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

impl Runtime {
    /// What is published once the backends that this tool needs have had a moment to tell their tools.
    pub async fn settled_for(&self, tool: &str) -> Arc<Published> {
        let content = self.content();
        let backends = &content.backends;
        let mut lists = backends.tool_lists();
        let end = Instant::now() + self.inner.first_list_wait;
        loop {
            let published = self.published_now();
            let awaited = awaited(&published, &self.catalog(), tool);
            if awaited.is_empty() {
                return published;
            }
            let left = end.saturating_duration_since(Instant::now());
            tokio::select! {
                () = backends.settle_some(left, |name| awaited.contains(name)) => {
                    return self.published_now();
                }
                // Any of them may have told what is missing.
                Ok(()) = lists.changed() => {}
            }
        }
    }

    /// What is published once the backends whose tools nobody knows have had a moment to tell them. One that is known
    /// from an earlier process is not connected for it, unless a workflow wants of it what it did not have then.
    pub async fn known(&self) -> Arc<Published> {
        let content = self.content();
        let (published, catalog) = (self.published_now(), self.catalog());
        let workflows = published.workflows().map(|tool| tool.name.as_str());
        let doubted: BTreeSet<BackendName> = workflows
            .flat_map(|name| awaited(&published, &catalog, name))
            .collect();
        let is_wanted =
            |name: &BackendName| !content.kept.contains_key(name) || doubted.contains(name);
        let patience = self.inner.first_list_wait;
        content.backends.settle_some(patience, is_wanted).await;
        self.published_now()
    }

    /// The backends that this tool still waits for.
    pub fn awaited_for(&self, tool: &str) -> Vec<String> {
        let published = Arc::clone(&self.inner.published.borrow());
        let names = awaited(&published, &self.catalog(), tool);
        names.iter().map(ToString::to_string).collect()
    }
}

/// The backends that must tell their tools before this one can be called.
fn awaited(published: &Published, catalog: &Catalog, tool: &str) -> BTreeSet<BackendName> {
    let own = |names: Vec<&BackendName>| names.into_iter().cloned().collect();
    match published.find(tool).map(|tool| &tool.target) {
        Some(Target::Backend { .. }) => BTreeSet::new(),
        Some(Target::Workflow(workflow)) if workflow.plan.is_some() => BTreeSet::new(),
        Some(Target::Workflow(workflow)) => {
            let calls = workflow.workflow.steps.iter().filter_map(Step::call);
            let names = calls.flat_map(|call| catalog.awaited(call.tool.as_str()));
            own(names.collect())
        }
        None if published.withheld_reason(tool).is_some() => BTreeSet::new(),
        None => own(catalog.awaited(tool)),
    }
}

/// Names the backends that have not come up, each with its last reason.
pub(crate) fn unreachable_text(runtime: &Runtime) -> String {
    let down = runtime
        .backends()
        .into_iter()
        .filter_map(|status| match status.state {
            BackendState::Down { reason, .. } => {
                Some(format!("backend `{}`: {reason}", status.name))
            }
            _ => None,
        });
    let down: Vec<String> = down.collect();
    let reasons = if down.is_empty() {
        "it is still connecting".to_owned()
    } else {
        down.join("; ")
    };
    format!("a backend this workflow needs cannot be reached yet; {reasons}")
}

/// Why nobody knows a tool whose name begins as those of one backend do; `None` where that is no question of a backend.
pub(crate) fn silence_of(runtime: &Runtime, tool: &str) -> Option<(Code, String)> {
    if !runtime.shows_backends() {
        return None;
    }
    let catalog = runtime.catalog();
    let backend = catalog.silent_owner(tool)?;
    let mut known = runtime.backends().into_iter();
    let status = known.find(|status| status.name == *backend)?;
    let code = match status.state {
        BackendState::Down {
            is_denied: true, ..
        } => Code::DeniedCall,
        _ => Code::TransportUnavailable,
    };
    let reason = match status.state {
        BackendState::Down { reason, .. } | BackendState::Silent { reason } => reason,
        BackendState::Idle | BackendState::Connecting => "it is still connecting".to_owned(),
        BackendState::Ready => "it has not told its tools".to_owned(),
        BackendState::Stopped => "it was stopped".to_owned(),
    };
    let text = format!("`{tool}` belongs to backend `{backend}`, which is not connected: {reason}");
    Some((code, text))
}
