//! Questions asked in the terminal: the message, one prompt a field of the schema, and a way to refuse.
//! Whether the answer fits is decided by the run, which then asks again.

use crate::limits::ANSWER_TRIES_MAX;
use crate::print;
use console::Key;
use onecall_engine::event::AnswerAction;
use onecall_runtime::questions::Given;
use onecall_runtime::runs::Asked;
use onecall_workflow::coerce::is_sensitive;
use serde_json::{Map, Value};
use std::io::{self, IsTerminal};

/// Whether a person sits at both ends.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Where lines come from.
pub(crate) trait Prompt {
    /// Shows a text and reads a line; `None` at the end of input. A secret is not echoed.
    fn line(&mut self, text: &str, is_secret: bool) -> io::Result<Option<String>>;
}

pub(crate) struct Terminal(console::Term);

impl Terminal {
    pub(crate) fn new() -> Self {
        Self(console::Term::stderr())
    }
}

impl Prompt for Terminal {
    fn line(&mut self, text: &str, is_secret: bool) -> io::Result<Option<String>> {
        self.0.write_str(&print::harmless(text))?;
        let read = if is_secret {
            unseen(&self.0)
        } else {
            self.0.read_line()
        };
        match read {
            Ok(line) => Ok(Some(line)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A line that is not echoed. Key by key, as other lines are read: a terminal that is interrupted while it waits for
/// a whole line would stay without echo.
fn unseen(terminal: &console::Term) -> io::Result<String> {
    let mut line = String::new();
    loop {
        match terminal.read_key()? {
            Key::Enter => break,
            Key::Char(character) => line.push(character),
            Key::Backspace => {
                line.pop();
            }
            _ => {}
        }
    }
    terminal.write_line("")?;
    Ok(line)
}

/// Asks until there is an answer of the right shape, or the person refuses. `None`: the person interrupted.
pub(crate) fn ask(question: &Asked, prompt: &mut dyn Prompt) -> io::Result<Option<Given>> {
    match put(question, prompt) {
        Ok(given) => Ok(Some(given)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            // What is told next must not stand behind the prompt.
            print::err("");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn put(question: &Asked, prompt: &mut dyn Prompt) -> io::Result<Given> {
    print::err(lines(question));
    let (action, content) = match choose(prompt)? {
        AnswerAction::Accept => match fields(question.schema.as_deref(), prompt)? {
            Filled::Content(content) => (AnswerAction::Accept, content),
            Filled::Left => (AnswerAction::Cancel, None),
            Filled::Invalid(name) => invalid(&format!("no valid value was typed for `{name}`")),
        },
        AnswerAction::Invalid => invalid("neither a, d nor c was typed"),
        refusal => (refusal, None),
    };
    Ok(Given {
        step: question.step.clone(),
        round: Some(question.round),
        action,
        content,
    })
}

/// An answer that the run counts as invalid: it asks again, a few times.
fn invalid(reason: &str) -> (AnswerAction, Option<Value>) {
    (AnswerAction::Invalid, Some(Value::from(reason)))
}

/// The message, and below it the page that it sends to.
fn lines(question: &Asked) -> String {
    match &question.url {
        Some(url) => format!("{}\n  {url}", question.message),
        None => question.message.clone(),
    }
}

fn choose(prompt: &mut dyn Prompt) -> io::Result<AnswerAction> {
    let mut text = CHOICES.to_owned();
    for _ in 0..ANSWER_TRIES_MAX {
        let line = prompt.line(&text, false)?;
        match line.as_deref().map(str::trim) {
            Some("a" | "accept" | "y" | "yes") => return Ok(AnswerAction::Accept),
            Some("d" | "decline" | "n" | "no") => return Ok(AnswerAction::Decline),
            Some("c" | "cancel") | None => return Ok(AnswerAction::Cancel),
            Some(other) => text = format!("  {}\n{CHOICES}", neither(other)),
        }
    }
    Ok(AnswerAction::Invalid)
}

const CHOICES: &str = "[a]ccept, [d]ecline or [c]ancel? ";

fn neither(line: &str) -> String {
    let wanted = "type `a` or `yes` to accept, `d` or `no` to decline, `c` to cancel";
    if line.is_empty() {
        return format!("nothing was typed; {wanted}");
    }
    format!("`{line}` is none of these; {wanted}")
}

/// The form of an accepted answer.
enum Filled {
    Content(Option<Value>),
    /// The input ended.
    Left,
    /// This field got no valid value.
    Invalid(String),
}

fn fields(schema: Option<&Value>, prompt: &mut dyn Prompt) -> io::Result<Filled> {
    let Some(schema) = schema else {
        return Ok(Filled::Content(None));
    };
    let empty = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut content = Map::new();
    for (name, property) in properties {
        match field(name, property, required.contains(&name.as_str()), prompt)? {
            Entered::Value(value) => {
                content.insert(name.clone(), value);
            }
            Entered::Nothing => {}
            Entered::Left => return Ok(Filled::Left),
            Entered::Invalid => return Ok(Filled::Invalid(name.clone())),
        }
    }
    Ok(Filled::Content(Some(Value::Object(content))))
}

enum Entered {
    Value(Value),
    Nothing,
    Left,
    Invalid,
}

fn field(
    name: &str,
    property: &Value,
    is_required: bool,
    prompt: &mut dyn Prompt,
) -> io::Result<Entered> {
    let text = label(name, property, is_required);
    let is_secret = property.as_object().is_some_and(is_sensitive);
    for _ in 0..ANSWER_TRIES_MAX {
        let Some(line) = prompt.line(&text, is_secret)? else {
            return Ok(Entered::Left);
        };
        let line = line.trim();
        if line.is_empty() {
            match property.get("default") {
                Some(default) => return Ok(Entered::Value(default.clone())),
                None if !is_required => return Ok(Entered::Nothing),
                None => {}
            }
        } else {
            match read(line, property) {
                Ok(value) => return Ok(Entered::Value(value)),
                Err(reason) => print::err(format!("  {reason}")),
            }
        }
    }
    Ok(Entered::Invalid)
}

/// `amount, how much to pay (integer, default 3): `
fn label(name: &str, property: &Value, is_required: bool) -> String {
    let text = |key: &str| property.get(key).and_then(Value::as_str);
    let about = text("description").or(text("title"));
    let about = about.map(|about| format!(", {about}")).unwrap_or_default();
    let mut notes = Vec::new();
    match choices(property) {
        Some(choices) => notes.push(choices.iter().map(bare).collect::<Vec<_>>().join(" | ")),
        None => notes.extend(text("type").map(str::to_owned)),
    }
    match property.get("default") {
        Some(default) => notes.push(format!("default {}", bare(default))),
        None if !is_required => notes.push("optional".to_owned()),
        None => {}
    }
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    format!("  {name}{about}{notes}: ")
}

fn choices(property: &Value) -> Option<Vec<Value>> {
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        return Some(choices.clone());
    }
    let options = property.get("oneOf").and_then(Value::as_array)?;
    options
        .iter()
        .map(|option| option.get("const").cloned())
        .collect()
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A line as a value of the property's type.
fn read(line: &str, property: &Value) -> Result<Value, String> {
    if let Some(choices) = choices(property) {
        let chosen = choices.iter().find(|choice| bare(choice) == line);
        return chosen
            .cloned()
            .ok_or_else(|| format!("`{line}` is none of the choices"));
    }
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") => match line.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Value::Bool(true)),
            "n" | "no" | "false" => Ok(Value::Bool(false)),
            _ => Err(format!("`{line}` is neither yes nor no")),
        },
        Some(kind @ ("integer" | "number" | "array" | "object")) => {
            serde_json::from_str(line).map_err(|_| format!("`{line}` is not of type {kind}"))
        }
        _ => Ok(Value::from(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    struct Script(Vec<&'static str>, Vec<String>);

    impl Prompt for Script {
        fn line(&mut self, text: &str, is_secret: bool) -> io::Result<Option<String>> {
            self.1
                .push(format!("{text}{}", if is_secret { "*" } else { "" }));
            Ok((!self.0.is_empty()).then(|| self.0.remove(0).to_owned()))
        }
    }

    fn answer(schema: Option<Value>, lines: &[&'static str]) -> (Given, Vec<String>) {
        let question = Asked {
            step: "approve".to_owned(),
            round: 2,
            message: "Deploy?".to_owned(),
            schema: schema.map(Arc::new),
            url: None,
            deadline: None,
            fault: None,
        };
        let mut script = Script(lines.to_vec(), Vec::new());
        let given = ask(&question, &mut script).unwrap().unwrap();
        (given, script.1)
    }

    /// Somebody presses Ctrl-C.
    struct Interrupting;

    impl Prompt for Interrupting {
        fn line(&mut self, _: &str, _: bool) -> io::Result<Option<String>> {
            Err(io::ErrorKind::Interrupted.into())
        }
    }

    #[test]
    fn a_page_to_visit_is_told_and_an_interruption_is_no_answer() {
        let question = Asked {
            step: "pay".to_owned(),
            round: 0,
            message: "Pay there:".to_owned(),
            schema: None,
            url: Some("https://pay.example/1".to_owned()),
            deadline: None,
            fault: None,
        };
        assert_eq!(lines(&question), "Pay there:\n  https://pay.example/1");
        assert!(ask(&question, &mut Interrupting).unwrap().is_none());
    }

    #[test]
    fn fields_are_read_by_their_types() {
        let schema = json!({
            "type": "object",
            "properties": {
                "ok": { "type": "boolean" },
                "where": { "enum": ["here", "there"], "default": "here" },
                "count": { "type": "integer", "description": "how many" },
                "note": { "type": "string" },
                "key": { "type": "string", "format": "password" },
            },
            "required": ["ok", "count", "key"],
        });
        let lines = ["a", "maybe", "yes", "", "x", "3", "", "secret"];
        let (given, prompts) = answer(Some(schema), &lines);
        assert_eq!((given.action, given.round), (AnswerAction::Accept, Some(2)));
        let expected = json!({ "ok": true, "where": "here", "count": 3, "key": "secret" });
        assert_eq!(given.content, Some(expected));
        assert_eq!(prompts[3], "  where (here | there, default here): ");
        assert_eq!(prompts[4], "  count, how many (integer): ");
        assert_eq!(prompts[6], "  note (string, optional): ");
        assert_eq!(prompts[7], "  key (string): *");
    }

    #[test]
    fn a_person_may_refuse_or_leave() {
        assert_eq!(answer(None, &["d"]).0.action, AnswerAction::Decline);
        assert_eq!(answer(None, &["c"]).0.action, AnswerAction::Cancel);
        assert_eq!(answer(None, &[]).0.action, AnswerAction::Cancel);
        let (given, prompts) = answer(None, &["maybe", "", "a"]);
        assert!(
            prompts[1].starts_with("  `maybe` is none of these; type `a`"),
            "{prompts:?}"
        );
        assert!(prompts[2].starts_with("  nothing was typed; type `a`"));
        assert_eq!((given.action, given.content), (AnswerAction::Accept, None));
        let schema = json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        assert_eq!(
            answer(Some(schema.clone()), &["a"]).0.action,
            AnswerAction::Cancel
        );
        let mistaken = ["a", "x", "y", "z"];
        let (given, _) = answer(Some(schema), &mistaken);
        assert_eq!(given.action, AnswerAction::Invalid);
        assert_eq!(
            given.content,
            Some(json!("no valid value was typed for `n`"))
        );
        let (given, _) = answer(None, &["q", "", "maybe"]);
        assert_eq!(given.action, AnswerAction::Invalid);
    }
}
