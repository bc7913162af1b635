//! What the tests of this binary share: demo backends on ports of their own, servers from configuration texts.

use onecall_config::settings::Server;
use onecall_config::{Compat, Environment, Input};
use onecall_engine::journal::Journal;
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::now;
use onecall_runtime::runtime::{Options, Runtime};
use onecall_source::SourceMap;
use onecall_workflow::policy::Durability;
use onecall_workflow::stored::hash_text;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// Everything in a test happens within this time or the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The demo on a port of its own, until the guard is dropped.
pub(crate) async fn demo() -> (String, DropGuard) {
    let stop = CancellationToken::new();
    let (tell, told) = oneshot::channel();
    let options = onecall_demo::Options {
        changing_list: true,
        ..onecall_demo::Options::default()
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let ready = move |address: SocketAddr| tell.send(address).unwrap();
    tokio::spawn(onecall_demo::serve_http(
        options,
        address,
        stop.clone(),
        ready,
    ));
    let url = format!("http://{}/mcp", told.await.unwrap());
    (url, stop.drop_guard())
}

/// Passes connections on to this server once it is opened.
pub(crate) async fn gate(url: &str, opened: Arc<Semaphore>) -> String {
    let to = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let to = to.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (to, opened) = (to.clone(), Arc::clone(&opened));
            tokio::spawn(async move {
                let _open = opened.acquire().await.unwrap();
                let mut server = TcpStream::connect(to).await.unwrap();
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    url
}

/// The one server that a configuration text describes.
pub(crate) fn server(text: &str) -> Server {
    server_in(text, &|_| None)
}

/// The same where the environment has variables.
pub(crate) fn server_in(text: &str, environment: &Environment<'_>) -> Server {
    let mut sources = SourceMap::new();
    let source = sources.add("config.yaml", text);
    let options = onecall_config::Options {
        environment,
        compat: Compat::Page,
    };
    let inputs = [Input {
        source,
        named: true,
    }];
    let (settings, faults) = onecall_config::read(&sources, &inputs, &options);
    assert!(!faults.has_errors(), "{faults:?}");
    settings.unwrap().servers.remove(0)
}

/// A server over these backends, each with its URL, and this aggregation; its workflow `sum` adds one to `n` with the
/// first of them.
pub(crate) fn sum_config(backends: &[(&str, &str)], aggregation: &str) -> String {
    let first = backends[0].0;
    let listed: Vec<String> = backends
        .iter()
        .map(|(name, url)| {
            format!("- {{ name: {name}, url: \"{url}\", transport: streamable-http }}\n")
        })
        .collect();
    let listed = listed.concat();
    format!(
        r#"
name: test
groupRef: group
incomingAuth: {{ type: anonymous }}
outgoingAuth: {{ source: inline }}
backends:
{listed}aggregation:
{aggregation}
compositeTools:
- name: sum
  description: Adds one.
  parameters: {{ type: object, properties: {{ n: {{ type: integer }} }} }}
  steps:
  - id: add
    tool: {first}.add
    arguments: {{ a: "{{{{ .params.n }}}}", b: 1 }}
"#
    )
}

/// The name that the list of the backend `math` is kept under.
pub(crate) fn kept_as(url: &str) -> String {
    let origin = url.trim_end_matches("/mcp");
    let hash = hash_text(&format!("http {origin}\n\nurl\n{url}"));
    format!("catalog/math/http {origin} #url:{hash}")
}

/// Waits until the list of the backend `math` is kept.
pub(crate) async fn kept(runtime: &Runtime, url: &str) -> Value {
    let key = kept_as(url);
    let is_kept = async {
        loop {
            if let Some(list) = runtime.journal().kept(&key).await.unwrap() {
                return list;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, is_kept).await.unwrap()
}

/// A workflow that waits for a person.
pub(crate) const ASKS: &str = "name: test
compositeTools:
  - name: ask
    description: Asks.
    parameters: { type: object, properties: {} }
    steps:
      - { id: sure, type: elicitation, message: Sure?, timeout: 24h }
";

/// Tools are named after their backend.
pub(crate) const PREFIX: &str =
    "  conflictResolution: prefix\n  conflictResolutionConfig: { prefixFormat: \"{workload}_\" }\n";

pub(crate) fn options(server: Server, journal: Arc<dyn Journal>) -> Options {
    Options {
        server,
        journal,
        durability: Durability::Async,
        version: "1".to_owned(),
        first_list_wait: Duration::from_secs(2),
        this_program: None,
        child_env: Vec::new(),
        resumes: true,
        store_flag: None,
        outside: None,
    }
}

/// A runtime of this configuration, with a store of its own.
pub(crate) async fn start(text: &str) -> Runtime {
    start_server(server(text)).await
}

pub(crate) async fn start_server(server: Server) -> Runtime {
    let store = MemoryStore::new(Retention::default());
    let journal = Arc::new(store.open(now(), LEASE));
    Runtime::start(options(server, journal)).await.unwrap()
}
