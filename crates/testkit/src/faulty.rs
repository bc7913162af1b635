//! MCP servers with faults. Here one over HTTP that does what it is told, byte for byte, and counts connections and
//! requests; in `child` one over stdio. What a client makes of them is for its own tests.
#![expect(
    clippy::unwrap_used,
    reason = "a server of tests: what fails here fails the test"
)]

pub mod child;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub verb: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

/// What the server does with a request.
#[derive(Debug)]
pub enum Reply {
    /// A JSON body with this status and further headers.
    Json(u16, Vec<(&'static str, String)>, Value),
    /// Events, then the end of the body.
    Events(Vec<String>),
    /// Events one by one in chunks, then the end of the body, as servers write what they tell while it happens.
    Chunks(Vec<String>),
    /// These bytes as they are, then the connection is closed.
    Raw(Vec<u8>),
    /// These bytes again and again.
    Endless(String, Vec<u8>),
    /// The head, then one byte now and then, never the end.
    Drip,
    /// Nothing, and the connection stays open.
    Hang,
}

#[derive(Debug)]
pub struct Server {
    pub url: String,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (reply, counted, noted) =
            (Arc::new(reply), Arc::clone(&connections), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream, Arc::clone(&reply), Arc::clone(&noted)));
            }
        });
        Self {
            url,
            connections,
            seen,
            task,
        }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Methods of the messages POSTed so far.
    pub fn methods(&self) -> Vec<String> {
        let posted = self.seen().into_iter().filter(|seen| seen.verb == "POST");
        posted
            .map(|seen| seen.body["method"].as_str().unwrap_or("-").to_owned())
            .collect()
    }
}

async fn serve<F: Fn(&Seen) -> Reply>(
    mut stream: TcpStream,
    reply: Arc<F>,
    noted: Arc<Mutex<Vec<Seen>>>,
) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(seen) = read_request(&mut stream, &mut buffer).await {
        noted.lock().unwrap().push(seen.clone());
        if !write_reply(&mut stream, reply(&seen)).await {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let verb = lines.next()?.split(' ').next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while buffer.len() < head_end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let text = &buffer[head_end + 4..head_end + 4 + length];
    let body = serde_json::from_slice(text);
    let text = String::from_utf8_lossy(text).into_owned();
    buffer.drain(..head_end + 4 + length);
    Some(Seen {
        verb,
        headers,
        body: body.unwrap_or_default(),
        text,
    })
}

/// False where the connection is over.
async fn write_reply(stream: &mut TcpStream, reply: Reply) -> bool {
    match reply {
        Reply::Json(status, headers, value) => {
            let body = if value.is_null() {
                String::new()
            } else {
                value.to_string()
            };
            let more: Vec<_> = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let more = more.concat();
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(text.as_bytes()).await.is_ok()
        }
        Reply::Events(events) => {
            let body: String = events.concat();
            let length = body.len();
            let text = format!(
                "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(text.as_bytes()).await.is_ok()
        }
        Reply::Chunks(events) => {
            let head = "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = |event: &String| format!("{:x}\r\n{event}\r\n", event.len());
            let chunks = events.iter().map(chunk);
            for text in [head.to_owned()].into_iter().chain(chunks) {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return false;
                }
            }
            stream.write_all(b"0\r\n\r\n").await.is_ok()
        }
        Reply::Raw(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            false
        }
        Reply::Endless(head, chunk) => {
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&chunk).await.is_ok() {}
            false
        }
        Reply::Drip => {
            let head =
                "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            false
        }
        Reply::Hang => {
            let _ = tokio::io::copy(stream, &mut tokio::io::sink()).await;
            false
        }
    }
}

/// A well-behaved modern server with one tool `do`; `call` decides what a call gets.
pub fn modern(call: impl Fn(&Seen) -> Reply) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let result = match seen.body["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }),
            "tools/list" => json!({ "tools": [{ "name": "do" }] }),
            "tools/call" => return call(seen),
            _ => {
                return Reply::Json(
                    404,
                    Vec::new(),
                    answer(seen, "error", json!({ "code": -32601 })),
                );
            }
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", result))
    }
}

/// A JSON-RPC answer to a request.
pub fn answer(seen: &Seen, key: &str, value: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": seen.body["id"] });
    message[key] = value;
    message
}

pub fn done(seen: &Seen) -> Reply {
    Reply::Json(
        200,
        Vec::new(),
        answer(seen, "result", json!({ "content": [] })),
    )
}
