//! One session: what the client says goes to the handler, what the handler says goes to the stream it belongs to.
//! A silent session is little more than its names: nothing runs for it, and its queues are empty.

use super::lost::{self, Lost};
use super::stream::{EventId, Events, Outbox, Room};
use crate::limits::{EVENTS_AHEAD_MAX, IDLE_STREAMS_MAX, STREAM_RETRY};
use futures::channel::{mpsc, oneshot};
use futures::{SinkExt as _, StreamExt as _};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions as _, GetMeta as _, JsonRpcMessage,
    ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("there is no room for another session")]
    NoRoom,
    #[error("there is no such session")]
    Unknown,
    #[error("the session has ended")]
    Ended,
    #[error("`{0}` is not the place of an event")]
    NoPlace(String),
    #[error("the stream cannot be read on from `{0}`")]
    NoStream(String),
}

/// A session, as those see it who speak for its client.
#[derive(Debug)]
pub(super) struct Line(Mutex<State>);

#[derive(Debug)]
struct State {
    /// None once the session has ended.
    to_handler: Option<mpsc::Sender<ClientJsonRpcMessage>>,
    /// Who waits for the answer to `initialize`, which is the first thing that the handler says.
    greeted: Option<oneshot::Sender<ServerJsonRpcMessage>>,
    /// What belongs to no request.
    own: Outbox,
    /// Further streams that a client has opened beside the one it is told things on. Were they closed, it would open
    /// them again and again.
    idle: Vec<mpsc::Sender<ServerSseMessage>>,
    answers: HashMap<u64, Answering>,
    lost: Lost,
    /// Which stream belongs to what the handler names.
    named: HashMap<Named, u64>,
    next_request: u64,
    last_active: Instant,
}

/// The stream of a request that is being answered.
#[derive(Debug)]
struct Answering {
    outbox: Outbox,
    names: [Option<Named>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Named {
    Request(RequestId),
    Progress(ProgressToken),
}

/// The handler's end of a session.
#[derive(Debug)]
pub(crate) struct HandlerEnd {
    line: Arc<Line>,
    from_client: mpsc::Receiver<ClientJsonRpcMessage>,
    /// How long both may be silent.
    idle: Duration,
}

/// Both ends of a new session.
pub(super) fn open(idle: Duration, room: lost::Room) -> (Arc<Line>, HandlerEnd) {
    let (to_handler, from_client) = mpsc::channel(EVENTS_AHEAD_MAX);
    // The event that opens the stream has the place 0.
    let first = EventId {
        index: 1,
        request: None,
    };
    let (own, _) = Outbox::new(first);
    let line = Arc::new(Line(Mutex::new(State {
        to_handler: Some(to_handler),
        greeted: None,
        own,
        idle: Vec::new(),
        answers: HashMap::new(),
        lost: Lost::new(room),
        named: HashMap::new(),
        next_request: 0,
        last_active: Instant::now(),
    })));
    let handler = HandlerEnd {
        line: Arc::clone(&line),
        from_client,
        idle,
    };
    (line, handler)
}

impl Line {
    /// Says `initialize` and waits for the answer.
    pub(super) async fn greet(
        &self,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, LineError> {
        let (greeted, answer) = oneshot::channel();
        self.active().greeted = Some(greeted);
        self.say(message).await?;
        answer.await.map_err(|_| LineError::Ended)
    }

    /// Passes on what wants no answer.
    pub(super) async fn say(&self, message: ClientJsonRpcMessage) -> Result<(), LineError> {
        let to_handler = {
            let mut state = self.active();
            state.cancel(&message);
            state.to_handler.clone()
        };
        let mut to_handler = to_handler.ok_or(LineError::Ended)?;
        let said = to_handler.send(message).await;
        said.map_err(|_| LineError::Ended)
    }

    /// Passes on a request, and gives the stream on which it is answered.
    pub(super) async fn ask(&self, message: ClientJsonRpcMessage) -> Result<Events, LineError> {
        let events = self.active().answering(&message);
        self.say(message).await?;
        Ok(events)
    }

    /// The stream of the session itself, with what was not read yet.
    pub(super) fn listen(&self) -> Result<Events, LineError> {
        self.active().listen(None)
    }

    /// Whether a stream can be read on from here.
    pub(super) fn has_place(&self, place: &str) -> bool {
        let Ok(seen) = place.parse::<EventId>() else {
            return false;
        };
        let state = self.lock();
        let Some(request) = seen.request else {
            return state.own.has_had(seen.index);
        };
        let answering = state.answers.get(&request);
        answering.is_some_and(|answering| answering.outbox.has_had(seen.index))
            || state.lost.has(request, seen.index)
    }

    /// Reads a stream on from the last event that the client has seen.
    pub(super) fn resume(&self, place: &str) -> Result<Events, LineError> {
        let seen: EventId = place
            .parse()
            .map_err(|_| LineError::NoPlace(place.to_owned()))?;
        let mut state = self.active();
        let Some(request) = seen.request else {
            return state.listen(Some(seen.index));
        };
        let events = match state.answers.get_mut(&request) {
            Some(answering) => answering.outbox.replay(Some(seen.index)),
            None => state.lost.take(request, seen.index),
        };
        events.ok_or_else(|| LineError::NoStream(place.to_owned()))
    }

    /// Ends the session and its streams. What was said before still reaches the handler.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.to_handler = None;
        state.greeted = None;
        state.own.close();
        state.idle.clear();
        state.answers.clear();
        state.lost.clear();
        state.named.clear();
    }

    /// The state, for something that shows that the session is in use.
    fn active(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.last_active = Instant::now();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Opens the stream of a request, so that it is there before the handler can answer.
    fn answering(&mut self, message: &ClientJsonRpcMessage) -> Events {
        let request = self.next_request;
        self.next_request += 1;
        let first = EventId {
            index: 0,
            request: Some(request),
        };
        let (mut outbox, events) = Outbox::new(first);
        // The place of this event is what a client names when it loses the stream before anything else came.
        let _ = outbox.put(ServerSseMessage::retry(STREAM_RETRY));
        let names = names_of(message);
        for name in names.iter().flatten() {
            self.named.insert(name.clone(), request);
        }
        self.answers.insert(request, Answering { outbox, names });
        events
    }

    fn listen(&mut self, seen: Option<u64>) -> Result<Events, LineError> {
        if self.to_handler.is_none() {
            return Err(LineError::Ended);
        }
        self.idle.retain(|reader| !reader.is_closed());
        if !self.own.is_read() {
            let place = seen.unwrap_or_default();
            let events = self.own.replay(seen);
            return events.ok_or_else(|| LineError::NoStream(place.to_string()));
        }
        if self.idle.len() >= IDLE_STREAMS_MAX {
            self.idle.remove(0);
        }
        let (reader, events) = mpsc::channel(0);
        self.idle.push(reader);
        Ok(events)
    }

    /// A request that its client has cancelled is not answered any more.
    fn cancel(&mut self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
            && let Some(request) = self.named.get(&Named::Request(id.clone())).copied()
        {
            self.answered(request);
        }
    }

    /// Ends the answering of a request; what its stream holds is up to the caller.
    fn answered(&mut self, request: u64) -> Option<Outbox> {
        let answering = self.answers.remove(&request)?;
        for name in answering.names.iter().flatten() {
            // A client that uses an id twice at once has the name taken over by the later request.
            if self.named.get(name) == Some(&request) {
                self.named.remove(name);
            }
        }
        Some(answering.outbox)
    }

    /// A client waits for an answer, which may be up to a person and take its time.
    fn is_answering(&self) -> bool {
        let mut answers = self.answers.values();
        answers.any(|answering| answering.outbox.is_read())
    }

    /// Puts what the handler says on the stream it belongs to.
    fn put(&mut self, message: ServerJsonRpcMessage) -> Room {
        let request = belongs_to(&message).and_then(|name| self.named.get(&name).copied());
        let is_answer = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let event = ServerSseMessage::from_message(message);
        let answering = request.and_then(|request| self.answers.get_mut(&request));
        let outbox = answering.map_or(&mut self.own, |answering| &mut answering.outbox);
        let room = outbox.put(event);
        if let Some(request) = request
            && is_answer
            && let Some(outbox) = self.answered(request)
            && !outbox.is_read()
        {
            self.lost.keep(request, outbox);
        }
        room
    }
}

/// What the handler calls a request by: its id and its progress token.
fn names_of(message: &ClientJsonRpcMessage) -> [Option<Named>; 2] {
    let JsonRpcMessage::Request(request) = message else {
        return [None, None];
    };
    let progress = request.request.get_meta().get_progress_token();
    [
        Some(Named::Request(request.id.clone())),
        progress.map(Named::Progress),
    ]
}

/// Which request a message of the handler belongs to, if any.
fn belongs_to(message: &ServerJsonRpcMessage) -> Option<Named> {
    match message {
        JsonRpcMessage::Response(response) => Some(Named::Request(response.id.clone())),
        JsonRpcMessage::Error(error) => error.id.clone().map(Named::Request),
        JsonRpcMessage::Request(request) => {
            let origin = request.request.extensions().get::<OriginatingRequestId>()?;
            Some(Named::Request(origin.0.clone()))
        }
        JsonRpcMessage::Notification(notification) => match &notification.notification {
            ServerNotification::ProgressNotification(progress) => {
                Some(Named::Progress(progress.params.progress_token.clone()))
            }
            // What is cancelled is a request of ours, whose name may be one of the client's as well.
            ServerNotification::CancelledNotification(cancelled) => {
                let origin = cancelled.extensions.get::<OriginatingRequestId>()?;
                Some(Named::Request(origin.0.clone()))
            }
            // Log messages and progress of a call.
            ServerNotification::CustomNotification(custom) => {
                let origin = custom.extensions.get::<OriginatingRequestId>()?;
                Some(Named::Request(origin.0.clone()))
            }
            _ => None,
        },
    }
}

impl Transport<RoleServer> for HandlerEnd {
    type Error = LineError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), LineError>> + Send + 'static {
        let mut state = self.line.active();
        let room = if state.to_handler.is_none() {
            Err(LineError::Ended)
        } else if let Some(greeted) = state.greeted.take() {
            greeted
                .send(message)
                .map(|()| None)
                .map_err(|_| LineError::Ended)
        } else {
            Ok(Some(state.put(message)))
        };
        drop(state);
        async move {
            if let Some(room) = room? {
                room.wait().await;
            }
            Ok(())
        }
    }

    /// What the client says next; nothing more once the session has ended or both were silent for too long while
    /// nobody waited for an answer.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let (last_active, forgets) = {
                let state = self.line.lock();
                (state.last_active, state.lost.until())
            };
            // Never, where the duration is beyond what the clock can tell.
            let end = last_active.checked_add(self.idle);
            let Some(next_look) = end.into_iter().chain(forgets).min() else {
                return self.from_client.next().await;
            };
            let next = tokio::time::timeout_at(next_look, self.from_client.next());
            if let Ok(message) = next.await {
                return message;
            }
            let mut state = self.line.lock();
            state.lost.forget_old();
            if end != Some(next_look) {
                continue;
            }
            if state.is_answering() {
                state.last_active = Instant::now();
            } else if state.last_active == last_active {
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), LineError> {
        self.line.end();
        Ok(())
    }
}

impl Drop for HandlerEnd {
    /// Without its handler a session is over; those who read its streams must not wait.
    fn drop(&mut self) {
        self.line.end();
    }
}
