//! Mocks: a step whose result is written down. Nothing is called and no time passes; arguments are evaluated
//! all the same, so that a reference that leads nowhere shows.

use super::Decider;
use crate::event::{Output, What};
use crate::identity::Slot;
use onecall_workflow::step::{Action, Step};
use serde_json::Value;
use std::sync::Arc;

impl Decider<'_> {
    /// Of a loop the mock is the whole output: there are no items to evaluate arguments for.
    pub(super) fn mocked(&mut self, step: u32, own: &Step, mock: &Value) {
        let slot = Slot::of_step(step);
        let arguments = match &own.action {
            Action::Call(call) => {
                let view = self.view(slot);
                match self.evaluator.arguments(call, None, &view) {
                    Ok(arguments) => Some(Arc::new(arguments)),
                    Err(failure) => return self.slot_failed(slot, failure),
                }
            }
            Action::Each(_) | Action::Ask(_) => None,
        };
        self.emit(What::Mocked { step, arguments });
        let transform = own.written_call().and_then(|call| call.transform.as_ref());
        let output = match transform {
            None => Ok(mock.clone()),
            Some(program) => self.evaluator.transform(program, mock, mock),
        };
        match output {
            Ok(output) => self.step_completed(step, Output::Value(Arc::new(output))),
            Err(failure) => self.slot_failed(slot, failure),
        }
    }
}
