//! One era's end of a stdio client, as `rmcp` drives it: messages that were read go in, lines come out. It stays open
//! until what was asked is answered, also when the input has ended.

use crate::limits::{CLOSING, INPUT_GRACE};
use crate::unread::Unread;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What happens once the input has ended.
pub(super) struct Ending {
    pub(super) input_ended: Arc<OnceLock<Instant>>,
    /// Calls that still run must be answered now.
    pub(super) leaving: CancellationToken,
    /// Whatever listens must end.
    pub(super) closing: CancellationToken,
}

impl Ending {
    /// Gives calls in flight their time, then has the rest answered.
    async fn last_calls(&self) {
        let ended = *self.input_ended.get_or_init(Instant::now);
        let ended = tokio::time::Instant::from_std(ended);
        tokio::time::sleep_until(ended + INPUT_GRACE).await;
        self.leaving.cancel();
        tokio::time::sleep_until(ended + INPUT_GRACE + CLOSING).await;
        tracing::warn!("leaving with requests unanswered");
    }
}

pub(super) struct End {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    /// Requests that were handed over, listeners aside, which are answered when all ends.
    unanswered: HashSet<RequestId>,
    ending: Ending,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    unread: Unread,
}

impl End {
    pub(super) fn new(
        incoming: mpsc::Receiver<ClientJsonRpcMessage>,
        outgoing: mpsc::Sender<Vec<u8>>,
        unread: Unread,
        ending: Ending,
    ) -> Self {
        Self {
            incoming,
            unanswered: HashSet::new(),
            ending,
            outgoing: Some(outgoing),
            unread,
        }
    }

    /// Notes what must be answered yet.
    fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                if !matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                ) {
                    self.unanswered.insert(request.id.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                // What is cancelled is not answered.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

impl Transport<RoleServer> for End {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &item {
            JsonRpcMessage::Response(response) => drop(self.unanswered.remove(&response.id)),
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let (outgoing, unread) = (self.outgoing.clone(), self.unread.clone());
        async move {
            let text = serde_json::to_vec(&item)?;
            let mut text = unread.show(&text).unwrap_or(text);
            text.push(b'\n');
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let outgoing = outgoing.ok_or_else(closed)?;
            outgoing.send(text).await.map_err(|_| closed())
        }
    }

    /// What the client says next; nothing more once its input has ended and all is answered. From then on `rmcp`
    /// sends nothing but answers: a call that still wants to tell of its progress would wait for ever.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if let Some(message) = self.incoming.recv().await {
            self.note(&message);
            return Some(message);
        }
        // It is asked again after each thing that it was given to send.
        if !self.unanswered.is_empty() {
            self.ending.last_calls().await;
        }
        self.ending.closing.cancel();
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.outgoing = None;
        Ok(())
    }
}
