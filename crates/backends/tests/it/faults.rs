//! Every fault of a server with the outcome of a call to it, over HTTP and over stdio, as one table. Beside each a
//! healthy backend is called, which notices nothing.

use std::time::Duration;

use onecall_backends::BackendOptions;
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::{Value, json};

use crate::world::{PATIENCE, call, start, stdio, way};

type Fault = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;

struct Row {
    fault: &'static str,
    /// How a call fails, or `fine`.
    way: &'static str,
    server: Faulty,
}

enum Faulty {
    Http(Fault),
    /// A child of this name.
    Stdio(&'static str),
}

#[tokio::test]
async fn every_fault_has_its_name_and_touches_nobody_else() {
    let rows: Vec<Row> = over_http().into_iter().chain(over_stdio()).collect();
    for line in futures::future::join_all(rows.into_iter().map(outcome_of)).await {
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    }
}

/// Calls the server and a healthy one; the line of the table.
async fn outcome_of(row: Row) -> String {
    let (kind, mut faulty, _server) = match row.server {
        Faulty::Http(reply) => {
            let server = Server::start(modern(reply)).await;
            let options = BackendOptions::http("faulty", &server.url);
            ("http", options, Some(server))
        }
        Faulty::Stdio(mode) => ("stdio", stdio("faulty", &[mode]), None),
    };
    let is_late = row.way == "Timeout";
    faulty.call_timeout = Some(if is_late {
        Duration::from_millis(500)
    } else {
        PATIENCE
    });
    let healthy = Server::start(modern(done)).await;
    let backends = start(vec![faulty, BackendOptions::http("healthy", &healthy.url)]);
    backends.settle(PATIENCE).await;
    let (bad, good) = tokio::join!(
        call(&backends, "faulty", "do", json!({})),
        call(&backends, "healthy", "do", json!({}))
    );
    good.unwrap();
    backends.shutdown().await;
    let ended = bad.map_or_else(|error| way(&error), |_| "fine".to_owned());
    assert_eq!(ended, row.way, "{kind}: {}", row.fault);
    format!("{kind:<6} {:<30} {ended:<24} others answered\n", row.fault)
}

fn over_stdio() -> Vec<Row> {
    let faults = [
        ("dies in the call", "UnknownOutcome", "dies"),
        ("dies in the answer", "UnknownOutcome", "half"),
        ("never answers", "Timeout", "mute"),
        ("garbage", "Timeout", "garbage"),
        ("wrong id", "Timeout", "foreign"),
        ("answers twice", "fine", "twice"),
        ("20 MB", "Limit", "long"),
        ("deep JSON", "Limit", "deep"),
        ("changes its list in the call", "fine", "changes"),
        ("asks what nobody asked for", "fine", "nosy"),
    ];
    let row = |(fault, way, mode)| Row {
        fault,
        way,
        server: Faulty::Stdio(mode),
    };
    faults.into_iter().map(row).collect()
}

fn head(kind: &str, rest: &str) -> String {
    format!("HTTP/1.1 200 X\r\ncontent-type: {kind}\r\n{rest}\r\n")
}

fn json_head(rest: &str) -> Vec<u8> {
    head("application/json", &format!("{rest}\r\n")).into_bytes()
}

fn status(code: u16) -> Fault {
    Box::new(move |_| Reply::Json(code, Vec::new(), Value::Null))
}

fn raw(bytes: Vec<u8>) -> Fault {
    Box::new(move |_| Reply::Raw(bytes.clone()))
}

fn endless(kind: &'static str, chunk: Vec<u8>) -> Fault {
    Box::new(move |_| Reply::Endless(head(kind, ""), chunk.clone()))
}

fn result(value: Value) -> Fault {
    Box::new(move |seen| Reply::Json(200, Vec::new(), answer(seen, "result", value.clone())))
}

fn wrong_id(seen: &Seen) -> Reply {
    let mut wrong = answer(seen, "result", json!({}));
    wrong["id"] = json!(4711);
    Reply::Json(200, Vec::new(), wrong)
}

fn deep(seen: &Seen) -> Reply {
    let nested = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{nested}}}"#,
        seen.body["id"]
    );
    let mut bytes = json_head(&format!("content-length: {}", body.len()));
    bytes.extend(body.into_bytes());
    Reply::Raw(bytes)
}

fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

fn twice(seen: &Seen) -> Reply {
    let first = event(&answer(seen, "result", json!({ "content": [] })));
    let second = event(&answer(
        seen,
        "error",
        json!({ "code": 1, "message": "no" }),
    ));
    Reply::Events(vec![first, second])
}

/// Requests, foreign answers and unknown notifications before the answer.
fn meddles(seen: &Seen) -> Reply {
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {} });
    let foreign = json!({ "jsonrpc": "2.0", "id": 4711, "result": {} });
    let news = json!({ "jsonrpc": "2.0", "method": "notifications/unheard", "params": [] });
    let mut events: Vec<String> = [request, foreign, news].iter().map(event).collect();
    events.push(event(&answer(seen, "result", json!({ "content": [] }))));
    Reply::Events(events)
}

/// Events that are no messages of the protocol.
const STRANGE: [(&str, &str); 5] = [
    (
        "a ping with a date first",
        "event: ping\ndata: 2026-11-18T05:00:00Z\n\n",
    ),
    ("a ping with an object first", "event: ping\ndata: {}\n\n"),
    ("a word first", "data: hello\n\n"),
    (
        "half a surrogate first",
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\\ud800\"}}\n\n",
    ),
    ("a broken batch first", "data: [{\n\n"),
];

fn strange_events() -> Vec<(&'static str, &'static str, Fault)> {
    let before_answer = |(fault, first): (&'static str, &'static str)| {
        let reply: Fault = Box::new(move |seen| {
            let done = answer(seen, "result", json!({ "content": [] }));
            Reply::Events(vec![first.to_owned(), event(&done)])
        });
        (fault, "fine", reply)
    };
    let mut rows: Vec<_> = STRANGE.into_iter().map(before_answer).collect();
    let alone: Fault = Box::new(|_| Reply::Events(vec!["data: hello\n\n".to_owned()]));
    rows.push(("a word and no answer", "UnknownOutcome", alone));
    // The stream goes on, so whoever reads on is told of its length in the end.
    let unreadable: Fault = Box::new(|seen| {
        let id = &seen.body["id"];
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{]}}\n\n");
        let head = head("text/event-stream", "") + &event;
        Reply::Endless(head, ": on\n\n".repeat(10_000).into_bytes())
    });
    rows.push((
        "an unreadable answer in a stream",
        "UnknownOutcome",
        unreadable,
    ));
    rows
}

/// The answer in a batch, as 2025-03-26 allows.
fn batched(seen: &Seen) -> Value {
    let note = json!({ "jsonrpc": "2.0", "method": "x", "params": {} });
    json!([note, answer(seen, "result", json!({ "content": [] }))])
}

fn redirect(_: &Seen) -> Reply {
    Reply::Json(
        307,
        vec![("location", "http://127.0.0.1:1/".to_owned())],
        Value::Null,
    )
}

fn batches() -> Vec<(&'static str, &'static str, Fault)> {
    vec![
        (
            "answers in a batch",
            "fine",
            Box::new(|seen| Reply::Json(200, Vec::new(), batched(seen))),
        ),
        (
            "answers in a batch of a stream",
            "fine",
            Box::new(|seen| Reply::Events(vec![event(&batched(seen))])),
        ),
        (
            "an empty batch",
            "UnknownOutcome",
            Box::new(|_| Reply::Json(200, Vec::new(), json!([]))),
        ),
    ]
}

fn over_http() -> Vec<Row> {
    let note = json!({ "jsonrpc": "2.0", "method": "x", "params": { "t": "x".repeat(1 << 20) } });
    let note = format!("data: {note}\n\n").into_bytes();
    let events = "text/event-stream";
    let comment: Fault = Box::new(|_| Reply::Events(vec![": hi\n\n".to_owned()]));
    let faults: Vec<(&str, &str, Fault)> = vec![
        (
            "garbage",
            "UnknownOutcome",
            raw(b"\x00\x01nonsense\r\n\r\n".to_vec()),
        ),
        ("dies before the head", "UnknownOutcome", raw(Vec::new())),
        (
            "closes after the head",
            "UnknownOutcome",
            raw(json_head("content-length: 50")),
        ),
        ("stream without answer", "UnknownOutcome", comment),
        ("server error", "UnknownOutcome", status(502)),
        ("busy", "UnknownOutcome", status(503)),
        ("slow request", "UnknownOutcome", status(408)),
        ("slow gateway", "UnknownOutcome", status(504)),
        (
            "no JSON-RPC",
            "UnknownOutcome",
            Box::new(|_| Reply::Json(200, Vec::new(), json!("x"))),
        ),
        ("wrong id", "UnknownOutcome", Box::new(wrong_id)),
        (
            "unknown result type",
            "Malformed",
            result(json!({ "resultType": "later" })),
        ),
        (
            "100 MB announced",
            "Limit",
            raw(json_head("content-length: 100000000")),
        ),
        (
            "endless body",
            "Limit",
            endless("application/json", vec![b' '; 65536]),
        ),
        ("endless events", "Limit", endless(events, note)),
        ("endless event", "Limit", endless(events, vec![b'x'; 65536])),
        ("deep JSON", "Limit", Box::new(deep)),
        (
            "huge header",
            "Limit",
            raw(json_head(&format!("x: {}", "y".repeat(2_000_000)))),
        ),
        ("slow drip", "Timeout", Box::new(|_| Reply::Drip)),
        ("never answers", "Timeout", Box::new(|_| Reply::Hang)),
        ("redirect", "Unavailable", Box::new(redirect)),
        ("result elsewhere", "UnknownOutcome", status(303)),
        ("too many", "Unavailable", status(429)),
        ("forbidden", "Denied", status(403)),
        ("answers twice", "fine", Box::new(twice)),
        ("asks what nobody asked for", "fine", Box::new(meddles)),
    ];
    let row = |(fault, way, reply)| Row {
        fault,
        way,
        server: Faulty::Http(reply),
    };
    let more = batches().into_iter().chain(strange_events());
    faults.into_iter().chain(more).map(row).collect()
}
