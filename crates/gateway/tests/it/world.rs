//! What the tests of this binary share: a runtime with hand-made workflows, and a gateway in front of it.

use onecall_config::Input;
use onecall_config::settings::{Aggregation, Backend, Server, Session, Strategy, Transport};
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::{Filter, Journal, Phase};
use onecall_gateway::{Access, HttpOptions, Mount, serve_http};
use onecall_journal::MemoryStore;
use onecall_runtime::runtime::{Options, Runtime};
use onecall_source::SourceMap;
use onecall_workflow::expression::{ValueTemplate, nowhere};
use onecall_workflow::policy::{self, Durability};
use onecall_workflow::step::{Action, Ask, Call, Step};
use onecall_workflow::workflow::Workflow;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Everything in a test happens within this time or the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The program of `examples/backend.rs`, built beside this test.
fn backend_program() -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = folder.join("examples").join("backend");
    assert!(path.exists(), "build the examples of this crate first");
    path.to_str().unwrap().to_owned()
}

pub(crate) fn backend(name: &str, args: &[&str]) -> Backend {
    let transport = Transport::Stdio {
        command: backend_program(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: Vec::new(),
        cwd: None,
    };
    reached(name, transport)
}

/// A backend over HTTP.
pub(crate) fn backend_at(name: &str, url: &str) -> Backend {
    let transport = Transport::StreamableHttp {
        url: url.to_owned(),
        headers: Vec::new(),
    };
    reached(name, transport)
}

fn reached(name: &str, transport: Transport) -> Backend {
    Backend {
        eager: true,
        ..Backend::plain(name, transport, nowhere())
    }
}

pub(crate) fn calls(name: &str, tool: &str, arguments: Value) -> Step {
    let call = Call {
        arguments: ValueTemplate::Literal(arguments),
        ..Call::plain(tool)
    };
    Step::plain(name, Action::Call(call))
}

fn asks(name: &str, message: &str, schema: Option<Value>) -> Step {
    let ask = Ask {
        schema,
        ..Ask::plain(message)
    };
    Step::plain(name, Action::Ask(ask))
}

pub(crate) fn workflow(name: &str, steps: Vec<Step>) -> Workflow {
    Workflow {
        description: Some(format!("Test workflow {name}.")),
        inputs: json!({ "type": "object", "properties": {} }),
        ..Workflow::plain(name, steps)
    }
}

/// `three` calls three tools, `endless` never comes back by itself, `approve` asks, `nothing` has no steps,
/// `patient` takes longer than an impatient client waits, `stubborn` goes on without its client, `slow` lasts, `traced` tells the
/// metadata of its call.
fn workflows() -> Vec<Workflow> {
    let name = json!({ "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string", "title": "Name" } } });
    vec![
        workflow(
            "three",
            vec![
                calls("first", "demo.echo", json!({ "text": "a" })),
                calls("second", "demo.slow", json!({ "ms": 20 })),
                calls("third", "demo.slow", json!({ "ms": 40, "text": "done" })),
            ],
        ),
        workflow(
            "endless",
            vec![calls("wait", "demo.slow", json!({ "ms": 600_000 }))],
        ),
        workflow("approve", vec![asks("sure", "Really?", Some(name))]),
        workflow("nothing", Vec::new()),
        workflow(
            "patient",
            vec![calls("wait", "demo.slow", json!({ "ms": 400 }))],
        ),
        Workflow {
            policy: policy::Run {
                on_disconnect: policy::OnDisconnect::Continue,
                ..policy::Run::default()
            },
            ..workflow(
                "stubborn",
                vec![calls("wait", "demo.slow", json!({ "ms": 200 }))],
            )
        },
        workflow(
            "slow",
            vec![calls(
                "wait",
                "demo.slow",
                json!({ "ms": 1_200, "text": "done" }),
            )],
        ),
        workflow(
            "consult",
            vec![calls("ask", "demo.ask", json!({ "question": "Which?" }))],
        ),
        workflow("interview", vec![calls("who", "asking.ask", json!({}))]),
        workflow("traced", vec![calls("look", "odd.meta", json!({}))]),
    ]
}

pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    serving: JoinHandle<()>,
}

pub(crate) async fn runtime() -> Runtime {
    runtime_on(&MemoryStore::default()).await
}

/// What every test is served.
pub(crate) fn server() -> Server {
    Server {
        name: "test".to_owned(),
        backends: vec![
            backend("demo", &["demo", "--changing"]),
            backend("odd", &["odd"]),
            Backend {
                session: Session::PerClient,
                ..backend("asking", &["asking"])
            },
        ],
        workflows: workflows(),
        ..Server::default()
    }
}

/// What a ToolHive configuration says, over the demo backend.
pub(crate) fn configured(tools: &str) -> Server {
    let text = format!(
        "name: test\nbackends:\n- {{name: demo, command: '{}', args: [demo]}}\ncompositeTools:\n{tools}",
        backend_program()
    );
    let mut sources = SourceMap::new();
    let source = sources.add("test.yaml", text);
    let input = Input {
        source,
        named: true,
    };
    let options = onecall_config::Options {
        environment: &|_| None,
        compat: onecall_config::Compat::Page,
    };
    let (settings, faults) = onecall_config::read(&sources, &[input], &options);
    let mut settings = settings.unwrap_or_else(|| panic!("{faults:?}"));
    settings.servers.remove(0)
}

async fn runtime_on(store: &MemoryStore) -> Runtime {
    started(server(), store).await
}

pub(crate) async fn started(server: Server, store: &MemoryStore) -> Runtime {
    started_to(true, server, store).await
}

/// `resumes`: it takes up what others have left in the store.
async fn started_to(resumes: bool, server: Server, store: &MemoryStore) -> Runtime {
    let now = Timestamp::from_micros(1);
    let journal = Arc::new(store.open(now, Duration::from_hours(1)));
    started_with(resumes, server, journal).await
}

async fn started_with(resumes: bool, server: Server, journal: Arc<dyn Journal>) -> Runtime {
    let options = Options {
        server,
        journal,
        durability: Durability::Async,
        version: "1".to_owned(),
        first_list_wait: PATIENCE,
        this_program: None,
        child_env: Vec::new(),
        resumes,
        store_flag: None,
        outside: None,
    };
    let runtime = Runtime::start(options).await.unwrap();
    runtime.settled().await;
    runtime
}

impl World {
    /// A gateway over HTTP on a free port of this machine.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        Self::serve(runtime().await, adjust).await
    }

    /// A gateway before the backend that the conformance suite looks at, under bare names.
    pub(crate) async fn start_with_fixture() -> Self {
        let server = Server {
            name: "test".to_owned(),
            backends: vec![backend("fixture", &["conformance"])],
            workflows: vec![workflow("nothing", Vec::new())],
            aggregation: Aggregation {
                strategy: Strategy::Priority { order: Vec::new() },
                ..Aggregation::default()
            },
            ..Server::default()
        };
        Self::serving(server).await
    }

    /// A gateway before what a test makes up.
    pub(crate) async fn serving(server: Server) -> Self {
        Self::serve(started(server, &MemoryStore::default()).await, |_| {}).await
    }

    /// A gateway before what a test makes up, whose clients wait for next to nothing.
    pub(crate) async fn impatient(server: Server) -> Self {
        let runtime = started(server, &MemoryStore::default()).await;
        Self::serve(runtime, |options| {
            options.patience = Duration::from_millis(50);
        })
        .await
    }

    /// A gateway before what a test makes up, which gives calls in flight no time when it stops.
    pub(crate) async fn leaving_at_once(server: Server) -> Self {
        let runtime = started(server, &MemoryStore::default()).await;
        Self::serve(runtime, |options| options.grace = Duration::ZERO).await
    }

    /// One of several on the same store.
    pub(crate) async fn start_on(store: &MemoryStore) -> Self {
        Self::serve(runtime_on(store).await, |_| {}).await
    }

    /// On this opening of a store.
    pub(crate) async fn start_with_journal(journal: Arc<dyn Journal>) -> Self {
        let runtime = started_with(true, server(), journal).await;
        Self::serve(runtime, |_| {}).await
    }

    /// One of several on the same store, which leaves the runs of the others alone.
    pub(crate) async fn aside_on(store: &MemoryStore) -> Self {
        Self::serve(started_to(false, server(), store).await, |_| {}).await
    }

    /// A gateway that asks its callers who they are.
    pub(crate) async fn guarded(server: Server, access: Access) -> Self {
        let runtime = started(server, &MemoryStore::default()).await;
        let mount = Mount {
            access: Some(access),
            ..Mount::root(runtime)
        };
        Self::mounted(mount, |_| {}).await
    }

    async fn serve(runtime: Runtime, adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        Self::mounted(Mount::root(runtime), adjust).await
    }

    async fn mounted(mount: Mount, adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        let runtime = mount.runtime.clone();
        let stop = CancellationToken::new();
        let (ready, address) = tokio::sync::oneshot::channel();
        let mut options = HttpOptions::new("127.0.0.1", 0, "1.2.3");
        adjust(&mut options);
        let serving = {
            let stop = stop.clone();
            tokio::spawn(async move {
                let ready = |address| ready.send(address).unwrap();
                let served = serve_http(vec![mount], options, stop, ready);
                served.await.unwrap();
            })
        };
        Self {
            runtime,
            address: address.await.unwrap(),
            stop,
            serving,
        }
    }

    /// Stops the gateway and everything behind it.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let served = tokio::time::timeout(PATIENCE, self.serving).await;
        served.expect("the server ends").unwrap();
        self.runtime.shutdown(Duration::ZERO).await;
    }

    /// Waits until the newest run of a workflow has come to a phase.
    pub(crate) async fn newest_comes_to(&self, workflow: &str, phase: Phase) {
        let reached = async {
            loop {
                let runs = self
                    .runtime
                    .journal()
                    .list(Filter::default())
                    .await
                    .unwrap();
                let newest = runs.iter().find(|run| run.workflow == workflow);
                if newest.is_some_and(|run| run.phase == phase) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let reached = tokio::time::timeout(PATIENCE, reached).await;
        reached.unwrap_or_else(|_| panic!("`{workflow}` never was {phase:?}"));
    }
}
