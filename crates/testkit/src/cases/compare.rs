//! What a case expects against what happened. A `result` block compares the keys it names; an `events` block
//! compares every event.

use super::Case;
use super::execute::{Executed, Run, yaml};
use super::show;
use onecall_source::Diagnostics;
use serde_json::{Map, Value, json};

/// Keys of which only the entries that are named are compared.
const PARTLY: [&str; 5] = ["steps", "outputs", "defaulted", "errors", "reasons"];

pub(super) fn fault(case: &Case, executed: &Executed) -> Option<String> {
    let run = &executed.run;
    let mut faults = Vec::new();
    let mut expects = false;
    if let Some(text) = case.block("diagnostics") {
        expects = true;
        faults.extend(diagnostics_fault(text, &executed.told));
    }
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
            Run::Unread => "unread\n".to_owned(),
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

/// Every line `error WF101: part of the message` stands for one diagnostic, in order, and there are no others.
fn diagnostics_fault(expected: &str, told: &Diagnostics) -> Option<String> {
    let told: Vec<String> = told
        .iter()
        .map(|one| format!("{} {}: {}", one.severity.as_str(), one.code, one.message))
        .collect();
    let expected: Vec<&str> = expected.lines().collect();
    let is_it = |(expected, told): (&&str, &String)| {
        let (head, part) = expected.split_once(": ").unwrap_or((expected, ""));
        told.starts_with(&format!("{head}: ")) && told.contains(part)
    };
    let fits = expected.len() == told.len() && expected.iter().zip(&told).all(is_it);
    (!fits).then(|| format!("expected diagnostics {expected:#?}, told {told:#?}"))
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
        Run::Unread => Map::from_iter([("end".to_owned(), json!("unread"))]),
    };
    let mut faults = Vec::new();
    for (key, wanted) in expected.as_object().into_iter().flatten() {
        let Some(got) = happened.get(key) else {
            faults.push(format!("a result has no `{key}`"));
            continue;
        };
        let fits = match wanted {
            wanted if key == "answer" => is_part(wanted, got),
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

/// What an answer names is there, at every depth of its objects.
fn is_part(wanted: &Value, got: &Value) -> bool {
    match wanted {
        Value::Object(entries) => entries
            .iter()
            .all(|(key, below)| got.get(key).is_some_and(|got| is_part(below, got))),
        other => other == got,
    }
}
