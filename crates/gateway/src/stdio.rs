//! The face over standard input and output: lines of JSON, both eras, ends with the input.
//! Reading and writing have tasks of their own, so that nothing is lost when the handler turns to other work.

use crate::limits::{CLOSING, GRACE, INPUT_GRACE, LINE_BYTES_MAX, LINES_AHEAD_MAX};
use crate::listen::TaskIds;
use crate::options::{ServeError, StdioOptions};
use crate::raw::{self, Content, RawRequest};
use crate::server::{Connection, Handler, Setup, Shared, VERSIONS};
use crate::unread::Unread;
use crate::{batch, typed};
use futures::future::BoxFuture;
use onecall_mcp::{
    Incoming, Line, Lines, RequestId, Revision, RpcError, ShapeError, code, message_text, method,
    parse_call, response_error,
};
use onecall_runtime::runtime::Runtime;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta as _,
    JsonRpcMessage, JsonRpcRequest, ProtocolVersion,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Serves over standard input and output until the input ends or `stop` is cancelled. Returns when the input ended,
/// if it did: the last calls are given some time after it.
///
/// Boxed here, so that it is compiled here alone; see `serve_http`.
#[inline(never)]
pub fn serve_stdio(
    runtime: Runtime,
    options: StdioOptions,
    stop: CancellationToken,
) -> BoxFuture<'static, Result<Option<Instant>, ServeError>> {
    let input = Box::new(tokio::io::stdin());
    let output = Box::new(tokio::io::stdout());
    Box::pin(serve_lines(runtime, options, stop, input, output))
}

/// Serves one client over any pair of byte streams. Returns when its input ended, if it did.
pub async fn serve_lines(
    runtime: Runtime,
    options: StdioOptions,
    stop: CancellationToken,
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
) -> Result<Option<Instant>, ServeError> {
    let setup = Setup {
        connection: Connection::Stdio,
        version: &options.version,
        patience: options.patience,
        grace: GRACE,
        shown_bytes_max: options.shown_bytes_max,
        store_flag: options.store_flag.clone(),
        base: None,
        is_base_stated: false,
        access: None,
        handshakes: None,
        stop,
    };
    let shared = Arc::new(Shared::new(runtime.clone(), setup));
    let ended = CancellationToken::new();
    let _ends = ended.clone().drop_guard();
    tokio::spawn(shared.sessions.clone().follow(runtime, ended.clone()));
    let closing = CancellationToken::new();
    let leaving = {
        let (shared, closing) = (Arc::clone(&shared), closing.clone());
        async move {
            shared.leave().await;
            closing.cancel();
        }
    };
    let leaving = tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = leaving => {}
        }
    });
    let input_ended = Arc::new(OnceLock::new());
    let input = Input {
        stream: input,
        ended: Arc::clone(&input_ended),
    };
    let ending = Ending {
        input_ended: Arc::clone(&input_ended),
        leaving: shared.leaving.clone(),
        closing: closing.clone(),
    };
    let transport = LineTransport::start(input, output, shared.unread.clone(), ending);
    let served = serve_server_with_ct(Handler::new(shared), transport, closing).await;
    let outcome = match served {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        Err(error) => opening_failed(&error),
    };
    leaving.abort();
    outcome.map(|()| input_ended.get().copied())
}

/// A client that leaves before it said anything is no fault.
fn opening_failed(error: &rmcp::service::ServerInitializeError) -> Result<(), ServeError> {
    use rmcp::service::ServerInitializeError as Cause;
    match error {
        Cause::ConnectionClosed(_) | Cause::Cancelled => Ok(()),
        other => Err(ServeError::Opening(other.to_string())),
    }
}

/// What the client writes, and when it ended.
struct Input {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    ended: Arc<OnceLock<Instant>>,
}

/// What happens once the input has ended.
struct Ending {
    input_ended: Arc<OnceLock<Instant>>,
    /// Calls that still run must be answered now.
    leaving: CancellationToken,
    /// Whatever listens must end.
    closing: CancellationToken,
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

struct LineTransport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    /// Requests that were handed over, listeners aside, which are answered when all ends.
    unanswered: HashSet<rmcp::model::RequestId>,
    ending: Ending,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    reading: JoinHandle<()>,
    writing: Option<JoinHandle<()>>,
    unread: Unread,
}

impl LineTransport {
    fn start(
        input: Input,
        output: Box<dyn AsyncWrite + Send + Unpin>,
        unread: Unread,
        ending: Ending,
    ) -> Self {
        let (received, incoming) = mpsc::channel(LINES_AHEAD_MAX);
        let (outgoing, to_write) = mpsc::channel(LINES_AHEAD_MAX);
        let refusals = outgoing.clone();
        Self {
            incoming,
            unanswered: HashSet::new(),
            ending,
            outgoing: Some(outgoing),
            reading: tokio::spawn(read(input, received, refusals)),
            writing: Some(tokio::spawn(write(output, to_write))),
            unread,
        }
    }
}

impl LineTransport {
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

impl Drop for LineTransport {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Transport<RoleServer> for LineTransport {
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
        self.reading.abort();
        self.outgoing = None;
        if let Some(writing) = self.writing.take() {
            let _ = writing.await;
        }
        Ok(())
    }
}

async fn read(
    mut input: Input,
    received: mpsc::Sender<ClientJsonRpcMessage>,
    refusals: mpsc::Sender<Vec<u8>>,
) {
    let mut lines = Lines::new(LINE_BYTES_MAX);
    let mut revision = None;
    let mut is_open = false;
    loop {
        while let Some(line) = lines.next() {
            let messages = match line {
                Line::Text(text) => messages(text, &mut revision),
                Line::TooLong(skipped) => {
                    let text = format!("a message of {} bytes is too long", skipped.bytes);
                    let error = RpcError::new(code::INVALID_REQUEST, text);
                    vec![Err(refuse(None, &error))]
                }
            };
            for message in messages {
                is_open = is_open || message.as_ref().is_ok_and(opens);
                let sent = match message {
                    // There is nothing yet that it could be about, and `rmcp` would end the connection over it.
                    Ok(message) if !is_open && !is_request(&message) => true,
                    Ok(message) => received.send(message).await.is_ok(),
                    Err(refusal) => refusals.send(refusal.into()).await.is_ok(),
                };
                if !sent {
                    return;
                }
            }
        }
        match input.stream.read_buf(lines.space()).await {
            Ok(0) | Err(_) => {
                let _ = input.ended.set(Instant::now());
                return;
            }
            Ok(_) => {}
        }
    }
}

async fn write(mut output: Box<dyn AsyncWrite + Send + Unpin>, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

/// A line that says why a message is not taken.
type Refusal = String;

fn refuse(id: Option<&RequestId>, error: &RpcError) -> Refusal {
    message_text(&response_error(id, error))
}

fn is_request(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(_))
}

/// Whether `rmcp` takes the protocol for opened with this message, in one era or the other.
fn opens(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(JsonRpcRequest { request, .. }) = message else {
        return false;
    };
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        modern => {
            let modern = modern.get_meta();
            let lacks = modern.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            let version = modern.protocol_version();
            lacks.is_empty() && version.is_some_and(|version| VERSIONS.contains(&version))
        }
    }
}

/// The messages of one line; those of a batch are answered one by one. `revision` is what the client opened with.
fn messages(
    text: &[u8],
    revision: &mut Option<Revision>,
) -> Vec<Result<ClientJsonRpcMessage, Refusal>> {
    if !batch::is_one(text) {
        return vec![message(text, revision)];
    }
    match batch::messages(text, *revision) {
        Ok(messages) => {
            let messages = messages.iter();
            messages
                .map(|own| message(own.get().as_bytes(), revision))
                .collect()
        }
        Err(error) => vec![Err(refuse(None, &error))],
    }
}

/// One message as `rmcp` takes it.
fn message(text: &[u8], revision: &mut Option<Revision>) -> Result<ClientJsonRpcMessage, Refusal> {
    let (incoming, arguments) = parse_call(text).map_err(|fault| refuse(None, &refusal(&fault)))?;
    let id = match &incoming {
        Incoming::Request { id, .. } => Some(id.clone()),
        Incoming::Notification { .. } | Incoming::Response { .. } => None,
    };
    if let Incoming::Request { method, params, .. } = &incoming
        && method == method::INITIALIZE
    {
        let asked = params["protocolVersion"].as_str();
        *revision = Some(Revision::negotiate(asked));
    }
    taken(incoming, arguments, text).map_err(|error| refuse(id.as_ref(), &error))
}

fn taken(
    incoming: Incoming,
    arguments: Option<Box<RawValue>>,
    text: &[u8],
) -> Result<ClientJsonRpcMessage, RpcError> {
    match incoming {
        Incoming::Request { method, params, .. } if method == method::LISTEN => {
            let mut message = typed::read(text)?;
            if let ClientJsonRpcMessage::Request(JsonRpcRequest { request, .. }) = &mut message {
                request.extensions_mut().insert(TaskIds::of(&params));
            }
            Ok(message)
        }
        Incoming::Request { id, method, params } if raw::is_raw(&method) => {
            let mut message = typed::of_value(raw::stand_in(&id, &params))?;
            if let ClientJsonRpcMessage::Request(JsonRpcRequest { request, .. }) = &mut message {
                let beside = RawRequest::new(Content {
                    method,
                    params,
                    arguments,
                });
                request.extensions_mut().insert(beside);
            }
            Ok(message)
        }
        Incoming::Request { .. } | Incoming::Notification { .. } | Incoming::Response { .. } => {
            typed::read(text)
        }
    }
}

pub(crate) fn refusal(fault: &ShapeError) -> RpcError {
    let code = match fault {
        ShapeError::NotJson(_) => code::PARSE,
        ShapeError::TooDeep { .. }
        | ShapeError::NotMessage(_)
        | ShapeError::Wrong { .. }
        | ShapeError::UnknownResultType(_)
        | ShapeError::TooMany { .. } => code::INVALID_REQUEST,
    };
    RpcError::new(code, fault.to_string())
}
