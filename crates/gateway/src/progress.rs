//! Progress of a run, told to a client that sent a token: one message a step that has ended, and now and then one of the
//! items of a loop.

use crate::limits::ITEMS_TOLD_EVERY;
use onecall_engine::event::What;
use onecall_runtime::counts::Counts;
use onecall_runtime::runs::Seen;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::time::Instant;

pub(crate) struct Progress {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    /// When an item was told of.
    told: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(token: ProgressToken, peer: Peer<RoleServer>) -> Self {
        Self {
            token,
            peer,
            told: None,
        }
    }

    /// Tells of every step that ended in these events, and of items that did. The value rises by one each, from where
    /// the run was: this client may have begun to follow it in its middle.
    pub(crate) async fn tell(&mut self, seen: &Seen) {
        let steps = u32::try_from(seen.steps.len()).unwrap_or(u32::MAX);
        let mut counts = seen.before.clone();
        for event in &seen.events {
            counts.add(&event.what);
            let Some((step, text)) = self.text(&event.what, &counts) else {
                continue;
            };
            let name = seen.steps.get(step as usize).map_or("", String::as_str);
            let total = steps.saturating_add(counts.items);
            let param = ProgressNotificationParam::new(self.token.clone(), f64::from(counts.ended))
                .with_total(f64::from(total))
                .with_message(format!("{name}: {text}"));
            // A client that no longer listens is told nothing; its call ends by itself.
            let _ = self.peer.notify_progress(param).await;
        }
    }

    /// The step that an event is about and what is said of it, where something is.
    fn text(&mut self, what: &What, counts: &Counts) -> Option<(u32, String)> {
        match what {
            What::StepEnded { step, status, .. } => Some((*step, status.as_str().to_owned())),
            What::ItemEnded { step, .. } => {
                let is_soon = |told: Instant| told.elapsed() < ITEMS_TOLD_EVERY;
                if self.told.is_some_and(is_soon) {
                    return None;
                }
                self.told = Some(Instant::now());
                let (ended, all) = counts.loops.get(step).copied().unwrap_or_default();
                Some((*step, format!("item {ended} of {all}")))
            }
            _ => None,
        }
    }
}
