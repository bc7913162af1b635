//! What happens in a run, and what backends log for a call, as log messages to the client that called, at the level
//! it asked for.

use crate::call::Caller;
use crate::unread::Unread;
use onecall_engine::event::{Event, Status, What};
use onecall_engine::identity::RunId;
use onecall_mcp::method;
use onecall_runtime::calls::Logged;
use rmcp::model::{CustomNotification, RequestId, ServerNotification};
use rmcp::service::{OriginatingRequestId, Peer, RoleServer};
use serde_json::{Value, json};

/// How grave a message is, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

pub(crate) struct Log {
    level: Level,
    peer: Peer<RoleServer>,
    /// The call that the messages are about, on whose stream they come.
    origin: Option<RequestId>,
}

impl Log {
    /// `None` where the caller wants no messages, or can be told none.
    pub(crate) fn new(caller: &Caller) -> Option<Self> {
        Some(Self {
            level: caller.log_level?,
            peer: caller.peer.clone()?,
            origin: caller.watch.request_id().cloned(),
        })
    }

    pub(crate) async fn tell(&self, run: &RunId, events: &[Event], steps: &[String]) {
        for event in events {
            let Some((level, step, text)) = said(&event.what) else {
                continue;
            };
            if level < self.level {
                continue;
            }
            let mut data = json!({ "run_id": run.as_str(), "message": text });
            if let Some(step) = step.and_then(|step| steps.get(step as usize)) {
                data["step"] = Value::from(step.as_str());
            }
            let params = json!({ "level": level.as_str(), "logger": "onecall", "data": data });
            let message = CustomNotification::new(method::MESSAGE, Some(params));
            self.send(message).await;
        }
    }

    /// Passes on what a backend logs, as it came.
    pub(crate) async fn pass(&self, unread: &Unread, logged: &Logged) {
        let level = Level::from_name(&logged.level);
        if level.is_some_and(|level| level >= self.level) {
            let message = unread.notification(method::MESSAGE, &logged.params);
            self.send(message).await;
        }
    }

    async fn send(&self, message: CustomNotification) {
        send(&self.peer, self.origin.as_ref(), message).await;
    }
}

/// Tells a client something about a call, on the stream of the call.
pub(crate) async fn send(
    peer: &Peer<RoleServer>,
    origin: Option<&RequestId>,
    mut message: CustomNotification,
) {
    if let Some(origin) = origin.cloned() {
        message.extensions.insert(OriginatingRequestId(origin));
    }
    // A client that no longer listens is told nothing; its call ends by itself.
    let _ = peer
        .send_notification(ServerNotification::CustomNotification(message))
        .await;
}

/// Level, step and words of an event; most events say nothing to a client.
fn said(what: &What) -> Option<(Level, Option<u32>, String)> {
    match what {
        What::RunStarted { .. } => Some((Level::Debug, None, "the run began".to_owned())),
        What::AttemptStarted { call, .. } => {
            // The first is 1 wherever attempts are told.
            let text = format!("attempt {} began", call.attempt.saturating_add(1));
            Some((Level::Debug, Some(call.step), text))
        }
        What::RetryAt { call, .. } => {
            let text = "it will be tried again".to_owned();
            Some((Level::Notice, Some(call.step), text))
        }
        What::StepEnded { step, status, .. } => {
            let level = match status {
                Status::Failed => Level::Warning,
                Status::Pending
                | Status::Running
                | Status::Completed
                | Status::Skipped
                | Status::Cancelled => Level::Info,
            };
            Some((level, Some(*step), status.as_str().to_owned()))
        }
        What::QuestionAsked { step, .. } => {
            let text = "a person is asked".to_owned();
            Some((Level::Info, Some(*step), text))
        }
        What::RunEnded { .. } => Some((Level::Info, None, "the run ended".to_owned())),
        _ => None,
    }
}
