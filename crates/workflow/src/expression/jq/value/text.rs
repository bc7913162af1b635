//! Values as text: JSON for `tojson` and interpolation, a short form for messages.

use super::super::budget;
use super::Val;
use crate::limits::JQ_SHOWN_CHARACTERS_MAX;
use serde_json::Value;
use std::fmt;

/// Takes pieces of text until it has enough.
trait Sink {
    fn put(&mut self, piece: &str) -> Result<(), Full>;
}

struct Full;

/// Everything, paid for as it grows.
#[derive(Default)]
struct Whole {
    text: String,
}

impl Sink for Whole {
    fn put(&mut self, piece: &str) -> Result<(), Full> {
        budget::steps(1);
        budget::hold(piece.len());
        self.text.push_str(piece);
        Ok(())
    }
}

/// The first characters.
struct Short<'a, 'f> {
    formatter: &'a mut fmt::Formatter<'f>,
    left: usize,
}

impl Sink for Short<'_, '_> {
    fn put(&mut self, piece: &str) -> Result<(), Full> {
        for character in piece.chars() {
            let Some(left) = self.left.checked_sub(1) else {
                let _ = fmt::Write::write_char(self.formatter, '…');
                return Err(Full);
            };
            self.left = left;
            fmt::Write::write_char(self.formatter, character).map_err(|_| Full)?;
        }
        Ok(())
    }
}

impl Val {
    /// Compact JSON. A number that JSON cannot hold is null, as jq writes it.
    pub(in super::super) fn json_text(&self) -> String {
        let mut whole = Whole::default();
        let _ = self.write(&mut whole);
        budget::release(whole.text.len());
        whole.text
    }

    /// The text of a string, the JSON of everything else, cut short.
    pub(in super::super) fn into_message(self) -> String {
        let text = match &self {
            Self::Str(text) => text.inner.clone(),
            other => other.to_string(),
        };
        match text.char_indices().nth(JQ_SHOWN_CHARACTERS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    fn write(&self, to: &mut impl Sink) -> Result<(), Full> {
        match self {
            Self::Null => to.put("null"),
            Self::Bool(true) => to.put("true"),
            Self::Bool(false) => to.put("false"),
            Self::Num(number) => match number.to_json() {
                Some(number) => to.put(&number.to_string()),
                None => to.put("null"),
            },
            Self::Str(text) => to.put(&quoted(&text.inner)),
            Self::Arr(list) => {
                to.put("[")?;
                for (position, item) in list.inner.iter().enumerate() {
                    if position > 0 {
                        to.put(",")?;
                    }
                    item.write(to)?;
                }
                to.put("]")
            }
            Self::Obj(object) => {
                to.put("{")?;
                for (position, (key, value)) in object.inner.iter().enumerate() {
                    if position > 0 {
                        to.put(",")?;
                    }
                    to.put(&quoted(key))?;
                    to.put(":")?;
                    value.write(to)?;
                }
                to.put("}")
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// For messages only, so it is cut short.
impl fmt::Display for Val {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = JQ_SHOWN_CHARACTERS_MAX;
        let _ = self.write(&mut Short { formatter, left });
        Ok(())
    }
}
