//! Which backend is which: a run goes on only against the backends it was bound to.

use crate::limits::FOREIGN_MAX;
use onecall_config::settings::{Backend, Transport};
use onecall_engine::identity::RunId;
use onecall_workflow::name::BackendName;
use onecall_workflow::plan::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// How each backend is reached, without secrets: no environment, no headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identities(BTreeMap<BackendName, String>);

impl Identities {
    pub(crate) fn of(backends: &[Backend]) -> Self {
        let entries = backends
            .iter()
            .map(|backend| (backend.name.clone(), text(&backend.transport)));
        Self(entries.collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&BackendName, &str)> {
        self.0.iter().map(|(backend, own)| (backend, own.as_str()))
    }

    pub(crate) fn get(&self, backend: &BackendName) -> Option<&str> {
        self.0.get(backend).map(String::as_str)
    }

    /// Writes into a plan which backends it is bound to.
    pub(crate) fn mark(&self, plan: &mut Plan) {
        for tool in plan.tools.iter().flatten() {
            if let Some(own) = self.0.get(&tool.backend) {
                plan.backends.insert(tool.backend.clone(), own.clone());
            }
        }
    }

    pub(crate) fn fits(&self, plan: &Plan) -> bool {
        let needed = plan.tools.iter().flatten().map(|tool| &tool.backend);
        needed.into_iter().all(|backend| {
            self.0.contains_key(backend) && plan.backends.get(backend) == self.0.get(backend)
        })
    }
}

fn text(transport: &Transport) -> String {
    match transport {
        Transport::Stdio {
            command, args, cwd, ..
        } => {
            let words: Vec<&str> = std::iter::once(command.as_str())
                .chain(args.iter().map(String::as_str))
                .collect();
            format!("stdio {words:?} in {}", cwd.as_deref().unwrap_or("."))
        }
        Transport::StreamableHttp { url, .. } => format!("http {url}"),
        Transport::Sse { url, .. } => format!("sse {url}"),
    }
}

/// Runs of other servers on the same store, so that each is looked at once.
#[derive(Debug, Default)]
pub(crate) struct Foreign(Mutex<BTreeSet<RunId>>);

impl Foreign {
    pub(crate) fn contains(&self, run: &RunId) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(run)
    }

    /// Other backends may make a run ours.
    pub(crate) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    pub(crate) fn insert(&self, run: RunId) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= FOREIGN_MAX {
            runs.clear();
        }
        runs.insert(run);
    }
}
