//! Requests that mean harm, as one table: each is refused with its status, and after each of them somebody else's call
//! still works. `cargo test -p onecall-gateway --test it hostile -- --nocapture` prints the table.

use crate::client::{Answer, Http, MODERN};
use crate::owners::{ADA, BOB, able, two_owners};
use crate::world::{PATIENCE, World, configured};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// `relay` hands its argument to a tool; `approve` asks a person.
const TOOLS: &str = "
- name: relay
  description: Says what it is told
  parameters: {type: object, properties: {text: {type: string}}, required: [text]}
  steps:
  - {id: say, tool: demo_echo, arguments: {text: '{{ .params.text }}'}}
- name: approve
  description: Asks
  steps:
  - {id: sure, type: elicitation, message: Really?, schema: {type: object, properties: {name: {type: string}}}}
";

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

type Headers<'a> = &'a [(&'a str, &'a str)];

/// The table as it grows.
struct Table {
    world: World,
    bystander: Http,
    rows: Vec<String>,
    faults: Vec<String>,
}

impl Table {
    /// Notes what became of a request, and that it disturbed nobody.
    async fn row(&mut self, name: &str, wanted: &str, got: String) {
        let calm = json!({ "name": "relay", "arguments": { "text": "calm" } });
        let result = self.bystander.modern_result("tools/call", calm).await;
        let is_calm = result["structuredContent"]["text"] == "calm";
        let bystander = if is_calm { "served" } else { "DISTURBED" };
        self.rows.push(format!("{name:<44} {got:<44} {bystander}"));
        if got != wanted || !is_calm {
            let fault = format!("{name}: wanted `{wanted}`, got `{got}`, bystander {bystander}");
            self.faults.push(fault);
        }
    }

    /// The same for an answer of HTTP.
    async fn answered(&mut self, name: &str, wanted: &str, answer: Answer) {
        let got = said(answer).await;
        self.row(name, wanted, got).await;
    }

    /// The same for bytes on a connection of their own.
    async fn bytes(&mut self, name: &str, wanted: &str, request: &[u8]) {
        let got = on_the_wire(&self.world, request).await;
        self.row(name, wanted, got).await;
    }
}

/// Status, and the code of the error.
async fn said(mut answer: Answer) -> String {
    let status = answer.status.as_u16();
    let is_json = answer.headers.get("content-type");
    if is_json.is_none_or(|kind| kind.to_str().unwrap().starts_with("text/html")) {
        return status.to_string();
    }
    let body = answer.response().await;
    match (&body["error"]["code"], &body["result"]["isError"]) {
        (Value::Null, Value::Bool(true)) => {
            let code = &body["result"]["_meta"]["dev.onecall/error"]["code"];
            format!("{status} {}", code.as_str().unwrap())
        }
        (Value::Null, _) => status.to_string(),
        (code, _) => format!("{status} {code}"),
    }
}

/// Status of an answer to bytes as they are.
async fn on_the_wire(world: &World, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    // The server may hang up before it has read everything.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(PATIENCE, reading).await;
    let head = String::from_utf8_lossy(&answer);
    head.split(' ').nth(1).unwrap_or("hung up").to_owned()
}

/// The head of a POST, with further lines.
fn post(more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADA}\r\nconnection: close\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n{more}\r\n"
    )
}

fn modern(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] =
        json!({ "io.modelcontextprotocol/protocolVersion": MODERN, CAPABILITIES: {} });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

#[tokio::test]
async fn every_hostile_request_is_refused_and_disturbs_nobody() {
    let world = two_owners(configured(TOOLS)).await;
    let mut table = Table {
        bystander: Http::with_token(world.address, BOB),
        world,
        rows: Vec::new(),
        faults: Vec::new(),
    };
    let client = Http::with_token(table.world.address, ADA);
    callers(&mut table, &client).await;
    headers(&mut table, &client).await;
    messages(&mut table, &client).await;
    methods(&mut table, &client).await;
    names(&mut table, &client).await;
    questions(&mut table).await;
    owners(&mut table).await;
    sessions(&mut table).await;
    templates(&mut table).await;
    println!("{:<44} {:<44} bystander", "request", "answer");
    println!("{}", table.rows.join("\n"));
    assert!(table.faults.is_empty(), "{}", table.faults.join("\n"));
    assert!(table.rows.len() > 40, "{} rows", table.rows.len());
    table.world.end().await;
}

async fn callers(table: &mut Table, client: &Http) {
    let rows = [
        (
            "DNS rebinding: foreign Host",
            ("host", "evil.example"),
            "403 -32600",
        ),
        (
            "DNS rebinding: loopback as a label",
            ("host", "127.0.0.1.evil.example"),
            "403 -32600",
        ),
        (
            "foreign Origin",
            ("origin", "https://evil.example"),
            "403 -32600",
        ),
        ("opaque Origin", ("origin", "null"), "403 -32600"),
    ];
    for (name, header, wanted) in rows {
        let answer = client
            .send(Method::POST, "/mcp", &[JSON, BOTH, header], PING)
            .await;
        table.answered(name, wanted, answer).await;
    }
    let stranger = Http::new(table.world.address);
    let answer = stranger
        .send(Method::POST, "/mcp", &[JSON, BOTH], PING)
        .await;
    table.answered("no token", "401 -32600", answer).await;
    let wrong = Http::with_token(table.world.address, "ada-0123456789abcdeF");
    let answer = wrong.send(Method::POST, "/mcp", &[JSON, BOTH], PING).await;
    table
        .answered("a token with one other letter", "401 -32600", answer)
        .await;
    let twice = [JSON, BOTH, ("authorization", "Bearer bob-0123456789abcdef")];
    let answer = client.send(Method::POST, "/mcp", &twice, PING).await;
    table
        .answered("duplicate Authorization", "400 -32600", answer)
        .await;
}

/// Headers that are given twice, or say other than the body.
async fn headers(table: &mut Table, client: &Http) {
    let head = post("host: evil.example\r\ncontent-length: 0\r\n");
    table.bytes("duplicate Host", "400", head.as_bytes()).await;
    let head = post("content-length: 2\r\ncontent-length: 3\r\n");
    table
        .bytes("duplicate Content-Length", "400", head.as_bytes())
        .await;
    let session = ("mcp-session-id", "a");
    let answer = client
        .send(Method::POST, "/mcp", &[JSON, BOTH, session, session], PING)
        .await;
    table
        .answered("duplicate Mcp-Session-Id", "400 -32600", answer)
        .await;
    let version = ("mcp-protocol-version", MODERN);
    let older = ("mcp-protocol-version", "2025-11-25");
    for (of, method) in [("`rmcp`", "server/discover"), ("ours", "tools/list")] {
        for versions in [[version, older], [older, version], [version, version]] {
            let headers = [versions[0], versions[1], ("mcp-method", method)];
            let answer = client.post(&headers, &modern(method, &json!({}))).await;
            let name = format!("duplicate MCP-Protocol-Version, method of {of}");
            table.answered(&name, "400 -32020", answer).await;
        }
    }
    let headers = [
        version,
        ("mcp-method", "tools/call"),
        ("mcp-name", "relay"),
        ("mcp-name", "approve"),
    ];
    let answer = client
        .post(&headers, &modern("tools/call", &json!({ "name": "relay" })))
        .await;
    table
        .answered("duplicate Mcp-Name", "400 -32020", answer)
        .await;
    let answer = client
        .post(
            &headers[..3],
            &modern("tools/call", &json!({ "name": "approve" })),
        )
        .await;
    table
        .answered("a header that names another tool", "400 -32020", answer)
        .await;
}

async fn messages(table: &mut Table, client: &Http) {
    let declared = post("content-length: 104857600\r\n");
    table
        .bytes("100 MB body, announced", "413", declared.as_bytes())
        .await;
    let mut sent = post("transfer-encoding: chunked\r\n").into_bytes();
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 0x10_0000], b"\r\n"].concat();
    for _ in 0..100 {
        sent.extend_from_slice(&chunk);
    }
    table.bytes("100 MB body, in chunks", "413", &sent).await;
    let nested = |open: &str, close: &str| {
        let params = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#)
    };
    let rows = [
        ("deep JSON: lists", nested("[", "]"), "400 -32600"),
        ("deep JSON: objects", nested("{\"a\":", "}"), "400 -32600"),
        (
            "deep JSON, never closed",
            "[".repeat(1_000_000),
            "400 -32600",
        ),
        ("malformed JSON", "{\"jsonrpc\":".to_owned(), "400 -32700"),
        ("a body of nothing", String::new(), "400 -32700"),
        (
            "bytes that are no text",
            "\u{0}\u{1}".to_owned(),
            "400 -32700",
        ),
        ("a batch", format!("[{PING}]"), "400 -32600"),
        (
            "a method of ours",
            PING.replace("ping", "dev.onecall/raw"),
            "404 -32601",
        ),
    ];
    for (name, body, wanted) in rows {
        let answer = client.send(Method::POST, "/mcp", &[JSON, BOTH], body).await;
        table.answered(name, wanted, answer).await;
    }
}

async fn methods(table: &mut Table, client: &Http) {
    let text = [("content-type", "text/plain"), BOTH];
    let narrow = [JSON, ("accept", "application/json")];
    let modern = [
        ("mcp-protocol-version", MODERN),
        ("accept", "text/event-stream"),
    ];
    let lost = [JSON, BOTH, ("mcp-session-id", "nobody")];
    let rows: [(&str, Method, &str, Headers<'_>, &str); 7] = [
        (
            "a method HTTP does not have here",
            Method::PUT,
            "/mcp",
            &[BOTH],
            "405 -32600",
        ),
        (
            "a stream in the modern era",
            Method::GET,
            "/mcp",
            &modern,
            "405 -32600",
        ),
        (
            "an unknown path",
            Method::GET,
            "/mcp/../etc/passwd",
            &[BOTH],
            "404",
        ),
        (
            "an unknown session",
            Method::POST,
            "/mcp",
            &lost,
            "404 -32600",
        ),
        (
            "a stream of no session",
            Method::GET,
            "/mcp",
            &[("accept", "text/event-stream")],
            "400 -32600",
        ),
        (
            "an Accept without streams",
            Method::POST,
            "/mcp",
            &narrow,
            "406 -32600",
        ),
        (
            "another content type",
            Method::POST,
            "/mcp",
            &text,
            "415 -32600",
        ),
    ];
    for (name, method, path, headers, wanted) in rows {
        let answer = client.send(method, path, headers, PING).await;
        table.answered(name, wanted, answer).await;
    }
    let answer = client.send(Method::GET, "/answer/AAAA", &[], "").await;
    table
        .answered("an answer link nobody made", "404", answer)
        .await;
}

async fn names(table: &mut Table, client: &Http) {
    let version = ("mcp-protocol-version", MODERN);
    for (name, method, key) in [
        ("control characters in a tool's name", "tools/call", "name"),
        (
            "control characters in a prompt's name",
            "prompts/get",
            "name",
        ),
        (
            "control characters in a resource's URI",
            "resources/read",
            "uri",
        ),
    ] {
        let body = modern(method, &json!({ key: "a\u{0}\u{1b}[31m\r\nb" }));
        // Base64 of the same.
        let headers = [
            version,
            ("mcp-method", method),
            ("mcp-name", "=?base64?YQAbWzMxbQ0KYg==?="),
        ];
        let answer = client.post(&headers, &body).await;
        let status = if method == "tools/call" { 400 } else { 200 };
        let wanted = format!("{status} -32602");
        table.answered(name, &wanted, answer).await;
    }
    let head = post("mcp-name: a\u{1}b\r\ncontent-length: 0\r\n");
    table
        .bytes("control characters in a header", "400", head.as_bytes())
        .await;
    let head = "GET /status\u{1} HTTP/1.1\r\nhost: localhost\r\n\r\n";
    table
        .bytes("control characters in a path", "400", head.as_bytes())
        .await;
}

async fn questions(table: &mut Table) {
    let mut ada = Http::with_token(table.world.address, ADA);
    let call = json!({ "name": "approve", "_meta": { CAPABILITIES: { "elicitation": {} } } });
    let asked = ada.modern_result("tools/call", call.clone()).await;
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let answer = |state: &str, name: &str| {
        let mut call = call.clone();
        call["requestState"] = json!(state);
        call["inputResponses"] =
            json!({ "sure": { "action": "accept", "content": { "name": name } } });
        call
    };
    let mut tampered = state.clone().into_bytes();
    tampered[40] ^= 1;
    let tampered = String::from_utf8(tampered).unwrap();
    let refused = ada.modern("tools/call", answer(&tampered, "Ada")).await;
    table
        .answered("tampered requestState", "200 -32602", refused)
        .await;
    let mut other = answer(&state, "Ada");
    other["arguments"] = json!({ "more": 1 });
    let refused = ada.modern("tools/call", other).await;
    table
        .answered("requestState of another call", "200 -32602", refused)
        .await;
    let mut bob = Http::with_token(table.world.address, BOB);
    let refused = bob.modern("tools/call", answer(&state, "Eve")).await;
    table
        .answered("another owner's requestState", "200 -32602", refused)
        .await;
    ada.modern_result("tools/call", answer(&state, "Ada")).await;
    let refused = ada.modern("tools/call", answer(&state, "Eve")).await;
    table
        .answered("a replay with another answer", "200 -32602", refused)
        .await;
    let again = ada.modern("tools/call", answer(&state, "Ada")).await;
    table
        .answered("a replay with the same answer (attaches)", "200", again)
        .await;
}

async fn owners(table: &mut Table) {
    let mut ada = Http::with_token(table.world.address, ADA);
    let mut bob = Http::with_token(table.world.address, BOB);
    let pending = ada
        .modern_result("tools/call", json!({ "name": "approve" }))
        .await;
    let run = pending["_meta"]["dev.onecall/error"]["run_id"]
        .as_str()
        .unwrap();
    let fetch = json!({ "name": "workflow_result", "arguments": { "run_id": run } });
    let rows = [
        (
            "another owner's run",
            "tools/call",
            fetch,
            "200 input.invalid",
        ),
        (
            "another owner's run as a resource",
            "resources/read",
            json!({ "uri": format!("onecall://runs/{run}") }),
            "200 -32602",
        ),
        (
            "another owner's task: look",
            "tasks/get",
            able(json!({ "taskId": run })),
            "200 -32602",
        ),
        (
            "another owner's task: answer",
            "tasks/update",
            able(json!({ "taskId": run, "inputResponses": {} })),
            "200 -32602",
        ),
        (
            "another owner's task: cancel",
            "tasks/cancel",
            able(json!({ "taskId": run })),
            "200 -32602",
        ),
    ];
    for (name, method, params, wanted) in rows {
        let answer = bob.modern(method, params).await;
        table.answered(name, wanted, answer).await;
    }
    let text = pending["content"][0]["text"].as_str().unwrap();
    let (_, rest) = text.split_once(&table.world.address.to_string()).unwrap();
    let link = rest.split_whitespace().next().unwrap();
    let answer = bob.send(Method::GET, link, &[], "").await;
    table
        .answered("another owner's answer link", "404", answer)
        .await;
}

async fn sessions(table: &mut Table) {
    let mut ada = Http::with_token(table.world.address, ADA);
    let bob = Http::with_token(table.world.address, BOB);
    ada.initialize("2025-11-25", json!({})).await;
    let session = ("mcp-session-id", ada.session_headers()[0].1.to_owned());
    let session = (session.0, session.1.as_str());
    let stream = ("accept", "text/event-stream");
    let answer = bob
        .post(&[session], &serde_json::from_str(PING).unwrap())
        .await;
    table
        .answered("another owner's session: request", "404 -32600", answer)
        .await;
    let answer = bob.send(Method::GET, "/mcp", &[session, stream], "").await;
    table
        .answered("another owner's session: stream", "404 -32600", answer)
        .await;
    let answer = bob.send(Method::DELETE, "/mcp", &[session], "").await;
    table
        .answered("another owner's session: end", "404 -32600", answer)
        .await;
    ada.legacy_result("tools/list", json!({})).await;
}

/// Template syntax of every language, in every argument: it stays the text that it is.
async fn templates(table: &mut Table) {
    let texts = [
        (
            "a Go template",
            "{{ .params.text }}{{ printf \"%s\" .workflow.id }}",
        ),
        (
            "a template of a workflow file",
            "${{ env.HOME }} ${{ 1 + 1 }}",
        ),
        ("a template of a suite", "${var.x} ${env.HOME} $${x}"),
    ];
    let mut ada = Http::with_token(table.world.address, ADA);
    for (name, text) in texts {
        for (tool, of) in [("relay", "a workflow"), ("demo_echo", "a tool")] {
            let call = json!({ "name": tool, "arguments": { "text": text } });
            let result = ada.modern_result("tools/call", call).await;
            let said = match result.get("structuredContent") {
                Some(output) => &output["text"],
                None => &result["content"][0]["text"],
            };
            let is_text = said == text;
            let got = if is_text { "stays text" } else { "EVALUATED" };
            table
                .row(&format!("{name} for {of}"), "stays text", got.to_owned())
                .await;
        }
    }
}
