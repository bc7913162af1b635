//! Arguments of a call: text where they came as text, so that a call which is passed on keeps every digit, and a value
//! where they were computed. They are read only where somebody looks inside.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ShapeError;
use crate::fields::on_one_line;
use crate::message::behind_string;

/// An object. Cheap to clone where it is text.
#[derive(Clone, Debug)]
pub struct Arguments(Kept);

#[derive(Clone, Debug)]
enum Kept {
    /// On one line, and no key of an object twice.
    Text(Arc<RawValue>),
    Value(Value),
}

impl Arguments {
    /// Arguments as they came. Where a key is given twice its last value counts, as for every reader here: another
    /// reader could take the first, so such a text is not passed on as it is.
    pub fn from_raw(raw: &RawValue) -> Result<Self, ShapeError> {
        let text = raw.get();
        if !text.starts_with('{') {
            return Err(ShapeError::Wrong {
                what: "`arguments`".to_owned(),
                wanted: "an object",
            });
        }
        if is_ambiguous(text) {
            return read(text).map(Self::from);
        }
        // A line break would end a line of a stream.
        let raw = match on_one_line(text) {
            Cow::Borrowed(_) => raw.to_owned(),
            Cow::Owned(line) => RawValue::from_string(line).map_err(|error| not_json(&error))?,
        };
        Ok(Self(Kept::Text(Arc::from(raw))))
    }

    /// The arguments as they are sent.
    pub fn text(&self) -> Cow<'_, RawValue> {
        match &self.0 {
            Kept::Text(text) => Cow::Borrowed(text),
            Kept::Value(value) => Cow::Owned(to_raw_value(value).expect("a JSON value is JSON")),
        }
    }

    /// The arguments as a JSON value. Integers of more than 64 bits become floating; what no value can hold is a fault.
    pub fn to_value(&self) -> Result<Cow<'_, Value>, ShapeError> {
        match &self.0 {
            Kept::Text(text) => read(text.get()).map(Cow::Owned),
            Kept::Value(value) => Ok(Cow::Borrowed(value)),
        }
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self(Kept::Value(value))
    }
}

fn read(text: &str) -> Result<Value, ShapeError> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> ShapeError {
    ShapeError::NotJson(error.to_string())
}

/// Whether some object of a JSON text has a key twice. Looks at the text once and reads nothing but keys, so that
/// what no value can hold may still be passed on.
pub(crate) fn is_ambiguous(text: &str) -> bool {
    let mut open: Vec<Keys<'_>> = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'{' | b'[' => open.push(Keys::default()),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                let begin = text.len() - rest.len();
                rest = behind_string(rest);
                let end = (text.len() - rest.len()).saturating_sub(1);
                // In JSON only a key is followed by a colon.
                let is_key = rest.trim_ascii_start().first() == Some(&b':');
                if is_key
                    && let (Some(keys), Some(key)) = (open.last_mut(), text.get(begin..end))
                    && !keys.insert(key)
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The keys of one object: a few are compared one by one, many by their hash.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

const KEYS_FEW: usize = 16;

impl<'a> Keys<'a> {
    /// Whether it is new. `key` is what stands between the quotes.
    fn insert(&mut self, key: &'a str) -> bool {
        let key = if key.contains('\\') {
            // One that cannot be decoded is compared as it is written.
            let decoded = serde_json::from_str(&format!("\"{key}\""));
            decoded.map_or(Cow::Borrowed(key), Cow::<str>::Owned)
        } else {
            Cow::Borrowed(key)
        };
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < KEYS_FEW {
            self.few.push(key);
            return true;
        }
        self.many.insert(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(text: &str) -> Arguments {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        Arguments::from_raw(&raw).unwrap()
    }

    #[test]
    fn what_came_as_text_goes_on_as_text() {
        for text in [
            "{}",
            r#"{"n":123456789012345678901234567890,"f":1.10,"e":1e400,"s":"\ud800"}"#,
            r#"{"b":{"x":1},"a":[{"x":1},{"x":2}],"x":"a: \"b\":"}"#,
        ] {
            assert_eq!(arguments(text).text().get(), text);
        }
        let lines = "{\n \"a\" :\r\n [1,\n2] }";
        assert_eq!(arguments(lines).text().get(), "{  \"a\" :   [1, 2] }");
    }

    #[test]
    fn a_key_that_is_given_twice_has_its_last_value_for_everybody() {
        for (text, sent) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1, "\u0061" : 2}"#, r#"{"a":2}"#),
            (
                r#"{"l":[{"k":{"a":1,"b":2,"a":3}}]}"#,
                r#"{"l":[{"k":{"a":3,"b":2}}]}"#,
            ),
        ] {
            assert_eq!(arguments(text).text().get(), sent);
        }
        let many = |last: usize| {
            let keys = (0..40).chain([last]).map(|key| format!("\"{key}\":0"));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        };
        assert!(!is_ambiguous(&many(40)));
        assert!(is_ambiguous(&many(3)));
        assert!(is_ambiguous(&many(30)));
    }

    #[test]
    fn values_are_read_where_they_can_be() {
        let read = arguments(r#"{"a":1}"#);
        assert_eq!(*read.to_value().unwrap(), json!({ "a": 1 }));
        assert!(arguments(r#"{"a":1e400}"#).to_value().is_err());
        let raw = RawValue::from_string("[1]".to_owned()).unwrap();
        assert!(Arguments::from_raw(&raw).is_err());
    }
}
