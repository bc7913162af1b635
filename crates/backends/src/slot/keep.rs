//! The life of a slot: connect, watch the connection, probe it when calls raise a doubt, connect again with back-off.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt as _;
use onecall_source::counted;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{Slot, State, Told, lock};
use crate::backoff::Backoff;
use crate::client::Client;
use crate::error::{CallError, ConnectError, OTHER_ERA, RequestError, seconds};
use crate::limits::{DOWN_LOGGED_AGAIN, HEALTH_PROBES_MORE, LIST_TIMEOUT};
use crate::lists::ListKind;
use crate::news::Changes;
use crate::subscriptions;

impl Slot {
    /// Makes a request once more, on a new connection, that was refused since another revision is spoken now.
    pub(crate) async fn in_either_era<T, F>(&self, asked: impl Fn() -> F) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        match asked().await {
            Err(error) if error.is_other_era() => {
                Box::pin(self.left()).await;
                Box::pin(asked()).await
            }
            outcome => outcome,
        }
    }

    /// Waits until a connection that is over is no longer used.
    async fn left(&self) {
        let mut state = self.state.subscribe();
        let is_over = |state: &State| match state {
            State::Ready(client) => client.closed().borrow().is_some(),
            State::Idle | State::Connecting { .. } | State::Down { .. } | State::Stopped => false,
        };
        let _ = state.wait_for(|state| !is_over(state)).await;
    }
}

/// The life of a slot.
pub(super) async fn keep(slot: Arc<Slot>) {
    if !slot.target.options.eager {
        tokio::select! {
            () = slot.demand.notified() => {}
            () = slot.stop.cancelled() => return stopped(&slot).await,
        }
    }
    let mut backoff = Backoff::default();
    let mut failures = 0;
    let mut logged = None;
    while !slot.stop.is_cancelled() {
        let since = Instant::now();
        slot.state.send_replace(State::Connecting { since });
        let patience = slot.target.options.connect_timeout;
        let connected = tokio::select! {
            connected = tokio::time::timeout(patience, slot.connect()) => connected,
            () = slot.stop.cancelled() => break,
        };
        let outcome = connected.unwrap_or_else(|_| {
            Err(ConnectError::TimedOut {
                after: patience,
                ignored: slot.target.words.ignored(),
                stderr: slot.target.words.tail(),
            })
        });
        let denied = match &outcome {
            Err(ConnectError::Denied(status)) => Some(*status),
            Ok(_) | Err(_) => None,
        };
        let (reason, lived) = match outcome {
            Ok(client) => {
                let since = Instant::now();
                lock(&slot.health).answered();
                tracing::info!(backend = %slot.target.options.name, "a backend is up");
                slot.failed.store(false, Ordering::SeqCst);
                slot.state.send_replace(State::Ready(Arc::clone(&client)));
                let reason = Box::pin(watch_connection(&slot, &client)).await;
                if slot.stop.is_cancelled() {
                    client.shutdown().await;
                }
                (reason, Some(since.elapsed()))
            }
            Err(error) => {
                // An earlier finding may be what is wrong.
                *lock(&slot.found_era) = slot.target.options.era;
                (error.to_string(), None)
            }
        };
        failures += 1;
        slot.failed.store(true, Ordering::SeqCst);
        let until = Instant::now() + backoff.after(lived);
        if !slot.stop.is_cancelled() {
            if lived.is_some_and(|lived| lived >= DOWN_LOGGED_AGAIN) {
                logged = None;
            }
            log_down(&slot, &reason, &mut logged);
            lock(&slot.health).remember(reason.clone());
        }
        slot.state.send_replace(State::Down {
            reason,
            denied,
            until,
            failures,
        });
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = slot.stop.cancelled() => {}
        }
    }
    stopped(&slot).await;
}

/// Told once for each reason: an attempt that ends as the last one did is no news.
fn log_down(slot: &Slot, reason: &str, logged: &mut Option<String>) {
    let options = &slot.target.options;
    let is_news = logged.as_deref() != Some(reason);
    if is_news && options.logs_failures {
        tracing::warn!(backend = %options.name, reason, "a backend is down");
    } else {
        tracing::debug!(backend = %options.name, reason, "a backend is down");
    }
    *logged = Some(reason.to_owned());
}

/// A child whose connection was given up ends in the background, also one that was just being connected: nothing has
/// stopped before all are gone.
async fn stopped(slot: &Slot) {
    slot.target.children.close();
    slot.target.children.wait().await;
    slot.state.send_replace(State::Stopped);
}

/// Follows what the server tells until the connection ends; says why it ended. Nothing here waits for anything else: a
/// server that leaves a list unanswered can still be shut down, probed and heard.
async fn watch_connection(slot: &Slot, client: &Client) -> String {
    let mut closed = client.closed();
    let following = async {
        tokio::join!(
            follow_lists(slot, client),
            follow_updates(slot, client),
            listen_for_changes(slot, client),
            subscriptions::keep(client, &slot.subscriptions),
            follow_questions(slot, client),
        );
    };
    tokio::select! {
        reason = ended(&mut closed) => {
            if reason == OTHER_ERA {
                *lock(&slot.found_era) = slot.target.options.era;
            }
            reason
        }
        () = slot.stop.cancelled() => "it was shut down".to_owned(),
        reason = examine(slot, client) => {
            client.shutdown().await;
            reason
        }
        () = following => "the connection ended".to_owned(),
    }
}

/// Reads the list again when it changes, or has lasted as long as its server said.
async fn follow_lists(slot: &Slot, client: &Client) {
    let (mut changes, mut hears) = (client.news().changes(), client.hears());
    // What was told since the first list was read counts.
    let mut seen = Changes::default();
    changes.mark_changed();
    let mut listed = Instant::now();
    let mut logged = None;
    loop {
        hears.mark_unchanged();
        let lasts = client.tools_last();
        let lasted = async {
            match lasts {
                Some(lasts) => tokio::time::sleep_until(listed + lasts).await,
                None => std::future::pending().await,
            }
        };
        let has_lasted = tokio::select! {
            () = lasted => true,
            _ = hears.changed() => {
                // While changes were told no time ran out.
                if lasts.is_none() {
                    listed = Instant::now();
                }
                continue;
            }
            changed = changes.changed() => match changed {
                Ok(()) => false,
                Err(_) => return,
            },
        };
        let now = *changes.borrow_and_update();
        slot.tell_others(now.resources != seen.resources, now.prompts != seen.prompts);
        if has_lasted || now.tools != seen.tools {
            list_again(slot, client, &mut logged).await;
            listed = Instant::now();
        }
        seen = now;
    }
}

/// What nobody subscribed to takes no place among what waits for slow listeners.
async fn follow_updates(slot: &Slot, client: &Client) {
    let mut updated = client.news().updated();
    loop {
        match updated.recv().await {
            Ok(updated) if slot.subscriptions.wants(&updated.uri) => {
                (slot.publish)(Told::Updated(updated));
            }
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Where callers share a connection, its questions reach nobody; that is told once.
async fn follow_questions(slot: &Slot, client: &Client) {
    client.news().refused_question().await;
    if !slot.opening.serves_one && !slot.asks_nobody.swap(true, Ordering::SeqCst) {
        tracing::warn!(backend = %slot.target.options.name, "{}", slot.refusal());
    }
}

/// Told once for each reason, however often the list is tried.
async fn list_again(slot: &Slot, client: &Client, logged: &mut Option<String>) {
    let listed = tokio::time::timeout(LIST_TIMEOUT, slot.list(client)).await;
    let late = || ConnectError::Ended(format!("no answer within {}", seconds(LIST_TIMEOUT)));
    let outcome = listed.unwrap_or_else(|_| Err(late()));
    let fault = outcome.err().map(|error| error.to_string());
    if let Some(error) = fault.as_ref().filter(|_| fault != *logged) {
        tracing::warn!(backend = %slot.target.options.name, error, "no new tool list");
    }
    *logged = fault;
}

/// Keeps the stream open on which a modern server tells of list changes. Never returns.
async fn listen_for_changes(slot: &Slot, client: &Client) {
    if !client.must_listen() {
        return std::future::pending().await;
    }
    let mut backoff = Backoff::default();
    let mut is_first = true;
    loop {
        let began = Instant::now();
        let ended = listen_once(client, is_first).await;
        if *client.hears().borrow() {
            client.set_hears(false);
            // What is kept of other lists lasts as long as nobody tells of a change.
            slot.lists.changed(&ListKind::ALL);
        }
        tracing::debug!(backend = %slot.target.options.name, ?ended, "a change stream ended");
        is_first = false;
        tokio::time::sleep(backoff.after(Some(began.elapsed()))).await;
    }
}

/// One such stream. What changed before it was there was told to nobody, so the lists are read once it is.
async fn listen_once(client: &Client, is_first: bool) -> Result<(), RequestError> {
    let filter = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true
    });
    let acknowledged = Arc::new(Notify::new());
    let mut listening = pin!(client.listen(filter, Arc::clone(&acknowledged)));
    let ended = tokio::select! {
        ended = &mut listening => Some(ended),
        () = acknowledged.notified() => None,
    };
    // It may have ended in the same moment.
    let was_there = ended.is_none() || acknowledged.notified().now_or_never().is_some();
    client.set_hears(ended.is_none());
    match (was_there, is_first) {
        (false, _) => {}
        // The others are not read before somebody wants them.
        (true, true) => client.news().tools_changed(),
        (true, false) => client.news().all_changed(),
    }
    match ended {
        Some(ended) => ended,
        None => listening.await,
    }
}

/// Probes when calls raised a doubt or it is time to, until the server answers again. Returns only to give the
/// connection up: the server stays silent and nothing is in flight that could keep it busy.
async fn examine(slot: &Slot, client: &Client) -> String {
    let options = &slot.target.options.health;
    loop {
        match options.probe_every {
            None => slot.doubt.notified().await,
            Some(every) => tokio::select! {
                () = slot.doubt.notified() => {}
                () = tokio::time::sleep(every) => {}
            },
        }
        let mut backoff = Backoff::default();
        let mut unanswered = 0;
        loop {
            lock(&slot.health).probe();
            let probe = tokio::time::timeout(options.probe_timeout, client.probe()).await;
            if probe.unwrap_or(false) {
                lock(&slot.health).answered();
                break;
            }
            unanswered += 1;
            let mut pause = backoff.after(None);
            if unanswered >= options.unanswered_max {
                let probes = counted(unanswered, "probe");
                let reason = format!("it answers neither calls nor {probes}");
                lock(&slot.health).suspend(reason.clone());
                let is_given_up = unanswered - options.unanswered_max >= HEALTH_PROBES_MORE;
                if is_given_up && slot.is_idle() {
                    return reason;
                }
                pause = options.rest.unwrap_or(pause);
            }
            tokio::time::sleep(pause).await;
        }
    }
}

async fn ended(closed: &mut watch::Receiver<Option<Arc<str>>>) -> String {
    let reason = closed.wait_for(Option::is_some).await;
    match reason.ok().and_then(|reason| reason.clone()) {
        Some(reason) => reason.to_string(),
        None => "the connection ended".to_owned(),
    }
}
