//! Progress of a run, told to a client that sent a token: one message a step that has ended.

use onecall_engine::event::{Event, Status, What};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::sync::Arc;

pub(crate) struct Progress {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    ended: u32,
}

impl Progress {
    pub(crate) fn new(token: ProgressToken, peer: Peer<RoleServer>) -> Self {
        Self {
            token,
            peer,
            ended: 0,
        }
    }

    /// Tells of every step that ended in these events. The value rises by one a step.
    pub(crate) async fn tell(&mut self, events: &[Event], steps: &Arc<[String]>) {
        for event in events {
            let What::StepEnded { step, status, .. } = &event.what else {
                continue;
            };
            self.ended += 1;
            let name = steps.get(*step as usize).map_or("", String::as_str);
            let total = u32::try_from(steps.len()).unwrap_or(u32::MAX);
            let param = ProgressNotificationParam::new(self.token.clone(), f64::from(self.ended))
                .with_total(f64::from(total))
                .with_message(message(name, *status));
            // A client that no longer listens is told nothing; its call ends by itself.
            let _ = self.peer.notify_progress(param).await;
        }
    }
}

fn message(step: &str, status: Status) -> String {
    format!("{step}: {}", status.as_str())
}
