//! Connections to one HTTP server, kept and reused. Whoever sends a request drives its connection
//! until the body is read: no task stands between them, so a call wakes nobody but itself.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::limits::{HTTP_HEAD_BYTES_MAX, HTTP_IDLE, HTTP_IDLE_MAX};

type Io = MaybeHttpsStream<TokioIo<TcpStream>>;
type Cause = Box<dyn std::error::Error + Send + Sync>;

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

/// One connection and the work that moves its bytes.
#[derive(Debug)]
struct Connection {
    sender: SendRequest<Outgoing>,
    driver: Option<Box<Driver<Io, Outgoing>>>,
}

/// The body of an answer. Reading it to its end gives the connection back; dropping it earlier
/// closes the connection.
#[derive(Debug)]
pub(crate) struct Streaming {
    body: Incoming,
    connection: Option<Connection>,
    idle: Arc<IdleOnes>,
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
        request: Request<Outgoing>,
    ) -> Result<Response<Streaming>, Cause> {
        let mut request = request;
        if let Some(mut kept) = self.idle.take() {
            match kept.exchange(request).await {
                Ok(response) => return Ok(self.answer(response, kept)),
                Err((error, unsent)) => match unsent {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into()),
                },
            }
        }
        Box::pin(self.send_first(uri, request)).await
    }

    /// The first request on a fresh connection.
    async fn send_first(
        &self,
        uri: &Uri,
        request: Request<Outgoing>,
    ) -> Result<Response<Streaming>, Cause> {
        let mut fresh = self.connect(uri).await?;
        match fresh.exchange(request).await {
            Ok(response) => Ok(self.answer(response, fresh)),
            Err((error, _)) => Err(error.into()),
        }
    }

    async fn connect(&self, uri: &Uri) -> Result<Connection, Cause> {
        let io = self.connector.clone().call(uri.clone()).await?;
        let mut builder = Builder::new();
        builder.max_buf_size(HTTP_HEAD_BYTES_MAX);
        let (sender, driver) = builder.handshake(io).await?;
        Ok(Connection {
            sender,
            driver: Some(Box::new(driver)),
        })
    }

    fn answer(&self, response: Response<Incoming>, connection: Connection) -> Response<Streaming> {
        response.map(|body| {
            let is_over = body.is_end_stream();
            let mut streaming = Streaming {
                body,
                connection: Some(connection),
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
    /// One request and the head of its answer. A request that was not begun comes back.
    async fn exchange(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, (hyper::Error, Option<Request<Outgoing>>)> {
        let Self { sender, driver } = self;
        let mut sending = pin!(sender.try_send_request(request));
        let answered = poll_fn(|context| {
            drive(driver, context);
            // Only driving moves it on, so it need not wake anybody.
            sending
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
        });
        answered.await.map_err(|mut error| {
            let unsent = error.take_message();
            (error.into_error(), unsent)
        })
    }

    /// Whether it can take another request.
    fn is_usable(&mut self, context: &mut Context<'_>) -> bool {
        if !self.sender.is_ready() {
            drive(&mut self.driver, context);
        }
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Moves bytes. A connection that has ended is told to those who wait through their channels.
fn drive(driver: &mut Option<Box<Driver<Io, Outgoing>>>, context: &mut Context<'_>) {
    if let Some(own) = driver
        && Pin::new(&mut **own).poll(context).is_ready()
    {
        *driver = None;
    }
}

impl Streaming {
    /// The next piece of the body; `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    pub(crate) fn bytes_at_least(&self) -> u64 {
        self.body.size_hint().lower()
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        let mut is_driven = false;
        loop {
            // Only driving moves it on, so it need not wake anybody.
            let mut unwoken = Context::from_waker(Waker::noop());
            match Pin::new(&mut self.body).poll_frame(&mut unwoken) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    self.give_back(context);
                    return Poll::Ready(None);
                }
                Poll::Pending if is_driven => return Poll::Pending,
                Poll::Pending => {
                    is_driven = true;
                    if let Some(connection) = &mut self.connection {
                        drive(&mut connection.driver, context);
                    }
                }
            }
        }
    }

    fn give_back(&mut self, context: &mut Context<'_>) {
        if let Some(mut connection) = self.connection.take()
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
