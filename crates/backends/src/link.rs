//! JSON-RPC over a pair of byte streams: many requests at once, matched by id. Knows nothing of
//! processes; `process` gives it the streams of a child, tests give it pipes.

mod heard;
mod ignored;
mod outlet;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{Incoming, Line, Lines, RequestId, ShapeError, Skipped, method};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

pub(crate) use self::ignored::Ignored;
use self::ignored::Overture;
use self::outlet::{Outlet, Tap};
use crate::asking::{self, Asker, Asking};
use crate::call::{MessageSink, ProgressSink};
use crate::error::RequestError;
use crate::ids;
use crate::limits::{BATCH_MAX, OUTBOUND_MAX, QUESTIONS_MAX, SKIPPED_BYTES_MAX};
use crate::news::News;
use crate::pace::Pace;
use crate::params::Params;

/// What goes with one request besides its parameters.
#[derive(Debug, Default)]
pub(crate) struct RequestOptions {
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) messages: Option<MessageSink>,
    pub(crate) asker: Option<Asker>,
    /// Set once the other side may have seen the request.
    pub(crate) sent: Arc<AtomicBool>,
    /// Headers of an HTTP request; other wires pass over them.
    pub(crate) headers: Vec<(String, String)>,
    /// Told when the server says that the stream it was asked for is there.
    pub(crate) acknowledged: Option<Arc<Notify>>,
}

type Outcome = Result<Box<RawValue>, RequestError>;

/// One connection. Cheap to clone; ends when [`Link::close`] is called or a stream ends.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    outlet: Arc<Outlet>,
    /// What waits for room in the stream.
    outbound: mpsc::Sender<Frame>,
    news: News,
    closed: watch::Sender<Option<Arc<str>>>,
    /// Why nothing more can be written; ends the reading too.
    unwritable: watch::Sender<Option<String>>,
    questions: Arc<Semaphore>,
    /// Lines that were no messages.
    ignored: Arc<Ignored>,
}

/// Why a stream is read no more.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It ended, or cannot be read or answered.
    Over(String),
    /// We stopped reading; whatever becomes of the other side now is our doing.
    GivenUp(String),
}

impl Ending {
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Over(reason) | Self::GivenUp(reason) => reason,
        }
    }
}

/// Requests that wait for their answer.
#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i64, Waiting>,
    closed: Option<Arc<str>>,
    /// No answer can come any more, and why; nothing is sent from then on.
    unheard: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    /// A server may ask somebody for the sake of it.
    is_call: bool,
    reply: oneshot::Sender<Outcome>,
    progress: Option<ProgressSink>,
    messages: Option<MessageSink>,
    asker: Option<Asker>,
    acknowledged: Option<Arc<Notify>>,
    sent: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Frame {
    Request {
        id: i64,
        text: String,
    },
    Other {
        text: String,
        /// Dropped when nothing can overtake it any more.
        _behind: Option<oneshot::Sender<()>>,
    },
}

impl Link {
    /// The link and its two halves, which the caller runs as tasks.
    pub(crate) fn new<W: AsyncWrite + Unpin + Send + 'static>(
        writer: W,
    ) -> (Self, impl Future<Output = ()> + use<W>) {
        let (outbound, queue) = mpsc::channel(OUTBOUND_MAX);
        let (outlet, tap) = outlet::open(writer);
        let shared = Arc::new(Shared {
            table: Mutex::default(),
            outlet,
            outbound,
            news: News::new(),
            closed: watch::Sender::new(None),
            unwritable: watch::Sender::new(None),
            questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            ignored: Arc::default(),
        });
        let writing = write(tap, queue, Arc::clone(&shared));
        (Self { shared }, writing)
    }

    /// Reads until the stream ends, must be given up or can no longer be answered; says why. Requests made from then
    /// on are known not to be sent, however long it takes to close the link. `output`: what it is called in messages.
    pub(crate) async fn read(&self, reader: impl AsyncRead + Unpin, output: &str) -> Ending {
        let ending = self.read_on(reader, output).await;
        self.shared.lock().unheard = Some(ending.reason().to_owned());
        ending
    }

    async fn read_on(&self, mut reader: impl AsyncRead + Unpin, output: &str) -> Ending {
        let mut lines = Lines::new(MESSAGE_BYTES_MAX);
        let mut unwritable = self.shared.unwritable.subscribe();
        let (mut pace, mut overture) = (Pace::default(), Overture::default());
        loop {
            while !overture.is_hopeless(lines.unfinished_bytes())
                && let Some(line) = lines.next()
            {
                let is_message = match line {
                    Line::Text(text) => self.take(text, &mut pace).await,
                    Line::TooLong(skipped) => self.skip(&skipped),
                };
                overture.line(is_message);
            }
            if overture.is_hopeless(lines.unfinished_bytes()) {
                let what = self.shared.ignored.first();
                return Ending::GivenUp(format!("it writes no JSON-RPC to {output}: {what}"));
            }
            if lines.unfinished_bytes() > SKIPPED_BYTES_MAX {
                let most = SKIPPED_BYTES_MAX;
                return Ending::GivenUp(format!("it sent a line of more than {most} bytes"));
            }
            let read = tokio::select! {
                // What has arrived already is read first.
                biased;
                read = reader.read_buf(lines.space()) => read,
                Ok(reason) = unwritable.wait_for(Option::is_some) => {
                    return Ending::Over(reason.clone().unwrap_or_default());
                }
            };
            match read {
                Ok(0) => return Ending::Over("it closed its output".to_owned()),
                Ok(bytes) => {
                    overture.read(bytes);
                    pace.piece(bytes).await;
                }
                Err(error) => return Ending::Over(format!("its output cannot be read: {error}")),
            }
        }
    }

    /// Sends a request and waits for its answer. Dropping the future cancels the request at the
    /// other side.
    pub(crate) async fn request(
        &self,
        name: &str,
        params: Params<'_>,
        options: RequestOptions,
    ) -> Outcome {
        let id = ids::random();
        let text = params.text(id, name, options.progress.is_some());
        let (reply, answer) = oneshot::channel();
        {
            let mut table = self.shared.lock();
            if let Some(reason) = table.closed.as_deref().or(table.unheard.as_deref()) {
                return Err(RequestError::NotSent(reason.to_owned()));
            }
            let RequestOptions {
                progress,
                messages,
                asker,
                sent,
                headers: _,
                acknowledged,
            } = options;
            if let Some(asker) = &asker {
                asker.set_requested();
                asker.set_answered(false);
            }
            table.waiting.insert(
                id,
                Waiting {
                    is_call: matches!(name, method::TOOLS_CALL | method::TASKS_RESULT),
                    reply,
                    progress,
                    messages,
                    asker,
                    acknowledged,
                    sent,
                },
            );
        }
        let mut guard = CancelGuard {
            shared: Arc::clone(&self.shared),
            id,
            armed: true,
        };
        let frame = Frame::Request { id, text };
        if !self.shared.write_now(&frame) {
            // A closed queue is noticed through `answer`: closing fails everything that waits.
            let _ = self.shared.outbound.send(frame).await;
        }
        let outcome = answer.await;
        guard.armed = false;
        outcome.unwrap_or_else(|_| Err(RequestError::Lost("the connection ended".to_owned())))
    }

    /// Tells something. No request that is made after this has ended comes before it.
    pub(crate) async fn notify(&self, name: &str, params: &Value) {
        let text = onecall_mcp::notification(name, params).to_string();
        let (behind, is_behind) = oneshot::channel();
        let frame = Frame::Other {
            text,
            _behind: Some(behind),
        };
        if !self.shared.write_now(&frame) && self.shared.outbound.send(frame).await.is_ok() {
            let _ = is_behind.await;
        }
    }

    /// Takes back that a request was sent, for a wire that goes on with it: the flag is then its to
    /// set. `None` where nobody waits any more.
    pub(crate) fn unsent(&self, id: i64) -> Option<Arc<AtomicBool>> {
        let table = self.shared.lock();
        let waiting = table.waiting.get(&id)?;
        waiting.sent.store(false, Ordering::SeqCst);
        Some(Arc::clone(&waiting.sent))
    }

    /// Ends one request with what went wrong.
    pub(crate) fn fail(&self, id: i64, error: RequestError) {
        self.shared.finish(id, Err(error));
    }

    pub(crate) fn news(&self) -> &News {
        &self.shared.news
    }

    /// Holds the reason once the connection has ended.
    pub(crate) fn closed(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.shared.closed.subscribe()
    }

    /// Ends the connection: what was sent is lost, what was not is known not to be.
    pub(crate) fn close(&self, reason: &str) {
        self.shared.close(reason);
    }

    /// What came and was no message.
    pub(crate) fn ignored(&self) -> &Arc<Ignored> {
        &self.shared.ignored
    }

    /// Whether it was a message.
    async fn take(&self, text: &[u8], pace: &mut Pace) -> bool {
        pace.piece(0).await;
        match onecall_mcp::batch(text) {
            None => self.take_one(text),
            Some(Ok(messages)) => {
                let mut is_message = false;
                for message in messages {
                    pace.piece(0).await;
                    is_message |= self.take_one(message.get().as_bytes());
                }
                is_message
            }
            Some(Err(fault)) => self.unreadable(text, fault),
        }
    }

    fn take_one(&self, text: &[u8]) -> bool {
        if !text.trim_ascii_start().starts_with(b"{") {
            self.shared.ignored.add(text);
            return false;
        }
        match onecall_mcp::parse_of_server(text) {
            Ok(Incoming::Response {
                id: Some(RequestId::Number(id)),
                outcome,
            }) => {
                self.shared.finish(id, outcome.map_err(RequestError::Rpc));
            }
            // Nobody waits for an answer without our kind of id.
            Ok(Incoming::Response { .. }) => {}
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params),
            Ok(Incoming::Request { id, method, params }) => self.asked(id, method, params),
            Err(fault) => return self.unreadable(text, fault),
        }
        true
    }

    /// Whether it names the request whose answer it is.
    fn unreadable(&self, text: &[u8], fault: ShapeError) -> bool {
        let looks_like_message = text.trim_ascii_start().starts_with(b"{");
        match Skipped::of(text).response_id() {
            Some(id) if looks_like_message => {
                self.shared
                    .finish(id, Err(RequestError::of_answer(text, fault)));
                true
            }
            _ => {
                self.shared.ignored.add(text);
                false
            }
        }
    }

    fn skip(&self, skipped: &Skipped) -> bool {
        let what = format!("{} bytes, {MESSAGE_BYTES_MAX} are allowed", skipped.bytes);
        let answered = skipped.response_id();
        if let Some(id) = answered {
            self.shared.finish(id, Err(RequestError::Limit(what)));
        } else {
            self.shared.ignored.add(&skipped.head);
        }
        answered.is_some()
    }
}

impl Frame {
    /// What requests may overtake.
    fn other(text: String) -> Self {
        Self::Other {
            text,
            _behind: None,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Request { text, .. } | Self::Other { text, .. } => text,
        }
    }
}

impl Table {
    /// The call that a question is put to. Invariant: calls that have an asker share a connection only when they have
    /// one caller, so any of them reaches the right person.
    fn placed(&self) -> Option<Asking> {
        asking::place(self.waiting.values().filter_map(|own| own.asker.as_ref()))
    }

    fn has_calls(&self) -> bool {
        self.waiting.values().any(|waiting| waiting.is_call)
    }
}

impl Shared {
    /// Whether a frame may leave. Invariant: a request is marked before the first of its bytes leaves, and one that
    /// nobody waits for or hears of never leaves.
    fn leaves(&self, frame: &Frame) -> bool {
        let Frame::Request { id, .. } = frame else {
            return true;
        };
        let table = self.lock();
        let waiting = table.waiting.get(id).filter(|_| table.unheard.is_none());
        waiting.is_some_and(|waiting| {
            waiting.sent.store(true, Ordering::SeqCst);
            true
        })
    }

    /// Writes a frame without waking anybody, if the stream takes it now. Where it does not, a request is as it was.
    fn write_now(&self, frame: &Frame) -> bool {
        let Some(idle) = self.outlet.idle() else {
            return false;
        };
        let is_written = self.leaves(frame) && idle.write(frame.text());
        if !is_written
            && let Frame::Request { id, .. } = frame
            && let Some(waiting) = self.lock().waiting.get(id)
        {
            waiting.sent.store(false, Ordering::SeqCst);
        }
        is_written
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A second answer, or one to nobody's request, finds nothing here and is dropped.
    fn finish(&self, id: i64, outcome: Outcome) {
        let waiting = self.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            if let Some(asker) = &waiting.asker {
                asker.set_answered(true);
            }
            let _ = waiting.reply.send(outcome);
        }
    }

    fn close(&self, reason: &str) {
        let reason: Arc<str> = reason.into();
        let waiting = {
            let mut table = self.lock();
            if table.closed.is_some() {
                return;
            }
            table.closed = Some(Arc::clone(&reason));
            std::mem::take(&mut table.waiting)
        };
        #[expect(
            clippy::iter_over_hash_type,
            reason = "every one is told, in any order"
        )]
        for (_, waiting) in waiting {
            let lost = waiting.sent.load(Ordering::SeqCst);
            let kind = if lost {
                RequestError::Lost
            } else {
                RequestError::NotSent
            };
            let _ = waiting.reply.send(Err(kind(reason.to_string())));
        }
        self.closed.send_replace(Some(reason));
    }
}

/// Tells the other side when a caller no longer waits.
struct CancelGuard {
    shared: Arc<Shared>,
    id: i64,
    armed: bool,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let waiting = self.shared.lock().waiting.remove(&self.id);
        if waiting.is_some_and(|waiting| waiting.sent.load(Ordering::SeqCst)) {
            let params = json!({ "requestId": self.id, "reason": "the caller no longer waits" });
            let text = onecall_mcp::notification(method::CANCELLED, &params).to_string();
            let _ = self.shared.outbound.try_send(Frame::other(text));
        }
    }
}

/// Writes what found no room in the stream at once. The stream is closed when this ends or is dropped.
async fn write(tap: Tap, mut queue: mpsc::Receiver<Frame>, shared: Arc<Shared>) {
    let mut closed = shared.closed.subscribe();
    let mut batch = Vec::with_capacity(BATCH_MAX);
    loop {
        tokio::select! {
            // What was begun is brought to its end before anything else counts as sent.
            biased;
            _ = closed.wait_for(Option::is_some) => return,
            () = tap.begun() => {}
            count = queue.recv_many(&mut batch, BATCH_MAX) => if count == 0 { return },
        }
        batch.retain(|frame| shared.leaves(frame));
        tap.add(batch.iter().map(Frame::text));
        batch.clear();
        tokio::select! {
            written = tap.written() => if let Err(error) = written {
                let reason = format!("it takes no more input: {error}");
                shared.unwritable.send_replace(Some(reason));
                return;
            },
            _ = closed.wait_for(Option::is_some) => return,
        }
    }
}
