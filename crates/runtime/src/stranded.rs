//! Stranded runs: they cannot resume because they are bound to other backends. Lists them with the reason, and binds
//! one to the present backends.

use crate::identity::Identities;
use crate::limits::STRANDED_MAX;
use crate::retry::current;
use onecall_config::settings::Server;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Journal, JournalError, StoredPlan};
use onecall_workflow::plan::Plan;
use onecall_workflow::stored::{read_plan, write_plan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The backends of one server, as runs are bound to them.
#[derive(Clone, Debug)]
pub struct Bindings(Identities);

impl Bindings {
    pub fn new(server: &Server) -> Self {
        Self(Identities::of(&server.backends, server.home.as_deref()))
    }

    /// A run with this plan can resume here.
    pub fn fits(&self, plan: &Plan) -> bool {
        self.0.fits(plan)
    }

    /// What differs, a line for each backend: ``` `args` of `demo` differ ```.
    pub fn differences(&self, plan: &Plan) -> Vec<String> {
        self.0.differences(plan)
    }

    /// The plan bound to these backends. `None`: not all of them are here.
    pub fn rebound(&self, plan: &Plan) -> Option<StoredPlan> {
        let mut plan = plan.clone();
        self.0.mark(&mut plan);
        if !self.0.fits(&plan) {
            return None;
        }
        let (text, hash) = write_plan(&plan);
        let text = Arc::from(text);
        Some(StoredPlan { hash, text })
    }
}

/// A run that cannot resume, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranded {
    pub run: RunId,
    pub workflow: String,
    pub reason: String,
}

/// Why a run with this plan cannot resume with any of these servers: what differs from the first whose files are in
/// the same directory. `None`: it can, or it belongs to the files of another directory.
pub fn reason(servers: &[Bindings], plan: &Plan) -> Option<String> {
    reason_among(servers.iter().map(|own| &own.0), plan)
}

fn reason_among<'a>(
    servers: impl Iterator<Item = &'a Identities> + Clone,
    plan: &Plan,
) -> Option<String> {
    if servers.clone().any(|own| own.fits(plan)) {
        return None;
    }
    let mut near = servers.filter(|own| own.is_of_same_directory(plan));
    let differences = near.next()?.differences(plan).join(", ");
    Some(format!("bound to other backends: {differences}"))
}

/// The runs that no process drives, that are bound to other backends than these servers have now, and whose files are in the
/// same directory.
pub async fn stranded(
    journal: &dyn Journal,
    servers: &[Bindings],
    now: Timestamp,
) -> Result<Vec<Stranded>, JournalError> {
    let servers: Vec<&Identities> = servers.iter().map(|own| &own.0).collect();
    stranded_among(journal, &servers, now, |_, _| true).await
}

pub(crate) async fn stranded_among(
    journal: &dyn Journal,
    servers: &[&Identities],
    now: Timestamp,
    is_looked_at: impl Fn(&RunId, &Plan) -> bool,
) -> Result<Vec<Stranded>, JournalError> {
    // There are far fewer plans than runs.
    let mut reasons: BTreeMap<String, Option<(Plan, String)>> = BTreeMap::new();
    let mut stranded = Vec::new();
    let open = journal.open_runs(now).await?;
    for run in open.into_iter().filter(|run| run.is_left) {
        if !reasons.contains_key(&run.plan_hash) {
            let Some(stored) = journal.plan(&run.id).await? else {
                continue;
            };
            // One that cannot be read is held, with its own reason.
            let found = read_plan(&stored.text).ok().and_then(|plan| {
                let reason = reason_among(servers.iter().copied(), &plan)?;
                Some((plan, reason))
            });
            reasons.insert(run.plan_hash.clone(), found);
        }
        let Some(Some((plan, reason))) = reasons.get(&run.plan_hash) else {
            continue;
        };
        if is_looked_at(&run.id, plan) {
            stranded.push(Stranded {
                run: run.id,
                workflow: plan.workflow.name.as_str().to_owned(),
                reason: reason.clone(),
            });
        }
        if stranded.len() == STRANDED_MAX {
            break;
        }
    }
    if !stranded.is_empty() {
        // These are bound when they begin.
        let wanted = current::all_wanted(journal).await?;
        stranded.retain(|own| !wanted.contains(&own.run));
    }
    Ok(stranded)
}
