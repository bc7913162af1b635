//! One connection kept alive: connected on demand, listed, watched, reconnected with back-off.
//! A task of its own does this, so no caller's patience and no other backend is touched.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_mcp::{CallAnswer, Era, Tool, method};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::asking::{Asker, within};
use crate::backoff::Backoff;
use crate::call::{Call, Takes};
use crate::client::{Client, Target};
use crate::error::{CallError, ConnectError};
use crate::health::{Health, Verdict};
use crate::limits::{
    BACKOFF_WAITED, CONNECT_TIMEOUT_DEFAULT, HEALTH_PROBE_TIMEOUT, HEALTH_PROBES_MAX, LISTEN_AGAIN,
};
use crate::lists::{ListKind, Lists};
use crate::negotiate::Opening;
use crate::news::Changes;
use crate::options::{ClientInfo, TransportOptions};
use crate::params::capabilities_of;
use crate::status::{BackendState, BackendStatus};
use crate::subscriptions::{self, Subscriptions};
use crate::tasks;

/// What a backend has to tell.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// A list of tools that differs from the one before.
    Tools(Arc<[Tool]>),
    /// Resources or their templates may be others now.
    Resources,
    Prompts,
    /// A resource that somebody subscribed to.
    Updated(Arc<str>),
}

/// Takes what a backend tells.
pub(crate) type Publish = Arc<dyn Fn(Told) + Send + Sync>;

pub(crate) struct Slot {
    pub(crate) target: Target,
    opening: Opening,
    state: watch::Sender<State>,
    demand: Notify,
    permits: Semaphore,
    tools: Mutex<Option<Arc<[Tool]>>>,
    pub(crate) lists: Lists,
    pub(crate) subscriptions: Subscriptions,
    found_era: Mutex<Option<Era>>,
    health: Mutex<Health>,
    doubt: Notify,
    connects: AtomicU64,
    publish: Publish,
    stop: CancellationToken,
}

#[derive(Clone)]
enum State {
    Idle,
    Connecting,
    Ready(Arc<Client>),
    Down {
        reason: String,
        until: Instant,
        failures: u64,
    },
    Stopped,
}

impl Slot {
    /// Starts the task that keeps the connection. `serves_one` tells that all calls come from one
    /// caller, so that questions can be taken.
    pub(crate) fn start(
        target: Target,
        client: &ClientInfo,
        serves_one: bool,
        publish: Publish,
    ) -> Arc<Self> {
        let capabilities = match (&target.options.transport, serves_one) {
            // On HTTP a question arrives on the stream of the call it belongs to.
            (TransportOptions::Http(_), _) | (_, true) => capabilities_of(Takes::ALL, false),
            (TransportOptions::Stdio(_) | TransportOptions::Sse(_), false) => {
                capabilities_of(Takes::default(), false)
            }
        };
        let slot = Arc::new(Self {
            opening: Opening {
                client: client.clone(),
                capabilities,
                serves_one,
            },
            state: watch::Sender::new(State::Idle),
            demand: Notify::new(),
            permits: Semaphore::new(target.options.max_in_flight),
            tools: Mutex::default(),
            lists: Lists::default(),
            subscriptions: Subscriptions::default(),
            found_era: Mutex::new(target.options.era),
            health: Mutex::default(),
            doubt: Notify::new(),
            connects: AtomicU64::new(0),
            publish,
            stop: CancellationToken::new(),
            target,
        });
        tokio::spawn(keep(Arc::clone(&slot)));
        slot
    }

    /// One call: waits for a connection and a free place, all within the time-out.
    pub(crate) async fn call(&self, call: Call) -> Result<CallAnswer, CallError> {
        let backend = &self.target.options.name;
        let arguments = to_raw_value(&call.arguments).expect("a JSON value is JSON");
        let bytes = arguments.get().len();
        let limit = self.target.options.argument_bytes_max;
        if bytes > limit {
            return Err(CallError::ArgumentsTooLong {
                backend: backend.clone(),
                bytes,
                limit,
            });
        }
        let sent = Arc::new(AtomicBool::new(false));
        let after = call.timeout.unwrap_or(self.target.options.call_timeout);
        let asker = call.asker.clone().map(Asker::new);
        let work = async {
            let (client, _permit) = self.admitted().await?;
            let calling = client.call(&call, &arguments, asker.as_ref(), Arc::clone(&sent));
            match calling.await.map_err(|error| error.of_call(backend))? {
                CallAnswer::Task(task) => {
                    Box::pin(tasks::follow(self, client, task, asker.as_ref())).await
                }
                answer => Ok(answer),
            }
        };
        let done = within(after, asker.as_ref(), work).await;
        self.judged(after, &sent, done)
    }

    /// One request that is no call, passed through as it is.
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Value,
    ) -> Result<Box<RawValue>, CallError> {
        let sent = Arc::new(AtomicBool::new(false));
        let work = async {
            let (client, _permit) = self.admitted().await?;
            let outcome = client.request_raw(name, params, Arc::clone(&sent)).await;
            outcome.map_err(|error| error.of_call(&self.target.options.name))
        };
        let after = self.target.options.call_timeout;
        let done = within(after, None, work).await;
        self.judged(after, &sent, done)
    }

    /// What the server declared, once there is a connection.
    pub(crate) async fn capabilities(&self) -> Result<Value, CallError> {
        Ok(self.client().await?.agreement.capabilities.clone())
    }

    /// The outcome of work that was or was not done in time, and what it says of the backend.
    fn judged<T>(
        &self,
        after: Duration,
        sent: &AtomicBool,
        done: Option<Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let outcome = done.unwrap_or_else(|| {
            let backend = self.target.options.name.clone();
            let sent = sent.load(Ordering::SeqCst);
            Err(CallError::Timeout {
                backend,
                after,
                sent,
            })
        });
        let verdict = match &outcome {
            // What was never sent shows nothing.
            Err(error) if !error.may_have_acted() => Verdict::Fine,
            outcome => lock(&self.health).observe(outcome.as_ref().err()),
        };
        if verdict == Verdict::Doubtful {
            self.doubt.notify_one();
        }
        outcome
    }

    /// A connection that is not known to be silent, and a place on it.
    async fn admitted(&self) -> Result<(Arc<Client>, SemaphorePermit<'_>), CallError> {
        let client = self.client().await?;
        let permit = self
            .permits
            .acquire()
            .await
            .map_err(|_| CallError::Stopped)?;
        let suspended = lock(&self.health).suspended().map(str::to_owned);
        match suspended {
            None => Ok((client, permit)),
            Some(reason) => {
                let backend = self.target.options.name.clone();
                Err(CallError::Unavailable {
                    backend,
                    reason,
                    retry_in: None,
                })
            }
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.target
            .options
            .max_in_flight
            .saturating_sub(self.permits.available_permits())
    }

    /// The tools last listed, once there is a connection.
    pub(crate) async fn listed(&self) -> Result<Arc<[Tool]>, CallError> {
        if let Some(tools) = self.known_tools() {
            return Ok(tools);
        }
        self.client().await?;
        Ok(self.known_tools().unwrap_or_default())
    }

    pub(crate) fn known_tools(&self) -> Option<Arc<[Tool]>> {
        lock(&self.tools).clone()
    }

    /// Asks for a connection without waiting for it.
    pub(crate) fn want(&self) {
        self.demand.notify_one();
    }

    /// Ends the connection and the task; returns when a child is gone.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        self.permits.close();
        let mut state = self.state.subscribe();
        let _ = state
            .wait_for(|state| matches!(state, State::Stopped))
            .await;
    }

    pub(crate) fn status(&self) -> BackendStatus {
        let state = self.state.borrow().clone();
        let client = if let State::Ready(client) = &state {
            Some(client)
        } else {
            None
        };
        BackendStatus {
            name: self.target.options.name.clone(),
            transport: match self.target.options.transport {
                TransportOptions::Stdio(_) => "stdio",
                TransportOptions::Http(_) => "http",
                TransportOptions::Sse(_) => "sse",
            },
            revision: client.map(|client| client.agreement.revision.as_str()),
            server_info: client.map(|client| client.agreement.server_info.clone()),
            instructions: client.and_then(|client| client.agreement.instructions.clone()),
            tools: self.known_tools().map(|tools| tools.len()),
            in_flight: self.in_flight(),
            connects: self.connects.load(Ordering::Relaxed),
            stderr: client
                .map(|client| client.stderr_tail())
                .unwrap_or_default(),
            state: match state {
                State::Idle => BackendState::Idle,
                State::Connecting => BackendState::Connecting,
                State::Ready(_) => match lock(&self.health).suspended() {
                    None => BackendState::Ready,
                    Some(reason) => BackendState::Silent {
                        reason: reason.to_owned(),
                    },
                },
                State::Down { reason, until, .. } => {
                    let retry_in = until.saturating_duration_since(Instant::now());
                    BackendState::Down { reason, retry_in }
                }
                State::Stopped => BackendState::Stopped,
            },
        }
    }

    /// Waits for a connection through at most one attempt that fails.
    pub(crate) async fn client(&self) -> Result<Arc<Client>, CallError> {
        let mut state = self.state.subscribe();
        let mut failures_before = None;
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                State::Ready(client) => return Ok(client),
                State::Stopped => return Err(CallError::Stopped),
                State::Idle => self.demand.notify_one(),
                State::Connecting => {}
                State::Down {
                    reason,
                    until,
                    failures,
                } => {
                    let retry_in = until.saturating_duration_since(Instant::now());
                    let has_failed = failures_before.is_some_and(|before| failures > before);
                    if has_failed || retry_in > BACKOFF_WAITED {
                        let backend = self.target.options.name.clone();
                        let retry_in = Some(retry_in);
                        return Err(CallError::Unavailable {
                            backend,
                            reason,
                            retry_in,
                        });
                    }
                    failures_before.get_or_insert(failures);
                }
            }
            failures_before.get_or_insert(0);
            if state.changed().await.is_err() {
                return Err(CallError::Stopped);
            }
        }
    }

    async fn connect(&self) -> Result<Arc<Client>, ConnectError> {
        self.connects.fetch_add(1, Ordering::Relaxed);
        let era = *lock(&self.found_era);
        let client = Client::connect(&self.target, self.opening.clone(), era).await?;
        *lock(&self.found_era) = Some(client.era());
        self.list(&client).await?;
        // Another process may answer now.
        let has = |kind: &str| client.agreement.capabilities.get(kind).is_some();
        self.tell_others(has("resources"), has("prompts"));
        Ok(Arc::new(client))
    }

    async fn list(&self, client: &Client) -> Result<(), ConnectError> {
        let tools = client.list_tools().await;
        let tools: Arc<[Tool]> = tools
            .map_err(|error| error.of_connect(method::TOOLS_LIST))?
            .into();
        let is_new = {
            let mut known = lock(&self.tools);
            let is_new = known.as_deref() != Some(&*tools);
            *known = Some(Arc::clone(&tools));
            is_new
        };
        if is_new {
            (self.publish)(Told::Tools(tools));
        }
        Ok(())
    }
}

impl Slot {
    /// Lists other than tools may have changed; they are read when somebody wants them.
    fn tell_others(&self, resources: bool, prompts: bool) {
        if resources {
            let kinds = [ListKind::Resources, ListKind::ResourceTemplates];
            self.lists.changed(&kinds);
            (self.publish)(Told::Resources);
        }
        if prompts {
            self.lists.changed(&[ListKind::Prompts]);
            (self.publish)(Told::Prompts);
        }
    }
}

/// The life of a slot.
async fn keep(slot: Arc<Slot>) {
    if !slot.target.options.eager {
        tokio::select! {
            () = slot.demand.notified() => {}
            () = slot.stop.cancelled() => return stopped(&slot),
        }
    }
    let mut backoff = Backoff::default();
    let mut failures = 0;
    while !slot.stop.is_cancelled() {
        slot.state.send_replace(State::Connecting);
        let patience = slot.target.options.connect_timeout;
        let connected = tokio::select! {
            connected = tokio::time::timeout(patience, slot.connect()) => connected,
            () = slot.stop.cancelled() => break,
        };
        let outcome = connected.unwrap_or(Err(ConnectError::TimedOut(patience)));
        let (reason, lived) = match outcome {
            Ok(client) => {
                let since = Instant::now();
                lock(&slot.health).answered();
                slot.state.send_replace(State::Ready(Arc::clone(&client)));
                let reason = watch_connection(&slot, &client).await;
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
        let until = Instant::now() + backoff.after(lived);
        if !slot.stop.is_cancelled() {
            tracing::warn!(backend = %slot.target.options.name, reason, "a backend is down");
        }
        slot.state.send_replace(State::Down {
            reason,
            until,
            failures,
        });
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = slot.stop.cancelled() => {}
        }
    }
    stopped(&slot);
}

fn stopped(slot: &Slot) {
    slot.state.send_replace(State::Stopped);
}

/// Reads the list again when it changes, until the connection ends; says why it ended.
async fn watch_connection(slot: &Slot, client: &Client) -> String {
    let mut closed = client.closed();
    let mut changes = client.news().changes();
    // What was told since the first list was read counts.
    let mut seen = Changes::default();
    changes.mark_changed();
    let mut updated = client.news().updated();
    let listening = listen_for_changes(slot, client);
    tokio::pin!(listening);
    let subscribing = subscriptions::keep(client, &slot.subscriptions);
    tokio::pin!(subscribing);
    let examining = examine(slot, client);
    tokio::pin!(examining);
    loop {
        tokio::select! {
            reason = ended(&mut closed) => return reason,
            () = slot.stop.cancelled() => return "it was shut down".to_owned(),
            () = &mut listening => {}
            () = &mut subscribing => {}
            reason = &mut examining => {
                client.shutdown().await;
                return reason;
            }
            Ok(uri) = updated.recv() => (slot.publish)(Told::Updated(uri)),
            Ok(()) = changes.changed() => {
                let now = *changes.borrow_and_update();
                slot.tell_others(now.resources != seen.resources, now.prompts != seen.prompts);
                list_again(slot, client, seen, now).await;
                seen = now;
            }
        }
    }
}

async fn list_again(slot: &Slot, client: &Client, seen: Changes, now: Changes) {
    if now.tools == seen.tools {
        return;
    }
    let patience = CONNECT_TIMEOUT_DEFAULT;
    let listed = tokio::time::timeout(patience, slot.list(client)).await;
    if let Err(error) = listed.unwrap_or(Err(ConnectError::TimedOut(patience))) {
        tracing::warn!(backend = %slot.target.options.name, %error, "no new tool list");
    }
}

/// Keeps the stream open on which a modern server tells of list changes. Never returns.
async fn listen_for_changes(slot: &Slot, client: &Client) {
    if !client.must_listen() {
        return std::future::pending().await;
    }
    loop {
        let filter = json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true
        });
        let ended = client.listen(filter).await;
        tracing::debug!(backend = %slot.target.options.name, ?ended, "a change stream ended");
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

/// Probes when calls raised a doubt, until the server answers again. Returns only to give the
/// connection up: the server stays silent and nothing is in flight that could keep it busy.
async fn examine(slot: &Slot, client: &Client) -> String {
    loop {
        slot.doubt.notified().await;
        let mut backoff = Backoff::default();
        let mut unanswered = 0;
        loop {
            let probe = tokio::time::timeout(HEALTH_PROBE_TIMEOUT, client.probe()).await;
            if probe.unwrap_or(false) {
                lock(&slot.health).answered();
                break;
            }
            unanswered += 1;
            let reason = format!("it answers neither calls nor {unanswered} probes");
            lock(&slot.health).suspend(reason.clone());
            if unanswered >= HEALTH_PROBES_MAX && slot.in_flight() == 0 {
                return reason;
            }
            tokio::time::sleep(backoff.after(None)).await;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
