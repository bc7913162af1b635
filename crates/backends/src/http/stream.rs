//! Event streams: the answer to a POST, resumed where a legacy server allows it, and the GET stream
//! on which a legacy server tells of changes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Response, StatusCode};
use onecall_mcp::{Era, Exact, Incoming, RequestId, ShapeError, Skipped, SseEvent, name};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::body::finish;
use super::events::{EventBody, StreamFault};
use super::pool::Streaming;
use super::{Outcome, Shared, is_event_stream, refusal};
use crate::backoff::Backoff;
use crate::error::RequestError;
use crate::limits::{RESUME_WAIT_DEFAULT, RESUME_WAIT_MAX, RESUMES_MAX, STREAM_BYTES_MAX};
use crate::link::RequestOptions;

/// Messages of one event stream.
pub(super) struct Events {
    body: EventBody,
    /// The rest of a batch.
    batched: VecDeque<Box<RawValue>>,
    /// The request whose answer it is read for.
    awaited: Option<i64>,
    /// What was wrong with the last event that was no message; told where no answer comes.
    fault: Option<ShapeError>,
    /// Where a server would resume, and when it wants to be asked.
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    pub(super) fn new(body: Streaming, awaited: Option<i64>) -> Self {
        Self {
            body: EventBody::new(body, STREAM_BYTES_MAX),
            batched: VecDeque::new(),
            awaited,
            fault: None,
            last_id: None,
            retry: None,
        }
    }

    /// The next message; `None` when the stream has ended in order. Events that are none are passed over, as lines of
    /// a child are; an unreadable answer is an error, and so is what is over a limit.
    pub(super) async fn next(&mut self) -> Result<Option<Incoming<Exact>>, RequestError> {
        loop {
            if let Some(message) = self.batched.pop_front() {
                self.body.go_on(message.get().len()).await;
                match self.read(message.get().as_bytes())? {
                    Some(message) => return Ok(Some(message)),
                    None => continue,
                }
            }
            let Some(event) = self.next_event().await? else {
                return Ok(None);
            };
            if event.data.is_empty() || !event.is_message() {
                self.count_passed_over()?;
                continue;
            }
            match onecall_mcp::batch(&event.data) {
                None => {
                    if let Some(message) = self.read(&event.data)? {
                        return Ok(Some(message));
                    }
                }
                Some(Ok(messages)) => {
                    self.batched = messages.into_iter().map(ToOwned::to_owned).collect();
                }
                Some(Err(fault)) => self.pass_over(&event.data, fault)?,
            }
        }
    }

    fn read(&mut self, text: &[u8]) -> Result<Option<Incoming<Exact>>, RequestError> {
        match onecall_mcp::parse_of_server(text) {
            Ok(message) => {
                self.body.heed();
                Ok(Some(message))
            }
            Err(fault) => self.pass_over(text, fault).map(|()| None),
        }
    }

    fn pass_over(&mut self, text: &[u8], fault: ShapeError) -> Result<(), RequestError> {
        let answered = Skipped::of(text).response_id();
        let is_answer = answered.is_some() && answered == self.awaited;
        let text = if is_answer { text } else { &[] };
        match RequestError::of_answer(text, fault) {
            RequestError::Malformed(fault) if !is_answer => {
                self.fault = Some(fault);
                self.count_passed_over()
            }
            error => Err(error),
        }
    }

    fn count_passed_over(&mut self) -> Result<(), RequestError> {
        self.body.pass_over().map_err(faulty)
    }

    /// Why there is no answer where the stream has ended in order.
    pub(super) fn unanswered(&mut self) -> String {
        let ended = "the stream ended before the answer";
        match self.fault.take() {
            None => ended.to_owned(),
            Some(fault) => format!("{ended}, and what came is no message: {fault}"),
        }
    }

    async fn next_event(&mut self) -> Result<Option<SseEvent>, RequestError> {
        let event = self.body.next().await.map_err(faulty)?;
        if let Some(event) = &event {
            if event.id.is_some() {
                self.last_id.clone_from(&event.id);
            }
            self.retry = event.retry_ms.map(Duration::from_millis).or(self.retry);
        }
        Ok(event)
    }

    /// The answer is there, and whatever follows it is for nobody.
    pub(super) fn finish(self) {
        finish(self.body.into_body());
    }
}

fn faulty(fault: StreamFault) -> RequestError {
    match fault {
        StreamFault::Broken(_) => RequestError::Lost(fault.to_string()),
        StreamFault::TooMuch(what) => RequestError::Limit(what),
    }
}

/// Reads the stream of one request until its answer.
pub(super) async fn read_answer(
    shared: &Arc<Shared>,
    response: Response<Streaming>,
    id: i64,
    options: &RequestOptions,
) -> Outcome {
    let mut events = Events::new(response.into_body(), Some(id));
    let mut resumes = 0;
    loop {
        let ended = match events.next().await {
            Ok(Some(Incoming::Response {
                id: Some(RequestId::Number(answered)),
                outcome,
            })) if answered == id => {
                events.finish();
                return outcome.map_err(RequestError::Rpc);
            }
            Ok(Some(message)) => {
                shared.take(message, Some(options));
                continue;
            }
            Ok(None) => events.unanswered(),
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
    let mut events = Events::new(response.into_body(), broken.awaited);
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
        let mut events = Events::new(response.into_body(), None);
        while let Ok(Some(message)) = events.next().await {
            shared.take(message, None);
            events.body.forget_length();
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
