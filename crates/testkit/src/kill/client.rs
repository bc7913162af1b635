//! The callers of the kill test: plain calls over HTTP, each from a thread of its own, which remember the runs that
//! were reported to them as completed.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Limit: bytes of an answer that are looked at.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// A server that says nothing for so long does not answer any more.
const ANSWER_WAIT: Duration = Duration::from_mins(2);

#[derive(Default)]
pub(super) struct Client {
    callers: Vec<JoinHandle<()>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Client {
    /// Calls after a delay, and waits for the answer elsewhere.
    pub(super) fn call(&mut self, url: &str, tool: &str, arguments: &Value, delay: Duration) {
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let request = request(address, tool, arguments);
        let (address, told) = (address.to_owned(), Arc::clone(&self.told));
        self.callers.push(std::thread::spawn(move || {
            std::thread::sleep(delay);
            if let Some(run) = exchange(&address, &request) {
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                told.push(run);
            }
        }));
    }

    /// Waits for callers whose server is gone.
    pub(super) fn hang_up(&mut self) {
        for caller in self.callers.drain(..) {
            let _ = caller.join();
        }
    }

    /// The runs that were reported as completed.
    pub(super) fn told(&self) -> Vec<String> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.clone()
    }
}

fn request(address: &str, tool: &str, arguments: &Value) -> String {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "kill", "version": "0" },
            },
        },
    })
    .to_string();
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

/// The run that the answer reports as completed, if one came at all.
fn exchange(address: &str, request: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(ANSWER_WAIT)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_BYTES_MAX)
        .read_to_end(&mut answer)
        .ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (_, run) = answer.split_once(r#""dev.onecall/run":{"run_id":""#)?;
    let (run, _) = run.split_once('"')?;
    Some(run.to_owned())
}
