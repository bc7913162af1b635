//! Waiting for the backends that one call needs, and for no others: a silent backend holds up only its own callers.

use crate::limits::CONNECT_WAIT_MAX;
use crate::publish::{Published, Target, WithheldKind};
use crate::runtime::Runtime;
use onecall_backends::{BackendName, BackendState, Backends};
use onecall_engine::failure::Code;
use onecall_workflow::catalog::{Catalog, Knowledge, Resolution};
use onecall_workflow::step::Step;
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The backends that must tell their tools before something can be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// Without these it cannot be called.
    needed: BTreeSet<BackendName>,
    /// One of these may have what is wanted.
    possible: BTreeSet<BackendName>,
}

impl Awaited {
    pub(crate) fn is_empty(&self) -> bool {
        self.needed.is_empty() && self.possible.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = &BackendName> {
        self.needed.union(&self.possible)
    }

    fn contains(&self, name: &BackendName) -> bool {
        self.needed.contains(name) || self.possible.contains(name)
    }

    fn of_tool(reference: &str, catalog: &Catalog) -> Self {
        let mut own = Self::default();
        own.add(reference, catalog);
        own
    }

    /// What a workflow waits for that may go by kept lists.
    pub(crate) fn unknown_to(workflow: &Workflow, catalog: &Catalog) -> Self {
        let mut all = Self::default();
        for call in workflow.steps.iter().filter_map(Step::call) {
            all.add(call.tool.as_str(), catalog);
        }
        all
    }

    /// What a workflow waits for that goes by live lists alone.
    pub(crate) fn not_live_to(workflow: &Workflow, catalog: &Catalog) -> Self {
        let mut all = Self::unknown_to(workflow, catalog);
        for call in workflow.steps.iter().filter_map(Step::call) {
            if let Resolution::Found(tool) = catalog.resolve(call.tool.as_str())
                && catalog.backends.get(&tool.backend) == Some(&Knowledge::Kept)
            {
                all.needed.insert(tool.backend.clone());
            }
        }
        all
    }

    /// The backend, if its live list was not seen yet.
    pub(crate) fn not_live(backend: &BackendName, catalog: &Catalog) -> Self {
        let mut own = Self::default();
        if catalog.backends.get(backend) != Some(&Knowledge::Live) {
            own.needed.insert(backend.clone());
        }
        own
    }

    /// The backends whose kept lists have a tool of this name.
    pub(crate) fn add_holders(&mut self, name: &str, catalog: &Catalog) {
        let is_kept = |backend| catalog.backends.get(backend) == Some(&Knowledge::Kept);
        let tools = catalog.tools.iter().filter(|tool| {
            let own = tool.name.as_ref();
            own.is_some_and(|own| own.as_str() == name) && is_kept(&tool.backend)
        });
        self.needed.extend(tools.map(|tool| tool.backend.clone()));
    }

    fn add(&mut self, reference: &str, catalog: &Catalog) {
        let candidates = catalog.awaited(reference);
        let is_sole = candidates.len() == 1 && catalog.silent_owner(reference).is_some();
        let to = if is_sole {
            &mut self.needed
        } else {
            &mut self.possible
        };
        to.extend(candidates.into_iter().cloned());
    }

    /// How long a call waits for them. Where nobody knows who has the tool it may not be there at all, and the moment
    /// must do that lists wait.
    fn patience(&self, backends: &Backends, moment: Duration) -> Duration {
        if !self.possible.is_empty() {
            return moment;
        }
        let times = self.needed.iter().map(|name| backends.call_time(name));
        let longest = times.flatten().max().unwrap_or_default();
        longest.min(CONNECT_WAIT_MAX).max(moment)
    }
}

impl Runtime {
    /// What is published once the backends that this tool needs have told their tools, or the time is over that a call
    /// waits for them.
    pub async fn settled_for(&self, tool: &str) -> Arc<Published> {
        let content = self.content();
        let backends = &content.backends;
        let mut lists = backends.tool_lists();
        let began = Instant::now();
        loop {
            let published = self.published_now();
            let awaited = awaited(&published, &self.catalog(), tool);
            if awaited.is_empty() {
                return published;
            }
            let patience = awaited.patience(backends, self.inner.first_list_wait);
            let left = patience.saturating_sub(began.elapsed());
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
        let published = self.published_now();
        let doubted = doubted(&published);
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
        names.names().map(ToString::to_string).collect()
    }
}

/// The backends that must tell their tools before this one can be called.
fn awaited(published: &Published, catalog: &Catalog, tool: &str) -> Awaited {
    match published.find(tool).map(|tool| (&tool.target, tool)) {
        Some((Target::Backend { .. }, tool)) => tool.awaits.clone(),
        Some((Target::Workflow(workflow), _)) => workflow.awaits.clone(),
        None => {
            let withheld = published.withheld(tool).map(|own| own.awaits.clone());
            withheld.unwrap_or_else(|| Awaited::of_tool(tool, catalog))
        }
    }
}

/// The backends whose kept lists, or none, leave open what becomes of a workflow. One that has all it needs and waits
/// for its lock alone is listed until it is called.
fn doubted(published: &Published) -> BTreeSet<BackendName> {
    let unbound = published.workflows().filter_map(|tool| match &tool.target {
        Target::Workflow(own) if own.plan.is_none() => Some(&own.awaits),
        Target::Workflow(_) | Target::Backend { .. } => None,
    });
    // A tool that does not match its lock is looked at again when it is called.
    let withheld = published.withheld.iter();
    let withheld = withheld.filter(|own| own.kind == WithheldKind::Workflow);
    let unfit = withheld.chain(&published.outdated);
    let all = unbound.chain(unfit.map(|own| &own.awaits));
    all.flat_map(Awaited::names).cloned().collect()
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
    format!("a backend that this needs cannot be reached yet; {reasons}")
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
        BackendState::Down { reason, .. }
        | BackendState::Silent { reason }
        | BackendState::Invalid { reason } => reason,
        BackendState::Idle | BackendState::Connecting => "it is still connecting".to_owned(),
        BackendState::Ready => "it has not told its tools".to_owned(),
        BackendState::Stopped => "it was stopped".to_owned(),
    };
    let text = format!("`{tool}` belongs to backend `{backend}`, which is not connected: {reason}");
    Some((code, text))
}
