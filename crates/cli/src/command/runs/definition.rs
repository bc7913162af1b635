//! The workflow and the backends of a stored run as the files of this directory describe them now, for commands that
//! take no files.

use crate::{files, wire};
use onecall_config::settings::Settings;
use onecall_engine::identity::RunId;
use onecall_engine::journal::StoredRun;
use onecall_runtime::retry::current::is_wanted;
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

/// What a run waits for that `retry --with-current` made and that no server has begun.
pub(super) fn awaited(stored: &StoredRun) -> Option<String> {
    if !is_wanted(stored) || stored.summary.phase.is_ended() {
        return None;
    }
    let workflow = stored.summary.workflow.as_str();
    Some(match present(stored) {
        Some(_) => format!("waits for a server that can call workflow `{workflow}`"),
        None => format!(
            "waits for a server that has workflow `{workflow}`; the files of this directory have none of that name"
        ),
    })
}

/// Why a run that has not ended cannot resume with the backends in the files of this directory.
pub(super) fn bound_elsewhere(stored: &StoredRun) -> Option<String> {
    // One that has not begun is bound when it begins.
    if stored.summary.phase.is_ended() || is_wanted(stored) {
        return None;
    }
    let settings = settings_here()?;
    let plan = read_plan(&stored.plan).ok()?;
    let servers: Vec<Bindings> = settings.servers.iter().map(Bindings::new).collect();
    reason(&servers, &plan)
}

/// Says why such a run cannot resume, and what binds it to other backends.
pub(super) fn stranded_lines(run: &RunId, reason: &str, flag: &str) -> [String; 2] {
    [
        format!("run {run} cannot resume: {reason}"),
        format!(
            "  = help: `onecall runs rebind {run}{flag}` shows what differs and binds it to these backends"
        ),
    ]
}

/// Files with errors are left to `check`.
fn settings_here() -> Option<Settings> {
    let file = files::of_this_folder()?;
    let loaded = wire::load(&[file]).ok()?;
    Some(loaded.settings)
}
