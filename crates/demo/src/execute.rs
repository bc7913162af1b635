//! What the tools do. Faults in arguments are tool errors, an unknown tool is a protocol error.

use std::time::Duration;

use onecall_mcp::{CallOutput, Era, RpcError, code, field, meta, method};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::connection::{Exchange, refused};
use crate::ledger::hex;
use crate::library;
use crate::limits::{ENTRIES_MAX, WAIT_MAX};
use crate::server::{Change, Demo, lock};

/// A failure that the caller's model can read.
struct ToolFailure(String);

type Outcome = Result<Value, ToolFailure>;

/// Runs `tools/call`.
pub(crate) async fn call(
    demo: &Demo,
    params: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, RpcError> {
    let name = params
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if demo.listed(name).is_none() {
        return Err(RpcError::invalid_params(format!(
            "no tool is named `{name}`"
        )));
    }
    let empty = json!({});
    let arguments = params.get("arguments").unwrap_or(&empty);
    if name == "ask" {
        return ask(demo, params, arguments, exchange).await;
    }
    wait(arguments, "before_ms").await;
    if name == "slow" {
        take_time(params, arguments, exchange).await;
    }
    demo.record(params)?;
    if let Some(answer) = demo.answers.answer(name) {
        return Ok(answer);
    }
    let outcome = run(demo, name, arguments);
    wait(arguments, "after_ms").await;
    Ok(finish(outcome))
}

fn finish(outcome: Outcome) -> Value {
    match outcome {
        Ok(result) => result,
        Err(ToolFailure(text)) => Value::Object(CallOutput::text(&text, true).into_object()),
    }
}

fn run(demo: &Demo, name: &str, arguments: &Value) -> Outcome {
    match name {
        "echo" => Ok(plain(text(arguments, "text")?)),
        "add" => add(arguments),
        "search" => search(arguments),
        "fetch" => fetch(arguments),
        "slow" => {
            let said = arguments
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or("done");
            Ok(structured(
                &json!({ "text": said, "ms": whole(arguments, "ms")? }),
            ))
        }
        "flaky" => flaky(demo, arguments),
        "fail" => {
            let said = arguments.get("message").and_then(Value::as_str);
            Err(ToolFailure(
                said.unwrap_or("this tool always fails").to_owned(),
            ))
        }
        "images" => Ok(images()),
        "append" => {
            text(arguments, "text")?;
            let mut lines = lock(&demo.appended);
            *lines += 1;
            Ok(structured(&json!({ "lines": *lines })))
        }
        "put" => put(demo, arguments),
        "toggle" => Ok(plain(if demo.toggle() { "shown" } else { "hidden" })),
        _ => Ok(plain("extra")),
    }
}

fn add(arguments: &Value) -> Outcome {
    let number = |key: &str| {
        let value = arguments.get(key).filter(|value| value.is_number());
        value.ok_or_else(|| ToolFailure(format!("`{key}` must be a number")))
    };
    let (a, b) = (number("a")?, number("b")?);
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64())
        && let Some(sum) = a.checked_add(b)
    {
        return Ok(structured(&json!({ "sum": sum })));
    }
    let sum = a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default();
    Ok(structured(&json!({ "sum": sum })))
}

/// Id, title and text.
pub(crate) const NOTES: &[(&str, &str, &str)] = &[
    (
        "n1",
        "Tea",
        "Steep green tea at 80 degrees for two minutes.",
    ),
    ("n2", "Coffee", "Grind the beans just before brewing."),
    ("n3", "Bread", "Let the dough rest over night."),
    ("n4", "Release", "Tag, build, publish, tell people."),
    (
        "n5",
        "Backup",
        "A backup that was never restored is a hope.",
    ),
];

fn search(arguments: &Value) -> Outcome {
    let query = text(arguments, "query")?.to_lowercase();
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(10);
    let hits: Vec<_> = NOTES
        .iter()
        .filter(|(_, title, body)| format!("{title} {body}").to_lowercase().contains(&query))
        .map(|(id, title, _)| json!({ "id": id, "title": title, "url": format!("demo://notes/{id}") }))
        .collect();
    let total = hits.len();
    let shown: Vec<_> = hits
        .into_iter()
        .take(usize::try_from(limit).unwrap_or(10))
        .collect();
    Ok(structured(&json!({ "results": shown, "total": total })))
}

fn fetch(arguments: &Value) -> Outcome {
    let wanted = text(arguments, "id")?;
    let Some((id, title, body)) = NOTES.iter().find(|(id, ..)| *id == wanted) else {
        return Err(ToolFailure(format!(
            "no note has the id `{wanted}`; `search` lists them"
        )));
    };
    let mut note = json!({ "id": id, "title": title, "text": body });
    if let Some(region) = arguments.get("region") {
        note["region"] = region.clone();
    }
    Ok(plain(&note.to_string()))
}

fn flaky(demo: &Demo, arguments: &Value) -> Outcome {
    let key = text(arguments, "key")?;
    let fails = arguments.get("fails").and_then(Value::as_u64).unwrap_or(1);
    let mut counts = lock(&demo.flaky);
    if counts.len() >= ENTRIES_MAX && !counts.contains_key(key) {
        return Err(ToolFailure("too many keys".to_owned()));
    }
    let calls = counts.entry(key.to_owned()).or_default();
    *calls += 1;
    if *calls <= fails {
        return Err(ToolFailure(format!(
            "call {calls} of `{key}` fails, {fails} do"
        )));
    }
    Ok(structured(&json!({ "key": key, "calls": *calls })))
}

fn put(demo: &Demo, arguments: &Value) -> Outcome {
    let key = text(arguments, "key")?;
    let value = arguments.get("value").cloned().unwrap_or(Value::Null);
    let mut kept = lock(&demo.kept);
    if kept.len() >= ENTRIES_MAX && !kept.contains_key(key) {
        return Err(ToolFailure("too many keys".to_owned()));
    }
    kept.insert(key.to_owned(), value.clone());
    demo.tell(Change::Resource(library::kept_uri(key)));
    Ok(structured(&json!({ "key": key, "value": value })))
}

/// A red dot as PNG and a moment of silence as WAV.
fn images() -> Value {
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
    let wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
    json!({ "content": [
        { "type": "text", "text": "one block of each kind" },
        { "type": "image", "data": png, "mimeType": "image/png" },
        { "type": "audio", "data": wav, "mimeType": "audio/wav" },
        { "type": "resource", "resource":
            { "uri": "demo://notes/n1", "mimeType": "text/plain", "text": NOTES[0].2 } },
        { "type": "resource_link", "uri": "demo://notes/n2", "name": "n2", "title": "Coffee" }
    ] })
}

/// Asks in the way of the era. The first round of a modern question is no executed call.
async fn ask(
    demo: &Demo,
    params: &Value,
    arguments: &Value,
    exchange: &Exchange<'_>,
) -> Result<Value, RpcError> {
    let question = match text(arguments, "question") {
        Ok(question) => question,
        Err(failure) => return Ok(finish(Err(failure))),
    };
    let mode = arguments
        .get("mode")
        .and_then(Value::as_str)
        .unwrap_or("form");
    let request = question_params(question, mode);
    let answer = match exchange.era() {
        Era::Modern => {
            let state = hex(&Sha256::digest(format!("{mode}:{question}")));
            match params
                .get(field::INPUT_RESPONSES)
                .and_then(|answers| answers.get("answer"))
            {
                None if !exchange.can_ask(mode) => return Err(missing_capability(mode)),
                None => return Ok(input_required(&request, &state)),
                Some(_) if params.get(field::REQUEST_STATE) != Some(&json!(state)) => {
                    return Err(RpcError::invalid_params(
                        "`requestState` is of another question",
                    ));
                }
                Some(answer) => answer.clone(),
            }
        }
        Era::Legacy if exchange.can_ask(mode) => {
            exchange.ask(&request).await.unwrap_or_else(refused)
        }
        Era::Legacy => {
            return Ok(finish(Err(ToolFailure(
                "the client cannot be asked".to_owned(),
            ))));
        }
    };
    demo.record(params)?;
    Ok(structured(&answer))
}

fn question_params(question: &str, mode: &str) -> Value {
    if mode == "url" {
        return json!({ "mode": "url", "message": question, "url": "https://example.com/answer" });
    }
    json!({
        "message": question,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "answer": { "type": "string", "title": "Answer" },
                "sure": { "type": "boolean", "default": true }
            },
            "required": ["answer"]
        }
    })
}

fn missing_capability(mode: &str) -> RpcError {
    RpcError::new(code::MISSING_CAPABILITY, "this tool must be able to ask")
        .with_data(json!({ "requiredCapabilities": { "elicitation": { mode: {} } } }))
}

fn input_required(request: &Value, state: &str) -> Value {
    json!({
        "resultType": "input_required",
        field::INPUT_REQUESTS: { "answer": { "method": method::ELICIT, "params": request } },
        field::REQUEST_STATE: state
    })
}

/// Waits in quarters, with progress after each where the caller wants it.
async fn take_time(params: &Value, arguments: &Value, exchange: &Exchange<'_>) {
    let total = arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
    let token = meta::get(params, meta::PROGRESS_TOKEN);
    for quarter in 1..=4_u64 {
        tokio::time::sleep(bounded(total / 4)).await;
        if let Some(token) = token {
            let done = total * quarter / 4;
            let progress = json!({
                "progressToken": token, "progress": done, "total": total,
                "message": format!("{quarter} of 4")
            });
            exchange.notify(method::PROGRESS, &progress).await;
        }
    }
}

async fn wait(arguments: &Value, key: &str) {
    let ms = arguments.get(key).and_then(Value::as_u64).unwrap_or(0);
    if ms > 0 {
        tokio::time::sleep(bounded(ms)).await;
    }
}

fn bounded(ms: u64) -> Duration {
    Duration::from_millis(ms).min(WAIT_MAX)
}

fn text<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, ToolFailure> {
    let value = arguments.get(key).and_then(Value::as_str);
    value.ok_or_else(|| ToolFailure(format!("`{key}` must be a string")))
}

fn whole(arguments: &Value, key: &str) -> Result<u64, ToolFailure> {
    let value = arguments.get(key).and_then(Value::as_u64);
    value.ok_or_else(|| ToolFailure(format!("`{key}` must be a whole number")))
}

fn plain(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn structured(value: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value })
}
