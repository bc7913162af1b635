//! Workflows as a user writes them, and a world that answers at once.

use crate::Failed;
use futures::future::BoxFuture;
use onecall_dialects::toolhive;
use onecall_engine::decide::Input;
use onecall_engine::driver::{Observer, Stopped, Surroundings, drive};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::{Event, Outcome};
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{Journal, JournalError};
use onecall_engine::limits::PARK_AFTER_SECONDS;
use onecall_engine::state::State;
use onecall_engine::world::{ToolCall, World};
use onecall_mcp::Tool;
use onecall_source::{Diagnostics, SourceMap, parse};
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::draft::Built;
use onecall_workflow::name::{BackendName, ToolName};
use onecall_workflow::plan::{Plan, bind};
use onecall_workflow::policy::Durability;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

type Read<T> = Result<T, Failed>;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// Steps one after the other, each with arguments from the one before.
pub(crate) fn chain(count: usize) -> Read<Arc<Plan>> {
    let mut steps = String::new();
    for step in 0..count {
        let title = match step.checked_sub(1) {
            None => "{{ .params.title }}".to_owned(),
            Some(before) => format!("{{{{ .steps.s{before}.output.title }}}}"),
        };
        writeln!(steps, "  - id: s{step}\n    tool: t.look")?;
        writeln!(
            steps,
            "    arguments: {{title: '{title}', limit: 10, tags: [a, b]}}"
        )?;
    }
    plan(&steps)
}

/// A loop over the items of the parameters, fifty at once.
pub(crate) fn each() -> Read<Arc<Plan>> {
    plan(
        "  - id: loop
    type: forEach
    collection: '{{ .params.items }}'
    maxParallel: 50
    maxIterations: 1000
    step: {type: tool, tool: t.look, arguments: {title: '{{ .forEach.item }}', limit: 10}}
",
    )
}

/// A call, then a question.
pub(crate) fn asks() -> Read<Arc<Plan>> {
    plan(
        "  - {id: s0, tool: t.look, arguments: {title: '{{ .params.title }}'}}
  - id: ask
    type: elicitation
    message: 'Go on with {{ .steps.s0.output.title }}?'
    schema: {type: object, properties: {ok: {type: boolean}}}
",
    )
}

fn plan(steps: &str) -> Read<Arc<Plan>> {
    let parameters = "{type: object, properties: {title: {type: string}, items: {type: array}}}";
    let text =
        format!("name: bench\ndescription: A load.\nparameters: {parameters}\nsteps:\n{steps}");
    let mut sources = SourceMap::new();
    let id = sources.add("bench.yaml", text);
    let (documents, _) = parse(&sources, id);
    let node = documents.into_iter().next().ok_or("no document")?.root;
    let mut diagnostics = Diagnostics::new();
    let workflow = toolhive::read(&node, &toolhive::Options::default(), &mut diagnostics);
    let workflow = workflow.and_then(Built::sound);
    let workflow = workflow.ok_or_else(|| format!("no workflow: {diagnostics:?}"))?;
    let plan = bind(&workflow, &catalog()?).map_err(|unbound| format!("{unbound:?}"))?;
    Ok(Arc::new(plan))
}

fn catalog() -> Read<Catalog> {
    let definition = json!({
        "name": "look",
        "inputSchema": {
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "limit": { "type": "integer" },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["title"],
        },
        "annotations": { "readOnlyHint": true },
    });
    let mut catalog = Catalog::default();
    catalog.tools.push(CatalogTool {
        name: Some(ToolName::new("t.look")),
        backend: BackendName::new("t"),
        original: "look".to_owned(),
        listed: true,
        tool: Tool::from_value(definition)?,
    });
    let backend = BackendName::new("t");
    catalog.backends.insert(backend, Knowledge::Live);
    Ok(catalog)
}

/// What every call is answered with.
pub(crate) fn answer() -> Arc<Value> {
    Arc::new(json!({
        "content": [{ "type": "text", "text": "an answer of some length, such as a title and a link" }],
        "structuredContent": {
            "title": "a title", "url": "https://example.org/a/page", "score": 0.75,
        },
        "isError": false,
    }))
}

/// Answers at once, or never; when it is told so, ten seconds have passed and no more.
pub(crate) struct Instantly {
    pub(crate) answer: Option<Arc<Value>>,
    pub(crate) is_later: watch::Receiver<bool>,
}

impl Instantly {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            answer: Some(answer()),
            is_later: watch::channel(false).1,
        })
    }
}

impl World for Instantly {
    fn call(&self, _: ToolCall) -> BoxFuture<'static, Outcome> {
        match &self.answer {
            Some(answer) => Box::pin(std::future::ready(Outcome::Returned(Arc::clone(answer)))),
            None => Box::pin(std::future::pending()),
        }
    }

    fn now(&self) -> Timestamp {
        NOW
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let mut is_later = self.is_later.clone();
        let never = at > NOW.plus(Duration::from_secs(PARK_AFTER_SECONDS));
        Box::pin(async move {
            if never || is_later.wait_for(|is_later| *is_later).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

struct Nobody;

impl Observer for Nobody {
    fn saw(&self, _: &State, _: &[Event]) {}
}

pub(crate) fn surroundings(
    world: Arc<Instantly>,
    journal: Option<Arc<dyn Journal>>,
    durability: Durability,
) -> Surroundings {
    Surroundings {
        world,
        evaluator: Arc::new(PlanEvaluator::default()),
        journal,
        durability,
        observer: Arc::new(Nobody),
        parks: true,
    }
}

pub(crate) fn input() -> Value {
    json!({ "title": "a title" })
}

pub(crate) fn start(input: Value) -> Input {
    Input::Start {
        input: Arc::new(input),
        seed: 7,
    }
}

/// Drives a run from its first input to its rest.
pub(crate) async fn drive_one(
    plan: Arc<Plan>,
    input: Value,
    surroundings: Surroundings,
) -> Result<Stopped, JournalError> {
    // Kept until the run rests: a run whose sender is gone is abandoned.
    let (_sender, inputs) = mpsc::channel(1);
    let state = State::new(RunId::new("run"), plan);
    drive(state, vec![start(input)], inputs, surroundings).await
}
