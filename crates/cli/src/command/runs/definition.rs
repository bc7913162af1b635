//! The workflow and the backends of a stored run as the files of this directory describe them now, for commands that
//! take no files.

use crate::{files, wire};
use onecall_config::settings::Settings;
use onecall_engine::journal::StoredRun;
use onecall_runtime::stranded::{Bindings, reason};
use onecall_workflow::stored::{read_plan, workflow_hash};
use onecall_workflow::workflow::Workflow;

/// The present definition of a workflow.
pub(super) struct Definition {
    pub(super) workflow: Workflow,
}

impl Definition {
    /// The run has another definition. `None`: unknown.
    pub(super) fn differs(&self, stored: &StoredRun) -> Option<bool> {
        let plan = read_plan(&stored.plan).ok()?;
        // The inputs of a derived tool are written out once its backend is known.
        if self.workflow.derives.is_some() {
            return None;
        }
        Some(workflow_hash(&self.workflow) != workflow_hash(&plan.workflow))
    }
}

/// The definition in the files of this directory, if they have the workflow of this run.
pub(super) fn present(stored: &StoredRun) -> Option<Definition> {
    let settings = settings_here()?;
    let name = stored.summary.workflow.as_str();
    let mut found = settings.workflows().filter(|own| own.name == name);
    let workflow = found.next()?.clone();
    Some(Definition { workflow })
}

/// Why a run that has not ended cannot resume with the backends in the files of this directory.
pub(super) fn bound_elsewhere(stored: &StoredRun) -> Option<String> {
    if stored.summary.phase.is_ended() {
        return None;
    }
    let settings = settings_here()?;
    let plan = read_plan(&stored.plan).ok()?;
    let servers: Vec<Bindings> = settings.servers.iter().map(Bindings::new).collect();
    reason(&servers, &plan)
}

/// Files with errors are left to `check`.
fn settings_here() -> Option<Settings> {
    let file = files::of_this_folder()?;
    let loaded = wire::load(&[file]).ok()?;
    Some(loaded.settings)
}
