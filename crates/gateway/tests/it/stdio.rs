//! Clients of both eras over lines of JSON.

use crate::world::{PATIENCE, runtime};
use onecall_gateway::{StdioOptions, serve_lines};
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) struct Pipe {
    lines: Lines<BufReader<ReadHalf<tokio::io::DuplexStream>>>,
    input: WriteHalf<tokio::io::DuplexStream>,
    serving: JoinHandle<()>,
}

async fn connect() -> Pipe {
    connect_to(runtime().await).await
}

pub(crate) async fn connect_to(runtime: Runtime) -> Pipe {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (output, input) = tokio::io::split(ours);
    let (their_input, their_output) = tokio::io::split(theirs);
    let options = StdioOptions::new("1.2.3");
    let serving = tokio::spawn(async move {
        let (input, output) = (Box::new(their_input), Box::new(their_output));
        let stop = CancellationToken::new();
        serve_lines(runtime.clone(), options, stop, input, output)
            .await
            .unwrap();
        runtime.shutdown(std::time::Duration::ZERO).await;
    });
    Pipe {
        lines: BufReader::new(output).lines(),
        input,
        serving,
    }
}

impl Pipe {
    pub(crate) async fn write(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_line().await).unwrap()
    }

    pub(crate) async fn next_line(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("a line in time").unwrap().expect("a line")
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.write(&message.to_string()).await;
        self.next().await
    }

    /// Ends the input, and gives what is written afterwards.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        self.input.shutdown().await.unwrap();
        let mut rest = Vec::new();
        let reading = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                rest.push(serde_json::from_str(&line).unwrap());
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        read.expect("the output ends with the input");
        self.serving.await.unwrap();
        rest
    }

    async fn end(mut self) {
        self.input.shutdown().await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, self.serving).await;
        ended.expect("it ends with its input").unwrap();
    }
}

#[tokio::test]
async fn a_handshake_client_lists_and_calls() {
    let mut pipe = connect().await;
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } });
    let opened = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
        .await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18");
    pipe.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let listed = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" }))
        .await;
    assert_eq!(listed["result"]["tools"][0]["name"], "three");
    let call = json!({ "name": "odd_odd", "arguments": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
    pipe.write(&call.to_string()).await;
    assert_eq!(
        pipe.next_line().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{"zulu":{"b":123456789012345678901234567890,"a":2},"content":[{"type":"hologram","depth":3,"annotations":{"audience":["martian"]}}],"structuredContent":{"result":[1,2,3]},"_meta":{"vendor.example/x":null}}}"#
    );
    pipe.end().await;
}

/// Opens a session of the handshake era.
async fn open_session(pipe: &mut Pipe) {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } });
    pipe.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
        .await;
    pipe.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
}

#[tokio::test]
async fn a_call_in_flight_is_told_of_and_answered_after_the_end_of_the_input() {
    let modern = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    for is_modern in [true, false] {
        for tool in ["three", "demo_slow"] {
            for way in ["progressToken", "logging", "nothing"] {
                let mut pipe = connect().await;
                let mut meta = if is_modern { modern.clone() } else { json!({}) };
                if !is_modern {
                    open_session(&mut pipe).await;
                }
                match way {
                    "progressToken" => meta[way] = json!("p"),
                    "logging" if is_modern => {
                        meta["io.modelcontextprotocol/logLevel"] = json!("debug");
                    }
                    "logging" => {
                        let level = json!({ "level": "debug" });
                        let set = json!({ "jsonrpc": "2.0", "id": "l",
                            "method": "logging/setLevel", "params": level });
                        pipe.ask(set).await;
                    }
                    _ => {}
                }
                let call = json!({ "name": tool, "arguments": { "ms": 300 }, "_meta": meta });
                let call =
                    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call });
                pipe.write(&call.to_string()).await;
                let begun = Instant::now();
                let rest = pipe.rest().await;
                let name = format!("{tool}, {way}, modern: {is_modern}");
                assert!(begun.elapsed() < Duration::from_secs(4), "{name}");
                let answer = rest.last().unwrap_or_else(|| panic!("{name}: an answer"));
                assert_eq!(answer["id"], 7, "{name}: {answer}");
                assert!(answer["error"].is_null(), "{name}: {answer}");
                let is_told = way == "progressToken" || way == "logging" && tool == "three";
                assert_eq!(rest.len() > 1, is_told, "{name}: {rest:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_listener_or_a_cancelled_call_keeps_nobody_after_the_end_of_the_input() {
    let mut pipe = connect().await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let listen = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    let listen =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen });
    let acknowledged = pipe.ask(listen).await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let call = json!({ "name": "endless", "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
    pipe.write(&call.to_string()).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 2 } });
    pipe.write(&cancel.to_string()).await;
    let begun = Instant::now();
    pipe.rest().await;
    let lasted = begun.elapsed();
    assert!(lasted < Duration::from_secs(4), "{lasted:?}");
}

#[tokio::test]
async fn a_batch_is_answered_message_by_message() {
    let mut pipe = connect().await;
    let params = json!({ "protocolVersion": "2025-03-26", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } });
    pipe.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
        .await;
    let batch = json!([
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/list" },
    ]);
    pipe.write(&batch.to_string()).await;
    let mut answered = vec![
        pipe.next().await["id"].as_i64(),
        pipe.next().await["id"].as_i64(),
    ];
    answered.sort_unstable();
    assert_eq!(answered, [Some(1), Some(2)]);
    pipe.end().await;
}

#[tokio::test]
async fn a_modern_client_needs_no_handshake() {
    let mut pipe = connect().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta } }))
        .await;
    assert!(discovered["result"]["supportedVersions"].is_array());
    let call = json!({ "name": "three", "_meta": meta });
    let called = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }))
        .await;
    let result = &called["result"];
    assert_eq!(result["structuredContent"]["text"], "done");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "test"
    );
    pipe.end().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_rest_goes_on() {
    let mut pipe = connect().await;
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } });
    pipe.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
        .await;
    pipe.write("{nonsense").await;
    let unread = pipe.next().await;
    assert_eq!(
        (&unread["error"]["code"], &unread["id"]),
        (&json!(-32700), &Value::Null)
    );
    // What can be read of a request is enough to find whoever waits for the answer.
    pipe.write(r#"{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"t","_meta":{"n":1e400}}}"#)
        .await;
    let unread = pipe.next().await;
    assert_eq!(
        (&unread["error"]["code"], &unread["id"]),
        (&json!(-32700), &json!("n"))
    );
    pipe.write("[]").await;
    assert_eq!(pipe.next().await["error"]["code"], -32600);
    let pong = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" }))
        .await;
    assert_eq!(pong["result"], json!({}));
    pipe.end().await;
}

#[tokio::test]
async fn what_comes_before_the_opening_disturbs_nothing() {
    let mut pipe = connect().await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    pipe.write(&ready.to_string()).await;
    let probe = json!({ "jsonrpc": "2.0", "id": "probe", "method": "server/discover",
        "params": { "_meta": meta } });
    assert!(pipe.ask(probe).await["result"]["supportedVersions"].is_array());
    let given_up = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "probe" } });
    pipe.write(&given_up.to_string()).await;
    let wrong = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} });
    let refused = pipe.ask(wrong).await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(0), &json!(-32602))
    );
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } });
    let opened = pipe
        .ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }))
        .await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
    pipe.end().await;
}

/// A request of the modern era.
fn modern(id: i64, method: &str, mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn handshake(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn both_eras_are_served_in_one_process_whichever_comes_first() {
    let opening = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "t", "version": "1" } });
    for is_modern_first in [true, false] {
        let mut pipe = connect().await;
        let call = modern(1, "tools/call", json!({ "name": "three" }));
        let open = handshake(2, "initialize", &opening);
        let messages = if is_modern_first {
            [call, open]
        } else {
            [open, call]
        };
        for message in messages {
            let id = message["id"].clone();
            let answer = pipe.ask(message).await;
            assert_eq!(answer["id"], id, "{answer}");
            assert!(answer["error"].is_null(), "{answer}");
            let is_modern = answer["result"].get("resultType").is_some();
            assert_eq!(is_modern, id == 1, "{answer}");
        }
        pipe.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        let pong = pipe.ask(handshake(3, "ping", &json!({}))).await;
        assert_eq!(pong["result"], json!({}), "{pong}");
        let listed = pipe.ask(handshake(4, "tools/list", &json!({}))).await;
        assert_eq!(listed["result"]["tools"][0]["name"], "three", "{listed}");
        assert!(listed["result"].get("resultType").is_none(), "{listed}");
        // Its person is asked, and the answer finds its way.
        let call = json!({ "name": "approve" });
        let question = pipe.ask(handshake(5, "tools/call", &call)).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let told = json!({ "action": "accept", "content": { "name": "Ada" } });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": told });
        let result = pipe.ask(answer).await;
        assert_eq!(result["result"]["structuredContent"], told, "{result}");
        // A modern call is cancelled while there is a session.
        let call = modern(6, "tools/call", json!({ "name": "endless" }));
        pipe.write(&call.to_string()).await;
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 6 } });
        pipe.write(&cancel.to_string()).await;
        let found = pipe.ask(modern(7, "server/discover", json!({}))).await;
        assert!(found["result"]["supportedVersions"].is_array(), "{found}");
        let begun = Instant::now();
        assert!(
            pipe.rest().await.is_empty(),
            "no answer to what is cancelled"
        );
        assert!(begun.elapsed() < Duration::from_secs(4));
    }
}
