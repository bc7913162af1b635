//! Backends for the tests of this crate: `backend demo [--changing]` is the demo over stdio, `backend odd` a
//! handshake server whose tool and result hold what no list of types foresees.

use onecall_mcp::{Incoming, message_text, method, parse, response};
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == "odd") {
        return odd();
    }
    let options = onecall_demo::Options {
        changing_list: arguments.iter().any(|argument| argument == "--changing"),
        ..onecall_demo::Options::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(onecall_demo::serve_stdio(options))?;
    Ok(())
}

fn odd() -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, .. }) = parse(line?.as_bytes()) else {
            continue;
        };
        let result = match method.as_str() {
            method::INITIALIZE => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "odd", "version": "1" }
            }),
            method::TOOLS_LIST => json!({ "tools": [tool()] }),
            method::TOOLS_CALL => result(),
            _ => {
                let refusal = json!({ "jsonrpc": "2.0", "id": id.to_value(),
                    "error": { "code": -32601, "message": "unknown" } });
                output.write_all(message_text(&refusal).as_bytes())?;
                continue;
            }
        };
        output.write_all(message_text(&response(&id, &result)).as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn tool() -> Value {
    json!({
        "zeta": [1], "name": "odd", "inputSchema": { "type": "object", "x-vendor": true },
        "outputSchema": { "type": "array", "items": { "type": "integer" } },
        "execution": { "taskSupport": "forbidden" }
    })
}

fn result() -> Value {
    json!({
        "zulu": { "b": 1, "a": 2 },
        "content": [{ "type": "hologram", "depth": 3, "annotations": { "audience": ["martian"] } }],
        "structuredContent": [1, 2, 3],
        "_meta": { "vendor.example/x": null }
    })
}
