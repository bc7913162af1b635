//! What a backend does to a call, and the code that the run's result carries: each fault by a real server.

use crate::world::{PATIENCE, demo, server, start_server};
use onecall_runtime::calls::{Reply, Request};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// What the server does with a call, as status and body.
type Fault = fn(&Value) -> (u16, Value);

/// A server with one tool `do`, until the handle is dropped. Each connection serves one request.
async fn faulty(fault: Fault) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.spawn(serve(stream, fault));
        }
    });
    (url, AbortOnDropHandle::new(serving))
}

async fn serve(mut stream: TcpStream, fault: Fault) -> Option<()> {
    let mut read = Vec::new();
    let request: Value = loop {
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
        let text = str::from_utf8(&read).ok()?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
        if let Some(Ok(request)) = body.map(serde_json::from_str) {
            break request;
        }
    };
    let (status, body) = match request["method"].as_str() {
        Some("server/discover") => {
            let versions = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
            (200, result(&request, &versions))
        }
        Some("tools/list") => {
            let tool = json!({ "name": "do", "inputSchema": { "type": "object" } });
            (200, result(&request, &json!({ "tools": [tool] })))
        }
        _ => fault(&request),
    };
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()
}

fn result(request: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })
}

fn refusal(request: &Value, code: i64) -> (u16, Value) {
    let error = json!({ "code": code, "message": "no" });
    (
        200,
        json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }),
    )
}

/// The code of a run whose one step calls the tool `do` at this URL with this text.
async fn code_of(url: &str, text: &str) -> String {
    let config = format!(
        "name: faults
backends:
  - {{name: b, url: \"{url}\"}}
compositeTools:
  - name: try
    description: Calls it.
    parameters: {{type: object, properties: {{text: {{type: string}}}}}}
    steps:
      - {{id: a, tool: b.do, arguments: {{text: \"{{{{ .params.text }}}}\"}}}}
"
    );
    let mut server = server(&config);
    server.limits.argument_bytes = Some(1_000);
    let runtime = start_server(server).await;
    runtime.settled().await;
    let request = Request::new("try", json!({ "text": text }));
    let called = async {
        match runtime.call(request).await {
            Reply::Started(mut handle) => handle.result().await.unwrap(),
            Reply::Result(result) => result,
            other => panic!("{other:?}"),
        }
    };
    let result = tokio::time::timeout(PATIENCE, called).await.unwrap();
    runtime.shutdown(Duration::ZERO).await;
    let code = &result["_meta"]["dev.onecall/error"]["code"];
    code.as_str()
        .unwrap_or_else(|| panic!("{result}"))
        .to_owned()
}

#[tokio::test]
async fn every_way_a_call_fails_has_its_code() {
    let ways: [(&str, Fault); 8] = [
        ("transport.protocol", |request| {
            (200, result(request, &json!({ "resultType": "unheard of" })))
        }),
        ("transport.protocol", |request| {
            (200, result(request, &json!({})))
        }),
        ("transport.protocol", |request| {
            (200, result(request, &json!({ "content": "notlist" })))
        }),
        ("denied.call", |_| (403, Value::Null)),
        ("limit.result", |request| {
            let text = "x".repeat(17 * 1024 * 1024);
            let content = json!([{ "type": "text", "text": text }]);
            (200, result(request, &json!({ "content": content })))
        }),
        ("tool.arguments", |request| refusal(request, -32602)),
        ("tool.unknown", |request| refusal(request, -32601)),
        ("tool.protocol", |request| refusal(request, -32603)),
    ];
    for (code, fault) in ways {
        let (url, _serving) = faulty(fault).await;
        assert_eq!(code_of(&url, "x").await, code);
    }
}

#[tokio::test]
async fn a_call_that_was_never_sent_has_its_code() {
    let (url, serving) = faulty(|request| (200, result(request, &json!({ "content": [] })))).await;
    let long = "x".repeat(2_000);
    assert_eq!(code_of(&url, &long).await, "limit.arguments");
    drop(serving);
    assert_eq!(code_of(&url, "x").await, "transport.unavailable");
}

#[tokio::test]
async fn a_step_that_found_no_place_says_that_nothing_was_sent() {
    let (url, _stop) = demo().await;
    let config = format!(
        "name: places
backends:
  - {{name: b, url: \"{url}\"}}
compositeTools:
  - name: try
    description: Calls it.
    steps:
      - {{id: a, tool: b.add, arguments: {{a: 1, b: 2}}, timeout: 1s}}
"
    );
    let mut server = server(&config);
    server.backends[0].max_in_flight = Some(1);
    let runtime = start_server(server).await;
    runtime.settled().await;
    let other = runtime.clone();
    let taking = tokio::spawn(async move {
        let slow = Request::new("b_slow", json!({ "ms": 20_000 }));
        other.call(slow).await
    });
    let taken = async {
        while runtime.backends()[0].in_flight == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, taken).await.unwrap();
    let result = match runtime.call(Request::new("try", json!({}))).await {
        Reply::Started(mut handle) => handle.result().await.unwrap(),
        other => panic!("{other:?}"),
    };
    taking.abort();
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "timeout.step", "{result}");
    let message = error["message"].as_str().unwrap();
    let is_told = message.contains("no free place within") && message.ends_with("nothing was sent");
    assert!(is_told, "{message}");
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_backend_that_refuses_us_from_the_start_has_the_code_of_a_refusal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read_buf(&mut Vec::with_capacity(10_000)).await;
            let refusal = "HTTP/1.1 401 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(refusal.as_bytes()).await;
        }
    });
    let _serving = AbortOnDropHandle::new(serving);
    let config =
        format!("name: closed\nbackends: [{{name: b, url: \"{url}\"}}]\ncompositeTools: []\n");
    let runtime = start_server(server(&config)).await;
    runtime.settled().await;
    let Reply::Result(result) = runtime.call(Request::new("b_do", json!({}))).await else {
        panic!("it is not refused")
    };
    let error = &result["_meta"]["dev.onecall/error"];
    assert_eq!(error["code"], "denied.call", "{result}");
    runtime.shutdown(Duration::ZERO).await;
}
