//! What a case expects against what happened. A `result` block compares the keys it names; an `events` block
//! compares every event.

use super::Case;
use super::execute::{Run, yaml};
use super::show;
use serde_json::{Map, Value, json};

/// Keys of which only the entries that are named are compared.
const PARTLY: [&str; 5] = ["steps", "outputs", "defaulted", "errors", "reasons"];

pub(super) fn fault(case: &Case, run: &Run) -> Option<String> {
    let mut faults = Vec::new();
    let mut expects = false;
    if let Some(text) = case.block("result") {
        expects = true;
        match yaml("result", text) {
            Ok(expected) => faults.extend(result_faults(&expected, run)),
            Err(fault) => faults.push(fault),
        }
    }
    if let Some(text) = case.block("events") {
        expects = true;
        let happened = match run {
            Run::Played(played) => show::events(played),
            Run::Refused(failure) => format!("refused: {}\n", failure.code),
        };
        if happened != text {
            faults.push(format!("expected events:\n{text}happened:\n{happened}"));
        }
    }
    if !expects {
        faults.push("the case expects nothing".to_owned());
    }
    (!faults.is_empty()).then(|| faults.join("\n"))
}

fn result_faults(expected: &Value, run: &Run) -> Vec<String> {
    let happened = match run {
        Run::Played(played) => show::result(played),
        Run::Refused(failure) => {
            let mut all = Map::new();
            all.insert("end".to_owned(), json!("refused"));
            all.insert("failure".to_owned(), json!(failure.code.as_str()));
            all.insert("message".to_owned(), json!(failure.message));
            all
        }
    };
    let mut faults = Vec::new();
    for (key, wanted) in expected.as_object().into_iter().flatten() {
        let Some(got) = happened.get(key) else {
            faults.push(format!("a result has no `{key}`"));
            continue;
        };
        let fits = match wanted {
            Value::Object(wanted) if PARTLY.contains(&key.as_str()) => wanted
                .iter()
                .all(|(name, value)| got.get(name) == Some(value)),
            Value::String(wanted) if key == "message" => got
                .as_str()
                .is_some_and(|got| got.contains(wanted.as_str())),
            wanted => wanted == got,
        };
        if !fits {
            faults.push(format!("{key}: expected {wanted}, got {got}"));
        }
    }
    faults
}
