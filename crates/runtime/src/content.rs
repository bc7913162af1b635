//! What the files say, as it is served: backends, workflows and limits. A reload replaces it as a whole.

use crate::identity::Identities;
use crate::kept::{self, Kept};
use crate::limits::QUESTION_TIMEOUT;
use crate::offers::Noticed;
use crate::open_runs::OpenLimits;
use onecall_backends::{
    BackendName, BackendState, BackendStatus, Backends, Breaker, CatalogOptions, Listed,
};
use onecall_config::settings::{self, Expose, Names};
use onecall_config::{Withheld, WithheldKind};
use onecall_engine::journal::Journal;
use onecall_engine::limits::Limits;
use onecall_workflow::catalog::{Catalog, Knowledge};
use onecall_workflow::limits::Bounds;
use onecall_workflow::lock::Lock;
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the files say, as it is served.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) backends: Backends,
    pub(crate) identities: Identities,
    pub(crate) workflows: Vec<Arc<Workflow>>,
    /// Workflows and backends that have errors in the files.
    pub(crate) withheld: Vec<Withheld>,
    pub(crate) invalid: BTreeMap<BackendName, String>,
    pub(crate) names: Names,
    pub(crate) catalog_options: CatalogOptions,
    pub(crate) expose: Expose,
    pub(crate) limits: Limits,
    pub(crate) open_limits: OpenLimits,
    pub(crate) lock: Option<Lock>,
    /// The tools of the backends that the store had.
    pub(crate) kept: Kept,
    /// Warnings about resources and prompts that were logged already.
    pub(crate) noticed: Noticed,
}

impl Content {
    pub(crate) async fn new(
        backends: Backends,
        server: settings::Server,
        journal: &dyn Journal,
    ) -> Self {
        let identities = Identities::of(&server.backends, server.home.as_deref());
        let catalog_options = crate::merge::options(&server);
        Self {
            backends,
            kept: kept::load(journal, &identities).await,
            identities,
            limits: limits_of_runs(&server.limits, server.questions),
            open_limits: OpenLimits::new(&server.limits),
            lock: server.lock,
            workflows: server.workflows.into_iter().map(Arc::new).collect(),
            withheld: server.withheld,
            invalid: server.invalid,
            names: server.names,
            catalog_options,
            expose: server.expose,
            noticed: Noticed::default(),
        }
    }
}

impl Content {
    /// The files have a workflow of this name, with errors or without.
    pub(crate) fn has_workflow(&self, name: &str) -> bool {
        let mut withheld = self.withheld.iter();
        self.workflows.iter().any(|own| own.name == name)
            || withheld.any(|own| own.kind == WithheldKind::Workflow && own.name == name)
    }
}

/// Everything that the published tools depend on. Parts are replaced, never changed.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) content: Arc<Content>,
    pub(crate) lists: Vec<Listed>,
}

impl Origin {
    pub(crate) fn now(content: Arc<Content>) -> Self {
        Self {
            lists: content.backends.listed(&content.kept),
            content,
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |(own, other): (&Listed, &Listed)| {
            own.backend == other.backend
                && own.knowledge == other.knowledge
                && (Arc::ptr_eq(&own.tools, &other.tools)
                    || own.tools.is_empty() && other.tools.is_empty())
        };
        Arc::ptr_eq(&self.content, &other.content)
            && self.lists.len() == other.lists.len()
            && self.lists.iter().zip(&other.lists).all(same)
    }
}

/// The tools of all backends. Warnings about their names are logged when they are published.
pub(crate) fn catalog(content: &Content) -> Catalog {
    let lists = content.backends.listed(&content.kept);
    let (mut catalog, _) = onecall_backends::merge(&lists, &content.catalog_options);
    add_invalid(&mut catalog, content);
    catalog
}

/// Backends with errors in the files are known by name, so that workflows which need them are withheld with the reason.
pub(crate) fn add_invalid(catalog: &mut Catalog, content: &Content) {
    let names = content.invalid.keys().cloned();
    let unknown = names.map(|name| (name, Knowledge::Unknown));
    catalog.backends.extend(unknown);
}

pub(crate) fn invalid_status((name, reason): (&BackendName, &String)) -> BackendStatus {
    BackendStatus {
        name: name.clone(),
        transport: "none",
        state: BackendState::Invalid {
            reason: reason.clone(),
        },
        breaker: Breaker::Closed,
        era: None,
        revision: None,
        server_info: None,
        instructions: None,
        tools: None,
        remarks: Vec::new(),
        in_flight: 0,
        connects: 0,
        latency: None,
        last_error: None,
        stderr: Vec::new(),
    }
}

fn limits_of_runs(stated: &settings::Limits, questions: settings::Questions) -> Limits {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let usual = Limits::default();
    Limits {
        events: stated.events.map_or(usual.events, number),
        data_bytes: stated.run_bytes.map_or(usual.data_bytes, number),
        expression: Bounds {
            text_bytes: stated.text_bytes.unwrap_or(usual.expression.text_bytes),
            operations: stated
                .operations
                .map_or(usual.expression.operations, number),
        },
        question: Some(questions.timeout.unwrap_or(QUESTION_TIMEOUT)),
    }
}
