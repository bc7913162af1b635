//! One backend as its callers meet it: a connection on demand, places on it, time-outs, what it last listed. A task
//! of its own (`keep`) connects and watches, so no caller's patience and no other backend is touched.

mod keep;
mod shown;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_mcp::{CallAnswer, Era, Exact, Tool, code, method};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Notify, SemaphorePermit, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::asking::{Asker, within};
use crate::call::{Call, Takes};
use crate::circuit::{Refused, Trial};
use crate::client::{Client, Target};
use crate::error::{CallError, ConnectError, RequestError};
use crate::health::{Health, Verdict, is_silence};
use crate::limits::{BACKOFF_WAITED, TOLD_UNSENT};
use crate::lists::{ListKind, Lists};
use crate::negotiate::Opening;
use crate::news::Updated;
use crate::options::{ClientInfo, SessionScope, TransportOptions};
use crate::pages::PageSink;
use crate::params::capabilities_of;
use crate::subscriptions::Subscriptions;
use crate::tasks;

/// What is said of a server whose questions are refused where calls of all clients share one connection.
const ASKS_NOBODY: &str = "it asks in the middle of a call and is refused: calls of all clients share one connection, so nobody can tell whom it asks; `session: per-client` gives each client its own";
/// And where each client that takes questions has its own.
const ASKS_IN_VAIN: &str = "it asks in the middle of a call and is refused: the client that made the call takes no questions";

/// What a backend has to tell.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// A list of tools that differs from the one before.
    Tools(Arc<[Tool]>),
    /// Resources or their templates may be others now.
    Resources,
    Prompts,
    /// A resource that somebody subscribed to: the parameters of the notification.
    Updated(Updated),
}

/// Takes what a backend tells.
pub(crate) type Publish = Arc<dyn Fn(Told) + Send + Sync>;

pub(crate) struct Slot {
    pub(crate) target: Target,
    opening: Opening,
    state: watch::Sender<State>,
    demand: Notify,
    /// Calls and requests on this connection.
    busy: AtomicUsize,
    tools: Mutex<Option<Arc<[Tool]>>>,
    /// What is odd about the list.
    remarks: Mutex<Vec<String>>,
    /// A question of the server was refused, since it could belong to anybody's call.
    asks_nobody: AtomicBool,
    pub(crate) lists: Lists,
    pub(crate) subscriptions: Subscriptions,
    found_era: Mutex<Option<Era>>,
    health: Mutex<Health>,
    doubt: Notify,
    connects: AtomicU64,
    /// The last attempt to connect came to nothing, or the connection ended.
    failed: AtomicBool,
    publish: Publish,
    stop: CancellationToken,
}

#[derive(Clone)]
enum State {
    Idle,
    Connecting {
        since: Instant,
    },
    Ready(Arc<Client>),
    Down {
        reason: String,
        /// The status with which it refused us, where it did.
        denied: Option<u16>,
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
            busy: AtomicUsize::new(0),
            tools: Mutex::default(),
            remarks: Mutex::default(),
            asks_nobody: AtomicBool::new(false),
            lists: Lists::default(),
            subscriptions: Subscriptions::default(),
            found_era: Mutex::new(target.options.era),
            health: Mutex::new(Health::new(target.options.health.failures_max)),
            doubt: Notify::new(),
            connects: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            publish,
            stop: CancellationToken::new(),
            target,
        });
        tokio::spawn(keep::keep(Arc::clone(&slot)));
        slot
    }

    /// What another connection to the same server found; it spares the probe.
    pub(crate) fn presume(&self, other: &Self) {
        let found = *lock(&other.found_era);
        let mut era = lock(&self.found_era);
        *era = era.or(found);
    }

    /// One call: waits for a connection and a free place, all within the time-out.
    pub(crate) async fn call(&self, call: &Call) -> Result<CallAnswer, CallError> {
        let backend = &self.target.options.name;
        let arguments = call.arguments.text();
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
        let after = self.target.options.time_of(call.timeout);
        let asker = call.asker.clone();
        let asker = asker.map(|sink| Asker::new(sink, call.pages.clone()));
        let work = async {
            let (client, _place) = self.admitted_within(call.unsent_timeout).await?;
            let since = Instant::now();
            let asked = || client.call(call, &arguments, asker.as_ref(), Arc::clone(&sent));
            let mut answer = asked().await;
            if is_mismatch(&answer)
                && client.mirrors()
                && Box::pin(self.list(&client)).await.is_ok()
            {
                // It refused what the old list made of the call; the new one may do better.
                sent.store(false, Ordering::SeqCst);
                answer = asked().await;
            }
            let answer = answer.map_err(|error| error.of_call(backend))?;
            let took = since.elapsed();
            let answer = match answer {
                CallAnswer::Task(task) => {
                    Box::pin(tasks::follow(self, client, task, asker.as_ref())).await?
                }
                answer => answer,
            };
            self.bounded(&answer)?;
            Ok((answer, took))
        };
        let done = within(after, asker.as_ref(), Box::pin(work)).await;
        self.judged(after, &sent, done)
    }

    /// A result that is longer than was agreed is not handed on.
    fn bounded(&self, answer: &CallAnswer) -> Result<(), CallError> {
        let options = &self.target.options;
        let CallAnswer::Complete(result) = answer else {
            return Ok(());
        };
        let (bytes, limit) = (result.raw().get().len(), options.result_bytes_max);
        if bytes <= limit {
            return Ok(());
        }
        Err(CallError::Limit {
            backend: options.name.clone(),
            what: format!("a result of {bytes} bytes, {limit} are allowed"),
        })
    }

    /// One request that is no call, passed through as it is.
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Exact,
        pages: Option<&PageSink>,
    ) -> Result<Box<RawValue>, CallError> {
        let sent = Arc::new(AtomicBool::new(false));
        let work = async {
            let (client, _place) = self.admitted().await?;
            let since = Instant::now();
            let outcome = client.pass_on(name, params, Arc::clone(&sent)).await;
            let outcome = outcome.inspect_err(|error| client.note_pages(error, pages));
            let outcome = outcome.map_err(|error| error.of_call(&self.target.options.name))?;
            Ok((outcome, since.elapsed()))
        };
        let after = self.target.options.time_of(None);
        let done = within(after, None, Box::pin(work)).await;
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
        done: Option<Result<(T, Duration), CallError>>,
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
            Err(error) => {
                self.count(error);
                lock(&self.health).failed(error)
            }
            Ok((_, took)) => {
                if let Some(circuit) = &self.target.circuit {
                    circuit.answered();
                }
                lock(&self.health).answered_in(*took)
            }
        };
        if verdict == Verdict::Doubtful {
            self.doubt.notify_one();
        }
        outcome.map(|(answer, _)| answer)
    }

    /// What the failure of a call says to the circuit breaker; an error that the backend sent is an answer.
    fn count(&self, error: &CallError) {
        let Some(circuit) = &self.target.circuit else {
            return;
        };
        if is_silence(error) {
            circuit.failed(Instant::now(), &error.to_string());
        } else {
            circuit.answered();
        }
    }

    /// The same for a caller that gives up after this time, and is told shortly before.
    async fn admitted_within(
        &self,
        after: Option<Duration>,
    ) -> Result<(Arc<Client>, Held<'_>), CallError> {
        let Some(after) = after else {
            return self.admitted().await;
        };
        let wait = after.saturating_sub(TOLD_UNSENT.min(after / 10));
        let admitted = tokio::time::timeout(wait, self.admitted()).await;
        admitted.unwrap_or_else(|_| {
            Err(CallError::Timeout {
                backend: self.target.options.name.clone(),
                after,
                sent: false,
            })
        })
    }

    /// A connection that is not known to be silent, and a place at the backend.
    async fn admitted(&self) -> Result<(Arc<Client>, Held<'_>), CallError> {
        let circuit = self.target.circuit.as_deref();
        let refused = |own: Refused| self.unavailable(own.reason, Some(own.retry_in));
        if let Some(circuit) = circuit {
            circuit.check(Instant::now()).map_err(refused)?;
        }
        let place = self.place().await?;
        // Only now: the one there was before the wait may have ended.
        let client = self.client().await?;
        let suspended = lock(&self.health).suspended().map(str::to_owned);
        if let Some(reason) = suspended {
            return Err(self.unavailable(reason, None));
        }
        let trial = match circuit {
            Some(circuit) => circuit.admit(Instant::now()).map_err(refused)?,
            None => None,
        };
        Ok((client, (place, trial)))
    }

    fn unavailable(&self, reason: String, retry_in: Option<Duration>) -> CallError {
        CallError::Unavailable {
            backend: self.target.options.name.clone(),
            reason,
            retry_in,
        }
    }

    /// What is left of the time that somebody gives it to be there: the time counts from the beginning of the
    /// connection, and nothing is left once one has failed.
    pub(crate) fn left_of(&self, patience: Duration) -> Duration {
        if self.has_failed() {
            return Duration::ZERO;
        }
        match &*self.state.borrow() {
            State::Connecting { since } => patience.saturating_sub(since.elapsed()),
            State::Idle | State::Ready(_) | State::Down { .. } | State::Stopped => patience,
        }
    }

    /// What is said of a question that was refused.
    fn refusal(&self) -> &'static str {
        match self.target.options.session {
            SessionScope::Shared => ASKS_NOBODY,
            SessionScope::PerClient => ASKS_IN_VAIN,
        }
    }

    /// Nobody knows whether it will ever be there.
    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }

    async fn place(&self) -> Result<Place<'_>, CallError> {
        if self.stop.is_cancelled() {
            return Err(CallError::Stopped);
        }
        let places = &self.target.places;
        let permit = if let Ok(permit) = places.try_acquire() {
            permit
        } else {
            tokio::select! {
                permit = places.acquire() => permit.map_err(|_| CallError::Stopped)?,
                () = self.stop.cancelled() => return Err(CallError::Stopped),
            }
        };
        self.busy.fetch_add(1, Ordering::SeqCst);
        Ok(Place {
            slot: self,
            _permit: permit,
        })
    }

    /// Whether nothing is under way on this connection.
    fn is_idle(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }

    /// Calls at the backend, on whatever connection.
    fn in_flight(&self) -> usize {
        let free = self.target.places.available_permits();
        self.target.options.max_in_flight.saturating_sub(free)
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
        let mut state = self.state.subscribe();
        let _ = state
            .wait_for(|state| matches!(state, State::Stopped))
            .await;
    }

    /// Waits for a connection through at most one attempt that fails.
    pub(crate) async fn client(&self) -> Result<Arc<Client>, CallError> {
        if let State::Ready(client) = &*self.state.borrow() {
            return Ok(Arc::clone(client));
        }
        let mut state = self.state.subscribe();
        let mut failures_before = None;
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                State::Ready(client) => return Ok(client),
                State::Stopped => return Err(CallError::Stopped),
                State::Idle => self.demand.notify_one(),
                State::Connecting { .. } => {}
                State::Down {
                    reason,
                    denied,
                    until,
                    failures,
                } => {
                    let retry_in = until.saturating_duration_since(Instant::now());
                    let has_failed = failures_before.is_some_and(|before| failures > before);
                    if has_failed || retry_in > BACKOFF_WAITED {
                        return Err(match denied {
                            Some(status) => CallError::Denied {
                                backend: self.target.options.name.clone(),
                                status,
                            },
                            None => self.unavailable(reason, Some(retry_in)),
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
        let since = Instant::now();
        let listed = client.list_tools().await;
        let (tools, remarks) = listed.map_err(|error| error.of_connect(method::TOOLS_LIST))?;
        let tools: Arc<[Tool]> = tools.into();
        self.remark(remarks);
        lock(&self.health).answered_in(since.elapsed());
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

    /// Each thing is logged once, however often the list is read.
    fn remark(&self, remarks: Vec<String>) {
        let mut known = lock(&self.remarks);
        for remark in remarks.iter().filter(|remark| !known.contains(remark)) {
            tracing::warn!(backend = %self.target.options.name, "{remark}");
        }
        *known = remarks;
    }

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

/// What a call holds while it is at the backend; one may try whether the circuit breaker can be closed.
type Held<'a> = (Place<'a>, Option<Trial<'a>>);

/// A place at the backend, held while a call is there.
struct Place<'a> {
    slot: &'a Slot,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.slot.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The server says that headers are missing or others than its tool wants.
fn is_mismatch(answer: &Result<CallAnswer, RequestError>) -> bool {
    matches!(answer, Err(RequestError::Rpc(error)) if error.code == code::HEADER_MISMATCH)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
