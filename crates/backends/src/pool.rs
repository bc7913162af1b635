//! All backends of a process, by name. Each lives by itself; this only finds them and gathers
//! their tool lists.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use onecall_mcp::{CallAnswer, Exact, Tool};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio_util::task::TaskTracker;

use crate::call::{Call, CallerId, CallerToken, Requester};
use crate::callers::{Callers, Lease, end};
use crate::catalog::Listed;
use crate::client::Target;
use crate::error::{CallError, StartError};
use crate::limits::{CALLERS_MAX, SUBSCRIBE_PATIENCE};
use crate::lists::{self, ListKind};
use crate::news::Changes;
use crate::options::{BackendOptions, ClientInfo, SessionScope};
use crate::roster::{ResourceUpdate, Roster, ToolLists, publisher};
use crate::slot::Slot;
use crate::status::BackendStatus;
use onecall_workflow::catalog::Knowledge;
use onecall_workflow::name::BackendName;

/// The backends. Cheap to clone; [`Backends::shutdown`] ends them politely.
#[derive(Clone)]
pub struct Backends {
    inner: Arc<Inner>,
}

struct Inner {
    client: ClientInfo,
    slots: IndexMap<BackendName, Arc<Entry>>,
    roster: Arc<Roster>,
}

struct Entry {
    id: u64,
    shared: Arc<Slot>,
    callers: Callers,
    ending: TaskTracker,
}

/// An entry that nobody holds any more, in no set of backends and in no run, ends its connections.
impl Drop for Entry {
    fn drop(&mut self) {
        for slot in self.slots() {
            end(&self.ending, slot);
        }
    }
}

impl Entry {
    fn slots(&self) -> Vec<Arc<Slot>> {
        let mut slots = self.callers.all();
        slots.push(Arc::clone(&self.shared));
        slots
    }
}

/// While it is held, the backend tells of updates of one resource.
#[derive(Debug)]
pub struct Subscription {
    backends: Backends,
    backend: BackendName,
    uri: Arc<str>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Ok(entry) = self.backends.entry(&self.backend) {
            entry.shared.subscriptions.remove(&self.uri);
        }
    }
}

impl Backends {
    /// Takes the backends in; connects only the eager ones. Must be called within a runtime.
    pub fn start(client: &ClientInfo, options: Vec<BackendOptions>) -> Result<Self, StartError> {
        let none = IndexMap::new();
        let started = Self::assemble(client, options, &none, Arc::default())?;
        started.make_current();
        Ok(started)
    }

    /// Other backends in place of these. Those whose options are the same keep their connections, and both sets can
    /// be used; the lists are told by these until the others are made current.
    pub fn renewed(&self, options: Vec<BackendOptions>) -> Result<Self, StartError> {
        let roster = Arc::clone(&self.inner.roster);
        Self::assemble(&self.inner.client, options, &self.inner.slots, roster)
    }

    fn assemble(
        client: &ClientInfo,
        options: Vec<BackendOptions>,
        earlier: &IndexMap<BackendName, Arc<Entry>>,
        roster: Arc<Roster>,
    ) -> Result<Self, StartError> {
        let names: Vec<_> = options.iter().map(|one| one.name.clone()).collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(StartError::SameName(name.clone()));
            }
        }
        let targets: Vec<_> = options
            .into_iter()
            .map(Target::new)
            .collect::<Result<_, _>>()?;
        let entries = targets.into_iter().map(|target| {
            let kept = earlier.get(&target.options.name);
            match kept.filter(|entry| entry.shared.target.options == target.options) {
                Some(entry) => Arc::clone(entry),
                None => Arc::new(entry(target, client, &roster)),
            }
        });
        let inner = Inner {
            client: client.clone(),
            slots: names.into_iter().zip(entries).collect(),
            roster,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// From now on the lists are told by these.
    pub fn make_current(&self) {
        let slots = self.inner.slots.iter();
        let current = slots.clone().map(|(name, entry)| (name.clone(), entry.id));
        let known = slots.filter_map(|(name, entry)| {
            let tools = entry.shared.known_tools()?;
            Some((name.clone(), tools))
        });
        self.inner
            .roster
            .replace(current.collect(), known.collect());
    }

    /// What they list besides tools is shown in another way from now on.
    pub fn others_changed(&self) {
        self.inner.roster.changes.send_modify(|seen| {
            seen.resources += 1;
            seen.prompts += 1;
        });
    }

    pub fn names(&self) -> Vec<BackendName> {
        self.inner.slots.keys().cloned().collect()
    }

    /// Calls a tool under the backend's own name for it. Dropping the future cancels the call at
    /// the backend.
    pub fn call(
        &self,
        backend: &BackendName,
        call: impl Into<Box<Call>>,
    ) -> impl Future<Output = Result<CallAnswer, CallError>> + Send {
        // Boxed before anything waits: else each future on the way would have room for a call.
        let call = call.into();
        async move {
            let entry = self.entry(backend)?;
            let asks = call.asker.is_some();
            let own = self.own_slot(entry, call.caller.as_ref(), call.token.as_ref(), asks)?;
            let slot = own.as_ref().map_or(&entry.shared, |own| &own.slot);
            slot.in_either_era(|| slot.call(&call)).await
        }
    }

    /// Sends any other request of a caller, such as `resources/read`, and returns the result as received.
    pub async fn request(
        &self,
        backend: &BackendName,
        method: &str,
        params: Exact,
        from: &Requester,
    ) -> Result<Box<RawValue>, CallError> {
        let entry = self.entry(backend)?;
        let own = self.own_slot(entry, from.id.as_ref(), from.token.as_ref(), false)?;
        let slot = own.as_ref().map_or(&entry.shared, |own| &own.slot);
        slot.in_either_era(|| slot.request(method, params.clone(), from.pages.as_ref()))
            .await
    }

    /// All resources, templates or prompts of one backend, as received and in its order. Empty
    /// where the server does not declare them.
    pub async fn list(
        &self,
        backend: &BackendName,
        kind: ListKind,
    ) -> Result<Arc<[Exact]>, CallError> {
        lists::read(&self.entry(backend)?.shared, kind).await
    }

    /// The lists of all backends, side by side. One that does not answer within `patience` of being asked first stands
    /// with what it said last, if anything, and delays nobody again.
    pub async fn lists(
        &self,
        kind: ListKind,
        patience: Duration,
    ) -> Vec<(BackendName, Arc<[Exact]>)> {
        let one = |(name, entry): (&BackendName, &Arc<Entry>)| {
            let (name, slot) = (name.clone(), Arc::clone(&entry.shared));
            async move { (name, lists::read_soon(&slot, kind, patience).await) }
        };
        futures::future::join_all(self.inner.slots.iter().map(one)).await
    }

    /// Whether a backend has declared a capability, or a flag of one; connects where need be.
    pub async fn declares(
        &self,
        backend: &BackendName,
        capability: &str,
        flag: Option<&str>,
    ) -> Result<bool, CallError> {
        let capabilities = self.entry(backend)?.shared.capabilities().await?;
        let own = capabilities.get(capability);
        Ok(match flag {
            None => own.is_some(),
            Some(flag) => own.and_then(|own| own.get(flag)) == Some(&Value::Bool(true)),
        })
    }

    /// Has the backend tell of updates of a resource, over reconnections too.
    pub async fn subscribe(
        &self,
        backend: &BackendName,
        uri: &str,
    ) -> Result<Subscription, CallError> {
        let entry = self.entry(backend)?;
        let subscription = Subscription {
            backends: self.clone(),
            backend: backend.clone(),
            uri: uri.into(),
        };
        let subscriptions = &entry.shared.subscriptions;
        subscriptions.add(&subscription.uri);
        entry.shared.want();
        subscriptions.in_force(uri, SUBSCRIBE_PATIENCE).await;
        Ok(subscription)
    }

    /// Rises when a list of any backend changed or became known.
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.inner.roster.changes.subscribe()
    }

    /// Updates of resources that somebody subscribed to.
    pub fn updates(&self) -> broadcast::Receiver<Arc<ResourceUpdate>> {
        self.inner.roster.updates.subscribe()
    }

    /// The caller is gone: its own connections end.
    pub async fn forget(&self, caller: &CallerId) {
        let own = self
            .inner
            .slots
            .values()
            .filter_map(|entry| entry.callers.forget(caller));
        let ends = own.map(|slot| async move { slot.shutdown().await });
        futures::future::join_all(ends).await;
    }

    /// The tools of one backend, connecting where need be.
    pub async fn tools_of(&self, backend: &BackendName) -> Result<Arc<[Tool]>, CallError> {
        self.entry(backend)?.shared.listed().await
    }

    /// Asks every backend to connect and waits until all have listed or failed, at most
    /// `patience`.
    pub async fn settle(&self, patience: Duration) -> Arc<ToolLists> {
        self.settle_some(patience, |_| true).await;
        Arc::clone(&self.inner.roster.lists.borrow())
    }

    /// As `settle`, for the backends that are wanted; the others are left alone.
    pub async fn settle_some(&self, patience: Duration, is_wanted: impl Fn(&BackendName) -> bool) {
        let wanted = self.inner.slots.iter();
        let wanted = wanted.filter(|(name, _)| is_wanted(name));
        let listed = wanted.map(|(_, entry)| entry.shared.listed());
        let _ = tokio::time::timeout(patience, futures::future::join_all(listed)).await;
    }

    /// How long a call of this backend may take that has no bound of its own.
    pub fn call_time(&self, backend: &BackendName) -> Option<Duration> {
        let entry = self.inner.slots.get(backend)?;
        Some(entry.shared.target.options.time_of(None))
    }

    /// Whether the other set has the very same backend under this name, with its connections.
    pub fn shares(&self, other: &Self, name: &BackendName) -> bool {
        let id = |of: &Self| of.inner.slots.get(name).map(|entry| entry.id);
        id(self).is_some() && id(self) == id(other)
    }

    /// Every backend with its list: the live one, else the one kept from an earlier process, else
    /// none. What `merge` takes.
    pub fn listed(&self, kept: &BTreeMap<BackendName, Arc<[Tool]>>) -> Vec<Listed> {
        let one = |(backend, entry): (&BackendName, &Arc<Entry>)| {
            let (knowledge, tools) = match (entry.shared.known_tools(), kept.get(backend)) {
                (Some(tools), _) => (Knowledge::Live, tools),
                (None, Some(tools)) => (Knowledge::Kept, Arc::clone(tools)),
                (None, None) => (Knowledge::Unknown, Arc::default()),
            };
            Listed {
                backend: backend.clone(),
                knowledge,
                tools,
            }
        };
        self.inner.slots.iter().map(one).collect()
    }

    /// The tool lists and their changes.
    pub fn tool_lists(&self) -> watch::Receiver<Arc<ToolLists>> {
        self.inner.roster.lists.subscribe()
    }

    /// Asks for a connection without waiting.
    pub fn want(&self, backend: &BackendName) {
        if let Ok(entry) = self.entry(backend) {
            entry.shared.want();
        }
    }

    pub fn status(&self) -> Vec<BackendStatus> {
        self.inner
            .slots
            .values()
            .map(|entry| entry.shared.status())
            .collect()
    }

    /// Ends all connections, side by side, and returns when every child is gone, also those of backends and callers
    /// that were given up earlier.
    pub async fn shutdown(&self) {
        let entries = self.inner.slots.values();
        let all = entries.flat_map(|entry| entry.slots());
        let ends = all.map(|slot| async move { slot.shutdown().await });
        futures::future::join_all(ends).await;
        let ending = &self.inner.roster.ending;
        ending.close();
        ending.wait().await;
    }

    /// The connection that serves the caller alone, where the backend wants one, or a call that takes questions.
    fn own_slot(
        &self,
        entry: &Entry,
        caller: Option<&CallerId>,
        token: Option<&CallerToken>,
        asks: bool,
    ) -> Result<Option<Lease>, CallError> {
        let options = &entry.shared.target.options;
        let start = || {
            let target = entry.shared.target.of_one_caller();
            // The shared connection tells of the tools.
            let own = Slot::start(target, &self.inner.client, true, Arc::new(|_| {}));
            own.presume(&entry.shared);
            own
        };
        let exchanges = options.exchanges_callers();
        let missing = || CallError::NoCaller {
            backend: options.name.clone(),
        };
        let token = match token {
            _ if !exchanges => None,
            token => Some(token.cloned().ok_or_else(missing)?),
        };
        let leased = match (caller, options.session) {
            (_, SessionScope::Shared) if !exchanges => return Ok(None),
            (Some(caller), _) => entry.callers.lease(caller, start),
            // What it asks could reach anybody on a connection that others use.
            (None, _) if exchanges || asks => entry.callers.lease_once(start),
            (None, _) => return Ok(None),
        };
        let lease = leased.map_err(|_| CallError::TooManyCallers {
            backend: options.name.clone(),
            limit: CALLERS_MAX,
        })?;
        if let Some(token) = token {
            lease.slot.target.show(token);
        }
        Ok(Some(lease))
    }

    fn entry(&self, backend: &BackendName) -> Result<&Entry, CallError> {
        let entry = self.inner.slots.get(backend);
        let entry = entry.ok_or_else(|| CallError::UnknownBackend(backend.clone()));
        entry.map(Arc::as_ref)
    }
}

impl std::fmt::Debug for Backends {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Backends")
            .field("names", &self.names())
            .finish()
    }
}

fn entry(target: Target, client: &ClientInfo, roster: &Arc<Roster>) -> Entry {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let publish = publisher(Arc::clone(roster), target.options.name.clone(), id);
    Entry {
        id,
        shared: Slot::start(target, client, false, publish),
        callers: Callers::new(roster.ending.clone()),
        ending: roster.ending.clone(),
    }
}
