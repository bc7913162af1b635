//! Backends for the tests of this crate: `backend demo [--changing]` is the demo over stdio; `backend odd` a handshake
//! server with a tool and result that hold what no list of types foresees, one that tells its metadata, and one that
//! tells its arguments as they came;
//! `backend answers METHOD TEXT …` answers each method with its text as it is written; `backend asking` asks in the middle of a call; `backend conformance` has what the protocol's conformance suite looks for.

mod answers;
mod fixture;

use onecall_mcp::{
    Incoming, RequestId, RpcError, code, message_text, method, notification, parse, parse_call,
    response, response_error,
};
use serde_json::{Value, json};
use std::io::{BufRead as _, Write};

/// A number that no JSON value of ours can hold: a text of it is written without its quotes.
const HUGE: &str = "123456789012345678901234567890";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("odd") => serve(&[meta_tool(), tool(), heard_tool()], odd_result),
        Some("answers") => answers::serve(&arguments[1..]),
        Some("asking") => asking(),
        Some("conformance") => fixture::serve(),
        _ => {
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
    }
}

fn serve(
    tools: &[Value],
    result: impl Fn(&Value, &str) -> Value,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok((Incoming::Request { id, method, params }, written)) = parse_call(line?.as_bytes())
        else {
            continue;
        };
        let answer = match method.as_str() {
            method::INITIALIZE => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "odd", "version": "1" }
            }),
            method::TOOLS_LIST => json!({ "tools": tools }),
            method::TOOLS_CALL => {
                let heard = written.arguments;
                let heard = heard.map_or(String::new(), |raw| raw.get().to_owned());
                result(&params, &heard)
            }
            unknown => {
                refuse(&mut output, &id, unknown)?;
                continue;
            }
        };
        let text = message_text(&response(&id, &answer)).replace(&format!("{HUGE:?}"), HUGE);
        write(&mut output, &text)?;
    }
    Ok(())
}

/// A handshake server whose tool `ask` asks in the middle of its call, and tells which process it is. In a hurry it does
/// not wait for the answer. Its tool `enter` and every resource want a page visited first, and `finish` says that the page is done with.
fn asking() -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    let mut lines = std::io::stdin().lock().lines();
    let mut can_ask = false;
    while let Some(line) = lines.next() {
        let Ok(Incoming::Request { id, method, params }) = parse(line?.as_bytes()) else {
            continue;
        };
        let answer = match method.as_str() {
            method::INITIALIZE => {
                can_ask = params["capabilities"]["elicitation"].is_object();
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "asking", "version": "1" } })
            }
            method::TOOLS_LIST => json!({ "tools": [
                { "name": "ask", "inputSchema": { "type": "object" } },
                { "name": "enter", "inputSchema": { "type": "object" } },
                { "name": "finish", "inputSchema": { "type": "object" } }] }),
            method::RESOURCES_READ | method::TOOLS_CALL
                if method == method::RESOURCES_READ || params["name"] == "enter" =>
            {
                let page = json!({ "mode": "url", "elicitationId": "page", "url": "https://example.com/",
                    "message": std::process::id().to_string() });
                let data = json!({ "elicitations": [page] });
                let error = RpcError::new(code::URL_ELICITATION, "enter first").with_data(data);
                write(
                    &mut output,
                    &message_text(&response_error(Some(&id), &error)),
                )?;
                continue;
            }
            method::TOOLS_CALL if params["name"] == "finish" => {
                let done = json!({ "elicitationId": "page", "by": std::process::id().to_string() });
                let done = notification(method::ELICITATION_COMPLETE, &done);
                write(&mut output, &message_text(&done))?;
                json!({ "content": [] })
            }
            method::TOOLS_CALL if !can_ask => {
                json!({ "content": [{ "type": "text", "text": "nobody can be asked" }], "isError": true })
            }
            method::TOOLS_CALL => {
                let message = format!("Who is it at {}?", std::process::id());
                let question = json!({ "jsonrpc": "2.0", "id": "q", "method": method::ELICIT, "params": {
                    "message": message, "requestedSchema": { "type": "object",
                        "properties": { "name": { "type": "string" } }, "required": ["name"] } } });
                write(&mut output, &message_text(&question))?;
                let answer = loop {
                    if params["arguments"]["hurry"] == true {
                        break Value::Null;
                    }
                    let line = lines.next().ok_or("closed while asking")??;
                    let line: Value = serde_json::from_str(&line)?;
                    if line["id"] == "q" {
                        break line;
                    }
                };
                json!({ "content": [], "structuredContent": {
                    "asked": message, "answer": answer["result"], "error": answer["error"] } })
            }
            unknown => {
                refuse(&mut output, &id, unknown)?;
                continue;
            }
        };
        write(&mut output, &message_text(&response(&id, &answer)))?;
    }
    Ok(())
}

fn refuse(output: &mut impl Write, id: &RequestId, unknown: &str) -> std::io::Result<()> {
    let error = RpcError::method_not_found(unknown);
    write(output, &message_text(&response_error(Some(id), &error)))
}

fn write(output: &mut impl Write, text: &str) -> std::io::Result<()> {
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn tool() -> Value {
    json!({
        "zeta": [1], "name": "odd", "inputSchema": { "type": "object", "x-vendor": true },
        "outputSchema": { "type": "array", "items": { "type": "integer" } },
        "execution": { "taskSupport": "forbidden" }
    })
}

/// Tells the metadata it was called with.
fn meta_tool() -> Value {
    json!({ "name": "meta", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true } })
}

fn heard_tool() -> Value {
    json!({ "name": "heard", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": true } })
}

fn odd_result(params: &Value, arguments: &str) -> Value {
    if params["name"] == "heard" {
        return json!({ "content": [{ "type": "text", "text": arguments }] });
    }
    if params["name"] == "meta" {
        return json!({ "content": [], "structuredContent": params["_meta"] });
    }
    json!({
        "zulu": { "b": HUGE, "a": 2 },
        "content": [{ "type": "hologram", "depth": 3, "annotations": { "audience": ["martian"] } }],
        "structuredContent": [1, 2, 3],
        "_meta": { "vendor.example/x": null }
    })
}
