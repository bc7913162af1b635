//! Progress of a run, told to a client that sent a token: one message a step that has ended, and now and then one of the
//! items of a loop.

use crate::limits::ITEMS_TOLD_EVERY;
use onecall_engine::event::{Event, What};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

pub(crate) struct Progress {
    token: ProgressToken,
    peer: Peer<RoleServer>,
    /// Steps and items that have ended.
    ended: u32,
    /// Items of all loops that have begun.
    items: u32,
    /// Of each loop: items that have ended, and all.
    loops: BTreeMap<u32, (u32, u32)>,
    /// When an item was told of.
    told: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(token: ProgressToken, peer: Peer<RoleServer>) -> Self {
        Self {
            token,
            peer,
            ended: 0,
            items: 0,
            loops: BTreeMap::new(),
            told: None,
        }
    }

    /// Tells of every step that ended in these events, and of items that did. The value rises by one each.
    pub(crate) async fn tell(&mut self, events: &[Event], steps: &Arc<[String]>) {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        for event in events {
            let Some((step, text)) = self.count(&event.what) else {
                continue;
            };
            let name = steps.get(step as usize).map_or("", String::as_str);
            let total = number(steps.len()).saturating_add(self.items);
            let param = ProgressNotificationParam::new(self.token.clone(), f64::from(self.ended))
                .with_total(f64::from(total))
                .with_message(format!("{name}: {text}"));
            // A client that no longer listens is told nothing; its call ends by itself.
            let _ = self.peer.notify_progress(param).await;
        }
    }

    /// The step that an event is about and what is said of it, where something is.
    fn count(&mut self, what: &What) -> Option<(u32, String)> {
        match what {
            What::StepEnded { step, status, .. } => {
                self.ended += 1;
                Some((*step, status.as_str().to_owned()))
            }
            What::ItemsAre { step, items, .. } => {
                let all = u32::try_from(items.len()).unwrap_or(u32::MAX);
                self.items = self.items.saturating_add(all);
                self.loops.insert(*step, (0, all));
                None
            }
            What::ItemEnded { step, .. } => {
                self.ended += 1;
                let (ended, all) = self.loops.entry(*step).or_default();
                *ended += 1;
                let text = format!("item {ended} of {all}");
                let is_soon = |told: Instant| told.elapsed() < ITEMS_TOLD_EVERY;
                if self.told.is_some_and(is_soon) {
                    return None;
                }
                self.told = Some(Instant::now());
                Some((*step, text))
            }
            _ => None,
        }
    }
}
