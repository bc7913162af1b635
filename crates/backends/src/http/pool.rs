//! Connections to one HTTP server, kept and reused. Whoever sends a request drives its connection
//! until the body is read: no task stands between them, so a call wakes nobody but itself.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response, Uri};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{Builder, Connection as Driver, SendRequest};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Handle, Id};
use tokio::time::Instant;
use tower_service::Service as _;

use super::body::Outgoing;
use super::plain::{self, Asked, Plain};
use super::rewound::Rewound;
use crate::limits::{HTTP_HEAD_BYTES_MAX, HTTP_IDLE, HTTP_IDLE_MAX, INTERIM_RESPONSES_MAX};

/// A connection to a server, encrypted or not.
pub(super) type Io = MaybeHttpsStream<TokioIo<TcpStream>>;
/// Why a request or the body of its answer failed.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The connections to one server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    connector: HttpsConnector<HttpConnector>,
    idle: Arc<IdleOnes>,
}

#[derive(Debug, Default)]
struct IdleOnes {
    /// The most recently used last.
    ones: Mutex<Vec<Idle>>,
    is_tended: AtomicBool,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
    /// The runtime that hears of its bytes. Used on another one, each of them would wake this one first.
    home: Id,
}

/// One connection. It is plain until something comes that is not.
#[derive(Debug)]
enum Connection {
    Plain(Box<Plain>),
    Driven(Driven),
}

/// A connection that `hyper` reads and writes, and the work that moves its bytes.
#[derive(Debug)]
struct Driven {
    sender: SendRequest<Outgoing>,
    driver: Option<Box<Driver<Rewound, Outgoing>>>,
}

/// The body of an answer. Reading it to its end gives the connection back; dropping it earlier
/// closes the connection.
#[derive(Debug)]
pub(crate) struct Streaming {
    body: Body,
    idle: Arc<IdleOnes>,
}

/// What is still to be read, and the connection that it comes on.
#[derive(Debug)]
enum Body {
    Plain {
        plain: Box<Plain>,
        /// So many bytes are still to come.
        left: u64,
    },
    Driven {
        incoming: Incoming,
        driven: Driven,
    },
    /// The connection was given back.
    Over,
}

/// Why a request has no answer, and the request itself if nothing of it has left.
struct Unanswered {
    cause: Cause,
    unsent: Option<Box<Request<Outgoing>>>,
}

impl Pool {
    pub(super) fn new(connector: HttpsConnector<HttpConnector>) -> Self {
        Self {
            connector,
            idle: Arc::default(),
        }
    }

    /// Sends a request to the server of `uri`. One that met a connection which had just been
    /// closed is sent on a fresh one, as long as nothing of it has left.
    pub(super) async fn send(
        &self,
        uri: &Uri,
        mut request: Box<Request<Outgoing>>,
    ) -> Result<Response<Streaming>, Cause> {
        if let Some(kept) = self.idle.take() {
            match kept.exchange(request).await {
                Ok(response) => return Ok(self.answer(response)),
                Err(Unanswered { cause, unsent }) => match unsent {
                    Some(unsent) => request = unsent,
                    None => return Err(cause),
                },
            }
        }
        Box::pin(self.send_first(uri, request)).await
    }

    /// The first request on a fresh connection.
    async fn send_first(
        &self,
        uri: &Uri,
        request: Box<Request<Outgoing>>,
    ) -> Result<Response<Streaming>, Cause> {
        let io = self.connector.clone().call(uri.clone()).await?;
        let fresh = Connection::Plain(Box::new(Plain::new(io)));
        match fresh.exchange(request).await {
            Ok(response) => Ok(self.answer(response)),
            Err(unanswered) => Err(unanswered.cause),
        }
    }

    fn answer(&self, response: Response<Body>) -> Response<Streaming> {
        response.map(|body| {
            let is_over = body.is_over();
            let mut streaming = Streaming {
                body,
                idle: Arc::clone(&self.idle),
            };
            if is_over {
                streaming.give_back(&mut Context::from_waker(Waker::noop()));
            }
            streaming
        })
    }
}

impl Connection {
    /// One request and the head of its answer.
    async fn exchange(self, request: Box<Request<Outgoing>>) -> Result<Response<Body>, Unanswered> {
        let io = match self {
            Self::Driven(driven) => return Box::pin(driven.exchange(request)).await,
            Self::Plain(mut plain) if plain::is_usual(&request) => {
                match plain.ask(&request).await {
                    Asked::Answered(head, body_bytes) => {
                        let left = body_bytes;
                        return Ok(head.map(|()| Body::Plain { plain, left }));
                    }
                    Asked::Closed => {
                        return Err(Unanswered {
                            cause: "the server closed the connection".into(),
                            unsent: Some(request),
                        });
                    }
                    Asked::Odd => plain.into_rewound(&request),
                }
            }
            Self::Plain(plain) => plain.into_io(),
        };
        Box::pin(Driven::exchange_first(io, request)).await
    }

    /// Whether it can take another request.
    fn is_usable(&mut self, context: &mut Context<'_>) -> bool {
        match self {
            Self::Plain(plain) => plain.rest(),
            Self::Driven(driven) => driven.is_usable(context),
        }
    }
}

impl Driven {
    /// Gives a connection to `hyper` with its first request.
    async fn exchange_first(
        io: Rewound,
        request: Box<Request<Outgoing>>,
    ) -> Result<Response<Body>, Unanswered> {
        let mut builder = Builder::new();
        builder.max_buf_size(HTTP_HEAD_BYTES_MAX);
        match builder.handshake(io).await {
            Ok((sender, driver)) => {
                let driver = Some(Box::new(driver));
                Self { sender, driver }.exchange(request).await
            }
            Err(error) => Err(Unanswered {
                cause: error.into(),
                unsent: None,
            }),
        }
    }

    async fn exchange(
        mut self,
        mut request: Box<Request<Outgoing>>,
    ) -> Result<Response<Body>, Unanswered> {
        let Self { sender, driver } = &mut self;
        // Nothing else ends a stream of responses that are not the last one.
        let interim = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&interim);
        hyper::ext::on_informational(&mut request, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let mut sending = pin!(sender.try_send_request(*request));
        let answered = poll_fn(|context| {
            drive(driver, context);
            if interim.load(Ordering::Relaxed) > INTERIM_RESPONSES_MAX {
                return Poll::Ready(None);
            }
            // Only driving moves it on, so it need not wake anybody.
            let mut unwoken = Context::from_waker(Waker::noop());
            sending.as_mut().poll(&mut unwoken).map(Some)
        });
        let Some(answered) = answered.await else {
            let cause = format!(
                "the server sent more than {INTERIM_RESPONSES_MAX} interim responses (1xx)"
            );
            return Err(Unanswered {
                cause: cause.into(),
                unsent: None,
            });
        };
        match answered {
            Ok(response) => Ok(response.map(|incoming| Body::Driven {
                incoming,
                driven: self,
            })),
            Err(mut error) => Err(Unanswered {
                unsent: error.take_message().map(Box::new),
                cause: error.into_error().into(),
            }),
        }
    }

    fn is_usable(&mut self, context: &mut Context<'_>) -> bool {
        if !self.sender.is_ready() {
            drive(&mut self.driver, context);
        }
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Moves bytes. A connection that has ended is told to those who wait through their channels.
fn drive(driver: &mut Option<Box<Driver<Rewound, Outgoing>>>, context: &mut Context<'_>) {
    if let Some(own) = driver
        && Pin::new(&mut **own).poll(context).is_ready()
    {
        *driver = None;
    }
}

impl Body {
    fn is_over(&self) -> bool {
        match self {
            Self::Plain { left, .. } => *left == 0,
            Self::Driven { incoming, .. } => incoming.is_end_stream(),
            Self::Over => true,
        }
    }

    fn bytes_at_least(&self) -> u64 {
        match self {
            Self::Plain { left, .. } => *left,
            Self::Driven { incoming, .. } => incoming.size_hint().lower(),
            Self::Over => 0,
        }
    }

    /// The next piece; `None` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cause>>> {
        match self {
            Self::Plain { left: 0, .. } | Self::Over => Poll::Ready(None),
            Self::Plain { plain, left } => plain.poll_body(context, *left).map(|read| {
                let read = read.map_err(Cause::from);
                *left -= read.as_ref().map_or(0, |piece| piece.len() as u64);
                Some(read)
            }),
            Self::Driven { incoming, driven } => poll_driven(incoming, &mut driven.driver, context),
        }
    }

    fn into_connection(self) -> Option<Connection> {
        match self {
            Self::Plain { plain, .. } => Some(Connection::Plain(plain)),
            Self::Driven { driven, .. } => Some(Connection::Driven(driven)),
            Self::Over => None,
        }
    }
}

fn poll_driven(
    body: &mut Incoming,
    driver: &mut Option<Box<Driver<Rewound, Outgoing>>>,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, Cause>>> {
    let mut is_driven = false;
    loop {
        // Only driving moves it on, so it need not wake anybody.
        let mut unwoken = Context::from_waker(Waker::noop());
        match Pin::new(&mut *body).poll_frame(&mut unwoken) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending if is_driven => return Poll::Pending,
            Poll::Pending => {
                is_driven = true;
                drive(driver, context);
            }
        }
    }
}

impl Streaming {
    /// The next piece of the body; `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Cause>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    pub(crate) fn bytes_at_least(&self) -> u64 {
        self.body.bytes_at_least()
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cause>>> {
        let polled = self.body.poll_next(context);
        if matches!(polled, Poll::Ready(None)) {
            self.give_back(context);
        }
        polled
    }

    fn give_back(&mut self, context: &mut Context<'_>) {
        let body = std::mem::replace(&mut self.body, Body::Over);
        if let Some(mut connection) = body.into_connection()
            && connection.is_usable(context)
        {
            IdleOnes::put(&self.idle, connection);
        }
    }
}

impl IdleOnes {
    fn take(&self) -> Option<Connection> {
        let (now, here) = (Instant::now(), Handle::current().id());
        let mut ones = self.lock();
        loop {
            let at = ones.iter().rposition(|idle| idle.home == here)?;
            let idle = ones.remove(at);
            // One that the server has closed meanwhile gives its request back when it is driven.
            if now.saturating_duration_since(idle.since) < HTTP_IDLE {
                return Some(idle.connection);
            }
        }
    }

    fn put(this: &Arc<Self>, connection: Connection) {
        let (since, home) = (Instant::now(), Handle::current().id());
        {
            let mut ones = this.lock();
            let at_home = ones.iter().filter(|idle| idle.home == home);
            if at_home.count() >= HTTP_IDLE_MAX {
                return;
            }
            ones.push(Idle {
                connection,
                since,
                home,
            });
        }
        if !this.is_tended.swap(true, Ordering::SeqCst) {
            tokio::spawn(Self::tend(Arc::clone(this)));
        }
    }

    /// Closes what was idle for too long, until nothing is.
    async fn tend(this: Arc<Self>) {
        loop {
            tokio::time::sleep(HTTP_IDLE).await;
            let now = Instant::now();
            let mut ones = this.lock();
            ones.retain(|idle| now.saturating_duration_since(idle.since) < HTTP_IDLE);
            if ones.is_empty() {
                this.is_tended.store(false, Ordering::SeqCst);
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.ones.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
