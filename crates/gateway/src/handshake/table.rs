//! The sessions that are open, in the form in which `rmcp` asks for them.
//!
//! Its own table runs a task with four channels for each session, which is half of the memory of a silent one.

use super::line::{self, HandlerEnd, Line, LineError};
use super::lost::Room;
use crate::limits::LOST_BYTES_MAX;
use futures::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::session_id;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

tokio::task_local! {
    /// A session was wanted and there was no room for it: `rmcp` tells that like any other fault.
    static WAS_FULL: Cell<bool>;
}

/// What comes of this, unless a session was wanted for which there was no room.
pub(super) async fn unless_full<T>(opening: impl Future<Output = T>) -> Option<T> {
    let opened = async {
        let opened = opening.await;
        (!WAS_FULL.with(Cell::get)).then_some(opened)
    };
    WAS_FULL.scope(Cell::new(false), opened).await
}

#[derive(Debug)]
pub(crate) struct Table {
    lines: Mutex<HashMap<SessionId, Arc<Line>>>,
    max: usize,
    /// How long a session may be silent.
    idle: Duration,
    /// Room for answers that nobody was there to read.
    lost: Room,
}

impl Table {
    pub(super) fn new(idle: Duration, max: usize) -> Self {
        Self {
            lines: Mutex::default(),
            max,
            idle,
            lost: Room::new(LOST_BYTES_MAX),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn contains(&self, session: &str) -> bool {
        self.lock().contains_key(session)
    }

    /// Whether a stream of a session can be read on from here.
    pub(super) fn has_place(&self, session: &str, place: &str) -> bool {
        let line = self.lock().get(session).cloned();
        line.is_some_and(|line| line.has_place(place))
    }

    fn line(&self, session: &SessionId) -> Result<Arc<Line>, LineError> {
        self.lock().get(session).cloned().ok_or(LineError::Unknown)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Line>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for Table {
    type Error = LineError;
    type Transport = HandlerEnd;

    async fn create_session(&self) -> Result<(SessionId, HandlerEnd), LineError> {
        let mut lines = self.lock();
        if lines.len() >= self.max {
            let _ = WAS_FULL.try_with(|was_full| was_full.set(true));
            return Err(LineError::NoRoom);
        }
        let id = session_id();
        let (line, handler) = line::open(self.idle, self.lost.clone());
        lines.insert(Arc::clone(&id), line);
        Ok((id, handler))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, LineError> {
        self.line(id)?.greet(message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, LineError> {
        Ok(self.contains(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), LineError> {
        let line = self.lock().remove(id);
        if let Some(line) = line {
            line.end();
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, LineError> {
        self.line(id)?.ask(message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), LineError> {
        self.line(id)?.say(message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, LineError> {
        self.line(id)?.listen()
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, LineError> {
        self.line(id)?.resume(&last_event_id)
    }
}
