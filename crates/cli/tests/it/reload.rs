//! Files that are edited while `serve` serves them.

use crate::support::{root, serve, until};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// One HTTP exchange; the body of the answer.
fn exchange(url: &str, head: &str, path: &str, body: &str) -> Value {
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: greet\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn greeting(url: &str) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "greet", "arguments": { "who": "Ada" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
    } } });
    let answer = exchange(url, "POST", "/mcp", &body.to_string());
    let greeting = &answer["result"]["structuredContent"]["greeting"];
    greeting
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
        .to_owned()
}

#[test]
fn an_edited_file_is_served_and_a_broken_one_is_not() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("hello.yaml");
    let text = std::fs::read_to_string(root().join("examples/hello/hello.yaml")).unwrap();
    std::fs::write(&file, &text).unwrap();
    let (_server, url) = serve(home.path(), &[home.path().to_str().unwrap(), "--ephemeral"]);
    assert_eq!(greeting(&url), "Hello, Ada!");

    std::fs::write(&file, text.replace("Hello, {{", "Good day, {{")).unwrap();
    until("the new version", || {
        (greeting(&url) == "Good day, Ada!").then_some(())
    });

    std::fs::write(&file, text.replace("type: integer", "type: intger")).unwrap();
    let refused = until("the refusal", || {
        let status = exchange(&url, "GET", "/status", "");
        status["reloads"]["refused"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("1 error"), "{refused}");
    assert_eq!(greeting(&url), "Good day, Ada!");

    std::fs::write(&file, &text).unwrap();
    until("the first version again", || {
        (greeting(&url) == "Hello, Ada!").then_some(())
    });
    let status = exchange(&url, "GET", "/status", "");
    assert_eq!(status["reloads"], json!({ "count": 2, "refused": null }));
}
