//! A server on stdin and stdout with one tool, and one fault that its name tells. The program around it is an
//! example of the crate that tests against it.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

/// More than a client reads of one line.
const LONG: usize = 20 * 1024 * 1024;

/// How much of an answer is told by a server that dies over it.
const HALF: usize = 10;

/// A legacy server with one tool, and one fault.
pub fn serve(fault: &str) {
    let mut server = Server {
        fault,
        was_probed: false,
        updated: None,
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(id) = message.get("id") else {
            continue;
        };
        let Some(text) = server.answer(&message, id) else {
            continue;
        };
        let mut stdout = std::io::stdout().lock();
        let told = stdout.write_all(text.as_bytes());
        if told.and_then(|()| stdout.flush()).is_err() {
            return;
        }
        if text.len() == HALF {
            crash("in the middle of a word", 5);
        }
    }
}

struct Server<'a> {
    fault: &'a str,
    was_probed: bool,
    updated: Option<Value>,
}

impl Server<'_> {
    /// What is written; nothing for a request that is left unanswered.
    fn answer(&mut self, message: &Value, id: &Value) -> Option<String> {
        let name = message["method"].as_str().unwrap_or_default();
        if name == "tools/call" {
            return self.call(id);
        }
        let unknown = json!({ "error": { "code": -32601, "message": "unknown method" } });
        let body = match (name, self.fault) {
            (_, "silent") | ("ping", "hung") | ("server/discover", "deaf") => return None,
            ("server/discover", "fragile") => crash("what is this?", 4),
            ("server/discover", _) => {
                self.was_probed = true;
                unknown
            }
            ("initialize", "spoilt") if self.was_probed => {
                json!({ "error": { "code": -32600, "message": "the era is settled" } })
            }
            ("initialize", fault) => json!({ "result": { "protocolVersion": "2025-06-18",
                "capabilities": {}, "serverInfo": { "name": fault } } }),
            ("tools/list", "pages") => page(message),
            ("tools/list", _) => json!({ "result": { "tools": [{ "name": "do", "vendor": 1 }] } }),
            ("resources/subscribe", "news") => {
                self.updated = Some(message["params"].clone());
                json!({ "result": {} })
            }
            // The answer to its question, of which it tells.
            ("", "nosy") => {
                let said = message["error"]["code"].to_string();
                json!({ "result": { "content": [{ "type": "text", "text": said }] } })
            }
            _ => unknown,
        };
        let mut text = answer_of(id, body);
        // What is subscribed to is updated at once.
        if let Some(params) = self.updated.take() {
            let method = "notifications/resources/updated";
            text += &line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
        Some(text)
    }

    fn call(&self, id: &Value) -> Option<String> {
        let done = || answer_of(id, json!({ "result": { "content": [] } }));
        Some(match self.fault {
            "silent" | "hung" | "mute" => return None,
            "dies" | "news" => crash("out of luck", 3),
            // Asks though nobody offered to answer.
            "nosy" => line(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
                "params": { "message": "who are you?" } }),
            ),
            "garbage" => "\u{0}\u{1}nonsense\n".to_owned(),
            "half" => done()[..HALF].to_owned(),
            "foreign" => answer_of(&json!(4711), json!({ "result": { "content": [] } })),
            "twice" => done().repeat(2),
            "long" => answer_of(
                id,
                json!({ "result": { "content": [], "x": "y".repeat(LONG) } }),
            ),
            "deep" => {
                let nested = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{nested}}}\n")
            }
            "changes" => {
                let method = "notifications/tools/list_changed";
                line(&json!({ "jsonrpc": "2.0", "method": method })) + &done()
            }
            _ => done(),
        })
    }
}

fn answer_of(id: &Value, body: Value) -> String {
    let mut answer = json!({ "jsonrpc": "2.0", "id": id });
    if let (Value::Object(answer), Value::Object(body)) = (&mut answer, body) {
        answer.extend(body);
    }
    line(&answer)
}

fn line(message: &Value) -> String {
    format!("{message}\n")
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
pub fn crash(words: &str, status: i32) -> ! {
    eprintln!("{words}");
    std::process::exit(status)
}
