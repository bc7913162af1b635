//! The least that a client must do, over one kept connection: write a request, read the answer, parse it.

use crate::Failed;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin};
use tokio::sync::oneshot;

const REVISION: &str = "2026-07-28";

/// A call of a tool, ready to be sent again and again.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

impl Call {
    pub(crate) fn new(tool: &str, arguments: Value) -> Self {
        let tool = tool.to_owned();
        Self { tool, arguments }
    }

    fn message(&self, id: u64) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": self.tool, "arguments": self.arguments, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    }
}

/// Takes the result of a call out of its answer; one that says it failed is no figure.
fn result_of(answer: &Value) -> Result<(), Failed> {
    let result = answer.get("result").ok_or_else(|| answer.to_string())?;
    if result["isError"] == true {
        return Err(answer.to_string().into());
    }
    Ok(())
}

/// One kept connection over HTTP.
pub(crate) struct Http {
    host: String,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer: its head in small letters, and its body.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Http {
    pub(crate) async fn open(address: &str) -> Result<Self, Failed> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            host: address.to_owned(),
            stream,
            buffer: Vec::new(),
        })
    }

    pub(crate) async fn call(&mut self, call: &Call) -> Result<(), Failed> {
        let headers = format!(
            "mcp-protocol-version: {REVISION}\r\nmcp-method: tools/call\r\nmcp-name: {}\r\n",
            call.tool
        );
        let answer = self.post(&headers, &call.message(1)).await?;
        result_of(&serde_json::from_slice(&answer.body)?)
    }

    /// Opens a session of the handshake era and keeps its stream open.
    pub(crate) async fn open_session(&mut self) -> Result<(), Failed> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        let initialize =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let opened = self.post("", &initialize).await?;
        let session = opened.header("mcp-session-id").ok_or("no session")?;
        let headers = format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n");
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(&headers, &initialized).await?;
        let host = &self.host;
        let request = format!(
            "GET /mcp HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n{headers}\r\n"
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        let head = self.head().await?;
        if !String::from_utf8_lossy(&self.buffer[..head]).contains(" 200 ") {
            return Err("the session has no stream".into());
        }
        Ok(())
    }

    async fn post(&mut self, headers: &str, body: &Value) -> Result<Answer, Failed> {
        let (host, body) = (&self.host, body.to_string());
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<Answer, Failed> {
        self.buffer.clear();
        let end = self.head().await?;
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        let mut answer = Answer {
            head,
            body: Vec::new(),
        };
        let is_whole = |body: &[u8]| match answer.header("content-length") {
            Some(length) => length
                .parse()
                .is_ok_and(|length: usize| body.len() >= length),
            None if answer.header("transfer-encoding").is_some() => body.ends_with(b"0\r\n\r\n"),
            None => true,
        };
        while !is_whole(&self.buffer[end..]) {
            self.read().await?;
        }
        answer.body = self.buffer[end..].to_vec();
        Ok(answer)
    }

    /// Reads to the end of the head, and says where it is.
    async fn head(&mut self) -> Result<usize, Failed> {
        loop {
            let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                return Ok(end + 4);
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> Result<(), Failed> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(())
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let named = |line: &str| line.split_once(": ").is_some_and(|(own, _)| own == name);
        let line = self.head.lines().find(|line| named(line))?;
        line.split_once(": ").map(|(_, value)| value)
    }
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

/// A child process that is spoken to over its input and output, by several callers at once.
pub(crate) struct Lines {
    input: tokio::sync::Mutex<(u64, ChildStdin)>,
    waiting: Waiting,
    _child: Child,
}

impl Lines {
    pub(crate) fn open(mut child: Child) -> Result<Self, Failed> {
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        let waiting = Waiting::default();
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                let id = answer["id"].as_u64().unwrap_or_default();
                let waits = answered
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
                if let Some(waits) = waits {
                    let _ = waits.send(answer);
                }
            }
        });
        Ok(Self {
            input: tokio::sync::Mutex::new((0, input)),
            waiting,
            _child: child,
        })
    }

    pub(crate) async fn call(&self, call: &Call) -> Result<(), Failed> {
        let (answer, answered) = oneshot::channel();
        {
            let mut input = self.input.lock().await;
            input.0 += 1;
            let id = input.0;
            let waiting = self.waiting.lock();
            waiting
                .unwrap_or_else(PoisonError::into_inner)
                .insert(id, answer);
            let line = format!("{}\n", call.message(id));
            input.1.write_all(line.as_bytes()).await?;
        }
        result_of(&answered.await?)
    }
}
