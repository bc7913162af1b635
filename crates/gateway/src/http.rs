//! The face over HTTP: `/mcp` in both eras, the answer page, what operators look at, and an orderly end.

use crate::admit::{self, Intake};
use crate::auth::{self, Access, Door};
use crate::connections::Signs;
use crate::front::{Face, Front};
use crate::gate::{self, Gate};
use crate::handshake::{self, Handshakes};
use crate::limits::{CLOSING, HIDING_BYTES};
use crate::observe::{self, Readiness};
use crate::options::{HttpOptions, ServeError};
use crate::server::{Connection, Handler, Setup, Shared};
use crate::{answer_page, connections, links, metrics};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{any_service, get};
use futures::future::BoxFuture;
use onecall_runtime::runtime::Runtime;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// A virtual server and the path it stands under: nothing, or `/name` where there are several.
#[derive(Clone, Debug)]
pub struct Mount {
    pub runtime: Runtime,
    pub path: String,
    /// Who may call; everybody where there is none.
    pub access: Option<Access>,
}

impl Mount {
    /// The only server of a process, at the root.
    pub fn root(runtime: Runtime) -> Self {
        Self {
            runtime,
            path: String::new(),
            access: None,
        }
    }
}

/// Names that no mounted server may have, since the root answers under them.
pub const RESERVED_PATHS: [&str; 3] = ["health", "readyz", ".well-known"];

/// What answers for the whole process, whoever asks.
pub(crate) const PROBES: [&str; 2] = ["/health", "/readyz"];

/// A server that has answered all its calls. While this is held, probes and new requests are told that it leaves.
#[derive(Debug)]
pub struct Leaving {
    _end: DropGuard,
    _serving: AbortOnDropHandle<()>,
}

/// Serves until `stop` is cancelled. `ready` is told the bound address before the first request is taken.
pub fn serve_http(
    mounts: Vec<Mount>,
    options: HttpOptions,
    stop: CancellationToken,
    ready: impl FnOnce(SocketAddr) + Send + 'static,
) -> BoxFuture<'static, Result<Leaving, ServeError>> {
    serving(mounts, options, stop, Box::new(ready))
}

/// A future that is boxed here is compiled here. One that is not would be compiled again in the crate that waits for
/// it, with all that it is made of, and the program would carry both.
#[inline(never)]
fn serving(
    mounts: Vec<Mount>,
    options: HttpOptions,
    stop: CancellationToken,
    ready: Box<dyn FnOnce(SocketAddr) + Send>,
) -> BoxFuture<'static, Result<Leaving, ServeError>> {
    Box::pin(serve(mounts, options, stop, ready))
}

async fn serve(
    mounts: Vec<Mount>,
    options: HttpOptions,
    stop: CancellationToken,
    ready: Box<dyn FnOnce(SocketAddr) + Send>,
) -> Result<Leaving, ServeError> {
    let is_guarded = mounts.iter().all(|mount| mount.access.is_some());
    let listener = bind(&options, is_guarded).await?;
    let address = listener.local_addr().map_err(ServeError::Http)?;
    let streams = CancellationToken::new();
    let mut router = probes(readiness(&stop, &mounts));
    let gate = Arc::new(Gate::new(&options, address, &mounts));
    let requests = Arc::new(Semaphore::new(options.requests_max));
    let (mut faces, mut open) = (Vec::new(), Vec::new());
    let mut changes = JoinSet::new();
    for mount in mounts {
        let Mount {
            runtime,
            path,
            access,
        } = mount;
        let handshakes = Arc::new(Handshakes::new(&options));
        let setup = Setup {
            base: Some(format!("{}{path}", options.base_url(address))),
            store_flag: store_flag(&options, address),
            access: access.clone(),
            handshakes: Some(Arc::clone(&handshakes)),
            ..setup(&options, &stop)
        };
        let shared = Arc::new(Shared::new(runtime.clone(), setup));
        let intake = Arc::new(intake(&shared, &options, &requests));
        let mut own = face(Arc::clone(&intake), handshakes, &options, streams.clone());
        if let Some(access) = access {
            let door = Arc::new(Door {
                access,
                path: path.clone(),
            });
            router = router.merge(auth::routes(&door));
            own = own.route_layer(from_fn_with_state(door, auth::known));
        } else {
            open.push(Face {
                path: format!("{path}/mcp"),
                intake,
            });
        }
        let own = own.merge(answers(&shared));
        router = match path.as_str() {
            "" => router.merge(own),
            path => router.nest(path, own),
        };
        links::publish(&shared).await;
        changes.spawn(shared.sessions.clone().follow(runtime, stop.clone()));
        faces.push(shared);
    }
    // Hosts and origins are checked for every path alike, probes aside.
    let router = router.layer(from_fn_with_state(Arc::clone(&gate), gate::caller));
    let front = Front::new(router, gate, open);
    ready(address);
    let signs = Signs {
        stop,
        end: CancellationToken::new(),
        opened: TaskTracker::new(),
    };
    let serving = tokio::spawn(connections::serve(listener, front, options, signs.clone()));
    let leaving = Leaving {
        _end: signs.end.drop_guard(),
        _serving: AbortOnDropHandle::new(serving),
    };
    futures::future::join_all(faces.iter().map(|face| face.leave())).await;
    streams.cancel();
    // A connection that does not end does not keep the process.
    signs.opened.close();
    let _ = tokio::time::timeout(CLOSING, signs.opened.wait()).await;
    Ok(leaving)
}

fn readiness(stop: &CancellationToken, mounts: &[Mount]) -> Readiness {
    Readiness {
        stop: stop.clone(),
        runtimes: mounts.iter().map(|mount| mount.runtime.clone()).collect(),
    }
}

fn intake(shared: &Arc<Shared>, options: &HttpOptions, requests: &Arc<Semaphore>) -> Intake {
    Intake {
        shared: Arc::clone(shared),
        body_bytes_max: options.body_bytes_max,
        patience: options.connection_idle,
        requests: Arc::clone(requests),
        requests_max: options.requests_max,
    }
}

/// What the servers of a process have in common.
fn setup<'a>(options: &'a HttpOptions, stop: &CancellationToken) -> Setup<'a> {
    Setup {
        connection: Connection::Http,
        version: &options.version,
        patience: options.patience,
        grace: options.grace,
        shown_bytes_max: options.shown_bytes_max,
        store_flag: None,
        hides_links: options.hides_links,
        base: None,
        is_base_stated: options.public_url.is_some(),
        access: None,
        handshakes: None,
        stop: stop.clone(),
    }
}

/// The part of commands that names the store. Only a caller on this machine can use its path, so others never see it.
fn store_flag(options: &HttpOptions, address: SocketAddr) -> Option<String> {
    let is_local = address.ip().is_loopback() && options.public_url.is_none();
    let flag = options.store_flag.clone()?;
    Some(if is_local || flag.is_empty() {
        flag
    } else {
        " --store STORE".to_owned()
    })
}

/// `is_guarded`: every caller is asked who it is.
async fn bind(options: &HttpOptions, is_guarded: bool) -> Result<TcpListener, ServeError> {
    let resolve = |cause| ServeError::Resolve {
        host: options.host.clone(),
        cause,
    };
    let named = (options.host.as_str(), options.port);
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(named)
        .await
        .map_err(resolve)?
        .collect();
    let is_local = addresses.iter().all(|address| address.ip().is_loopback());
    if !is_local && !is_guarded && !options.allow_anonymous {
        return Err(ServeError::NotLoopback {
            host: options.host.clone(),
        });
    }
    let Some(address) = addresses.first().copied() else {
        return Err(resolve(std::io::ErrorKind::NotFound.into()));
    };
    let bound = TcpListener::bind(address).await;
    bound.map_err(|cause| ServeError::Bind { address, cause })
}

/// What a process answers for all its servers.
fn probes(readiness: Readiness) -> Router {
    Router::new()
        .route(PROBES[0], get(|| async { "ok\n" }))
        .route(PROBES[1], get(observe::readiness))
        .with_state(readiness)
}

fn face(
    intake: Arc<Intake>,
    handshakes: Arc<Handshakes>,
    options: &HttpOptions,
    streams: CancellationToken,
) -> Router {
    let shared = Arc::clone(&intake.shared);
    // The limit on bodies holds where they are read, see `admit::read`.
    let handed_bytes_max = options.body_bytes_max.saturating_mul(2);
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(handed_bytes_max.saturating_add(HIDING_BYTES))
        .with_cancellation_token(streams);
    let handler = Handler::new(Arc::clone(&shared));
    let table = Arc::clone(&handshakes.table);
    let service = StreamableHttpService::new(move || Ok(handler.fresh()), table, config);
    let message = from_fn_with_state(intake, admit::message);
    let session = from_fn_with_state(handshakes, handshake::session);
    let mcp = any_service(service).layer(message).layer(session);
    Router::new()
        .route("/status", get(observe::status))
        .route("/metrics", get(metrics::show))
        .with_state(shared)
        .route("/mcp", mcp)
}

/// Pages for people, whose browsers show no token: the sealed link is what lets them in.
fn answers(shared: &Arc<Shared>) -> Router {
    let page = get(answer_page::show).post(answer_page::take);
    Router::new()
        .route(answer_page::ROUTE, page)
        .with_state(Arc::clone(shared))
}
