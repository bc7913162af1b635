//! Child processes for the tests of this crate: the demo backend, and servers with one fault each.
//! `child demo [--ledger FILE] [--changing]`, or `child <fault>`.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = arguments.first().map_or("demo", String::as_str);
    match mode {
        "demo" => demo(&arguments[1..]),
        "crash" => crash("cannot read the settings", 1),
        "stubborn" => {
            serve("plain");
            // Ignores that its stdin was closed.
            std::thread::sleep(std::time::Duration::from_hours(1));
        }
        fault => serve(fault),
    }
}

fn demo(arguments: &[String]) {
    let mut options = onecall_demo::Options::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--ledger" => options.ledger = arguments.next().map(Into::into),
            _ => options.changing_list = true,
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.map(|runtime| runtime.block_on(onecall_demo::serve_stdio(options)));
    assert!(matches!(served, Ok(Ok(()))), "the demo failed: {served:?}");
}

/// A legacy server with one tool, and one fault.
fn serve(fault: &str) {
    let mut was_probed = false;
    let mut updated = None;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let name = message["method"].as_str().unwrap_or_default();
        let unknown = json!({ "error": { "code": -32601, "message": "unknown method" } });
        let opened = json!({ "result": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": fault } } });
        let body = match (name, fault) {
            (_, "silent")
            | ("tools/call" | "ping", "hung")
            | ("server/discover", "deaf")
            | ("tools/call", "mute") => continue,
            ("server/discover", "fragile") => crash("what is this?", 4),
            ("server/discover", _) => {
                was_probed = true;
                unknown
            }
            ("initialize", "spoilt") if was_probed => {
                json!({ "error": { "code": -32600, "message": "the era is settled" } })
            }
            ("initialize", _) => opened,
            ("tools/list", "pages") => page(&message),
            ("tools/list", _) => json!({ "result": { "tools": [{ "name": "do", "vendor": 1 }] } }),
            ("tools/call", "dies" | "news") => crash("out of luck", 3),
            ("resources/subscribe", "news") => {
                updated = Some(message["params"].clone());
                json!({ "result": {} })
            }
            // Asks though nobody offered to answer, and tells of the refusal.
            ("tools/call", "nosy") => {
                let question = json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
                    "params": { "message": "who are you?" } });
                if writeln!(std::io::stdout(), "{question}").is_err() {
                    return;
                }
                continue;
            }
            ("", "nosy") => {
                let said = message["error"]["code"].to_string();
                json!({ "result": { "content": [{ "type": "text", "text": said }] } })
            }
            ("tools/call", _) => json!({ "result": { "content": [] } }),
            _ => unknown,
        };
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        if let (Value::Object(answer), Value::Object(body)) = (&mut answer, body) {
            answer.extend(body);
        }
        let mut stdout = std::io::stdout().lock();
        if writeln!(stdout, "{answer}").is_err() {
            return;
        }
        // What is subscribed to is updated at once.
        if let Some(params) = updated.take() {
            let method = "notifications/resources/updated";
            let news = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            let _ = writeln!(stdout, "{news}");
        }
    }
}

/// Three pages; the cursor of the second is the empty string.
fn page(message: &Value) -> Value {
    let (name, next) = match message["params"].get("cursor").and_then(Value::as_str) {
        None => ("one", Some("")),
        Some("") => ("two", Some("x")),
        Some(_) => ("three", None),
    };
    let mut result = json!({ "tools": [{ "name": name }] });
    if let Some(next) = next {
        result["nextCursor"] = json!(next);
    }
    json!({ "result": result })
}

#[expect(clippy::exit, clippy::print_stderr, reason = "this is the fault")]
fn crash(words: &str, status: i32) -> ! {
    eprintln!("{words}");
    std::process::exit(status)
}
