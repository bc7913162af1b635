//! Resources whose updates somebody wants to hear of. The wish outlives a connection: whatever connection there is
//! is told of all of them, in the way of its era.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use onecall_mcp::{Era, method};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::limits::CONNECT_TIMEOUT_DEFAULT;
use crate::news::Updated;

type Uris = BTreeSet<Arc<str>>;

#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    /// With the number of those who want it.
    wanted: watch::Sender<BTreeMap<Arc<str>, usize>>,
    /// What the server at the other end has been told, and took.
    in_force: watch::Sender<Uris>,
}

impl Subscriptions {
    pub(crate) fn add(&self, uri: &Arc<str>) {
        self.wanted.send_modify(|wanted| {
            *wanted.entry(Arc::clone(uri)).or_default() += 1;
        });
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.wanted.send_modify(|wanted| match wanted.get_mut(uri) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                wanted.remove(uri);
            }
        });
    }

    /// Waits until the server tells of this resource, at most so long.
    pub(crate) async fn in_force(&self, uri: &str, patience: Duration) {
        let mut told = self.in_force.subscribe();
        let told = told.wait_for(|uris| uris.contains(uri));
        let _ = tokio::time::timeout(patience, told).await;
    }

    pub(crate) fn wants(&self, uri: &str) -> bool {
        self.wanted.borrow().contains_key(uri)
    }

    fn uris(&self) -> Uris {
        self.wanted.borrow().keys().cloned().collect()
    }
}

/// Keeps a server telling of what is wanted, for as long as the connection lives.
pub(crate) async fn keep(client: &Client, subscriptions: &Subscriptions) {
    subscriptions.in_force.send_replace(Uris::new());
    match client.era() {
        Era::Legacy => ask_one_by_one(client, subscriptions).await,
        Era::Modern => listen(client, subscriptions).await,
    }
}

async fn ask_one_by_one(client: &Client, subscriptions: &Subscriptions) {
    let mut changed = subscriptions.wanted.subscribe();
    let mut told = Uris::new();
    loop {
        changed.mark_unchanged();
        let wanted = subscriptions.uris();
        let news = wanted
            .difference(&told)
            .map(|uri| (uri, method::RESOURCES_SUBSCRIBE));
        let gone = told
            .difference(&wanted)
            .map(|uri| (uri, method::RESOURCES_UNSUBSCRIBE));
        for (uri, name) in news.chain(gone) {
            let asked = client.request(name, json!({ "uri": uri }));
            match tokio::time::timeout(CONNECT_TIMEOUT_DEFAULT, asked).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::warn!(%uri, ?error, "`{name}` was refused"),
                Err(_) => tracing::warn!(%uri, "`{name}` was left unanswered"),
            }
        }
        told = wanted;
        subscriptions.in_force.send_replace(told.clone());
        if changed.changed().await.is_err() {
            return;
        }
    }
}

async fn listen(client: &Client, subscriptions: &Subscriptions) {
    let mut changed = subscriptions.wanted.subscribe();
    let mut backoff = Backoff::default();
    let mut has_broken = false;
    loop {
        changed.mark_unchanged();
        let wanted = subscriptions.uris();
        let acknowledged = Arc::new(Notify::new());
        let listening = async {
            if wanted.is_empty() {
                return std::future::pending().await;
            }
            let began = Instant::now();
            let filter = json!({ "resourceSubscriptions": wanted });
            let ended = client.listen(filter, Arc::clone(&acknowledged)).await;
            tracing::debug!(?ended, "a stream of updates ended");
            tokio::time::sleep(backoff.after(Some(began.elapsed()))).await;
        };
        tokio::pin!(listening);
        let mut is_told = false;
        has_broken = loop {
            tokio::select! {
                () = &mut listening => break true,
                changed = changed.changed() => match changed {
                    Ok(()) if subscriptions.uris() == wanted => {}
                    Ok(()) => break false,
                    Err(_) => return,
                },
                () = acknowledged.notified(), if !is_told => {
                    is_told = true;
                    subscriptions.in_force.send_replace(wanted.clone());
                    // What was updated while nobody listened was told to nobody.
                    let missed = wanted.iter().filter(|_| has_broken);
                    missed.for_each(|uri| client.news().update(Updated::of(uri)));
                }
            }
        };
    }
}
