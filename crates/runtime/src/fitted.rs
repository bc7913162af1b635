//! The versions of workflows that were the last to fit the tools of their backends, so that files whose newest version
//! does not fit take nothing away. In memory: a server that is started anew knows its files alone.

use crate::publish::{Published, Target};
use onecall_config as settings;
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Fitted(BTreeMap<String, Arc<Workflow>>);

impl Fitted {
    pub(crate) fn of(&self, workflow: &Workflow) -> Option<&Arc<Workflow>> {
        self.named(workflow.name.as_str())
    }

    /// The version of a workflow whose newest version has errors.
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Workflow>> {
        self.0.get(name)
    }

    /// Learns from what was published of the files. A version whose backends are not known yet may prove unfit, so it
    /// does not replace the one before; a workflow that the files no longer hold is gone.
    pub(crate) fn learn(
        &mut self,
        files: &[Arc<Workflow>],
        withheld: &[settings::Withheld],
        published: &Published,
    ) {
        let is_held = |name: &str| {
            files.iter().any(|own| own.name.as_str() == name)
                || withheld.iter().any(|own| own.name == name)
        };
        self.0.retain(|name, _| is_held(name));
        for tool in published.workflows() {
            if let Target::Workflow(own) = &tool.target
                && own.ready_plan().is_some()
            {
                let name = own.workflow.name.as_str().to_owned();
                self.0.insert(name, Arc::clone(&own.workflow));
            }
        }
    }
}
