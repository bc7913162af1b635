//! The facade: what is published, calls, answers, cancels, and the tending of the store.
//! Front doors speak to this and to nothing below it.

use crate::backend_calls::{BackendCalls, BackendCounts};
use crate::backend_options::{Children, backends_options};
use crate::calls;
use crate::content::{Content, Origin, add_invalid, catalog, invalid_status};
use crate::fitted::Fitted;
use crate::identity::Foreign;
use crate::lent::Lent;
use crate::limits::{KEPT_LIST_WAIT, QUESTION_TIMEOUT};
use crate::log::{Ends, Noting};
use crate::open_runs::{Counted, OpenRuns};
use crate::plans::Plans;
use crate::publish::{Published, Terms, offered, publish};
use crate::release::{LostLease, Releasing};
use crate::remarks::Remarks;
use crate::repeated::Repeated;
use crate::runs::LiveRuns;
use crate::stranded::Stranded;
use crate::tend;
use crate::trace::Trace;
use crate::unstored::Unstored;
use crate::watched::{StoreHealth, Watched};
use crate::world::{self, LiveWorld};
use onecall_backends::{BackendName, BackendStatus, Backends, ClientInfo, StartError};
use onecall_config::settings::{self, Expose};
use onecall_engine::driver::Surroundings;
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::{Journal, JournalError};
use onecall_engine::world::World;
use onecall_source::Diagnostic;
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::lock::Lock;
use onecall_workflow::policy::Durability;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a runtime is made from.
#[derive(Debug)]
pub struct Options {
    pub server: settings::Server,
    pub journal: Arc<dyn Journal>,
    /// For workflows that state none.
    pub durability: Durability,
    pub version: String,
    /// How long the first list waits for backends that are still connecting.
    pub first_list_wait: Duration,
    /// What a backend whose command is `onecall` runs: this very program.
    pub this_program: Option<PathBuf>,
    /// Variables that every child process inherits. It gets those of its own entry besides, and no others.
    pub child_env: Vec<(OsString, OsString)>,
    /// Whether runs that others left behind are resumed.
    pub resumes: bool,
    /// The flag with which `onecall runs` finds the store, for hints in the log. `None`: no other process finds it.
    pub store_flag: Option<String>,
    /// Takes the place of the backends, the system clock and chance. For tests.
    pub outside: Option<Outside>,
}

/// What the runs of a runtime meet in place of the real world.
#[derive(Clone)]
pub struct Outside {
    /// Makes their calls and has the clock.
    pub world: Arc<dyn World>,
    /// Random bits, for ids and seeds of runs.
    pub bits: Arc<dyn Fn() -> u128 + Send + Sync>,
}

impl Debug for Outside {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Outside")
    }
}

/// One virtual server at work. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) name: String,
    /// Replaced as a whole when the files have changed.
    content: RwLock<Arc<Content>>,
    /// Held while something is published, so that an older version never comes last.
    publishing: Mutex<Publishing>,
    reloads: watch::Sender<Reloads>,
    children: Children,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) durability: Durability,
    pub(crate) published: watch::Sender<Arc<Published>>,
    pub(crate) runs: LiveRuns,
    pub(crate) open_runs: Arc<OpenRuns>,
    pub(crate) lent: Lent,
    pub(crate) unstored: Unstored,
    pub(crate) tasks: TaskTracker,
    pub(crate) leaving: CancellationToken,
    pub(crate) first_list_wait: Duration,
    pub(crate) foreign: Foreign,
    /// Runs that wait for a workflow that is not served here.
    pub(crate) unserved: Foreign,
    pub(crate) releasing: Releasing,
    /// Runs of earlier processes that are bound to other backends.
    pub(crate) stranded: Mutex<Vec<Stranded>>,
    pub(crate) plans: Plans,
    pub(crate) resumes: bool,
    /// How many runs were resumed that this process had not started or had parked before it ended.
    pub(crate) resumed: AtomicUsize,
    pub(crate) ends: Ends,
    pub(crate) repeated: Repeated,
    pub(crate) lost_lease: LostLease,
    outside: Option<Outside>,
    store_flag: Option<Arc<str>>,
    pub(crate) backend_calls: Arc<BackendCalls>,
    pub(crate) store_health: Arc<StoreHealth>,
}

/// What publishing remembers.
#[derive(Debug, Default)]
struct Publishing {
    /// What the published was made from.
    origin: Option<Origin>,
    fitted: Fitted,
    remarks: Remarks,
}

/// How often the files were read again, and what came of the last time.
#[derive(Clone, Debug, Default)]
pub struct Reloads {
    pub count: u64,
    /// Why the newest version of the files is not served.
    pub refused: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartRuntimeError {
    #[error("cannot start the backends")]
    Backends(#[from] StartError),
    #[error("cannot use the store")]
    Store(#[from] JournalError),
}

impl Runtime {
    /// Starts the backends' pool, takes over what dead owners left, and publishes what fits.
    pub async fn start(options: Options) -> Result<Self, StartRuntimeError> {
        let client = ClientInfo {
            name: "onecall".to_owned(),
            version: options.version,
        };
        let children = Children {
            program: options.this_program,
            env: options.child_env,
        };
        let mut backends = backends_options(&options.server, &children);
        for backend in &mut backends {
            // A one-shot command tells what it could not reach.
            backend.logs_failures = options.resumes;
        }
        let backends = Backends::start(&client, backends)?;
        let (published, _) = watch::channel(Arc::new(Published::default()));
        let name = options.server.name.clone();
        let store_health = Arc::<StoreHealth>::default();
        let journal: Arc<dyn Journal> = Arc::new(Watched {
            journal: options.journal,
            health: Arc::clone(&store_health),
        });
        let content = Content::new(backends, options.server, &*journal).await;
        let inner = Inner {
            name,
            content: RwLock::new(Arc::new(content)),
            publishing: Mutex::default(),
            reloads: watch::Sender::default(),
            children,
            journal,
            durability: options.durability,
            published,
            runs: LiveRuns::default(),
            open_runs: Arc::default(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            first_list_wait: options.first_list_wait,
            foreign: Foreign::default(),
            unserved: Foreign::default(),
            releasing: Releasing::default(),
            stranded: Mutex::default(),
            lent: Lent::default(),
            unstored: Unstored::default(),
            plans: Plans::default(),
            resumes: options.resumes,
            resumed: AtomicUsize::new(0),
            ends: Ends::default(),
            repeated: Repeated::default(),
            lost_lease: LostLease::default(),
            outside: options.outside,
            store_flag: options.store_flag.map(Arc::from),
            backend_calls: Arc::default(),
            store_health,
        };
        let runtime = Self {
            inner: Arc::new(inner),
        };
        runtime.republish();
        tend::start(&runtime).await?;
        Ok(runtime)
    }

    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The time by the clock that runs are measured with.
    pub(crate) fn now(&self) -> Timestamp {
        let outside = self.inner.outside.as_ref();
        outside.map_or_else(world::now, |outside| outside.world.now())
    }

    pub(crate) fn random_bits(&self) -> u128 {
        let outside = self.inner.outside.as_ref();
        outside.map_or_else(rand::random, |outside| (outside.bits)())
    }

    /// What is published now, and every change of it.
    pub fn published(&self) -> watch::Receiver<Arc<Published>> {
        self.inner.published.subscribe()
    }

    /// What is published at this moment.
    pub fn current(&self) -> Arc<Published> {
        Arc::clone(&self.inner.published.borrow())
    }

    /// What is published once the backends have had a moment to tell their tools. All are connected; those whose tools
    /// are known from an earlier process have a short one, since a list that turns out to differ later is published then.
    pub async fn settled(&self) -> Arc<Published> {
        let content = self.content();
        for (backend, _) in content.identities.iter() {
            content.backends.want(backend);
        }
        let patience = KEPT_LIST_WAIT.min(self.inner.first_list_wait);
        let is_kept = |name: &BackendName| content.kept.contains_key(name);
        let kept = content.backends.settle_some(patience, is_kept);
        futures::join!(kept, self.known());
        self.published_now()
    }

    /// What can be published now, whoever is still silent.
    pub fn published_now(&self) -> Arc<Published> {
        self.republish();
        Arc::clone(&self.inner.published.borrow())
    }

    pub fn backends(&self) -> Vec<BackendStatus> {
        let content = self.content();
        let mut all = content.backends.status();
        all.extend(content.invalid.iter().map(invalid_status));
        all
    }

    /// The same as JSON, for every face that shows it.
    pub fn backend_reports(&self) -> Vec<Value> {
        self.backends().iter().map(BackendStatus::to_json).collect()
    }

    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.inner.journal
    }

    /// How long a question can be answered if its workflow sets no timeout.
    pub fn question_timeout(&self) -> Duration {
        self.content().limits.question.unwrap_or(QUESTION_TIMEOUT)
    }

    /// Runs of earlier processes that cannot resume here, since they are bound to other backends.
    pub fn stranded(&self) -> Vec<Stranded> {
        let stranded = self.inner.stranded.lock();
        stranded.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why the store cannot be written, as far as is known.
    pub fn store_fault(&self) -> Option<String> {
        self.inner.store_health.reason()
    }

    /// The calls of each backend since the process began: how they ended, and how long they took.
    pub fn backend_counts(&self) -> Vec<(BackendName, Arc<BackendCounts>)> {
        self.inner.backend_calls.all()
    }

    pub fn catalog(&self) -> Catalog {
        catalog(&self.content())
    }

    /// The backends and the clock, for runs that a front door drives itself. What a tool asks is not answered.
    pub fn world(&self) -> Arc<dyn World> {
        Arc::new(LiveWorld {
            backends: self.content().backends.clone(),
            trace: Trace::default(),
            caller: Some(calls::caller_id("front door")),
            token: None,
            takes_questions: false,
            calls: Arc::clone(&self.inner.backend_calls),
        })
    }

    /// What is served now.
    pub(crate) fn content(&self) -> Arc<Content> {
        let content = self.inner.content.read();
        Arc::clone(&content.unwrap_or_else(PoisonError::into_inner))
    }

    /// The catalog to compare with the lock, if there is one: with the live list of this backend, if it can be had.
    pub(crate) async fn catalog_for_lock(&self, backend: &BackendName) -> Catalog {
        let content = self.content();
        let catalog = catalog(&content);
        if content.lock.is_none() || catalog.backends.get(backend) == Some(&Knowledge::Live) {
            return catalog;
        }
        let patience = self.inner.first_list_wait;
        content
            .backends
            .settle_some(patience, |name| name == backend)
            .await;
        self.catalog()
    }

    /// Why a tool may not be called: it is not the one that was locked. Tools that clients are not shown are locked
    /// only if a workflow calls them.
    pub(crate) fn locked_out(&self, tool: &CatalogTool) -> Option<Diagnostic> {
        let content = self.content();
        let lock = content.lock.as_ref()?;
        let is_covered = lock.contains(tool) || (tool.listed && content.expose == Expose::All);
        is_covered.then(|| lock.check_tool(tool)).flatten()
    }

    /// The tools that the workflows call and those that clients may call, as they are now, and what no backend has of
    /// them.
    pub fn locked(&self) -> (Lock, Vec<String>) {
        let content = self.content();
        let catalog = catalog(&content);
        let mut lock = Lock::default();
        let workflows = content.workflows.iter();
        let missing = workflows.flat_map(|workflow| lock.add(workflow, &catalog));
        let missing = missing.collect();
        for tool in offered(&catalog, content.expose) {
            lock.add_tool(tool);
        }
        (lock, missing)
    }

    /// Tells what is odd about what is published, whoever is still silent.
    pub(crate) fn remark(&self) {
        let publishing = self.inner.publishing.lock();
        let mut publishing = publishing.unwrap_or_else(PoisonError::into_inner);
        publishing.remarks.settled();
    }

    /// Publishes what the files and the backends say now, unless that is what is published.
    pub(crate) fn republish(&self) {
        let mut publishing = self
            .inner
            .publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let origin = Origin::now(self.content());
        let last = publishing.origin.as_ref();
        if last.is_some_and(|last| last.is_same(&origin)) {
            return;
        }
        let content = &origin.content;
        let terms = Terms {
            expose: content.expose,
            identities: &content.identities,
            lock: content.lock.as_ref(),
            names: &content.names,
            fitted: &publishing.fitted,
            invalid: &content.invalid,
        };
        let (mut catalog, notices) =
            onecall_backends::merge(&origin.lists, &content.catalog_options);
        add_invalid(&mut catalog, content);
        let mut fresh = publish(&content.workflows, &content.withheld, &catalog, terms);
        publishing.remarks.made(notices, &catalog);
        fresh.backends = Some(content.backends.clone());
        publishing
            .fitted
            .learn(&content.workflows, &content.withheld, &fresh);
        self.inner.published.send_replace(Arc::new(fresh));
        publishing.origin = Some(origin);
    }

    /// Serves another version of the files. Calls in flight go on with what they began with; backends that are the
    /// same keep their connections; others have a moment to tell their tools before anything changes.
    pub async fn reload(&self, server: settings::Server) -> Result<(), StartError> {
        let options = backends_options(&server, &self.inner.children);
        let earlier = self.content();
        let backends = earlier.backends.renewed(options)?;
        let is_new = |name: &_| !backends.shares(&earlier.backends, name);
        let patience = self.inner.first_list_wait;
        backends.settle_some(patience, is_new).await;
        drop(earlier);
        let fresh = Content::new(backends.clone(), server, &*self.inner.journal).await;
        let old = self.content();
        let is_shown_alike = old.catalog_options.strategy == fresh.catalog_options.strategy
            && old.expose == fresh.expose;
        {
            let mut content = self
                .inner
                .content
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *content = Arc::new(fresh);
        }
        backends.make_current();
        if !is_shown_alike {
            backends.others_changed();
        }
        self.republish();
        self.inner.foreign.clear();
        self.inner.unserved.clear();
        tend::look_for_stranded(self).await;
        self.inner.reloads.send_modify(|reloads| {
            reloads.count += 1;
            reloads.refused = None;
        });
        Ok(())
    }

    /// The files have changed and cannot be served: what is published stays, and the reason is told to operators.
    pub fn refuse_reload(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.inner
            .reloads
            .send_modify(|reloads| reloads.refused = Some(reason));
    }

    pub fn reloads(&self) -> Reloads {
        let mut reloads = self.inner.reloads.borrow().clone();
        let refused = &mut reloads.refused;
        for own in &self.inner.published.borrow().outdated {
            let (workflow, reason) = (&own.name, &own.reason);
            let text = format!("the version before of `{workflow}` stays published: {reason}");
            *refused = Some(match refused.take() {
                Some(others) => format!("{others}; {text}"),
                None => text,
            });
        }
        reloads
    }

    /// Evaluates within the limits of the files.
    pub(crate) fn evaluator(&self) -> PlanEvaluator {
        PlanEvaluator {
            limits: self.content().limits,
        }
    }

    /// Sees the events of a run: they are logged, and then shown to those who follow it.
    pub(crate) fn observer(
        &self,
        inner: Arc<crate::runs::Telling>,
    ) -> Arc<Noting<crate::runs::Telling>> {
        Arc::new(Noting {
            // A one-shot command shows at the terminal what its run needs.
            is_logged: self.inner.resumes,
            store_flag: self.inner.store_flag.clone(),
            inner,
        })
    }

    pub(crate) fn surroundings(
        &self,
        durability: Durability,
        observer: Arc<crate::runs::Telling>,
        world: LiveWorld,
    ) -> Surroundings {
        let outside = self.inner.outside.as_ref();
        Surroundings {
            world: outside.map_or_else(
                || Arc::new(world) as _,
                |outside| Arc::clone(&outside.world),
            ),
            evaluator: Arc::new(self.evaluator()),
            journal: (durability != Durability::None).then(|| Arc::clone(&self.inner.journal)),
            durability,
            observer: Arc::new(Counted::new(
                self.observer(observer),
                Arc::clone(&self.inner.open_runs),
            )),
            // Nobody would wake a run that a one-shot command gives back.
            parks: durability != Durability::None && self.inner.resumes,
        }
    }

    /// Stops taking up work, gives runs the grace time to end, then leaves them to the store. Those that only people
    /// can move on are left at once.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.leaving.cancel();
        self.inner.tasks.close();
        let over = futures::future::join(self.inner.runs.leave_resting(), self.inner.tasks.wait());
        if tokio::time::timeout(grace, over).await.is_err() {
            tracing::info!(
                runs = self.inner.runs.ids().len(),
                "leaving runs to the store"
            );
            // Dropping the handles abandons the runs; what they have stored is what counts.
            self.inner.runs.clear();
            let last = Duration::from_secs(1);
            let _ = tokio::time::timeout(last, self.inner.tasks.wait()).await;
        }
        self.content().backends.shutdown().await;
    }

    /// Calls a published tool and waits for its end.
    pub fn call(
        &self,
        request: impl Into<Box<calls::Request>>,
    ) -> impl Future<Output = calls::Reply> + Send {
        calls::call(self, request.into())
    }

    /// Whether no tool has this name, so that a call of it is an error of the protocol.
    pub fn lacks_tool(&self, tool: &str) -> bool {
        calls::is_unknown(self, tool)
    }

    /// Whether a call of this tool may be made again whatever became of it: the tool is read-only or idempotent.
    pub fn is_harmless(&self, tool: &str) -> bool {
        calls::is_harmless(self, tool)
    }

    /// Calls a tool of this backend by the backend's own name for it, listed or not.
    pub async fn call_backend(&self, backend: &str, request: calls::Request) -> calls::Reply {
        calls::call_backend(self, backend, Box::new(request)).await
    }
}
