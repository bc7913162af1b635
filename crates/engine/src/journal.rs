//! The journal as the engine sees it: append, load, own, tell. Crate `journal` implements it.
//! Append, then perform: whoever appends waits for the answer before anything is done.

use crate::event::{Event, Resolution};
use crate::identity::{RunId, Slot, Timestamp};
use futures::future::BoxFuture;
use onecall_workflow::policy::Durability;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A store of runs. Several processes may open one store; each opening is an owner with an epoch of its own.
pub trait Journal: Send + Sync + Debug {
    /// Stores a new run with its first events. The opener of the journal owns it.
    /// A run of durability `none` is accepted and not stored: it lives in memory and is in no list.
    fn create(&self, run: NewRun, events: Vec<Event>) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Adds events to a run this opener owns. Refused when somebody else owns it by now.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), JournalError>>;

    fn load<'a>(&'a self, run: &'a RunId)
    -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>>;

    /// The plan of a run. A store may read it without the run's events.
    fn plan<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredPlan>, JournalError>> {
        Box::pin(async move {
            let stored = self.load(run).await?;
            Ok(stored.map(|stored| StoredPlan {
                hash: stored.plan_hash,
                text: stored.plan,
            }))
        })
    }

    /// Newest first.
    fn list(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, JournalError>>;

    /// All runs that have not ended, parked ones and those of other owners included.
    fn open_runs(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<OpenRun>, JournalError>>;

    /// The size of the store in bytes, on its disk or in memory.
    fn bytes(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        Box::pin(std::future::ready(Ok(0)))
    }

    /// Gives a run another plan, if it has not ended and no other process drives it. `false`: it was not changed.
    fn rebind<'a>(
        &'a self,
        run: &'a RunId,
        plan: StoredPlan,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, JournalError>>;

    /// Unfinished runs whose owner is dead, and parked runs of ours whose time to wake has come.
    /// A parked run of a dead owner waits for its time or a command as well. Oldest first, bounded: call again.
    fn claimable(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<RunId>, JournalError>>;

    /// Takes over a run whose owner is dead or that is parked. `None`: somebody else was first.
    fn claim<'a>(
        &'a self,
        run: &'a RunId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>>;

    /// Gives a run back to the store without a task of its own; it is woken at `due` or by a command.
    fn park<'a>(
        &'a self,
        run: &'a RunId,
        due: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<(), JournalError>>;

    /// Says that this opener is alive.
    fn heartbeat(&self, now: Timestamp) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Puts a command into the inbox of a run, whoever owns it.
    fn tell(&self, command: Command) -> BoxFuture<'_, Result<(), JournalError>>;

    /// Takes the commands for runs that this opener owns, or that nobody alive owns.
    /// A taken command is given out again when its taker dies before it has appended the effect.
    fn commands(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Command>, JournalError>>;

    /// Gives back the commands of a run that this opener has taken and that nothing was appended for: they keep their
    /// places and are given out again, to whoever comes first.
    fn give_back<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>>;

    /// The commands that lie in the inbox of a run, oldest first; they stay where they are.
    fn told<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Order>, JournalError>>;

    /// Keeps a small named value beside the runs, such as the last catalog of a backend.
    fn keep<'a>(
        &'a self,
        name: &'a str,
        value: &'a Value,
    ) -> BoxFuture<'a, Result<(), JournalError>>;

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, JournalError>>;

    /// A secret for one purpose, the same for every opener of the store, which is not to be found in the store.
    fn secret(&self, purpose: &str) -> [u8; 32];

    /// Removes one batch of what retention no longer keeps. `true`: call again, there is more.
    fn maintain(&self, now: Timestamp) -> BoxFuture<'_, Result<bool, JournalError>> {
        let _ = now;
        Box::pin(std::future::ready(Ok(false)))
    }
}

/// A run as it is created.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub id: RunId,
    pub workflow: String,
    pub version: Option<String>,
    /// Hash of the stored plan; plans are stored once.
    pub plan_hash: String,
    /// The stored form of the plan (`ir: 1`).
    pub plan: Arc<str>,
    pub durability: Durability,
    pub principal: Option<String>,
    pub tenant: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// The client's own idempotency key, unique within principal and workflow.
    pub client_key: Option<String>,
    /// The run this one repeats.
    pub retry_of: Option<RunId>,
    /// Some of its values must not be shown: its events are sealed at rest.
    pub sensitive: bool,
    /// It was imported without its sensitive values.
    pub masked: bool,
    pub at: Timestamp,
    /// Phase and due time after the first events.
    pub mark: Mark,
}

impl NewRun {
    /// A run that has just begun, with nothing special about it and no plan yet.
    pub fn new(id: RunId, workflow: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            workflow: workflow.into(),
            version: None,
            plan_hash: String::new(),
            plan: Arc::from("{}"),
            durability: Durability::Async,
            principal: None,
            tenant: None,
            labels: BTreeMap::new(),
            client_key: None,
            retry_of: None,
            sensitive: false,
            masked: false,
            at,
            mark: Mark {
                phase: Phase::Running,
                due: None,
                failure: None,
            },
        }
    }
}

/// The stored form of a plan (`ir: 1`) and its hash.
#[derive(Clone, Debug)]
pub struct StoredPlan {
    pub hash: String,
    pub text: Arc<str>,
}

/// Events to add to a run.
#[derive(Clone, Debug)]
pub struct Append {
    pub run: RunId,
    /// Sequence number of the first event; must be the next one of the run.
    pub first: u64,
    pub events: Vec<Event>,
    pub durability: Durability,
    pub mark: Mark,
    pub at: Timestamp,
}

/// What lists and wake-ups need to know of a run, kept beside its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub phase: Phase,
    /// When time alone will move the run on.
    pub due: Option<Timestamp>,
    /// The code of the failure it ended with.
    pub failure: Option<String>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Running,
    /// Waits for a person.
    Waiting,
    /// A call has an unknown outcome, or the run cannot be read; a person decides.
    Held,
    Completed,
    Failed,
    TimedOut,
    Cancelled,
}

impl Phase {
    pub const ALL: [Self; 7] = [
        Self::Running,
        Self::Waiting,
        Self::Held,
        Self::Completed,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }

    pub fn is_ended(self) -> bool {
        match self {
            Self::Running | Self::Waiting | Self::Held => false,
            Self::Completed | Self::Failed | Self::TimedOut | Self::Cancelled => true,
        }
    }
}

/// A run as it is loaded: all that is needed to fold it.
#[derive(Clone, Debug)]
pub struct StoredRun {
    pub summary: Summary,
    pub plan: Arc<str>,
    pub plan_hash: String,
    pub durability: Durability,
    pub events: Vec<Event>,
}

/// A line of `runs list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub id: RunId,
    pub workflow: String,
    pub version: Option<String>,
    pub phase: Phase,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub ended: Option<Timestamp>,
    pub due: Option<Timestamp>,
    pub failure: Option<String>,
    pub principal: Option<String>,
    pub tenant: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub client_key: Option<String>,
    pub retry_of: Option<RunId>,
    /// It was imported without its sensitive values: it can be looked at, and nothing can be made of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    pub event_count: u64,
}

impl Summary {
    /// A run that has just begun, with nothing special about it.
    pub fn new(id: RunId, workflow: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            workflow: workflow.into(),
            version: None,
            phase: Phase::Running,
            created: at,
            updated: at,
            ended: None,
            due: None,
            failure: None,
            principal: None,
            tenant: None,
            labels: BTreeMap::new(),
            client_key: None,
            retry_of: None,
            masked: false,
            event_count: 0,
        }
    }
}

/// A run that has not ended, as it is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub id: RunId,
    pub principal: Option<String>,
    /// About as many as its events have in the store.
    pub bytes: u64,
    pub plan_hash: String,
    /// Nobody drives it: it is parked, or the process that had it is gone.
    pub is_left: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub workflow: Option<String>,
    pub phases: Vec<Phase>,
    pub labels: BTreeMap<String, String>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    pub client_key: Option<String>,
    pub principal: Option<String>,
    /// Only runs of callers that did not sign in.
    pub no_principal: bool,
    /// Repeats of this run.
    pub retry_of: Option<RunId>,
    /// At most this many; zero means the default of 100.
    pub limit: usize,
}

/// A message to a run, from any process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub run: RunId,
    pub what: Order,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Answer {
        step: String,
        round: Option<u32>,
        action: crate::event::AnswerAction,
        content: Option<Value>,
    },
    Cancel {
        reason: String,
    },
    Resolve {
        slot: Slot,
        resolution: Resolution,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("run `{run}` is owned by another process now")]
    Fenced { run: RunId },
    #[error("run `{run}` is not in the store")]
    UnknownRun { run: RunId },
    #[error("run `{run}` already exists")]
    Exists { run: RunId },
    #[error("the client's key already belongs to run `{run}`")]
    KeyTaken { run: RunId },
    #[error("run `{run}` has ended")]
    Ended { run: RunId },
    #[error("run `{run}` cannot be read: {reason}")]
    Unreadable { run: RunId, reason: String },
    #[error("run `{run}` expected event {expected} next, not {got}")]
    OutOfOrder { run: RunId, expected: u64, got: u64 },
    #[error(
        "the open runs fill the memory of `--ephemeral` ({bytes_max} bytes); try again once some have ended, or raise \
         `limits.ephemeral_bytes`"
    )]
    OpenRunsFull { bytes_max: u64 },
    #[error("the store has no room left")]
    Full(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the store is read-only")]
    ReadOnly(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the store was written by a newer version ({found}; this one reads up to {known})")]
    TooNew { found: u64, known: u64 },
    #[error("cannot {action} the store")]
    Store {
        action: &'static str,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}
