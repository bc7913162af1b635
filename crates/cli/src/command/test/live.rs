//! The servers of a suite: only those that a selected row calls are started, and none if tapes and mocks replace all.

use crate::args::StoreArgs;
use crate::wire;
use onecall_config::settings::{Server, Settings};
use onecall_runtime::runtime::Runtime;
use onecall_suite::{Judgements, Selected, Source, Stage, Tapes};
use onecall_workflow::catalog::Catalog;
use onecall_workflow::workflow::Workflow;
use std::time::Duration;

/// The stage of a suite and the servers behind it.
pub(super) struct Live {
    pub(super) stage: Stage,
    runtime: Option<Runtime>,
}

impl Live {
    pub(super) async fn start(
        mut settings: Settings,
        rows: &[Selected<'_>],
        tapes: Tapes,
        judgements: Judgements,
    ) -> anyhow::Result<Self> {
        let workflows: Vec<Workflow> = settings.workflows().cloned().collect();
        let mut server = if settings.servers.is_empty() {
            Server::default()
        } else {
            wire::only_server(&mut settings)?
        };
        let called = called(&workflows, rows, &tapes);
        let names: Vec<String> = server
            .backends
            .iter()
            .map(|own| own.name.to_string())
            .collect();
        let is_of = |name: &str, tool: &str| {
            let rest = tool.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        // A tool without a server may be of any.
        let is_unclear = |tool: &&String| !names.iter().any(|name| is_of(name, tool));
        let has_unclear = called.iter().any(|tool| is_unclear(&tool));
        server.backends.retain(|own| {
            let mut called = called.iter();
            has_unclear || called.any(|tool| is_of(own.name.as_str(), tool))
        });
        server.workflows.clear();
        server.drafts.clear();
        if called.is_empty() || server.backends.is_empty() {
            let stage = Stage::new(&workflows, Catalog::default(), None, tapes);
            let stage = stage.with_judgements(judgements);
            let runtime = None;
            return Ok(Self { stage, runtime });
        }
        let store = StoreArgs {
            store: None,
            ephemeral: true,
        };
        let journal = wire::open_store(&store, &settings)?;
        let runtime = wire::start(server, &settings, journal, wire::Role::OneShot).await?;
        runtime.settled().await;
        let world = Some(runtime.world());
        let stage = Stage::new(&workflows, runtime.catalog(), world, tapes);
        Ok(Self {
            stage: stage.with_judgements(judgements),
            runtime: Some(runtime),
        })
    }

    pub(super) async fn stop(self) {
        if let Some(runtime) = self.runtime {
            runtime.shutdown(Duration::from_millis(100)).await;
        }
    }
}

/// The tools that the rows call at a server.
fn called(workflows: &[Workflow], rows: &[Selected<'_>], tapes: &Tapes) -> Vec<String> {
    let mut called: Vec<String> = Vec::new();
    for row in rows {
        let composition = row.composition();
        let own = workflows
            .iter()
            .filter(|own| own.name.as_str() == composition.name());
        for step in own.flat_map(|workflow| &workflow.steps) {
            let Some(call) = step.call() else { continue };
            let tool = call.tool.as_str();
            let server = tool.split_once('.').map_or("", |(server, _)| server);
            let source = tapes.source(composition.freeze(step.name.as_str()), server);
            if source != Source::Tape && !called.iter().any(|known| known == tool) {
                called.push(tool.to_owned());
            }
        }
    }
    called
}
