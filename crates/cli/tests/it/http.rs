//! A plain HTTP client for the tests of the binary: what was sent, and what came back, are in plain view.

use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// The last message of the body: all of it, or the last event of a stream.
    pub(crate) fn message(&self) -> Value {
        let of_line = |line: &str| {
            let text = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str::<Value>(text).ok()
        };
        let messages = self.body.lines().filter_map(of_line);
        let mut messages = messages.filter(Value::is_object);
        messages.next_back().unwrap_or_else(|| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub(crate) fn result(&self) -> Value {
        self.message()["result"].clone()
    }
}

/// Reads an answer to the end of its connection. `None`: the connection was closed without one.
pub(crate) fn read(mut stream: TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    })
}

/// Sends one request on a connection of its own.
pub(crate) fn send(
    url: &str,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> std::io::Result<TcpStream> {
    let rest = url.trim_start_matches("http://");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let (headers, length) = (headers.concat(), body.len());
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

/// Sends a request of the modern era.
pub(crate) fn send_modern(
    url: &str,
    method: &str,
    mut params: Value,
) -> std::io::Result<TcpStream> {
    let name = params["name"].as_str().or(params["uri"].as_str());
    let name = name.unwrap_or_default().to_owned();
    let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
    if !name.is_empty() {
        headers.push(("Mcp-Name", name.as_str()));
    }
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    send(url, "POST", &headers, &body.to_string())
}

pub(crate) fn modern(url: &str, method: &str, params: Value) -> Answer {
    let stream = send_modern(url, method, params).unwrap();
    read(stream).expect("an answer")
}

/// A session of the handshake era.
pub(crate) struct Session {
    url: String,
    id: String,
}

impl Session {
    pub(crate) fn open(url: &str) -> Self {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let stream = send(url, "POST", &[], &body.to_string()).unwrap();
        let opened = read(stream).expect("an answer");
        let id = opened.header("mcp-session-id");
        let session = Self {
            url: url.to_owned(),
            id: id.unwrap_or_else(|| panic!("{opened:?}")).to_owned(),
        };
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        read(session.post(&told)).expect("an answer");
        session
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) fn send(&self, method: &str, params: &Value) -> TcpStream {
        self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    fn post(&self, message: &Value) -> TcpStream {
        let headers = [
            ("MCP-Protocol-Version", LEGACY),
            ("Mcp-Session-Id", &*self.id),
        ];
        send(&self.url, "POST", &headers, &message.to_string()).unwrap()
    }
}
