//! The kinds of client that a call is made by, each in its own way: what it is told and asked on the way, what it
//! answers, and what it gets.

use super::server;
use crate::client::{Answer, Http, MODERN, spelled};
use crate::stdio::{Pipe, connect_to};
use crate::world::{World, started};
use onecall_journal::MemoryStore;
use onecall_mcp::read_leniently;
use serde_json::{Value, json};

const DECLARED: &str = "io.modelcontextprotocol/clientCapabilities";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Answered past `rmcp`.
    Direct,
    /// Modern as well, with all that it hears of its call.
    Modern,
    Session,
    ModernLines,
    SessionLines,
}

pub(super) const ALL: [Kind; 5] = [
    Kind::Direct,
    Kind::Modern,
    Kind::Session,
    Kind::ModernLines,
    Kind::SessionLines,
];

/// Calls `t` at a backend that answers so. What was said before the result stands before it, a line each; a question is
/// answered with `answer`, in a session with the error of an `answer` that holds one.
pub(super) async fn call(kind: Kind, answers: &[(&str, String)], answer: &Value) -> Vec<String> {
    match kind {
        Kind::Direct | Kind::Modern | Kind::Session => {
            let world = World::serving(server(answers)).await;
            let client = Http::new(world.address);
            let told = match kind {
                Kind::Session => session(client, answer).await,
                _ => modern(client, kind, answer).await,
            };
            world.end().await;
            told
        }
        Kind::ModernLines | Kind::SessionLines => {
            let runtime = started(server(answers), &MemoryStore::default()).await;
            let mut pipe = connect_to(runtime).await;
            let told = match kind {
                Kind::SessionLines => session_lines(&mut pipe, answer).await,
                _ => modern_lines(&mut pipe, answer).await,
            };
            pipe.rest().await;
            told
        }
    }
}

fn capabilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

/// The call with what a client of the modern era says in it.
fn modern_call(kind: Kind) -> Value {
    let mut meta = json!({ DECLARED: capabilities() });
    if kind != Kind::Direct {
        meta["progressToken"] = json!("p");
        meta["io.modelcontextprotocol/logLevel"] = json!("debug");
    }
    json!({ "name": "t", "arguments": {}, "_meta": meta })
}

/// The call once more, if it was answered with questions.
fn answered(mut call: Value, told: &str, answer: &Value) -> Option<Value> {
    let told: Value = read_leniently(told).unwrap();
    let asked = told["result"]["inputRequests"].as_object()?;
    let answers = asked.keys().map(|key| (key.clone(), answer.clone()));
    call["inputResponses"] = Value::Object(answers.collect());
    call["requestState"] = told["result"]["requestState"].clone();
    Some(call)
}

async fn modern(mut client: Http, kind: Kind, answer: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let mut next = Some(modern_call(kind));
    while let Some(call) = next {
        let mut response = client.modern("tools/call", call.clone()).await;
        if response.is_stream() {
            while let Some(message) = response.next_text().await {
                told.push(message);
            }
        } else {
            told.push(response.text().await);
        }
        next = answered(call, told.last().unwrap(), answer);
    }
    told
}

async fn session(mut client: Http, answer: &Value) -> Vec<String> {
    client.initialize("2025-11-25", capabilities()).await;
    let level = json!({ "level": "debug" });
    client.legacy_result("logging/setLevel", level).await;
    let call = json!({ "name": "t", "arguments": {}, "_meta": { "progressToken": "p" } });
    let mut stream: Answer = client.legacy("tools/call", call).await;
    let mut told = Vec::new();
    while let Some(message) = stream.next_text().await {
        if let Some(id) = question(&message) {
            let reply = reply(&id, answer);
            let taken = client.post(&client.session_headers(), &reply).await;
            assert_eq!(taken.status, 202);
        }
        told.push(message);
    }
    told
}

/// The answer to a question, as it is sent.
fn reply(id: &Value, answer: &Value) -> Value {
    match answer.get("error") {
        Some(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        None => json!({ "jsonrpc": "2.0", "id": id, "result": answer }),
    }
}

/// The id of a message that is a request.
fn question(message: &str) -> Option<Value> {
    let message: Value = read_leniently(message).unwrap();
    message.get("method")?;
    message.get("id").cloned()
}

const UPDATED: &str = "notifications/resources/updated";

/// What a client is told of a resource that it watches, and the id of the request with which it does.
pub(super) async fn update(kind: Kind, answers: &[(&str, String)], uri: &str) -> (String, i64) {
    match kind {
        Kind::Direct | Kind::Modern | Kind::Session => {
            let world = World::serving(server(answers)).await;
            let mut client = Http::new(world.address);
            let mut stream = if kind == Kind::Session {
                client.initialize("2025-11-25", capabilities()).await;
                let stream = client.get().await;
                let params = json!({ "uri": uri });
                client.legacy_result("resources/subscribe", params).await;
                stream
            } else {
                let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
                client.modern("subscriptions/listen", params).await
            };
            let told = loop {
                let message = stream.next_text().await.unwrap();
                if message.contains(UPDATED) {
                    break message;
                }
            };
            let id = client.last_id();
            world.end().await;
            (told, id)
        }
        Kind::ModernLines | Kind::SessionLines => (update_line(kind, answers, uri).await, 7),
    }
}

async fn update_line(kind: Kind, answers: &[(&str, String)], uri: &str) -> String {
    let runtime = started(server(answers), &MemoryStore::default()).await;
    let mut pipe = connect_to(runtime).await;
    let (method, params) = if kind == Kind::SessionLines {
        open_lines(&mut pipe, capabilities()).await;
        ("resources/subscribe", json!({ "uri": uri }))
    } else {
        let params = json!({ "_meta": {}, "notifications": { "resourceSubscriptions": [uri] } });
        ("subscriptions/listen", in_modern(params))
    };
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    pipe.write(&request.to_string()).await;
    let line = loop {
        let line = pipe.next_line().await;
        if line.contains(UPDATED) {
            break line;
        }
    };
    pipe.rest().await;
    line
}

/// The handshake of a client with these capabilities.
pub(super) async fn open_lines(pipe: &mut Pipe, capabilities: Value) {
    let opening = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "test", "version": "1" } });
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening });
    pipe.write(&opening.to_string()).await;
    pipe.next_line().await;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    pipe.write(&ready.to_string()).await;
}

async fn session_lines(pipe: &mut Pipe, answer: &Value) -> Vec<String> {
    open_lines(pipe, capabilities()).await;
    let level = json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel",
        "params": { "level": "debug" } });
    pipe.write(&level.to_string()).await;
    pipe.next_line().await;
    let call = json!({ "name": "t", "arguments": {}, "_meta": { "progressToken": "p" } });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call });
    pipe.write(&call.to_string()).await;
    let mut told = Vec::new();
    loop {
        let line = pipe.next_line().await;
        told.push(line.clone());
        if let Some(id) = question(&line) {
            pipe.write(&spelled(&reply(&id, answer))).await;
        } else if is_answer(&line) {
            return told;
        }
    }
}

fn is_answer(line: &str) -> bool {
    let message: Value = read_leniently(line).unwrap();
    message.get("method").is_none()
}

/// Parameters with what the modern era wants in them; over HTTP the client adds it.
fn in_modern(mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    if meta[DECLARED].is_null() {
        meta[DECLARED] = json!({});
    }
    params
}

async fn modern_lines(pipe: &mut Pipe, answer: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let mut next = Some(in_modern(modern_call(Kind::ModernLines)));
    while let Some(call) = next {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call });
        pipe.write(&spelled(&request)).await;
        loop {
            told.push(pipe.next_line().await);
            if is_answer(told.last().unwrap()) {
                break;
            }
        }
        next = answered(call, told.last().unwrap(), answer);
    }
    told
}
