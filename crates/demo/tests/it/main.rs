//! The demo at the wire: lines in, lines out, both eras, and its ledger.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

use std::path::PathBuf;

use onecall_demo::{Options, serve_io};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

struct Wire {
    reader: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

fn open(options: Options) -> Wire {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(serve_io(options, read, write));
    let (read, writer) = tokio::io::split(near);
    Wire {
        reader: BufReader::new(read).lines(),
        writer,
    }
}

impl Wire {
    async fn send(&mut self, message: Value) {
        self.writer
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = self.reader.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
            .await;
        self.receive().await
    }

    async fn initialize(&mut self) -> Value {
        let params = json!({ "protocolVersion": "2025-06-18", "clientInfo": { "name": "t" },
            "capabilities": { "elicitation": {} } });
        self.ask("initialize", params).await
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        "dev.onecall/idempotency-key": "k1"
    });
    params
}

#[tokio::test]
async fn a_handshake_opens_the_legacy_era() {
    let mut wire = open(Options::default());
    let answer = wire.initialize().await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    let added = wire
        .ask(
            "tools/call",
            json!({ "name": "add", "arguments": { "a": 2, "b": 3 } }),
        )
        .await;
    assert_eq!(added["result"]["structuredContent"], json!({ "sum": 5 }));
    assert!(added["result"].get("resultType").is_none());
    let unknown = wire.ask("tools/call", json!({ "name": "nope" })).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn a_modern_request_needs_no_handshake_and_a_bare_one_is_refused() {
    let mut wire = open(Options::default());
    let found = wire.ask("server/discover", modern(json!({}))).await;
    assert_eq!(found["result"]["resultType"], "complete");
    let said = wire
        .ask(
            "tools/call",
            modern(json!({ "name": "echo", "arguments": { "text": "hi" } })),
        )
        .await;
    assert_eq!(said["result"]["content"][0]["text"], "hi");
    assert_eq!(
        wire.ask("tools/list", json!({})).await["error"]["code"],
        -32602
    );
    let old = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientCapabilities": {} } });
    assert_eq!(wire.ask("tools/list", old).await["error"]["code"], -32022);
}

#[tokio::test]
async fn ask_asks_in_the_way_of_the_era() {
    let mut wire = open(Options::default());
    let call = json!({ "name": "ask", "arguments": { "question": "why?" } });
    let asked = wire.ask("tools/call", modern(call.clone())).await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let mut again = modern(call.clone());
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] =
        json!({ "answer": { "action": "accept", "content": { "answer": "so" } } });
    let answered = wire.ask("tools/call", again.clone()).await;
    assert_eq!(
        answered["result"]["structuredContent"]["content"]["answer"],
        "so"
    );
    again["requestState"] = json!("forged");
    assert_eq!(wire.ask("tools/call", again).await["error"]["code"], -32602);

    let mut wire = open(Options::default());
    wire.initialize().await;
    let question = wire.ask("tools/call", call).await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    wire.send(reply).await;
    assert_eq!(
        wire.receive().await["result"]["structuredContent"],
        json!({ "action": "decline" })
    );
}

#[tokio::test]
async fn a_cancelled_call_is_neither_answered_nor_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let ledger: PathBuf = folder.path().join("ledger");
    let mut wire = open(Options {
        ledger: Some(ledger.clone()),
        ..Options::default()
    });
    let slow = modern(json!({ "name": "slow", "arguments": { "ms": 60_000 } }));
    wire.send(json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": slow }))
        .await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    wire.send(cancel).await;
    wire.ask(
        "tools/call",
        modern(json!({ "name": "echo", "arguments": { "text": "x" } })),
    )
    .await;
    let text = std::fs::read_to_string(&ledger).unwrap();
    let fields: Vec<_> = text.trim_end().split(' ').collect();
    assert_eq!(
        (fields.len(), fields[1], fields[2], fields[3].len()),
        (4, "k1", "echo", 64),
        "{text}"
    );
}
