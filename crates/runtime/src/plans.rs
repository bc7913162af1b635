//! Stored plans that were read already, by their hash: a thousand runs of one workflow read its plan once.

use crate::limits::PLANS_MAX;
use onecall_workflow::plan::Plan;
use onecall_workflow::stored::{ReadPlanError, read_plan};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<BTreeMap<String, Arc<Plan>>>);

impl Plans {
    pub(crate) fn of(&self, hash: &str, text: &str) -> Result<Arc<Plan>, ReadPlanError> {
        let known = self.lock().get(hash).cloned();
        if let Some(plan) = known {
            return Ok(plan);
        }
        let plan = Arc::new(read_plan(text)?);
        let mut plans = self.lock();
        if plans.len() >= PLANS_MAX {
            plans.clear();
        }
        plans.insert(hash.to_owned(), Arc::clone(&plan));
        Ok(plan)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Plan>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
