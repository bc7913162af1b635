//! Connections over HTTP: accepted in one place, each served on one thread from its first byte to its last. What a
//! request starts (its run, the calls of its steps) stays on that thread too, so that nothing of a call has to wake
//! another one.

use crate::front::Front;
use crate::options::HttpOptions;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// One thread, and how many connections it has.
struct Place {
    runtime: Handle,
    open: Arc<AtomicUsize>,
}

/// Counts a connection while it is open.
struct Open {
    of_place: Arc<AtomicUsize>,
    _of_all: OwnedSemaphorePermit,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.of_place.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When connections end.
#[derive(Clone, Debug)]
pub(crate) struct Signs {
    /// The server was told to stop: what was opened before ends with the answers it waits for. What is opened from now
    /// on gets one answer.
    pub(crate) stop: CancellationToken,
    /// Nobody is let in any more.
    pub(crate) end: CancellationToken,
    /// What was opened before the server was told to stop.
    pub(crate) opened: TaskTracker,
}

/// Serves connections until the end. They are spread over the given runtimes; without any they are served where they
/// are accepted. Beyond the limit they wait to be accepted.
pub(crate) async fn serve(
    mut listener: TcpListener,
    front: Front,
    options: HttpOptions,
    signs: Signs,
) {
    let here = [Handle::current()];
    let threads = match options.threads.as_slice() {
        [] => &here,
        threads => threads,
    };
    let places: Vec<Place> = threads.iter().cloned().map(Place::new).collect();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(options.connection_idle);
    let room = Arc::new(Semaphore::new(options.connections_max));
    loop {
        let accepted = async {
            let counted = Arc::clone(&room).acquire_owned().await;
            (counted, Listener::accept(&mut listener).await)
        };
        let (counted, (stream, _)) = tokio::select! {
            accepted = accepted => accepted,
            () = signs.end.cancelled() => break,
        };
        let Ok(counted) = counted else { break };
        // Answers are small; waiting to fill a packet would cost 40 ms.
        let _ = stream.set_nodelay(true);
        let least = places
            .iter()
            .min_by_key(|place| place.open.load(Ordering::Relaxed));
        // A stream is heard of on the thread that registered it, so it is registered anew where it is served.
        if let (Some(place), Ok(stream)) = (least, stream.into_std()) {
            let open = place.opened(counted);
            if signs.stop.is_cancelled() {
                let work = late(stream, open, http.clone(), front.clone(), signs.end.clone());
                place.runtime.spawn(work);
            } else {
                let work = connection(
                    stream,
                    open,
                    http.clone(),
                    front.clone(),
                    signs.stop.clone(),
                );
                signs.opened.spawn_on(work, &place.runtime);
            }
        }
    }
}

impl Place {
    fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            open: Arc::default(),
        }
    }

    fn opened(&self, of_all: OwnedSemaphorePermit) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open {
            of_place: Arc::clone(&self.open),
            _of_all: of_all,
        }
    }
}

async fn connection(
    stream: std::net::TcpStream,
    _open: Open,
    http: http1::Builder,
    front: Front,
    stop: CancellationToken,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let serving = http.serve_connection(TokioIo::new(stream), front);
    let mut serving = pin!(serving);
    tokio::select! {
        // A client that goes away in the middle of something is no fault of ours.
        _ = &mut serving => return,
        () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

/// Serves one request of somebody who has not heard that the server leaves.
async fn late(
    stream: std::net::TcpStream,
    _open: Open,
    mut http: http1::Builder,
    front: Front,
    end: CancellationToken,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let serving = http
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), front);
    tokio::select! {
        _ = serving => {}
        () = end.cancelled() => {}
    }
}
