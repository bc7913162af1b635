//! JSON that others wrote, as they wrote it, beside what can be read of it: entries of lists, errors, notifications,
//! questions and their answers. Whoever looks inside reads the value; whoever passes it on writes the text.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::error::ShapeError;
use crate::fields::{Fields, on_one_line};
use crate::keys::settled;
use crate::lenient::{long_numbers, mend, read_leniently, to_the_digit};

/// Cheap to clone. Two are equal that say the same: some servers write the keys of an object in another order each time.
#[derive(Clone)]
pub struct Exact {
    /// On one line, without lone surrogates, and no key of an object twice: one entry must not make a list unreadable.
    text: Arc<RawValue>,
    value: Arc<Value>,
    /// Nothing of it was replaced to be read.
    is_sound: bool,
}

impl Exact {
    /// As it came. A number that no value can hold is read as the largest that one can.
    pub fn from_raw(raw: &RawValue) -> Result<Self, ShapeError> {
        let mended = mend(raw.get());
        let text = settled(&mended);
        let not_json = |error: serde_json::Error| ShapeError::NotJson(error.to_string());
        let (value, is_sound) = match serde_json::from_str(&text) {
            Ok(value) => (value, matches!(mended, Cow::Borrowed(_))),
            Err(_) => (read_leniently(&text).map_err(not_json)?, false),
        };
        let text = RawValue::from_string(on_one_line(&text).into_owned()).map_err(not_json)?;
        Ok(Self {
            text: Arc::from(text),
            value: Arc::new(value),
            is_sound,
        })
    }

    /// An object of parts that came, or of which some did.
    pub fn object<'a>(parts: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let (mut object, mut fields) = (Map::new(), Fields::default());
        let mut is_sound = true;
        for (key, part) in parts {
            is_sound &= part.is_sound;
            fields.set(key, &part);
            object.insert(key.to_owned(), Arc::unwrap_or_clone(part.value));
        }
        Self {
            text: Arc::from(fields.to_raw()),
            value: Arc::new(Value::Object(object)),
            is_sound,
        }
    }

    /// What can be read of it. Integers of more than 64 bits are floating here.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Whether it could be read without replacing anything: no number is out of range, and no character is a half.
    /// Numbers may still have lost digits, as they do wherever a run reads them.
    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// Its fields; none where it is no object.
    pub fn fields(&self) -> Fields {
        Fields::read(self.text(), "it").unwrap_or_default()
    }

    /// One of its fields.
    pub fn field(&self, key: &str) -> Option<Self> {
        let fields = self.fields();
        Self::from_raw(fields.get(key)?).ok()
    }

    /// The same object with one field set, in its old place where it had one.
    #[must_use]
    pub fn with(&self, key: &str, value: &Self) -> Self {
        let mut object = self.value.as_object().cloned().unwrap_or_default();
        object.insert(key.to_owned(), Value::clone(&value.value));
        let mut fields = self.fields();
        fields.set(key, value);
        Self {
            text: Arc::from(fields.to_raw()),
            value: Arc::new(Value::Object(object)),
            is_sound: self.is_sound && value.is_sound,
        }
    }

    /// The same object without a field.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let mut object = self.value.as_object().cloned().unwrap_or_default();
        object.shift_remove(key);
        let mut fields = self.fields();
        fields.remove(key);
        Self {
            text: Arc::from(fields.to_raw()),
            value: Arc::new(Value::Object(object)),
            is_sound: self.is_sound,
        }
    }
}

impl From<Value> for Exact {
    fn from(value: Value) -> Self {
        let text = to_raw_value(&value).expect("a JSON value is JSON");
        Self {
            text: Arc::from(text),
            value: Arc::new(value),
            is_sound: true,
        }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        let is_alike = || self.value == other.value;
        let is_exact = || {
            let (one, two) = (long_numbers(self.text()), long_numbers(other.text()));
            let told = |exact: &Self| to_the_digit(exact.text()).ok();
            one == two && (one.is_empty() || told(self) == told(other))
        };
        self.text() == other.text() || is_alike() && is_exact()
    }
}

impl Eq for Exact {}

impl std::fmt::Debug for Exact {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What others wrote is not logged.
        write!(formatter, "{} bytes", self.text().len())
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RawValue::serialize(&self.text, to)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exact(text: &str) -> Exact {
        Exact::from_raw(&RawValue::from_string(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn it_is_written_as_it_came_and_read_as_far_as_it_can_be() {
        let text =
            r#"{"z":123456789012345678901234567890,"f":1.10,"e":[1e400,-1e400,"1e400"],"a":1}"#;
        let entry = exact(text);
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        assert_eq!(entry.value()["e"], json!([f64::MAX, f64::MIN, "1e400"]));
        let renamed = entry.with("a", &Exact::from(json!("n")));
        assert_eq!(renamed.text(), text.replace(":1}", ":\"n\"}"));
        assert_eq!(renamed.value()["a"], "n");
        assert_eq!(entry.field("f").unwrap().text(), "1.10");
        assert_eq!(entry.field("none"), None);
        let parts = [("b", entry.field("f").unwrap()), ("a", json!([1]).into())];
        let made = Exact::object(parts);
        assert_eq!(made.text(), r#"{"b":1.10,"a":[1]}"#);
        assert_eq!(*made.value(), json!({ "b": 1.1, "a": [1] }));
        let cut = renamed.without("e").without("a");
        let rest = r#"{"z":123456789012345678901234567890,"f":1.10}"#;
        assert_eq!(cut.text(), rest);
        assert_eq!(cut.value().as_object().unwrap().len(), 2);
    }

    #[test]
    fn the_order_of_keys_makes_no_difference_and_every_digit_does() {
        let one = exact(r#"{"a":1,"n":123456789012345678901234567890,"f":1.10}"#);
        let same = r#"{"f":1.1,"n":123456789012345678901234567890,"a":1}"#;
        assert_eq!(one, exact(same));
        assert_ne!(one, exact(&same.replace("7890,", "7891,")));
        let pair = exact(r#"{"a":123456789012345678901,"b":123456789012345678902}"#);
        let swapped = r#"{"a":123456789012345678902,"b":123456789012345678901}"#;
        assert_ne!(pair, exact(swapped));
    }

    #[test]
    fn what_readers_could_take_differently_is_written_anew() {
        let twice = exact(r#"{"a":1.10,"n":1e400,"a":2}"#);
        assert_eq!(twice.text(), r#"{"n":1e400,"a":2}"#);
        assert_eq!(exact(r#"["\ud800",1.10]"#).text(), r#"["\ufffd",1.10]"#);
        for (text, is_sound) in [
            (r#"["\ud800"]"#, false),
            ("[1e400]", false),
            ("[123456789012345678901234567890]", true),
        ] {
            assert_eq!(exact(text).is_sound(), is_sound, "{text}");
        }
        assert_eq!(exact("[1.10,\n2]").text(), "[1.10, 2]");
    }
}
