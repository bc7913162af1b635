//! Watching for a client: a handshake session subscribes to resources and unsubscribes, a modern listener names what it
//! wants once, resources and tasks, and hears of lists on the same stream.

use crate::call::Caller;
use crate::limits::{SUBSCRIPTIONS_MAX, TASK_LOOK};
use crate::server::Shared;
use crate::sessions::Changes;
use crate::unread::Unread;
use crate::{offers, tasks};
use http::request::Parts;
use onecall_engine::identity::RunId;
use onecall_mcp::limits::URI_BYTES_MAX;
use onecall_mcp::{Era, Fields, RpcError, field, meta, method};
use onecall_runtime::calls::Moved;
use onecall_runtime::offers::Subscription;
use onecall_runtime::runtime::Runtime;
use rmcp::model::{CustomNotification, Extensions, ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

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
        shared: &Shared,
        uri: String,
        peer: &Peer<RoleServer>,
    ) -> Result<(), RpcError> {
        let runtime = &shared.runtime;
        if uri.len() > URI_BYTES_MAX {
            let text = format!("the URI of a resource to watch has at most {URI_BYTES_MAX} bytes");
            return Err(RpcError::invalid_params(text));
        }
        if self.0.lock().len() >= SUBSCRIPTIONS_MAX {
            let text = format!("a session may watch {SUBSCRIPTIONS_MAX} resources");
            return Err(RpcError::invalid_params(text));
        }
        if !self.0.is_told.swap(true, Ordering::Relaxed) {
            let unread = shared.unread.clone();
            let watched = Arc::downgrade(&self.0);
            tokio::spawn(tell(runtime.clone(), unread, watched, peer.clone()));
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
async fn tell(runtime: Runtime, unread: Unread, watched: Weak<Watched>, peer: Peer<RoleServer>) {
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
        let message = updated(&unread, &update.params, None);
        if peer.send_notification(message).await.is_err() {
            return;
        }
    }
}

/// An update as the backend told of it, but for the stream that it is told on.
fn updated(unread: &Unread, params: &str, listener: Option<&Value>) -> ServerNotification {
    const KEY: &str = meta::SUBSCRIPTION_ID;
    let fields = |text: &str| Fields::read(text, "it").unwrap_or_default();
    let mut params = fields(params);
    let told = params.get("_meta");
    let mut meta = told.map(|meta| fields(meta.get())).unwrap_or_default();
    match listener {
        Some(id) => meta.set(KEY, id),
        None => meta.remove(KEY),
    }
    // What held nothing else is left out.
    if meta.iter().next().is_none() {
        params.remove("_meta");
    } else {
        params.set("_meta", &meta.to_raw());
    }
    let message = unread.notification(method::RESOURCE_UPDATED, &params.to_text());
    ServerNotification::CustomNotification(message)
}

/// What a modern listener is told of, out of what it asks for.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.retain(|uri| uri.len() <= URI_BYTES_MAX);
        uris.truncate(SUBSCRIPTIONS_MAX);
    }
    accepted
}

/// The tasks that a listener wants to hear of. The types of `rmcp` have no place for them yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskIds(Vec<RunId>);

impl TaskIds {
    /// Those that the parameters of `subscriptions/listen` name.
    pub(crate) fn of(params: &Value) -> Self {
        let named = params["notifications"]["taskIds"].as_array();
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        Self(named.take(SUBSCRIPTIONS_MAX).map(RunId::new).collect())
    }

    /// Those that a transport put beside the request.
    pub(crate) fn among(extensions: &Extensions) -> Self {
        let beside = extensions
            .get::<Parts>()
            .and_then(|parts| parts.extensions.get::<Self>());
        let beside = beside.or_else(|| extensions.get::<Self>());
        beside.cloned().unwrap_or_default()
    }
}

/// Tells a modern listener of what it asked for, until it or the server goes.
pub(crate) async fn listen(
    shared: &Arc<Shared>,
    context: SubscriptionContext,
    tasks: TaskIds,
    caller: Caller,
) {
    let mut told = JoinSet::new();
    if caller.takes_tasks {
        let caller = Arc::new(caller);
        for run in tasks.0 {
            let listener = Listener {
                shared: Arc::clone(shared),
                caller: Arc::clone(&caller),
                peer: context.request_context().peer.clone(),
                id: serde_json::to_value(context.sink().id()).unwrap_or_default(),
            };
            told.spawn(async move { listener.follow(&run).await });
        }
    }
    listen_to_lists(shared, context).await;
}

/// Somebody who hears of tasks.
struct Listener {
    shared: Arc<Shared>,
    caller: Arc<Caller>,
    peer: Peer<RoleServer>,
    /// Of the request that listens.
    id: Value,
}

impl Listener {
    /// Tells how a task stands now and whenever that changes, until it has ended. Of a task of somebody else nothing
    /// is told.
    async fn follow(&self, run: &RunId) {
        let (runtime, principal) = (&self.shared.runtime, self.caller.principal.name());
        if runtime.owned(run, principal).await.is_err() {
            return;
        }
        let Ok(mut follower) = runtime.attach(run).await else {
            return;
        };
        let mut last = Value::Null;
        let mut rested = false;
        while let Ok(task) = tasks::told(&self.shared, run, &self.caller).await {
            let stands = json!([
                task["status"],
                task[field::INPUT_REQUESTS],
                task["statusMessage"]
            ]);
            if stands != last && !self.tell(task).await {
                return;
            }
            last = stands;
            let Ok(standing) = runtime.standing(run).await else {
                return;
            };
            if standing.result.is_some() {
                return;
            }
            if !standing.rests() {
                // The follower reported the run as idle, and this look does not: pause before the next one.
                if rested {
                    tokio::time::sleep(TASK_LOOK).await;
                }
                rested = matches!(follower.moved().await, Moved::Rests(_));
                continue;
            }
            rested = false;
            let open = standing.questions.iter();
            let settling: Vec<_> = open
                .map(|asked| Box::pin(runtime.settles(run, &asked.step, asked.round)))
                .collect();
            if settling.is_empty() {
                tokio::time::sleep(TASK_LOOK).await;
            } else {
                futures::future::select_all(settling).await;
            }
        }
    }

    async fn tell(&self, mut task: Value) -> bool {
        task["_meta"] = json!({ meta::SUBSCRIPTION_ID: self.id });
        let message = CustomNotification::new(method::TASK_STATUS, Some(task));
        let sent = self
            .peer
            .send_notification(ServerNotification::CustomNotification(message));
        sent.await.is_ok()
    }
}

async fn listen_to_lists(shared: &Shared, context: SubscriptionContext) {
    let mut changes = shared.sessions.changes();
    let mut known = *changes.borrow_and_update();
    let mut updates = shared.runtime.resource_updates();
    let wanted = context.accepted().resource_subscriptions.clone();
    let id = serde_json::to_value(context.sink().id()).unwrap_or_default();
    let mut held = Vec::new();
    for uri in wanted.iter().flatten() {
        match shared.runtime.subscribe(uri).await {
            Ok(subscription) => held.push(subscription),
            Err(error) => tracing::debug!(uri, %error, "a resource cannot be watched"),
        }
    }
    loop {
        let ended = async {
            tokio::select! {
                () = context.cancelled() => {}
                () = shared.stop.cancelled() => {}
            }
        };
        let told = match next(ended, &mut changes, &mut updates).await {
            Next::End => return,
            Next::Lists(now) => {
                let before = std::mem::replace(&mut known, now);
                tell_lists(&context, before, now).await
            }
            Next::Resource(update) => {
                if !wanted.iter().flatten().any(|uri| **uri == *update.uri) {
                    continue;
                }
                let message = updated(&shared.unread, &update.params, Some(&id));
                let peer = &context.request_context().peer;
                peer.send_notification(message).await.is_ok()
            }
        };
        if !told {
            return;
        }
    }
}

/// What a listener hears of next.
#[derive(Debug)]
enum Next<U> {
    End,
    Lists(Changes),
    Resource(U),
}

/// The end comes first: who has cancelled is told nothing more, whatever there is to tell.
async fn next<U: Clone>(
    ended: impl Future<Output = ()>,
    changes: &mut watch::Receiver<Changes>,
    updates: &mut broadcast::Receiver<U>,
) -> Next<U> {
    let updated = async {
        loop {
            match updates.recv().await {
                Ok(update) => return Next::Resource(update),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Next::End,
            }
        }
    };
    tokio::select! {
        biased;
        () = ended => Next::End,
        changed = changes.changed() => match changed {
            Ok(()) => Next::Lists(*changes.borrow_and_update()),
            Err(_) => Next::End,
        },
        updated = updated => updated,
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

#[cfg(test)]
mod tests {
    use super::{Next, next};
    use crate::sessions::Changes;
    use tokio::sync::{broadcast, watch};

    #[tokio::test]
    async fn who_has_cancelled_is_told_nothing_more() {
        let (lists, mut changes) = watch::channel(Changes::default());
        let (told, mut updates) = broadcast::channel(1);
        told.send(1).unwrap();
        lists.send(Changes::default()).unwrap();
        for _ in 0..64 {
            let ended = std::future::ready(());
            let heard = next(ended, &mut changes, &mut updates).await;
            assert!(matches!(heard, Next::End), "{heard:?}");
        }
        let heard = next(std::future::pending(), &mut changes, &mut updates).await;
        assert!(matches!(heard, Next::Lists(_)), "{heard:?}");
        let heard = next(std::future::pending(), &mut changes, &mut updates).await;
        assert!(matches!(heard, Next::Resource(1)), "{heard:?}");
    }
}
