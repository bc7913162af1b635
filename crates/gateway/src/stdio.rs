//! The face over standard input and output: lines of JSON, both eras, ends with the input.
//! Reading and writing have tasks of their own, so that nothing is lost when the handler turns to other work.

mod end;

use crate::limits::{GRACE, LINE_BYTES_MAX, LINES_AHEAD_MAX};
use crate::listen::TaskIds;
use crate::options::{ServeError, StdioOptions};
use crate::raw::{self, Content, RawRequest};
use crate::server::{Connection, Handler, Setup, Shared, VERSIONS};
use crate::unread::Unread;
use crate::{batch, typed};
use end::{End, Ending};
use futures::future::BoxFuture;
use onecall_mcp::{
    Incoming, Line, Lines, RequestId, Revision, RpcError, ShapeError, Written, code, id_of,
    message_text, method, parse_call, response_error,
};
use onecall_runtime::runtime::Runtime;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta as _,
    JsonRpcMessage, JsonRpcRequest, ProtocolVersion,
};
use rmcp::service::serve_server_with_ct;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

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
        hides_links: options.hides_links,
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
        unread: shared.unread.clone(),
    };
    let served = serve_eras(&shared, input, output, &closing).await;
    leaving.abort();
    served.map(|()| input_ended.get().copied())
}

/// Serves both eras of one client. Each has a connection of its own as far as `rmcp` is concerned, which refuses one
/// era where the other came first.
async fn serve_eras(
    shared: &Arc<Shared>,
    input: Input,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    closing: &CancellationToken,
) -> Result<(), ServeError> {
    let (outgoing, to_write) = mpsc::channel(LINES_AHEAD_MAX);
    let writing = tokio::spawn(write(output, to_write));
    // It is one client, whichever era it speaks.
    let handler = Handler::new(Arc::clone(shared));
    let open = || {
        let (received, incoming) = mpsc::channel(LINES_AHEAD_MAX);
        let closing = closing.child_token();
        let ending = Ending {
            input_ended: Arc::clone(&input.ended),
            leaving: shared.leaving.clone(),
            closing: closing.clone(),
        };
        let end = End::new(incoming, outgoing.clone(), shared.unread.clone(), ending);
        let serving = Box::pin(serve_era(handler.clone(), end, closing));
        (Way::new(received), serving)
    };
    let ((modern, serving_modern), (handshake, serving_handshake)) = (open(), open());
    let ways = Ways { modern, handshake };
    let reading = AbortOnDropHandle::new(tokio::spawn(read(input, ways, outgoing)));
    tokio::try_join!(serving_modern, serving_handshake)?;
    // It holds the last way to the output, which ends with what was written.
    reading.abort();
    drop(reading);
    let _ = writing.await;
    Ok(())
}

async fn serve_era(
    handler: Handler,
    end: End,
    closing: CancellationToken,
) -> Result<(), ServeError> {
    match serve_server_with_ct(handler, end, closing).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        Err(error) => opening_failed(&error),
    }
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
    /// How its answers go through `rmcp`.
    unread: Unread,
}

/// Where the messages of each era go.
struct Ways {
    modern: Way,
    handshake: Way,
}

struct Way {
    received: mpsc::Sender<ClientJsonRpcMessage>,
    /// The protocol was opened here. Before, there is nothing that a message without an answer could be about, and
    /// `rmcp` would end the connection over it.
    is_open: bool,
}

impl Way {
    fn new(received: mpsc::Sender<ClientJsonRpcMessage>) -> Self {
        Self {
            received,
            is_open: false,
        }
    }

    async fn pass(&self, message: ClientJsonRpcMessage) -> bool {
        self.received.send(message).await.is_ok()
    }
}

impl Ways {
    /// Hands a message over to its era; `false` where nobody takes it any more.
    async fn pass(&mut self, message: ClientJsonRpcMessage) -> bool {
        match &message {
            JsonRpcMessage::Request(request) => {
                let way = if self.is_of_handshake(&request.request) {
                    &mut self.handshake
                } else {
                    &mut self.modern
                };
                way.is_open = way.is_open || opens(&request.request);
                way.pass(message).await
            }
            JsonRpcMessage::Notification(notification) => {
                let notification = &notification.notification;
                let is_of_both =
                    matches!(notification, ClientNotification::CancelledNotification(_));
                if is_of_both && self.modern.is_open && !self.modern.pass(message.clone()).await {
                    return false;
                }
                !self.handshake.is_open || self.handshake.pass(message).await
            }
            // Only handshake clients are asked.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                !self.handshake.is_open || self.handshake.pass(message).await
            }
        }
    }

    /// A modern request says so itself.
    fn is_of_handshake(&self, request: &ClientRequest) -> bool {
        let says_version = || request.get_meta().protocol_version().is_some();
        matches!(request, ClientRequest::InitializeRequest(_))
            || (self.handshake.is_open && !says_version())
    }
}

async fn read(mut input: Input, mut ways: Ways, refusals: mpsc::Sender<Vec<u8>>) {
    let mut lines = Lines::new(LINE_BYTES_MAX);
    let mut revision = None;
    loop {
        while let Some(line) = lines.next() {
            let messages = match line {
                Line::Text(text) => messages(text, &mut revision, &input.unread),
                Line::TooLong(skipped) => {
                    let text = format!("a message of {} bytes is too long", skipped.bytes);
                    let error = RpcError::new(code::INVALID_REQUEST, text);
                    vec![Err(refuse(None, &error))]
                }
            };
            for message in messages {
                let sent = match message {
                    Ok(message) => ways.pass(message).await,
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

/// Whether `rmcp` takes the protocol for opened with this request, in one era or the other.
fn opens(request: &ClientRequest) -> bool {
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
    unread: &Unread,
) -> Vec<Result<ClientJsonRpcMessage, Refusal>> {
    if !batch::is_one(text) {
        return vec![message(text, revision, unread)];
    }
    match batch::messages(text, *revision) {
        Ok(messages) => {
            let messages = messages.iter();
            messages
                .map(|own| message(own.get().as_bytes(), revision, unread))
                .collect()
        }
        Err(error) => vec![Err(refuse(None, &error))],
    }
}

/// One message as `rmcp` takes it.
fn message(
    text: &[u8],
    revision: &mut Option<Revision>,
    unread: &Unread,
) -> Result<ClientJsonRpcMessage, Refusal> {
    let (incoming, written) =
        parse_call(text).map_err(|fault| refuse(id_of(text).as_ref(), &refusal(&fault)))?;
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
    taken(incoming, written, text, unread).map_err(|error| refuse(id.as_ref(), &error))
}

fn taken(
    incoming: Incoming,
    written: Written,
    text: &[u8],
    unread: &Unread,
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
                    written,
                });
                request.extensions_mut().insert(beside);
            }
            Ok(message)
        }
        Incoming::Response {
            id: Some(id),
            outcome,
        } => typed::of_value(unread.answer(&id, &outcome)),
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
