//! A workflow with faults. It is never bound, printed or run; it is only held against the tools there are, so that
//! those faults are told together with its others.

use crate::catalog::Catalog;
use crate::check;
use crate::name::WorkflowName;
use crate::step::Step;
use crate::workflow::Workflow;
use onecall_source::{Diagnostics, Place};

#[derive(Clone, Debug)]
pub struct Draft(Workflow);

impl Draft {
    pub fn name(&self) -> &str {
        self.0.name.as_str()
    }

    pub fn place(&self) -> &Place {
        &self.0.place
    }

    pub fn steps(&self) -> &[Step] {
        &self.0.steps
    }

    /// What does not fit the tools there are, as far as it does not follow from the other faults.
    pub fn check(&self, catalog: &Catalog) -> Diagnostics {
        check::check_draft(&self.0, catalog)
    }
}

/// What a builder makes.
#[derive(Clone, Debug)]
pub enum Built {
    Sound(Workflow),
    /// It has faults, which were reported.
    Faulty(Draft),
}

impl Built {
    pub(crate) fn new(workflow: Workflow, is_sound: bool) -> Self {
        if is_sound {
            Self::Sound(workflow)
        } else {
            Self::Faulty(Draft(workflow))
        }
    }

    pub fn name(&self) -> &WorkflowName {
        &self.inner().name
    }

    pub fn place(&self) -> &Place {
        &self.inner().place
    }

    fn inner(&self) -> &Workflow {
        match self {
            Self::Sound(workflow) | Self::Faulty(Draft(workflow)) => workflow,
        }
    }

    pub fn sound(self) -> Option<Workflow> {
        match self {
            Self::Sound(workflow) => Some(workflow),
            Self::Faulty(_) => None,
        }
    }

    /// The same; `is_sound` tells whether its written form had no faults either.
    #[must_use]
    pub fn only_if(self, is_sound: bool) -> Self {
        match self {
            Self::Sound(workflow) => Self::new(workflow, is_sound),
            Self::Faulty(draft) => Self::Faulty(draft),
        }
    }
}
