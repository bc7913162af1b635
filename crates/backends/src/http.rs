//! Streamable HTTP: one POST a request, answered by one JSON object or by a stream of events.
//! Modern requests stand alone; legacy ones belong to a session that is reopened when it is gone.

mod body;
mod endpoint;
mod events;
mod fetch;
mod heard;
mod open;
mod plain;
mod pool;
mod refusal;
mod rewound;
mod stream;
mod tokens;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{
    Era, Incoming, RequestId, Revision, ShapeError, Skipped, encode_value, method, name,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use self::body::{finish, read_limited};
pub(crate) use self::endpoint::{Endpoint, EndpointFault};
pub(crate) use self::events::{EventBody, StreamFault};
pub use self::fetch::{FetchError, Posted, fetch_json, is_safe_url, post_json};
pub(crate) use self::open::{Opened, open};
pub(crate) use self::pool::Streaming;
pub(crate) use self::refusal::refused;
use crate::asking::Asker;
use crate::error::RequestError;
use crate::ids;
use crate::limits::{
    HTTP_GOODBYE, HTTP_LISTEN_PATIENCE, HTTP_NOTICE_TIMEOUT, OUTBOUND_MAX, QUESTIONS_MAX,
};
use crate::link::RequestOptions;
use crate::negotiate::Opening;
use crate::news::News;
use crate::params::Params;

type Outcome = Result<Box<RawValue>, RequestError>;

/// One HTTP backend. The connections below it are pooled and reused.
#[derive(Debug)]
pub(crate) struct HttpWire {
    shared: Arc<Shared>,
    _stop_listening: Option<DropGuard>,
}

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    opening: Opening,
    revision: Revision,
    /// What every POST after the opening carries, with places for what differs from call to call.
    prepared: HeaderMap,
    /// Legacy only; a server may open no session at all.
    session: Mutex<Option<Arc<str>>>,
    reopening: tokio::sync::Mutex<()>,
    news: News,
    closed: watch::Sender<Option<Arc<str>>>,
    questions: Arc<Semaphore>,
    /// Places for answers to what a server asks of us, people apart.
    replies: Arc<Semaphore>,
    /// Who can be asked, by the request that is in flight.
    askers: Mutex<BTreeMap<i64, Asker>>,
    /// Done once the first GET was answered.
    listens: CancellationToken,
    /// Told when there is a new session, which has a GET stream of its own.
    reopened: Notify,
}

/// How one POST ended.
enum Ended {
    Answered(Outcome),
    /// The server no longer knows the session, so it did not act.
    SessionGone {
        lost: Arc<str>,
        refusal: RequestError,
    },
}

impl HttpWire {
    fn new(
        endpoint: Endpoint,
        opening: Opening,
        revision: Revision,
        session: Option<Arc<str>>,
    ) -> Self {
        let shared = Arc::new(Shared {
            prepared: prepared(&endpoint, revision),
            endpoint,
            opening,
            revision,
            session: Mutex::new(session),
            reopening: tokio::sync::Mutex::default(),
            news: News::new(),
            closed: watch::Sender::new(None),
            questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            replies: Arc::new(Semaphore::new(OUTBOUND_MAX)),
            askers: Mutex::default(),
            listens: CancellationToken::new(),
            reopened: Notify::new(),
        });
        let listening = (revision.era() == Era::Legacy).then(|| {
            let stop = CancellationToken::new();
            tokio::spawn(stream::listen(Arc::clone(&shared), stop.clone()));
            stop.drop_guard()
        });
        Self {
            shared,
            _stop_listening: listening,
        }
    }

    /// Waits, not for long, until a legacy server can tell us what belongs to no call. Servers
    /// drop what they have to say before that, questions too.
    async fn listening(self) -> Self {
        if self.shared.revision.era() == Era::Legacy {
            let listens = self.shared.listens.cancelled();
            let _ = tokio::time::timeout(HTTP_LISTEN_PATIENCE, listens).await;
        }
        self
    }

    /// Sends a request and waits for its answer. Dropping the future cancels it at the server.
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Params<'_>,
        options: &RequestOptions,
    ) -> Outcome {
        match self.shared.post(name, params, options).await {
            Ended::Answered(outcome) => outcome,
            Ended::SessionGone { lost, .. } => {
                Box::pin(self.request_again(name, params, options, &lost)).await
            }
        }
    }

    /// Sends a request that found no session once more, in a new one. Where that does not help, the connection is of
    /// no use any more: whoever keeps it begins anew.
    async fn request_again(
        &self,
        name: &str,
        params: Params<'_>,
        options: &RequestOptions,
        lost: &Arc<str>,
    ) -> Outcome {
        options.sent.store(false, Ordering::SeqCst);
        if let Err(error) = self.shared.reopen(lost).await {
            return Err(self.shared.given_up(error));
        }
        match self.shared.post(name, params, options).await {
            Ended::Answered(outcome) => outcome,
            Ended::SessionGone { refusal, .. } => {
                self.shared
                    .close("the server forgot a session that it had just opened");
                Err(refusal)
            }
        }
    }

    pub(crate) fn news(&self) -> &News {
        &self.shared.news
    }

    pub(crate) fn closed(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.shared.closed.subscribe()
    }

    /// Tells a legacy server that its session is over.
    pub(crate) async fn shutdown(&self) {
        if self.shared.session().is_some() {
            let headers = self.shared.with_session(self.shared.endpoint.get_headers());
            let goodbye = self.shared.endpoint.delete(headers);
            let _ = tokio::time::timeout(HTTP_GOODBYE, goodbye).await;
        }
        self.shared.close("it was shut down");
    }
}

impl Shared {
    /// A modern server has no sessions.
    fn session(&self) -> Option<Arc<str>> {
        match self.revision.era() {
            Era::Legacy => lock(&self.session).clone(),
            Era::Modern => None,
        }
    }

    fn close(&self, reason: &str) {
        self.closed.send_replace(Some(reason.into()));
    }

    /// Adds what every request after the opening says.
    fn with_session(&self, headers: HeaderMap) -> HeaderMap {
        self.in_session(headers, self.session().as_deref())
    }

    fn in_session(&self, mut headers: HeaderMap, session: Option<&str>) -> HeaderMap {
        let version = HeaderValue::from_static(self.revision.as_str());
        headers.insert(name::PROTOCOL_VERSION, version);
        if let Some(value) = session.and_then(|own| HeaderValue::from_str(own).ok()) {
            headers.insert(name::SESSION, value);
        }
        headers
    }

    async fn post(
        self: &Arc<Self>,
        method: &str,
        params: Params<'_>,
        options: &RequestOptions,
    ) -> Ended {
        let id = ids::random();
        let mut headers = self.prepared.clone();
        let session = self.session();
        match self.revision.era() {
            Era::Legacy => headers = self.in_session(headers, session.as_deref()),
            Era::Modern => mirror(
                &mut headers,
                method,
                params.mirrored(method),
                &options.headers,
            ),
        }
        let body = params.text(id, method, options.progress.is_some());
        let guard = CancelGuard {
            shared: self,
            id,
            options,
            armed: true,
        };
        if let Some(asker) = &options.asker {
            asker.set_requested();
            lock(&self.askers).insert(id, asker.clone());
        }
        let sent = self
            .endpoint
            .post(headers, Bytes::from(body), Arc::clone(&options.sent))
            .await;
        let response = match sent {
            Ok(response) => response,
            Err(error) => {
                guard.disarm();
                if let RequestError::NotSent(reason) = &error {
                    // Nobody is there; whoever keeps this connection begins anew.
                    self.close(reason);
                }
                return Ended::Answered(Err(error));
            }
        };
        let status = response.status();
        let outcome = if is_event_stream(&response) {
            Box::pin(stream::read_answer(self, response, id, options)).await
        } else {
            read_json(response, id).await
        };
        guard.disarm();
        match outcome {
            Err(refusal) if status.is_client_error() => {
                Box::pin(self.weighed(status, refusal, session)).await
            }
            outcome => Ended::Answered(outcome),
        }
    }

    /// Opens a new session, once for all requests that lost the old one.
    async fn reopen(&self, lost: &Arc<str>) -> Result<(), RequestError> {
        let _one_at_a_time = self.reopening.lock().await;
        if self.session().as_ref() != Some(lost) {
            return Ok(());
        }
        let (_, session) = open::initialize(&self.endpoint, &self.opening).await?;
        *lock(&self.session) = session;
        self.reopened.notify_one();
        // A server that lost its sessions may have been replaced.
        self.news.all_changed();
        Ok(())
    }

    /// Sends what needs no answer: a notification, or our answer to a question.
    async fn send(&self, message: String) {
        let body = Bytes::from(message);
        let headers = self.with_session(self.prepared.clone());
        let sent = self.endpoint.post(headers, body, Arc::default());
        match tokio::time::timeout(HTTP_NOTICE_TIMEOUT, sent).await {
            Ok(Ok(response)) => finish(response.into_body()),
            Ok(Err(error)) => tracing::debug!(?error, "a message did not reach its server"),
            Err(_) => tracing::debug!("a server left a message unanswered"),
        }
    }
}

fn prepared(endpoint: &Endpoint, revision: Revision) -> HeaderMap {
    let mut headers = endpoint.post_headers();
    let version = HeaderValue::from_static(revision.as_str());
    headers.insert(name::PROTOCOL_VERSION, version);
    if revision.era() == Era::Modern {
        headers.insert(name::METHOD, HeaderValue::from_static(method::TOOLS_CALL));
        headers.insert(name::NAME, HeaderValue::from_static(""));
    }
    headers
}

/// Headers that repeat parts of a modern request's body.
fn mirror(
    headers: &mut HeaderMap,
    method: &str,
    repeated: Option<&str>,
    extra: &[(String, String)],
) {
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    if method != method::TOOLS_CALL {
        set(HeaderName::from_static(name::METHOD), method);
    }
    for (name, value) in extra {
        if let Ok(name) = HeaderName::try_from(name) {
            set(name, value);
        }
    }
    match repeated {
        Some(value) => set(HeaderName::from_static(name::NAME), &encode_value(value)),
        None => drop(headers.remove(name::NAME)),
    }
}

/// One JSON object as the whole answer, or the refusal.
async fn read_json(response: Response<Streaming>, id: i64) -> Outcome {
    if !response.status().is_success() {
        return Err(Box::pin(refused(response)).await);
    }
    let bytes = read_limited(response.into_body(), MESSAGE_BYTES_MAX).await?;
    let Some(batch) = onecall_mcp::batch(&bytes) else {
        return answer_of(&bytes, id);
    };
    let batch = batch.map_err(|fault| RequestError::of_answer(&[], fault))?;
    let answers = batch.iter().map(|one| answer_of(one.get().as_bytes(), id));
    // What else is in it is for nobody: it names no stream that it came on.
    let mut answers = answers.filter(|answer| !matches!(answer, Err(RequestError::Malformed(_))));
    let missing = RequestError::Malformed(ShapeError::NotMessage("it holds no answer"));
    answers.next().unwrap_or(Err(missing))
}

/// What one message says as the answer to a request.
fn answer_of(message: &[u8], id: i64) -> Outcome {
    match onecall_mcp::parse_of_server(message) {
        Ok(Incoming::Response {
            outcome: Err(error),
            ..
        }) => Err(RequestError::Rpc(error)),
        Ok(Incoming::Response {
            id: answered,
            outcome: Ok(raw),
        }) => {
            if answered == Some(RequestId::Number(id)) {
                return Ok(raw);
            }
            let what = "the id of the answer".to_owned();
            Err(RequestError::Malformed(ShapeError::Wrong {
                what,
                wanted: "that of the request",
            }))
        }
        Ok(_) => Err(RequestError::Malformed(ShapeError::NotMessage(
            "it is no answer",
        ))),
        Err(fault) => {
            let is_ours = Skipped::of(message).response_id() == Some(id);
            let text = if is_ours { message } else { &[] };
            Err(RequestError::of_answer(text, fault))
        }
    }
}

/// A success that is told in events.
fn is_event_stream(response: &Response<Streaming>) -> bool {
    let value = response.headers().get(header::CONTENT_TYPE);
    let kind = value.and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or("");
    response.status().is_success() && kind.trim().eq_ignore_ascii_case("text/event-stream")
}

/// A legacy server must be told when nobody waits; for a modern one the closed stream is enough.
struct CancelGuard<'a> {
    shared: &'a Arc<Shared>,
    id: i64,
    options: &'a RequestOptions,
    armed: bool,
}

impl CancelGuard<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        if self.options.asker.is_some() {
            lock(&self.shared.askers).remove(&self.id);
        }
        let was_sent = self.options.sent.load(Ordering::SeqCst);
        if !self.armed || !was_sent || self.shared.revision.era() == Era::Modern {
            return;
        }
        let params = json!({ "requestId": self.id, "reason": "the caller no longer waits" });
        let message = onecall_mcp::notification(method::CANCELLED, &params).to_string();
        let shared = Arc::clone(self.shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { shared.send(message).await });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
