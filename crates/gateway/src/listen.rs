//! Watching resources for a client: a handshake session subscribes and unsubscribes, a modern listener names what it
//! wants once, and hears of lists on the same stream.

use crate::limits::SUBSCRIPTIONS_MAX;
use crate::offers;
use crate::server::Shared;
use crate::sessions::Changes;
use onecall_mcp::{Era, RpcError};
use onecall_runtime::offers::Subscription;
use onecall_runtime::runtime::Runtime;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::broadcast::error::RecvError;

/// The resources that one session watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watching(Arc<Watched>);

#[derive(Debug, Default)]
struct Watched {
    resources: Mutex<BTreeMap<String, Subscription>>,
    /// Somebody tells the session of updates already.
    is_told: AtomicBool,
}

impl Watching {
    pub(crate) async fn add(
        &self,
        runtime: &Runtime,
        uri: String,
        peer: &Peer<RoleServer>,
    ) -> Result<(), RpcError> {
        if self.0.lock().len() >= SUBSCRIPTIONS_MAX {
            let text = format!("a session may watch {SUBSCRIPTIONS_MAX} resources");
            return Err(RpcError::invalid_params(text));
        }
        if !self.0.is_told.swap(true, Ordering::Relaxed) {
            tokio::spawn(tell(runtime.clone(), Arc::downgrade(&self.0), peer.clone()));
        }
        let subscribed = runtime.subscribe(&uri).await;
        let subscribed = subscribed.map_err(|error| offers::refused(error, Era::Legacy))?;
        self.0.lock().insert(uri, subscribed);
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Subscription>> {
        let locked = self.resources.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells a session of updates until it has gone.
async fn tell(runtime: Runtime, watched: Weak<Watched>, peer: Peer<RoleServer>) {
    let mut updates = runtime.resource_updates();
    loop {
        let update = match updates.recv().await {
            Ok(update) => update,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Some(watched) = watched.upgrade() else {
            return;
        };
        if !watched.lock().contains_key(&*update.uri) {
            continue;
        }
        let param = ResourceUpdatedNotificationParam::new(update.uri.to_string());
        if peer.notify_resource_updated(param).await.is_err() {
            return;
        }
    }
}

/// Tells a modern listener of what it asked for, until it or the server goes.
pub(crate) async fn listen(shared: &Shared, context: SubscriptionContext) {
    let mut changes = shared.sessions.changes();
    let mut known = *changes.borrow_and_update();
    let mut updates = shared.runtime.resource_updates();
    let wanted = context.accepted().resource_subscriptions.clone();
    let mut held = Vec::new();
    for uri in wanted.iter().flatten().take(SUBSCRIPTIONS_MAX) {
        match shared.runtime.subscribe(uri).await {
            Ok(subscription) => held.push(subscription),
            Err(error) => tracing::debug!(uri, %error, "a resource cannot be watched"),
        }
    }
    loop {
        let told = tokio::select! {
            () = context.cancelled() => return,
            () = shared.stop.cancelled() => return,
            changed = changes.changed() => {
                if changed.is_err() {
                    return;
                }
                let now = *changes.borrow_and_update();
                let before = std::mem::replace(&mut known, now);
                tell_lists(&context, before, now).await
            }
            update = updates.recv() => match update {
                Ok(update) if wanted.iter().flatten().any(|uri| **uri == *update.uri) => {
                    context.sink().notify_resource_updated(&*update.uri).await.is_ok()
                }
                Ok(_) | Err(RecvError::Lagged(_)) => true,
                Err(RecvError::Closed) => return,
            },
        };
        if !told {
            return;
        }
    }
}

async fn tell_lists(context: &SubscriptionContext, before: Changes, now: Changes) -> bool {
    let (accepted, sink) = (context.accepted(), context.sink());
    let mut told = true;
    if accepted.tools_list_changed == Some(true) && now.tools != before.tools {
        told &= sink.notify_tool_list_changed().await.is_ok();
    }
    if accepted.prompts_list_changed == Some(true) && now.prompts != before.prompts {
        told &= sink.notify_prompt_list_changed().await.is_ok();
    }
    if accepted.resources_list_changed == Some(true) && now.resources != before.resources {
        told &= sink.notify_resource_list_changed().await.is_ok();
    }
    told
}
