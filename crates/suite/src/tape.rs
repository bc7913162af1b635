//! Tapes: recorded calls of one server. A record is found by the tool and its arguments; order matters only among
//! records of the same call. The file format is the cassette of mcptest, so that both programs read each other's tapes.
//! Reading and writing files is left to the caller.

use crate::difference::{differences, in_one_line, shown};
use crate::limits::{NAMES_LISTED_MAX, TAPE_RECORDS_MAX};
use crate::scrub::Scrub;
use onecall_engine::event::Outcome;
use onecall_engine::failure::{Category, Code, Failure};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

/// The version of the file format.
const VERSION: &str = "1";

const CALL: &str = "tools/call";

/// The recorded exchanges of one server.
#[derive(Debug, Default)]
pub struct Tape {
    file: Map<String, Value>,
    exchanges: Vec<Value>,
    /// The exchanges of each call, in their order.
    by_call: HashMap<String, Vec<usize>>,
    is_changed: bool,
}

/// Why a text is not a tape.
#[derive(Debug, thiserror::Error)]
pub enum ReadTapeError {
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("it is not an object with `version` and `exchanges`")]
    NotATape,
    #[error("its version is {0}, and only \"{VERSION}\" can be read")]
    Version(Value),
    #[error("exchange {0} has no `request` with a method and no `response`")]
    Exchange(usize),
    #[error("it has more than {TAPE_RECORDS_MAX} exchanges")]
    TooLong,
}

impl Tape {
    /// A tape without records.
    pub fn empty(server: &str) -> Self {
        let file = json!({
            "version": VERSION,
            "mcptest_version": concat!("onecall ", env!("CARGO_PKG_VERSION")),
            "meta": { "source_command": server },
        });
        Self {
            file: object(file),
            ..Self::default()
        }
    }

    pub fn parse(text: &str, scrub: &Scrub) -> Result<Self, ReadTapeError> {
        let Value::Object(mut file) = serde_json::from_str(text)? else {
            return Err(ReadTapeError::NotATape);
        };
        match file.get("version") {
            Some(Value::String(version)) if version == VERSION => {}
            Some(other) => return Err(ReadTapeError::Version(other.clone())),
            None => return Err(ReadTapeError::NotATape),
        }
        let Some(Value::Array(exchanges)) = file.remove("exchanges") else {
            return Err(ReadTapeError::NotATape);
        };
        if exchanges.len() > TAPE_RECORDS_MAX {
            return Err(ReadTapeError::TooLong);
        }
        let mut tape = Self {
            file,
            ..Self::default()
        };
        for (index, exchange) in exchanges.into_iter().enumerate() {
            let has_method = exchange["request"]["method"].is_string();
            if !has_method || !exchange["response"].is_object() {
                return Err(ReadTapeError::Exchange(index));
            }
            tape.push(exchange, scrub);
        }
        Ok(tape)
    }

    /// Something was recorded since it was read.
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    pub fn text(&self) -> String {
        let mut file = self.file.clone();
        file.insert("exchanges".to_owned(), Value::from(self.exchanges.clone()));
        let text = serde_json::to_string_pretty(&file);
        text.expect("a JSON value can be written") + "\n"
    }

    fn push(&mut self, exchange: Value, scrub: &Scrub) {
        let request = &exchange["request"];
        if request["method"] == CALL {
            let params = &request["params"];
            let tool = params["name"].as_str().unwrap_or_default();
            let key = key(tool, &params["arguments"], scrub);
            let index = self.exchanges.len();
            self.by_call.entry(key).or_default().push(index);
        }
        self.exchanges.push(exchange);
    }

    /// The record of this call after `used` of them; how many there are, if they are used up.
    pub(crate) fn find(&self, key: &str, used: usize) -> Result<Outcome, usize> {
        let records = self.by_call.get(key).map_or(&[][..], Vec::as_slice);
        match records.get(used) {
            Some(index) => Ok(outcome(&self.exchanges[*index]["response"])),
            None => Err(records.len()),
        }
    }

    /// Records the outcome of a call. Only answers of the tool are recorded, not a server that is down.
    pub(crate) fn record(&mut self, call: &Call<'_>, outcome: &Outcome, scrub: &Scrub) {
        let answer = match outcome {
            Outcome::Returned(result) => ("result", scrub.value(result)),
            Outcome::Failed { failure, result } => match result {
                Some(result) => ("result", scrub.value(result)),
                None if failure.code.category() == Category::Tool => {
                    let message = scrub.text(&failure.message);
                    let code = protocol_code(failure.code);
                    ("error", json!({ "code": code, "message": message }))
                }
                None => return,
            },
            Outcome::Asks(_) | Outcome::Unknown(_) => return,
        };
        if self.exchanges.len() >= TAPE_RECORDS_MAX {
            return;
        }
        let id = self.exchanges.len() + 1;
        let params = json!({ "name": call.tool, "arguments": scrub.value(call.arguments) });
        let exchange = json!({
            "request": { "jsonrpc": "2.0", "id": id, "method": CALL, "params": params },
            "response": { "jsonrpc": "2.0", "id": id, answer.0: answer.1 },
        });
        self.push(exchange, scrub);
        self.is_changed = true;
    }

    /// Why a call has no record, with the differences from the nearest one.
    pub(crate) fn miss(&self, call: &Call<'_>, recorded: usize, scrub: &Scrub) -> String {
        let tool = call.tool;
        if recorded > 0 {
            let records = onecall_source::counted(recorded, "record");
            return format!("the {records} of this call of `{tool}` were used before in this row");
        }
        let arguments = scrub.value(call.arguments);
        let calls = self.exchanges.iter().map(|exchange| &exchange["request"]);
        let calls: Vec<&Value> = calls.filter(|call| call["method"] == CALL).collect();
        let own = calls.iter().filter(|own| own["params"]["name"] == tool);
        let compared = own.map(|own| {
            let recorded = scrub.value(&own["params"]["arguments"]);
            differences("arguments", &recorded, &arguments)
        });
        if let Some(nearest) = compared.min_by_key(Vec::len) {
            let nearest = in_one_line(&nearest);
            let called = shown(&arguments);
            return format!(
                "no record of `{tool}` with {called}; the nearest record differs: {nearest}"
            );
        }
        let names = calls
            .iter()
            .filter_map(|own| own["params"]["name"].as_str());
        let names: BTreeSet<&str> = names.collect();
        let mut text = format!("no record of `{tool}`");
        if !names.is_empty() {
            let names: Vec<&str> = names.into_iter().take(NAMES_LISTED_MAX).collect();
            let _ = write!(text, "; there are records of `{}`", names.join("`, `"));
        }
        text
    }
}

/// A call as its record is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Value,
}

/// What records of the same call have in common.
pub(crate) fn key(tool: &str, arguments: &Value, scrub: &Scrub) -> String {
    let mut text = format!("{tool}\n");
    // A call without arguments may be written either way.
    if arguments.is_null() {
        text.push_str("{}");
    } else {
        write_canonical(&scrub.value(arguments), &mut text);
    }
    text
}

/// Keys in order, whole numbers without a fraction.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (key, own) in entries {
                let _ = write!(text, "{}:", Value::from(key.as_str()));
                write_canonical(own, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Number(number) => {
            let whole = number.as_f64().filter(|own| own.fract() == 0.0);
            let _ = match whole.filter(|_| number.is_f64()) {
                Some(whole) => write!(text, "{whole:.0}"),
                None => write!(text, "{number}"),
            };
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
    }
}

/// The outcome of a recorded response.
fn outcome(response: &Value) -> Outcome {
    let Some(error) = response.get("error") else {
        let result = response.get("result").cloned().unwrap_or_default();
        return Outcome::Returned(Arc::new(result));
    };
    let code = error["code"].as_i64().unwrap_or_default();
    let message = error["message"].as_str().unwrap_or("an error without text");
    Outcome::Failed {
        failure: Failure::new(Code::of_protocol_error(code), message),
        result: None,
    }
}

/// The protocol's number for a failed call.
fn protocol_code(code: Code) -> i64 {
    match code {
        Code::ToolArguments => -32602,
        Code::ToolUnknown => -32601,
        _ => -32603,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(entries) => entries,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
