//! How far a run has come, in steps and items that have ended: whoever begins to watch in its middle counts on from there.

use onecall_engine::event::{Event, What};
use onecall_engine::state::State;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps and items that have ended.
    pub ended: u32,
    /// Items of all loops that have begun.
    pub items: u32,
    /// Of each loop: items that have ended, and all.
    pub loops: BTreeMap<u32, (u32, u32)>,
}

impl Counts {
    /// How far the run was before these events, which led to this state.
    pub(crate) fn before(state: &State, events: &[Event]) -> Self {
        let mut counts = Self::of(state);
        for event in events.iter().rev() {
            counts.take_back(&event.what);
        }
        counts
    }

    fn of(state: &State) -> Self {
        let mut counts = Self::default();
        for (index, step) in state.steps.iter().enumerate() {
            counts.ended += u32::from(step.status.0.is_ended());
            let Some(each) = &step.each else {
                continue;
            };
            let all = number(each.items.len());
            counts.ended = counts.ended.saturating_add(each.ended);
            counts.items = counts.items.saturating_add(all);
            counts.loops.insert(number(index), (each.ended, all));
        }
        counts
    }

    /// Counts one event.
    pub fn add(&mut self, what: &What) {
        match what {
            What::StepEnded { .. } => self.ended += 1,
            What::ItemsAre { step, items, .. } => {
                let all = number(items.len());
                self.items = self.items.saturating_add(all);
                self.loops.insert(*step, (0, all));
            }
            What::ItemEnded { step, .. } => {
                self.ended += 1;
                self.loops.entry(*step).or_default().0 += 1;
            }
            _ => {}
        }
    }

    fn take_back(&mut self, what: &What) {
        match what {
            What::StepEnded { .. } => self.ended = self.ended.saturating_sub(1),
            What::ItemsAre { step, items, .. } => {
                self.items = self.items.saturating_sub(number(items.len()));
                self.loops.remove(step);
            }
            What::ItemEnded { step, .. } => {
                self.ended = self.ended.saturating_sub(1);
                if let Some((ended, _)) = self.loops.get_mut(step) {
                    *ended = ended.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
