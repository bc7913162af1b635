//! The face over HTTP: `/mcp` in both eras, the answer page, what operators look at, and an orderly end.

use crate::admit::{self, Gate};
use crate::handshake::{self, Handshakes};
use crate::limits::{BODY_BYTES_MAX, CLOSING};
use crate::options::{HttpOptions, ServeError};
use crate::server::{Connection, Handler, Setup, Shared};
use crate::{answer_page, observe};
use axum::Router;
use axum::routing::{any_service, get};
use axum::serve::ListenerExt as _;
use onecall_runtime::runtime::Runtime;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves until `stop` is cancelled. `ready` is told the bound address before the first request is taken.
pub async fn serve_http(
    runtime: Runtime,
    options: HttpOptions,
    stop: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let listener = bind(&options).await?;
    let address = listener.local_addr().map_err(ServeError::Http)?;
    let setup = Setup {
        connection: Connection::Http,
        version: &options.version,
        patience: options.patience,
        base: Some(format!("http://{address}")),
        stop: stop.clone(),
    };
    let shared = Arc::new(Shared::new(runtime.clone(), setup).await?);
    let streams = CancellationToken::new();
    let gate = Gate::new(&options, address);
    let handshakes = Arc::new(Handshakes::new(&options));
    let router = router(&shared, gate, handshakes, streams.clone());
    let changes = shared.sessions.clone().follow(runtime, stop.clone());
    let changes = tokio::spawn(changes);
    ready(address);
    let listener = listener.tap_io(|stream| {
        // Answers are small; waiting to fill a packet would cost 40 ms.
        let _ = stream.set_nodelay(true);
    });
    let served =
        axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    let leaving = async {
        shared.leave().await;
        streams.cancel();
        tokio::time::sleep(CLOSING).await;
    };
    let outcome = tokio::select! {
        served = served.into_future() => served.map_err(ServeError::Http),
        // A connection that does not end does not keep the process.
        () = leaving => Ok(()),
    };
    streams.cancel();
    changes.abort();
    outcome
}

async fn bind(options: &HttpOptions) -> Result<TcpListener, ServeError> {
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
    if !is_local && !options.allow_anonymous {
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

fn router(
    shared: &Arc<Shared>,
    gate: Gate,
    handshakes: Arc<Handshakes>,
    streams: CancellationToken,
) -> Router {
    // Hosts and origins are checked by the gate, for every path alike.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_cancellation_token(streams);
    let handler = Handler::new(Arc::clone(shared));
    let manager = Arc::clone(&handshakes.manager);
    let service = StreamableHttpService::new(move || Ok(handler.fresh()), manager, config);
    let message = axum::middleware::from_fn_with_state(Arc::clone(shared), admit::message);
    let session = axum::middleware::from_fn_with_state(handshakes, handshake::session);
    let mcp = any_service(service)
        .layer(message)
        .layer(session)
        .layer(axum::middleware::map_response(admit::in_json));
    let gate = axum::middleware::from_fn_with_state(Arc::new(gate), admit::caller);
    Router::new()
        .route("/health", get(|| async { "ok\n" }))
        .route("/readyz", get(observe::readiness))
        .route("/status", get(observe::status))
        .route("/metrics", get(observe::metrics))
        .route(
            "/answer/{token}",
            get(answer_page::show).post(answer_page::take),
        )
        .with_state(Arc::clone(shared))
        .route("/mcp", mcp)
        .layer(gate)
}
