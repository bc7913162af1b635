//! The demo over stdio: one line a message, each request in a task of its own.

use std::sync::Arc;

use onecall_mcp::{
    Era, Incoming, Line, Lines, RequestId, RpcError, code, message_text, meta, method,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Exchange};
use crate::limits::{OUTBOUND_MAX, REQUEST_BYTES_MAX};
use crate::server::{Demo, Options, ServeError, modern_revision};

/// Serves the process's own stdin and stdout until stdin closes.
pub async fn serve_stdio(options: Options) -> Result<(), ServeError> {
    serve_io(options, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves any pair of streams until the reader ends. Calls still running then are cancelled.
pub async fn serve_io(
    options: Options,
    mut reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), ServeError> {
    let demo = Arc::new(Demo::new(&options)?);
    let connection = Arc::new(Connection::default());
    let (outbound, queue) = mpsc::channel(OUTBOUND_MAX);
    let writing = tokio::spawn(write_lines(writer, queue));
    let tasks = TaskTracker::new();
    let telling = tokio::spawn(tell_changes(
        Arc::clone(&demo),
        Arc::clone(&connection),
        outbound.clone(),
    ));
    let mut lines = Lines::new(REQUEST_BYTES_MAX);
    let outcome = loop {
        while let Some(line) = lines.next() {
            let Line::Text(text) = line else {
                let error = RpcError::new(code::INVALID_REQUEST, "the message is too long");
                let _ = outbound
                    .send(onecall_mcp::response_error(None, &error))
                    .await;
                continue;
            };
            let (demo, connection) = (Arc::clone(&demo), Arc::clone(&connection));
            take(text, demo, connection, &outbound, &tasks).await;
        }
        match reader.read_buf(lines.space()).await {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(source) => break Err(ServeError::Serve { source }),
        }
    };
    connection.cancel_all();
    telling.abort();
    tasks.close();
    tasks.wait().await;
    drop(outbound);
    let _ = writing.await;
    outcome
}

async fn write_lines(mut writer: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Value>) {
    while let Some(message) = queue.recv().await {
        let line = message_text(&message);
        if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

/// A legacy client hears of changes on the connection itself.
async fn tell_changes(demo: Arc<Demo>, connection: Arc<Connection>, outbound: mpsc::Sender<Value>) {
    let mut changes = demo.changes();
    while let Some(change) = Demo::next(&mut changes).await {
        if connection.hears(&change) {
            let changed = change.notification(serde_json::json!({}));
            if outbound.send(changed).await.is_err() {
                return;
            }
        }
    }
}

async fn take(
    text: &[u8],
    demo: Arc<Demo>,
    connection: Arc<Connection>,
    outbound: &mpsc::Sender<Value>,
    tasks: &TaskTracker,
) {
    let (id, name, params) = match onecall_mcp::parse(text) {
        Ok(Incoming::Request { id, method, params }) => (id, method, params),
        Ok(Incoming::Notification { method, params }) => {
            return connection.notified(&method, &params);
        }
        Ok(Incoming::Response { id, outcome }) => {
            let answer = outcome
                .ok()
                .and_then(|raw| serde_json::from_str(raw.get()).ok());
            return connection.answered(
                id.as_ref(),
                answer.unwrap_or_else(crate::connection::refused),
            );
        }
        Err(fault) => {
            let error = RpcError::new(code::PARSE, fault.to_string());
            let _ = outbound
                .send(onecall_mcp::response_error(None, &error))
                .await;
            return;
        }
    };
    if name == method::INITIALIZE {
        let result = demo.initialize(&params, &connection);
        let _ = outbound.send(onecall_mcp::response(&id, &result)).await;
        return;
    }
    let (revision, capabilities) = match agreement(&params, &connection) {
        Ok(agreement) => agreement,
        Err(error) => {
            let _ = outbound
                .send(onecall_mcp::response_error(Some(&id), &error))
                .await;
            return;
        }
    };
    let cancel = connection.begin(&id);
    let outbound = outbound.clone();
    tasks.spawn(async move {
        let asked = (revision.era() == Era::Legacy).then_some(&*connection);
        let exchange = Exchange {
            id: RequestId::clone(&id),
            revision,
            capabilities,
            outbound: outbound.clone(),
            cancel,
            connection: asked,
        };
        if let Some(answer) = demo.answer(&name, &params, &exchange).await {
            let _ = outbound.send(answer).await;
        }
        connection.end(&id);
    });
}

/// The revision and capabilities that hold for one request: its own, or those of the handshake.
fn agreement(
    params: &Value,
    connection: &Connection,
) -> Result<(onecall_mcp::Revision, Value), RpcError> {
    if meta::get(params, meta::PROTOCOL_VERSION).is_some() {
        let capabilities = meta::get(params, meta::CLIENT_CAPABILITIES).cloned();
        return Ok((modern_revision(params)?, capabilities.unwrap_or_default()));
    }
    match connection.handshake() {
        Some(handshake) => Ok((handshake.revision, handshake.capabilities)),
        None => modern_revision(params).map(|revision| (revision, Value::Null)),
    }
}
