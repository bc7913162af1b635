//! The `${…}` of a suite as it is written: text, and reads with a path and perhaps a default.
//! What a name stands for is decided in `expressions`.

use serde_json::Value;
use std::ops::Range;

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Read(Read),
}

/// One `${…}`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Read {
    /// The name in front of the path.
    pub(super) head: String,
    pub(super) head_range: Range<usize>,
    pub(super) path: Vec<Step>,
    /// Where the path ends and a default may follow.
    pub(super) path_end: usize,
    pub(super) default: Option<Value>,
    /// From the dollar to the brace.
    pub(super) range: Range<usize>,
}

impl Read {
    /// A name and nothing else.
    pub(super) fn is_bare(&self) -> bool {
        self.path.is_empty() && self.default.is_none()
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(i64),
    /// `[*]`: what follows is read from every element.
    Every,
}

/// Why a `${…}` cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: String,
    pub(super) range: Range<usize>,
}

impl Fault {
    fn new(message: &str, help: &str, range: Range<usize>) -> Self {
        Self {
            message: message.to_owned(),
            help: help.to_owned(),
            range,
        }
    }
}

/// A text and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template {
    pub(super) parts: Vec<Part>,
    /// Where one is opened that is never closed; it is text.
    pub(super) unclosed: Option<usize>,
}

/// Where the first template of a text begins, sound or not.
pub(super) fn opened(text: &str) -> Option<usize> {
    match parse(text) {
        Err(fault) => Some(fault.range.start),
        Ok(template) => {
            let mut parts = template.parts.iter();
            let read = parts.find_map(|part| match part {
                Part::Read(read) => Some(read.range.start),
                Part::Text(_) => None,
            });
            read.or(template.unclosed)
        }
    }
}

/// The parts of a text. `$${` is a literal `${`.
pub(super) fn parse(text: &str) -> Result<Template, Fault> {
    let mut parts = Vec::new();
    let mut unclosed = None;
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("${") {
        let start = at + found;
        literal.push_str(&text[at..start]);
        if literal.ends_with('$') {
            literal.push('{');
            at = start + 2;
            continue;
        }
        if !text[start..].contains('}') {
            at = start;
            unclosed = Some(start);
            break;
        }
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut literal)));
        }
        let read = Reader {
            text,
            at: start + 2,
        }
        .read(start)?;
        at = read.range.end;
        parts.push(Part::Read(read));
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() || parts.is_empty() {
        parts.push(Part::Text(literal));
    }
    Ok(Template { parts, unclosed })
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

const PATH_HELP: &str = "write `${node.field}`, `${node.list[0].field}`, `${node[*].field}` or `${node.field ?? 1}`; `$${` is a literal `${`";

impl Reader<'_> {
    fn read(mut self, start: usize) -> Result<Read, Fault> {
        self.skip_blanks();
        let head_start = self.at;
        let head = if self.rest().starts_with('"') {
            self.quoted()?
        } else {
            self.word()
        };
        let head_range = head_start..self.at;
        if head.is_empty() {
            let end = self.text[start..]
                .find('}')
                .map_or(self.at, |close| start + close + 1);
            return Err(Fault::new(
                "a template reads nothing",
                PATH_HELP,
                start..end,
            ));
        }
        let path = self.path()?;
        let path_end = self.at;
        self.skip_blanks();
        let default = if self.rest().starts_with("??") {
            self.at += 2;
            Some(self.json()?)
        } else {
            None
        };
        self.skip_blanks();
        if !self.rest().starts_with('}') {
            return Err(self.unexpected());
        }
        Ok(Read {
            head,
            head_range,
            path,
            path_end,
            default,
            range: start..self.at + 1,
        })
    }

    fn path(&mut self) -> Result<Vec<Step>, Fault> {
        let mut path = Vec::new();
        loop {
            if self.rest().starts_with('.') {
                self.at += 1;
                // A last dot reads the whole.
                if self.rest().starts_with('}') {
                    return Ok(path);
                }
                let key = self.word();
                if key.is_empty() {
                    return Err(self.unexpected());
                }
                path.push(Step::Key(key));
            } else if self.rest().starts_with('[') {
                self.at += 1;
                path.push(self.bracket()?);
            } else {
                return Ok(path);
            }
        }
    }

    fn bracket(&mut self) -> Result<Step, Fault> {
        let step = if self.rest().starts_with('"') {
            Step::Key(self.quoted()?)
        } else {
            let end = self.rest().find(']').unwrap_or(0);
            let inside = self.rest()[..end].trim();
            let step = match inside {
                "*" => Step::Every,
                digits => match digits.parse() {
                    Ok(index) => Step::Index(index),
                    Err(_) => return Err(self.unexpected()),
                },
            };
            self.at += end;
            step
        };
        if !self.rest().starts_with(']') {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(step)
    }

    /// Everything that is no punctuation of a path.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let end = rest
            .find(|c: char| {
                matches!(c, '.' | '[' | ']' | '}' | '"' | '?' | ':') || c.is_whitespace()
            })
            .unwrap_or(rest.len());
        let word = rest[..end].to_owned();
        self.at += end;
        word
    }

    fn quoted(&mut self) -> Result<String, Fault> {
        match self.json()? {
            Value::String(text) => Ok(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => Err(self.unexpected()),
        }
    }

    /// The JSON value that starts here.
    fn json(&mut self) -> Result<Value, Fault> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            self.at += values.byte_offset();
            return Ok(value);
        }
        let end = self.rest().find('}').unwrap_or(self.rest().len());
        let help = "write a JSON value, texts in quotes: `${node.name ?? \"none\"}`";
        let range = self.at..self.at + end;
        Err(Fault::new(
            "the default of a template is no JSON value",
            help,
            range,
        ))
    }

    fn unexpected(&self) -> Fault {
        let mut characters = self.rest().chars();
        let message = match characters.next() {
            Some(':') => "a template cannot have `:` in it",
            Some(_) => "a template has something here that is no path",
            None => "a template ends too early",
        };
        let help = if self.rest().starts_with(':') {
            "variables are written `${var.NAME ?? \"default\"}` in a composition; the environment is read as `${env.NAME}`, where the configuration names it"
        } else {
            PATH_HELP
        };
        let end = self.at + self.rest().chars().next().map_or(0, char::len_utf8);
        Fault::new(message, help, self.at..end)
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn only(text: &str) -> (String, Vec<Step>, Option<Value>) {
        match parse(text).unwrap().parts.as_slice() {
            [Part::Read(read)] => (read.head.clone(), read.path.clone(), read.default.clone()),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    #[test]
    fn paths_have_keys_indexes_and_collection() {
        assert_eq!(only("${a}"), ("a".into(), vec![], None));
        assert_eq!(only("${ a.b }"), ("a".into(), vec![key("b")], None));
        assert_eq!(only("${p.}"), ("p".into(), vec![], None));
        assert_eq!(
            only("${a.items[0].x}").1,
            [key("items"), Step::Index(0), key("x")]
        );
        assert_eq!(only("${a[*].x}").1, [Step::Every, key("x")]);
        assert_eq!(only("${get-user.n}").0, "get-user");
    }

    #[test]
    fn names_and_keys_may_be_quoted() {
        assert_eq!(only(r#"${"a.b"["c}d"].e}"#).0, "a.b");
        assert_eq!(only(r#"${"a.b"["c}d"].e}"#).1, [key("c}d"), key("e")]);
    }

    #[test]
    fn a_default_is_any_json() {
        assert_eq!(only("${a.x ?? 1}").2, Some(json!(1)));
        assert_eq!(only(r#"${a.x ?? "}"}"#).2, Some(json!("}")));
        assert_eq!(only(r#"${a ?? {"k": [1]}}"#).2, Some(json!({ "k": [1] })));
        assert!(
            parse("${a.x ?? none}")
                .unwrap_err()
                .message
                .contains("JSON")
        );
    }

    #[test]
    fn text_stays_text() {
        let is = |written: &str, text: &str, unclosed: Option<usize>| {
            let parts = vec![Part::Text(text.to_owned())];
            assert_eq!(parse(written).unwrap(), Template { parts, unclosed });
        };
        is("", "", None);
        is("$5 {a}", "$5 {a}", None);
        is("$${a.b}", "${a.b}", None);
        is("$${a", "${a", None);
        is("never ${closed", "never ${closed", Some(6));
        let parts = parse("v${a}-${b.c}").unwrap().parts;
        assert_eq!(parts.len(), 4);
        assert_eq!(parts[2], Part::Text("-".to_owned()));
    }

    #[test]
    fn faults_say_where() {
        assert_eq!(parse("x ${}").unwrap_err().range, 2..5);
        assert_eq!(parse("${a..b}").unwrap_err().range, 4..5);
        assert_eq!(parse("${a[x]}").unwrap_err().range, 4..5);
        assert!(parse("${HOME:-x}").unwrap_err().help.contains("var.NAME"));
    }
}
