//! Connections over HTTP: accepted in one place, each served on one thread from its first byte to its last. What a
//! request starts (its run, the calls of its steps) stays on that thread too, so that nothing of a call has to wake
//! another one.

use crate::front::Front;
use crate::handed::{self, Part};
use crate::options::HttpOptions;
use crate::plain::{Line, Next, Until};
use crate::refused;
use axum::serve::Listener;
use futures::FutureExt as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
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
    let log = refused::Log::default();
    let room = Arc::new(Semaphore::new(options.connections_max));
    loop {
        let accepted = async {
            let counted = Arc::clone(&room).acquire_owned().await;
            (counted, Listener::accept(&mut listener).await)
        };
        let (counted, (stream, peer)) = tokio::select! {
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
            let served = Served {
                stream,
                _open: open,
                http: http.clone(),
                front: front.clone(),
                idle: options.connection_idle,
            };
            if signs.stop.is_cancelled() {
                let work = served.once(signs.end.clone());
                place.runtime.spawn(log.serving(peer, work));
            } else {
                let work = served.until(signs.stop.clone());
                let work = log.serving(peer, work);
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

/// A connection and what serves it.
struct Served {
    stream: std::net::TcpStream,
    _open: Open,
    http: http1::Builder,
    front: Front,
    /// How long a message may take to arrive.
    idle: Duration,
}

impl Served {
    /// Serves requests until the client has no more, or the server is told to stop.
    async fn until(self, stop: CancellationToken) {
        let Ok(stream) = TcpStream::from_std(self.stream) else {
            return;
        };
        let mut line = Line::new(stream);
        let mut stopped = pin!(stop.cancelled());
        let mut late = pin!(sleep(self.idle));
        loop {
            let until = Until {
                idle: self.idle,
                late: late.as_mut(),
                stopped: stopped.as_mut(),
            };
            let part = match line.next(&self.front, until).await {
                Next::Usual(usual) => {
                    if line.answer(usual, || stop.is_cancelled()).await {
                        continue;
                    }
                    return;
                }
                Next::Other(bytes) => Part::One(bytes),
                Next::Rest => Part::Rest,
                Next::Refused(told) => {
                    let _ = line.tell(&told, true).await;
                    return;
                }
                Next::Over => return,
            };
            // It is large, and rarely there.
            let serving = handed::serve(&mut line, part, &self.http, &self.front, stopped.as_mut());
            if !Box::pin(serving).await {
                return;
            }
        }
    }

    /// Serves one request of somebody who has not heard that the server leaves.
    async fn once(mut self, end: CancellationToken) {
        let Ok(stream) = TcpStream::from_std(self.stream) else {
            return;
        };
        let front = self.front;
        let service =
            service_fn(move |request| front.clone().route(request).map(Ok::<_, Infallible>));
        let http = self.http.keep_alive(false);
        let serving = http.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            _ = serving => {}
            () = end.cancelled() => {}
        }
    }
}
