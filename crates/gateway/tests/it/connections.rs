//! Connections on the wire: what is answered in place and what goes through the router look the same to clients, and
//! both may come on one connection in any order.

use crate::client::MODERN;
use crate::world::{PATIENCE, World};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The lines of a usual head, by name.
const USUAL: [(&str, &str); 6] = [
    ("host", "localhost"),
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-protocol-version", MODERN),
    ("mcp-method", "tools/call"),
    ("mcp-name", "demo_add"),
];

fn call(tool: &str, more: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "wire", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = json!({ "name": tool, "arguments": { "a": 1, "b": 2 }, "_meta": meta });
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// A usual call, with a header that is changed, left out or added.
fn request(line: &str, changed: &[(&str, Option<&str>)], body: &str) -> String {
    let mut text = format!("{line}\r\n");
    let is_changed = |name: &str| {
        changed
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(name))
    };
    for (name, value) in USUAL.iter().filter(|(name, _)| !is_changed(name)) {
        text.extend([name, ": ", value, "\r\n"]);
    }
    for (name, value) in changed {
        if let Some(value) = value {
            text.extend([name, ": ", value, "\r\n"]);
        }
    }
    if !is_changed("content-length") {
        let length = body.len().to_string();
        text.extend(["content-length: ", &length, "\r\n"]);
    }
    format!("{text}\r\n{body}")
}

const POST: &str = "POST /mcp HTTP/1.1";

fn usual() -> String {
    request(POST, &[], &call("demo_add", &Value::Null))
}

/// Sends the pieces one after the other and reads to the end of the connection.
async fn answers(world: &World, pieces: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in pieces {
        // The server may hang up before it has read everything.
        if stream.write_all(piece).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(PATIENCE, reading).await.unwrap();
    without_chance(&String::from_utf8(answer).unwrap())
}

/// What does not differ from one time to the next.
fn without_chance(answer: &str) -> String {
    let lines = answer.split("\r\n");
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("date: ")).collect();
    let mut text = lines.join("\r\n");
    let named = "\"run_id\":\"";
    for (start, _) in text.clone().match_indices(named) {
        let id = start + named.len();
        text.replace_range(id..id + 33, &"r".repeat(33));
    }
    text
}

/// Ends the connection behind whatever was asked.
const LAST: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

fn variants() -> Vec<(&'static str, String)> {
    let body = call("demo_add", &Value::Null);
    let with = |name: &str, value: Option<&str>| request(POST, &[(name, value)], &body);
    let named = |tool: &str| request(POST, &[("mcp-name", Some(tool))], &call(tool, &Value::Null));
    let progress = json!({ "_meta": { "progressToken": 1 } });
    let mut requests = vec![
        ("usual", usual()),
        ("a workflow", named("nothing")),
        ("no such tool", named("nowhere")),
        ("a tool that fails", named("demo_fail")),
        (
            "large letters",
            usual()
                .replace("mcp-name", "MCP-Name")
                .replace("host:", "HOST:"),
        ),
        ("another name", with("mcp-name", Some("demo_echo"))),
        ("no name", with("mcp-name", None)),
        ("another method", with("mcp-method", Some("tools/list"))),
        (
            "a name twice",
            usual().replace("mcp-name", "mcp-name: demo_add\r\nmcp-name"),
        ),
        (
            "a host twice",
            usual().replace("host:", "host: localhost\r\nhost:"),
        ),
        ("no host", with("host", None)),
        ("a foreign host", with("host", Some("evil.example"))),
        (
            "a foreign origin",
            with("origin", Some("http://evil.example")),
        ),
        (
            "an own origin",
            with("origin", Some("http://localhost:3000")),
        ),
        ("takes no events", with("accept", Some("application/json"))),
        ("no JSON", with("content-type", Some("text/plain"))),
        (
            "an old revision",
            with("mcp-protocol-version", Some("2025-11-25")),
        ),
        (
            "a trace",
            with(
                "traceparent",
                Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ),
        ),
        ("progress", request(POST, &[], &call("demo_add", &progress))),
        ("keep-alive", with("connection", Some("keep-alive"))),
    ];
    requests.extend(odd(&body));
    requests
}

/// What no client of ours sends.
fn odd(body: &str) -> Vec<(&'static str, String)> {
    let with = |name: &str, value: Option<&str>| request(POST, &[(name, value)], body);
    vec![
        (
            "much for nobody",
            request("POST /nothing HTTP/1.1", &[], &"x".repeat(6_000)),
        ),
        (
            "a head alone",
            "HEAD /health HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        ),
        (
            "an empty line before",
            format!("\r\n{}", request(POST, &[], body)),
        ),
        (
            "a body where none is wanted",
            "GET /health HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\nhi".to_owned(),
        ),
        (
            "an older HTTP that stays",
            request(
                "POST /mcp HTTP/1.0",
                &[("connection", Some("keep-alive"))],
                body,
            ),
        ),
        ("another path", request("POST /nothing HTTP/1.1", &[], body)),
        ("a query", request("POST /mcp?a=1 HTTP/1.1", &[], body)),
        ("another verb", request("PUT /mcp HTTP/1.1", &[], body)),
        ("no message", request(POST, &[], "{")),
        ("a batch", request(POST, &[], &format!("[{body}]"))),
        (
            "many headers",
            with("x", Some("y")).replace("x: y\r\n", &"x: y\r\n".repeat(50)),
        ),
        ("a header with a blank", with("x y", Some("z"))),
        (
            "a body that is too long",
            with("content-length", Some("99999999")),
        ),
        ("no number", with("content-length", Some("+7"))),
        (
            "two lengths",
            usual().replace("content-length", "content-length: 1\r\ncontent-length"),
        ),
        ("an older HTTP", request("POST /mcp HTTP/1.0", &[], body)),
        ("no HTTP", "hello\r\n\r\n".to_owned()),
    ]
}

#[tokio::test]
async fn what_is_answered_in_place_is_answered_as_the_router_answers_it() {
    let world = World::start().await;
    for (name, request) in variants() {
        let bytes = [request.as_bytes(), LAST.as_bytes()].concat();
        let at_once = answers(&world, &[&bytes]).await;
        // What comes in many small pieces is left to the router from its first byte on.
        let (start, rest) = bytes.split_at(20.min(bytes.len()));
        let mut pieces: Vec<&[u8]> = start.chunks(1).collect();
        pieces.push(rest);
        let in_pieces = answers(&world, &pieces).await;
        assert!(at_once.starts_with("HTTP/1."), "{name}: {at_once}");
        assert_eq!(at_once, in_pieces, "{name}");
    }
    world.end().await;
}

#[tokio::test]
async fn chunks_and_expectations_are_left_to_the_router() {
    let world = World::start().await;
    let body = call("demo_add", &Value::Null);
    let chunked = request(
        POST,
        &[
            ("content-length", None),
            ("transfer-encoding", Some("chunked")),
        ],
        &format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
    );
    let expects = request(POST, &[("expect", Some("100-continue"))], &body);
    for (request, wanted) in [
        (chunked, "HTTP/1.1 200 OK"),
        (expects, "HTTP/1.1 100 Continue"),
    ] {
        let answer = answers(&world, &[format!("{request}{LAST}").as_bytes()]).await;
        assert!(answer.starts_with(wanted), "{answer}");
        assert_eq!(answer.matches("\"sum\":3").count(), 1, "{answer}");
        assert!(answer.ends_with("ok\n"), "{answer}");
    }
    world.end().await;
}

#[tokio::test]
async fn every_kind_of_message_may_come_on_one_connection() {
    let world = World::start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {
        "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {} } } });
    let lists = request(
        POST,
        &[("mcp-method", Some("tools/list")), ("mcp-name", None)],
        &list.to_string(),
    );
    let health = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned();
    let in_order = [
        usual(),
        lists.clone(),
        usual(),
        usual(),
        health.clone(),
        lists,
        usual(),
        health,
    ];
    let said = format!("{}{LAST}", in_order.concat());
    // All at once, in pieces of any size, and each by itself.
    let halves: Vec<&[u8]> = said.as_bytes().chunks(said.len() / 7).collect();
    let messages: Vec<&[u8]> = in_order
        .iter()
        .map(String::as_bytes)
        .chain([LAST.as_bytes()])
        .collect();
    for pieces in [vec![said.as_bytes()], halves, messages] {
        let answered = answers(&world, &pieces).await;
        assert_eq!(answered.matches("HTTP/1.1 200 OK").count(), 9, "{answered}");
        assert_eq!(answered.matches("\"sum\":3").count(), 4, "{answered}");
        assert_eq!(answered.matches("\"tools\":[").count(), 2, "{answered}");
        let places: Vec<usize> = ["\"sum\":3", "\"tools\":[", "ok\n"]
            .iter()
            .map(|part| answered.find(part).unwrap())
            .collect();
        assert!(places.is_sorted(), "{places:?} {answered}");
        assert!(answered.ends_with("ok\n"), "{answered}");
    }
    world.end().await;
}

/// Reads one answer of a known length.
async fn one(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let whole = |text: &str| {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.split("content-length: ").nth(1)?;
        let length: usize = length.split("\r\n").next()?.parse().ok()?;
        (body.len() >= length).then_some(())
    };
    while whole(&text).is_none() {
        let mut piece = [0; 4096];
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await;
        let read = read.unwrap().unwrap();
        assert!(read > 0, "it was closed after {text}");
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    text
}

#[tokio::test]
async fn a_connection_that_is_used_is_not_idle() {
    let idle = Duration::from_secs(1);
    let world = World::start_with(|options| options.connection_idle = idle).await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    for _ in 0..8 {
        stream.write_all(usual().as_bytes()).await.unwrap();
        assert!(one(&mut stream).await.contains("\"sum\":3"));
        tokio::time::sleep(idle / 4).await;
    }
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    assert_eq!(closed.unwrap().unwrap(), 0);
    world.end().await;
}

#[tokio::test]
async fn the_body_of_a_call_that_does_not_come_is_told_of() {
    let idle = Duration::from_millis(200);
    let world = World::start_with(|options| options.connection_idle = idle).await;
    let usual = usual();
    let (most, _) = usual.split_at(usual.len() - 1);
    let answer = answers(&world, &[most.as_bytes()]).await;
    assert!(
        answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
        "{answer}"
    );
    assert!(answer.contains("connection: close"), "{answer}");
    world.end().await;
}

#[tokio::test]
async fn a_leaving_server_ends_a_connection_with_its_last_answer() {
    let world = World::start().await;
    let body = call("demo_slow", &json!({ "arguments": { "ms": 1500 } }));
    let slow = request(POST, &[("mcp-name", Some("demo_slow"))], &body);
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    stream.write_all(usual().as_bytes()).await.unwrap();
    assert!(!one(&mut stream).await.contains("connection: close"));
    let mut idle = TcpStream::connect(world.address).await.unwrap();
    stream.write_all(slow.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.stop.cancel();
    let answer = one(&mut stream).await;
    assert!(
        answer.contains("connection: close") && answer.contains("\"ms\":1500"),
        "{answer}"
    );
    for stream in [&mut stream, &mut idle] {
        let end = tokio::time::timeout(PATIENCE, stream.read(&mut [0])).await;
        assert_eq!(end.unwrap().unwrap(), 0);
    }
    world.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answers_takes_nobodys_place() {
    let world = World::start_with(|options| options.requests_max = 1).await;
    let text = "x".repeat(40_000);
    let body = call("demo_echo", &json!({ "arguments": { "text": text } }));
    let echo = request(POST, &[("mcp-name", Some("demo_echo"))], &body);
    let mut silent = TcpStream::connect(world.address).await.unwrap();
    let stalled = async {
        // The server reads on only while its answers are taken.
        for _ in 0..1_000 {
            silent.write_all(echo.as_bytes()).await.unwrap();
        }
    };
    let stalled = tokio::time::timeout(Duration::from_secs(3), stalled).await;
    assert!(stalled.is_err(), "all was read, whoever takes the answers");
    let mut other = TcpStream::connect(world.address).await.unwrap();
    other.write_all(usual().as_bytes()).await.unwrap();
    assert!(one(&mut other).await.starts_with("HTTP/1.1 200 OK"));
    world.end().await;
}

#[tokio::test]
async fn what_has_begun_when_the_server_is_told_to_leave_is_answered() {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let changed = [("mcp-method", Some("tools/list")), ("mcp-name", None)];
    let list = request(POST, &changed, &list.to_string());
    for _ in 0..4 {
        let world = World::start().await;
        let (most, rest) = list.split_at(list.len() - 1);
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream.write_all(most.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        world.stop.cancel();
        tokio::time::sleep(Duration::from_millis(20)).await;
        stream.write_all(rest.as_bytes()).await.unwrap();
        let answer = one(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        world.end().await;
    }
}

#[tokio::test]
async fn a_client_that_has_asked_all_it_wants_is_answered_all_but_the_last() {
    let world = World::start().await;
    let body = call("demo_slow", &json!({ "arguments": { "ms": 100 } }));
    let slow = request(POST, &[("mcp-name", Some("demo_slow"))], &body);
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let both = format!("{slow}{}", usual());
    stream.write_all(both.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(one(&mut stream).await.contains("\"ms\":100"));
    world.end().await;
}
