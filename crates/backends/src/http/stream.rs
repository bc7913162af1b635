//! Event streams: the answer to a POST, resumed where a legacy server allows it, and the GET stream
//! on which a legacy server tells of changes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode};
use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{Era, Incoming, RequestId, SseDecoder, SseEvent, name};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::body::broken;
use super::pool::Streaming;
use super::{Outcome, Shared, is_event_stream, refusal};
use crate::backoff::Backoff;
use crate::error::RequestError;
use crate::limits::{RESUME_WAIT_DEFAULT, RESUME_WAIT_MAX, RESUMES_MAX, STREAM_BYTES_MAX};
use crate::link::RequestOptions;

/// Messages of one event stream.
pub(super) struct Events {
    body: Streaming,
    decoder: SseDecoder,
    ready: VecDeque<SseEvent>,
    /// The rest of a batch.
    batched: VecDeque<Box<RawValue>>,
    bytes: usize,
    /// Where a server would resume, and when it wants to be asked.
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    pub(super) fn new(body: Streaming) -> Self {
        Self {
            body,
            decoder: SseDecoder::new(MESSAGE_BYTES_MAX),
            ready: VecDeque::new(),
            batched: VecDeque::new(),
            bytes: 0,
            last_id: None,
            retry: None,
        }
    }

    /// The next message; `None` when the stream has ended in order.
    pub(super) async fn next(&mut self) -> Result<Option<Incoming>, RequestError> {
        loop {
            if let Some(message) = self.batched.pop_front() {
                return read(message.get().as_bytes()).map(Some);
            }
            let Some(event) = self.next_event().await? else {
                return Ok(None);
            };
            match onecall_mcp::batch(&event.data) {
                _ if event.data.is_empty() => {}
                None => return read(&event.data).map(Some),
                Some(messages) => {
                    let messages = messages.map_err(RequestError::of_answer)?;
                    self.batched = messages.into_iter().map(ToOwned::to_owned).collect();
                }
            }
        }
    }

    pub(super) async fn next_event(&mut self) -> Result<Option<SseEvent>, RequestError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if event.id.is_some() {
                    self.last_id.clone_from(&event.id);
                }
                self.retry = event.retry_ms.map(Duration::from_millis).or(self.retry);
                return Ok(Some(event));
            }
            let Some(data) = self.body.next().await else {
                return Ok(None);
            };
            let data = data.map_err(|error| RequestError::Lost(broken(&error)))?;
            self.bytes += data.len();
            if self.bytes > STREAM_BYTES_MAX {
                let what = format!("a stream of more than {STREAM_BYTES_MAX} bytes");
                return Err(RequestError::Limit(what));
            }
            let events = self.decoder.feed(&data);
            self.ready
                .extend(events.map_err(|error| RequestError::Limit(error.to_string()))?);
        }
    }

    /// Long streams of small events are no fault where nobody waits for their end.
    fn forget_length(&mut self) {
        self.bytes = 0;
    }
}

fn read(message: &[u8]) -> Result<Incoming, RequestError> {
    onecall_mcp::parse(message).map_err(RequestError::of_answer)
}

/// Reads the stream of one request until its answer.
pub(super) async fn read_answer(
    shared: &Arc<Shared>,
    response: Response<Streaming>,
    id: i64,
    options: &RequestOptions,
) -> Outcome {
    let mut events = Events::new(response.into_body());
    let mut resumes = 0;
    loop {
        let ended = match events.next().await {
            Ok(Some(Incoming::Response {
                id: Some(RequestId::Number(answered)),
                outcome,
            })) if answered == id => {
                return outcome.map_err(RequestError::Rpc);
            }
            Ok(Some(message)) => {
                shared.take(message, Some(options));
                continue;
            }
            Ok(None) => "the stream ended before the answer".to_owned(),
            Err(RequestError::Lost(reason)) => reason,
            Err(error) => return Err(error),
        };
        let can_resume = shared.revision.era() == Era::Legacy && events.last_id.is_some();
        if !can_resume || resumes >= RESUMES_MAX {
            return Err(RequestError::Lost(ended));
        }
        resumes += 1;
        events = resume(shared, events, ended).await?;
    }
}

/// Asks a legacy server for the rest of a stream.
async fn resume(shared: &Shared, broken: Events, ended: String) -> Result<Events, RequestError> {
    let wait = broken
        .retry
        .unwrap_or(RESUME_WAIT_DEFAULT)
        .min(RESUME_WAIT_MAX);
    tokio::time::sleep(wait).await;
    let mut headers = shared.with_session(shared.endpoint.get_headers());
    if let Some(id) = &broken.last_id
        && let Ok(value) = HeaderValue::from_str(id)
    {
        headers.insert(name::LAST_EVENT, value);
    }
    // The call has been sent; what goes wrong now loses its answer.
    let lost = |reason: String| RequestError::Lost(format!("{ended}; {reason}"));
    let response = shared.endpoint.get(headers).await;
    let response = response.map_err(|_| lost("it cannot be resumed".to_owned()))?;
    if !is_event_stream(&response) {
        return Err(lost(format!(
            "resuming it gave HTTP status {}",
            response.status()
        )));
    }
    let mut events = Events::new(response.into_body());
    events.last_id = broken.last_id;
    events.retry = broken.retry;
    Ok(events)
}

/// Keeps the GET stream of a legacy session open, where the server offers one.
pub(super) async fn listen(shared: Arc<Shared>, stop: CancellationToken) {
    let mut backoff = Backoff::default();
    let mut listening = Listening::default();
    loop {
        let began = tokio::time::Instant::now();
        tokio::select! {
            offered = listening.once(&shared) => if !offered { return },
            () = stop.cancelled() => return,
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.after(Some(began.elapsed()))) => {}
            () = shared.reopened.notified() => {}
            () = stop.cancelled() => return,
        }
    }
}

#[derive(Default)]
struct Listening {
    /// Where the server would resume.
    last_id: Option<String>,
    /// There was a stream, and it ended.
    has_broken: bool,
}

impl Listening {
    /// One GET stream to its end. False where the server offers none.
    async fn once(&mut self, shared: &Arc<Shared>) -> bool {
        let mut headers = shared.with_session(shared.endpoint.get_headers());
        let marked = self.last_id.as_deref();
        if let Some(value) = marked.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(name::LAST_EVENT, value);
        }
        let response = shared.endpoint.get(headers).await;
        shared.listens.cancel();
        let Ok(response) = response else {
            return true;
        };
        if !is_event_stream(&response) {
            let status = response.status();
            if shared.session().is_some() && refusal::is_of_session(response).await {
                // The next call will open a new session.
                self.last_id = None;
                return true;
            }
            return is_passing(status);
        }
        if self.has_broken && self.last_id.is_none() {
            // What the server had to tell meanwhile was told to nobody.
            shared.news.all_changed();
        }
        self.has_broken = true;
        let mut events = Events::new(response.into_body());
        while let Ok(Some(message)) = events.next().await {
            shared.take(message, None);
            events.forget_length();
            if events.last_id.is_some() {
                self.last_id.clone_from(&events.last_id);
            }
        }
        true
    }
}

/// Says nothing about whether the server offers a stream: it is in trouble, or somebody before it.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502..=599)
}
