//! Arguments of a call: text where they came as text, so that a call which is passed on keeps every digit, and a value
//! where they were computed. They are read only where somebody looks inside.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ShapeError;
use crate::fields::on_one_line;
use crate::keys::settled;

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
        let settled = settled(text);
        // A line break would end a line of a stream.
        let raw = match (&settled, on_one_line(&settled)) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => raw.to_owned(),
            (_, line) => {
                RawValue::from_string(line.into_owned()).map_err(|error| not_json(&error))?
            }
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
            (
                r#"{"l":[{"k":{"a":1,"b":1e400,"a":3}}]}"#,
                r#"{"l":[{"k":{"b":1e400,"a":3}}]}"#,
            ),
        ] {
            assert_eq!(arguments(text).text().get(), sent);
        }
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
