//! The `script` block: parameters, tools, people and incidents, in YAML made to be read.

use onecall_dialects::toolhive::parse_duration;
use onecall_engine::event::{Answer, AnswerAction, Resolution};
use onecall_engine::failure::Code;
use onecall_engine::inquiry::{Inquiry, Way};
use onecall_engine::scripted::{Incident, Reply, ReplyKind, Response, Script};
use onecall_workflow::expression::GoOptions;
use onecall_workflow::policy::Budget;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A script with what else the run is given.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) params: Value,
    pub(super) script: Script,
    /// Definitions of tools by name: `readOnly`, `idempotent`, `input`, `output`.
    pub(super) catalog: Map<String, Value>,
    pub(super) budget: Option<Budget>,
    pub(super) templates: GoOptions,
}

type Read<T> = Result<T, String>;

pub(super) fn read(text: &str) -> Read<World> {
    let value = super::execute::yaml("script", text)?;
    let mut world = World {
        params: json!({}),
        ..World::default()
    };
    for (key, value) in object(&value)? {
        match key.as_str() {
            "params" => world.params.clone_from(value),
            "seed" => world.script.seed = value.as_u64().unwrap_or(0),
            "templates" => world.templates = templates(value)?,
            "budget" => world.budget = Some(budget(value)?),
            "catalog" => world.catalog.clone_from(object(value)?),
            "tools" => {
                for (name, replies) in object(value)? {
                    let replies = list(replies).iter().map(reply).collect::<Read<_>>()?;
                    world.script.tools.insert(name.clone(), replies);
                }
            }
            "people" => {
                for (step, responses) in object(value)? {
                    let responses = list(responses).iter().map(response).collect::<Read<_>>()?;
                    world.script.people.insert(step.clone(), responses);
                }
            }
            "incidents" => {
                let incidents = list(value).iter().map(incident).collect::<Read<_>>()?;
                world.script.incidents = incidents;
            }
            other => return Err(format!("a script has no `{other}`")),
        }
    }
    Ok(world)
}

/// As in the configuration: `mode` and `missing`, each of which may be `go`.
fn templates(value: &Value) -> Read<GoOptions> {
    let mut options = GoOptions::default();
    for (key, value) in object(value)? {
        match key.as_str() {
            "mode" => options.go_mode = value == "go",
            "missing" => options.go_missing = value == "go",
            other => return Err(format!("templates have no `{other}`")),
        }
    }
    Ok(options)
}

fn budget(value: &Value) -> Read<Budget> {
    let mut budget = Budget::default();
    for (key, value) in object(value)? {
        match key.as_str() {
            "calls" => budget.calls = value.as_u64(),
            "cost_usd" => budget.cost_usd = value.as_f64(),
            "tokens" => budget.tokens = value.as_u64(),
            "time" => budget.time = Some(duration(value)?),
            other => return Err(format!("a budget has no `{other}`")),
        }
    }
    Ok(budget)
}

fn object(value: &Value) -> Read<&Map<String, Value>> {
    value
        .as_object()
        .ok_or_else(|| format!("expected a mapping, not {value}"))
}

/// A list, or the only thing that would be in it.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        other => vec![other.clone()],
    }
}

fn duration(value: &Value) -> Read<Duration> {
    let text = value.as_str().unwrap_or_default();
    parse_duration(text).ok_or_else(|| format!("`{value}` is no duration"))
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn reply(value: &Value) -> Read<Reply> {
    let Value::Object(entries) = value else {
        return Ok(if value == "silent" {
            Reply::new(ReplyKind::Silence)
        } else {
            Reply::text(&text(value))
        });
    };
    let message = || entries.get("message").map_or("no".to_owned(), text);
    let mut reply = None;
    for (key, value) in entries {
        reply = match key.as_str() {
            "structured" => Some(Reply::structured(value)),
            "text" => Some(Reply::text(&text(value))),
            "result" => Some(Reply::new(ReplyKind::Returns(value.clone()))),
            "error" => Some(Reply::error(&text(value))),
            "lost" => Some(Reply::new(ReplyKind::Lost(text(value)))),
            "silent" => Some(Reply::new(ReplyKind::Silence)),
            "asks" => Some(Reply::new(ReplyKind::Asks(inquiry(entries)?))),
            "asks_meanwhile" => Some(Reply::new(ReplyKind::AsksMeanwhile(request(value)))),
            "fail" => {
                let name = text(value);
                let code = Code::ALL.iter().find(|code| code.as_str() == name);
                let code = code.ok_or_else(|| format!("`{name}` is no code"))?;
                Some(Reply::failure(*code, &message()))
            }
            "rpc" => {
                let code = Code::of_protocol_error(value.as_i64().unwrap_or_default());
                Some(Reply::failure(code, &message()))
            }
            _ => continue,
        };
    }
    let mut reply = reply.ok_or_else(|| format!("{value} says no answer"))?;
    for (key, value) in entries {
        match key.as_str() {
            "after" => reply.after = duration(value)?,
            "again" => reply.again = list(value).iter().map(duration).collect::<Read<_>>()?,
            "stubborn" => reply.is_stubborn = true,
            "structured" | "text" | "result" | "error" | "lost" | "silent" | "fail" | "rpc"
            | "message" | "asks" | "asks_meanwhile" | "state" | "way" => {}
            other => return Err(format!("an answer of a tool has no `{other}`")),
        }
    }
    Ok(reply)
}

/// `asks` maps keys to questions; `state` goes back with the answers, `way: consent` takes none back.
fn inquiry(entries: &Map<String, Value>) -> Read<Inquiry> {
    let asked = object(entries.get("asks").unwrap_or(&Value::Null))?.iter();
    Ok(Inquiry {
        requests: asked
            .map(|(key, params)| (key.clone(), request(params)))
            .collect(),
        state: entries.get("state").map(text),
        way: match entries.get("way").and_then(Value::as_str) {
            Some("consent") => Way::Consent,
            _ => Way::Repeated,
        },
    })
}

/// A request as a backend sends it; parameters alone mean a question to a person.
fn request(value: &Value) -> Value {
    if value.get("method").is_some() {
        return value.clone();
    }
    json!({ "method": onecall_mcp::method::ELICIT, "params": value })
}

fn response(value: &Value) -> Read<Response> {
    if let Value::String(action) = value {
        return Ok(Response::new(action_of(action)?, None));
    }
    let mut response = None;
    let mut after = Duration::ZERO;
    for (key, value) in object(value)? {
        if key == "after" {
            after = duration(value)?;
        } else {
            let content = (key == "accept").then(|| value.clone());
            response = Some(Response::new(action_of(key)?, content));
        }
    }
    let response = response.ok_or_else(|| format!("{value} says no answer"))?;
    Ok(response.after(after))
}

fn action_of(text: &str) -> Read<AnswerAction> {
    match text {
        "accept" => Ok(AnswerAction::Accept),
        "decline" => Ok(AnswerAction::Decline),
        "cancel" => Ok(AnswerAction::Cancel),
        other => Err(format!("a person cannot `{other}`")),
    }
}

fn incident(value: &Value) -> Read<(Duration, Incident)> {
    let entries = object(value)?;
    let at = duration(entries.get("at").unwrap_or(&Value::Null))?;
    let step = || entries.get("step").map(text).unwrap_or_default();
    let what = if let Some(reason) = entries.get("cancel") {
        Incident::Cancel {
            reason: text(reason),
        }
    } else if let Some(down) = entries.get("crash") {
        Incident::Crash {
            down: duration(down)?,
        }
    } else if let Some(answer) = entries.get("answer") {
        let answer: Answer = response(answer)?.answer;
        let step = step();
        Incident::Answer { step, answer }
    } else if let Some(resolution) = entries.get("resolve") {
        let resolution = match resolution {
            Value::String(word) if word == "retry" => Resolution::Retry,
            Value::String(word) if word == "fail" => Resolution::Fail,
            other => Resolution::Result(other.clone()),
        };
        let item = entries.get("item").and_then(Value::as_u64);
        Incident::Resolve {
            step: step(),
            item: item.and_then(|item| u32::try_from(item).ok()),
            resolution,
        }
    } else {
        return Err(format!("{value} is no incident"));
    };
    Ok((at, what))
}
