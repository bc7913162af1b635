//! JSON-RPC over a pair of byte streams: many requests at once, matched by id. Knows nothing of
//! processes; `process` gives it the streams of a child, tests give it pipes.

mod outlet;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onecall_mcp::limits::MESSAGE_BYTES_MAX;
use onecall_mcp::{Incoming, Line, Lines, RequestId, RpcError, ShapeError, Skipped, meta, method};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

use self::outlet::{Outlet, Tap};
use crate::asking::{self, Asker, Asking};
use crate::call::{MessageSink, Progress, ProgressSink};
use crate::error::RequestError;
use crate::limits::{BATCH_MAX, OUTBOUND_MAX, QUESTIONS_MAX, SKIPPED_BYTES_MAX};
use crate::news::News;
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
    next_id: AtomicI64,
    news: News,
    closed: watch::Sender<Option<Arc<str>>>,
    /// Why nothing more can be written; ends the reading too.
    unwritable: watch::Sender<Option<String>>,
    questions: Arc<Semaphore>,
}

/// Requests that wait for their answer.
#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i64, Waiting>,
    closed: Option<Arc<str>>,
    /// No answer can come any more, and why; nothing is sent from then on.
    unheard: Option<String>,
    /// Lines that were no messages, with the last of them.
    ignored: u64,
    last_ignored: String,
}

#[derive(Debug)]
struct Waiting {
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
            next_id: AtomicI64::new(1),
            news: News::new(),
            closed: watch::Sender::new(None),
            unwritable: watch::Sender::new(None),
            questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
        });
        let writing = write(tap, queue, Arc::clone(&shared));
        (Self { shared }, writing)
    }

    /// Reads until the stream ends, must be given up or can no longer be answered; says why. Requests made from then
    /// on are known not to be sent, however long it takes to close the link.
    pub(crate) async fn read(&self, reader: impl AsyncRead + Unpin) -> String {
        let reason = self.read_on(reader).await;
        self.shared.lock().unheard = Some(reason.clone());
        reason
    }

    async fn read_on(&self, mut reader: impl AsyncRead + Unpin) -> String {
        let mut lines = Lines::new(MESSAGE_BYTES_MAX);
        let mut unwritable = self.shared.unwritable.subscribe();
        loop {
            while let Some(line) = lines.next() {
                match line {
                    Line::Text(text) => self.take(text),
                    Line::TooLong(skipped) => self.skip(&skipped),
                }
            }
            if lines.unfinished_bytes() > SKIPPED_BYTES_MAX {
                return format!("it sent a line of more than {SKIPPED_BYTES_MAX} bytes");
            }
            let read = tokio::select! {
                // What has arrived already is read first.
                biased;
                read = reader.read_buf(lines.space()) => read,
                Ok(reason) = unwritable.wait_for(Option::is_some) => {
                    return reason.clone().unwrap_or_default();
                }
            };
            match read {
                Ok(0) => return "it closed its output".to_owned(),
                Ok(_) => {}
                Err(error) => return format!("its output cannot be read: {error}"),
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
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
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
                asker.set_answered(false);
            }
            table.waiting.insert(
                id,
                Waiting {
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

    /// What a failure should tell besides its reason.
    pub(crate) fn ignored(&self) -> Option<String> {
        let table = self.shared.lock();
        (table.ignored > 0).then(|| {
            format!(
                "{} lines of its output were no messages: {}",
                table.ignored, table.last_ignored
            )
        })
    }

    fn take(&self, text: &[u8]) {
        match onecall_mcp::batch(text) {
            None => self.take_one(text),
            Some(Ok(messages)) => {
                let messages = messages.iter().map(|message| message.get().as_bytes());
                messages.for_each(|message| self.take_one(message));
            }
            Some(Err(fault)) => self.unreadable(text, fault),
        }
    }

    fn take_one(&self, text: &[u8]) {
        match onecall_mcp::parse_of_server(text) {
            Ok(Incoming::Response {
                id: Some(RequestId::Number(id)),
                outcome,
            }) => {
                self.shared.finish(id, outcome.map_err(RequestError::Rpc));
            }
            // Nobody waits for an answer without our kind of id.
            Ok(Incoming::Response { .. }) => {}
            Ok(Incoming::Notification { method, params }) => self.notified(&method, &params),
            Ok(Incoming::Request { id, method, params }) => self.asked(id, method, params),
            Err(fault) => self.unreadable(text, fault),
        }
    }

    fn unreadable(&self, text: &[u8], fault: ShapeError) {
        let looks_like_message = text.trim_ascii_start().starts_with(b"{");
        match Skipped::of(text).response_id() {
            Some(id) if looks_like_message => {
                self.shared.finish(id, Err(RequestError::of_answer(fault)));
            }
            _ => {
                let mut table = self.shared.lock();
                table.ignored += 1;
                let shown = String::from_utf8_lossy(&text[..text.len().min(200)]);
                table.last_ignored = shown.chars().filter(|c| !c.is_control()).collect();
            }
        }
    }

    fn skip(&self, skipped: &Skipped) {
        let what = format!("{} bytes, {MESSAGE_BYTES_MAX} are allowed", skipped.bytes);
        match skipped.response_id() {
            Some(id) => self.shared.finish(id, Err(RequestError::Limit(what))),
            None => self.shared.lock().ignored += 1,
        }
    }

    fn notified(&self, name: &str, params: &Value) {
        match name {
            method::PROGRESS => {
                let token = params
                    .get(meta::PROGRESS_TOKEN)
                    .and_then(RequestId::from_value);
                let Some(RequestId::Number(id)) = token else {
                    return;
                };
                let table = self.shared.lock();
                let sink = table
                    .waiting
                    .get(&id)
                    .and_then(|waiting| waiting.progress.as_ref());
                if let (Some(sink), Some(progress)) = (sink, Progress::read(params)) {
                    let _ = sink.try_send(progress);
                }
            }
            method::MESSAGE => {
                if let Some(sink) = self.newest(|waiting| waiting.messages.clone()) {
                    let _ = sink.try_send(params.clone());
                }
            }
            method::LISTEN_ACKNOWLEDGED => {
                let id = meta::get(params, meta::SUBSCRIPTION_ID).and_then(RequestId::from_value);
                let stream = match id {
                    Some(RequestId::Number(id)) => {
                        let table = self.shared.lock();
                        let waiting = table.waiting.get(&id);
                        waiting.and_then(|waiting| waiting.acknowledged.clone())
                    }
                    Some(RequestId::Text(_)) | None => {
                        self.newest(|waiting| waiting.acknowledged.clone())
                    }
                };
                if let Some(stream) = stream {
                    stream.notify_one();
                }
            }
            _ => self.shared.news.take(name, params),
        }
    }

    /// Answers what a server may ask of us; questions go to the call they can belong to.
    fn asked(&self, id: RequestId, name: String, params: Value) {
        if name == method::PING {
            return self.reply(&onecall_mcp::response(&id, &json!({})));
        }
        let is_question = matches!(
            name.as_str(),
            method::ELICIT | method::SAMPLE | method::ROOTS_LIST
        );
        let placed = is_question.then(|| self.shared.lock().placed()).flatten();
        let permit = Arc::clone(&self.shared.questions).try_acquire_owned();
        let (Some(asking), Ok(permit)) = (placed, permit) else {
            let error = RpcError::method_not_found(&name);
            return self.reply(&onecall_mcp::response_error(Some(&id), &error));
        };
        let pages = &self.shared.news.pages;
        asking.asker.note(&name, &params, pages);
        let link = self.clone();
        tokio::spawn(async move {
            let answer = link.put(asking, &name, &params).await;
            drop(permit);
            link.reply(&match answer {
                Some(answer) => onecall_mcp::response(&id, &answer),
                None => onecall_mcp::response_error(
                    Some(&id),
                    &RpcError::new(onecall_mcp::code::INTERNAL, "nobody took the question"),
                ),
            });
        });
    }

    /// Puts a question until it is answered or refused. A call that is answered with the question open was not the one
    /// that it belongs to: then it is put to another.
    async fn put(&self, mut asking: Asking, name: &str, params: &Value) -> Option<Value> {
        loop {
            let asker = asking.asker.clone();
            let answer = asking.ask(name.to_owned(), params.clone()).await;
            if answer.is_some() || !asker.is_answered() {
                return answer;
            }
            asking = self.shared.lock().placed()?;
        }
    }

    /// What the newest call has of a kind. Invariant: calls that take messages share a connection only
    /// when they have one caller, so any of them reaches the right person.
    fn newest<T>(&self, have: impl Fn(&Waiting) -> Option<T>) -> Option<T> {
        let table = self.shared.lock();
        let having = table.waiting.iter().filter_map(|(id, waiting)| {
            let had = have(waiting)?;
            Some((*id, had))
        });
        having.max_by_key(|(id, _)| *id).map(|(_, had)| had)
    }

    fn reply(&self, message: &Value) {
        // Limit: a server that does not read gets no replies either.
        let _ = self
            .shared
            .outbound
            .try_send(Frame::other(message.to_string()));
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
        let askers = self.waiting.iter();
        asking::place(askers.filter_map(|(id, own)| Some((*id, own.asker.as_ref()?))))
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
