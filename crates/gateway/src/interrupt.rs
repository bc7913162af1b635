//! Why a call stops being followed before its run rests: the client cancelled it, the client has gone, or the
//! server leaves. Each means something else for the run.

use crate::limits::CANCEL_NOTICE;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The client does not want the result any more.
    Cancelled,
    /// Nobody is left to take the answer; nothing was said about the run.
    Gone,
    /// The server is told to stop; there is still time for an answer.
    Leaving,
}

/// What a closed stream means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Modern HTTP: closing the response stream is the cancellation.
    Cancels,
    /// Handshake sessions and stdio: only `notifications/cancelled` cancels.
    SaysNothing,
}

/// Watches for reasons to stop following one request.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Fires when the client says `notifications/cancelled`, where it can.
    pub(crate) notified: Option<Registered>,
    /// Fires when the request ends for whatever reason.
    pub(crate) request: CancellationToken,
    pub(crate) closing: Closing,
    /// The server was told to stop: a stream that closes now was closed by us.
    pub(crate) stop: CancellationToken,
    /// The time for calls in flight is over.
    pub(crate) leaving: CancellationToken,
}

impl Watch {
    /// The request that is watched, where its client can name it.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        self.notified.as_ref().map(|registered| &registered.id)
    }

    pub(crate) async fn interrupted(&self) -> Interrupt {
        tokio::select! {
            biased;
            () = self.notified() => Interrupt::Cancelled,
            () = self.leaving.cancelled() => Interrupt::Leaving,
            () = self.request.cancelled() => self.ended().await,
        }
    }

    async fn notified(&self) {
        match &self.notified {
            Some(registered) => registered.token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    async fn ended(&self) -> Interrupt {
        if self.closing == Closing::Cancels {
            return if self.stop.is_cancelled() {
                Interrupt::Gone
            } else {
                Interrupt::Cancelled
            };
        }
        // The notification reaches us a moment after the request's own token.
        match tokio::time::timeout(CANCEL_NOTICE, self.notified()).await {
            Ok(()) => Interrupt::Cancelled,
            Err(_) => Interrupt::Gone,
        }
    }
}

/// The requests in flight of one connection, so that a notification finds the request it cancels.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Arc<Mutex<HashMap<RequestId, CancellationToken>>>);

/// A request in flight; forgotten when dropped.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) token: CancellationToken,
    id: RequestId,
    requests: InFlight,
}

impl InFlight {
    pub(crate) fn register(&self, id: RequestId) -> Registered {
        let token = CancellationToken::new();
        self.lock().insert(id.clone(), token.clone());
        Registered {
            token,
            id,
            requests: self.clone(),
        }
    }

    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.lock().get(id) {
            token.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.requests.lock().remove(&self.id);
    }
}
