//! The facade: what is published, calls, answers, cancels, and the tending of the store.
//! Front doors speak to this and to nothing below it.

use crate::calls;
use crate::identity::{Foreign, Identities};
use crate::publish::{Published, publish};
use crate::runs::LiveRuns;
use crate::tend;
use crate::trace::Trace;
use crate::world::LiveWorld;
use onecall_backends::{
    BackendOptions, BackendStatus, Backends, CatalogOptions, ClientInfo, HttpOptions, SessionScope,
    StartError, StdioOptions, TransportOptions,
};
use onecall_config::settings::{self, Expose};
use onecall_engine::driver::Surroundings;
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::journal::{Journal, JournalError};
use onecall_workflow::catalog::Catalog;
use onecall_workflow::policy::Durability;
use onecall_workflow::workflow::Workflow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    /// Whether runs that others left behind are taken up.
    pub resumes: bool,
}

/// One virtual server at work. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) backends: Backends,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) durability: Durability,
    pub(crate) workflows: Vec<Arc<Workflow>>,
    pub(crate) catalog_options: CatalogOptions,
    pub(crate) expose: Expose,
    pub(crate) published: watch::Sender<Arc<Published>>,
    pub(crate) runs: LiveRuns,
    pub(crate) tasks: TaskTracker,
    pub(crate) leaving: CancellationToken,
    pub(crate) first_list_wait: Duration,
    pub(crate) identities: Identities,
    pub(crate) foreign: Foreign,
    pub(crate) resumes: bool,
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
        let backend_options = options
            .server
            .backends
            .iter()
            .map(|backend| backend_options(backend, options.this_program.as_deref()))
            .collect();
        let backends = Backends::start(&client, backend_options)?;
        let (published, _) = watch::channel(Arc::new(Published::default()));
        let inner = Inner {
            name: options.server.name,
            backends,
            journal: options.journal,
            durability: options.durability,
            workflows: options.server.workflows.into_iter().map(Arc::new).collect(),
            catalog_options: crate::merge::options(&options.server.aggregation),
            expose: options.server.expose,
            published,
            runs: LiveRuns::default(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
            first_list_wait: options.first_list_wait,
            identities: Identities::of(&options.server.backends),
            foreign: Foreign::default(),
            resumes: options.resumes,
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

    /// What is published now, and every change of it.
    pub fn published(&self) -> watch::Receiver<Arc<Published>> {
        self.inner.published.subscribe()
    }

    /// What is published once the backends have had a moment to tell their tools.
    pub async fn settled(&self) -> Arc<Published> {
        self.inner.backends.settle(self.inner.first_list_wait).await;
        self.republish();
        Arc::clone(&self.inner.published.borrow())
    }

    pub fn backends(&self) -> Vec<BackendStatus> {
        self.inner.backends.status()
    }

    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.inner.journal
    }

    pub fn catalog(&self) -> Catalog {
        let lists = self.inner.backends.tool_lists();
        let lists = Arc::clone(&lists.borrow());
        let names = self.inner.backends.names();
        let (catalog, notices) = crate::merge::merge(&names, &lists, &self.inner.catalog_options);
        for notice in notices {
            tracing::warn!("{notice}");
        }
        catalog
    }

    pub(crate) fn republish(&self) {
        let catalog = self.catalog();
        let fresh = publish(
            &self.inner.workflows,
            &catalog,
            self.inner.expose,
            &self.inner.identities,
        );
        self.inner.published.send_replace(Arc::new(fresh));
    }

    pub(crate) fn surroundings(
        &self,
        durability: Durability,
        observer: Arc<crate::runs::Telling>,
        trace: Trace,
    ) -> Surroundings {
        Surroundings {
            world: Arc::new(LiveWorld {
                backends: self.inner.backends.clone(),
                trace,
            }),
            evaluator: Arc::new(PlanEvaluator),
            journal: (durability != Durability::None).then(|| Arc::clone(&self.inner.journal)),
            durability,
            observer,
            // Nobody would wake a run that a one-shot command gives back.
            parks: durability != Durability::None && self.inner.resumes,
        }
    }

    /// Stops taking up work, gives runs the grace time to end, then leaves them to the store.
    pub async fn shutdown(&self, grace: Duration) {
        self.inner.leaving.cancel();
        self.inner.tasks.close();
        if tokio::time::timeout(grace, self.inner.tasks.wait())
            .await
            .is_err()
        {
            tracing::info!(
                runs = self.inner.runs.ids().len(),
                "leaving runs to the store"
            );
            // Dropping the handles abandons the runs; what they have stored is what counts.
            self.inner.runs.clear();
            let last = Duration::from_secs(1);
            let _ = tokio::time::timeout(last, self.inner.tasks.wait()).await;
        }
        self.inner.backends.shutdown().await;
    }

    /// Calls a published tool and waits for its end.
    pub async fn call(&self, request: calls::Request) -> calls::Reply {
        calls::call(self, request).await
    }
}

fn backend_options(backend: &settings::Backend, this_program: Option<&Path>) -> BackendOptions {
    let transport = match &backend.transport {
        settings::Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => TransportOptions::Stdio(StdioOptions {
            command: this_program
                .filter(|_| command == "onecall")
                .map_or_else(|| command.clone(), |program| program.display().to_string()),
            args: args.clone(),
            env: env.clone(),
            clear_env: false,
            cwd: cwd.clone().map(Into::into),
        }),
        settings::Transport::StreamableHttp { url, headers } => {
            TransportOptions::Http(HttpOptions {
                url: url.clone(),
                headers: headers.clone(),
            })
        }
        settings::Transport::Sse { url, headers } => TransportOptions::Sse(HttpOptions {
            url: url.clone(),
            headers: headers.clone(),
        }),
    };
    let mut options = BackendOptions::new(backend.name.as_str(), transport);
    if let Some(timeout) = backend.timeout {
        options.call_timeout = timeout;
    }
    if let Some(max) = backend.max_in_flight {
        options.max_in_flight = max;
    }
    options.eager = backend.eager;
    options.session = match backend.session {
        settings::Session::Shared => SessionScope::Shared,
        settings::Session::PerClient => SessionScope::PerClient,
    };
    options
}
