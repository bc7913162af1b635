//! An object whose values are not read: numbers of any length, the order of keys and escapes stay as they came, and
//! what is changed is changed beside them.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ShapeError;
use crate::keys::settled;
use crate::lenient::{read_leniently, read_unlooked};

/// Fields in their order. Of a key that stands twice, at any depth, the last value counts.
#[derive(Clone, Debug, Default)]
pub struct Fields(IndexMap<String, Box<RawValue>>);

impl Fields {
    /// `what` names the object in the fault of a text that is none.
    pub fn read(text: &str, what: &str) -> Result<Self, ShapeError> {
        let read = text
            .starts_with('{')
            .then(|| read_unlooked(&settled(text)).ok());
        read.flatten().map(Self).ok_or_else(|| ShapeError::Wrong {
            what: what.to_owned(),
            wanted: "an object",
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), &**value))
    }

    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.get(key).map(|value| &**value)
    }

    /// The value of a field that is a string.
    pub fn string(&self, key: &str) -> Option<String> {
        read_leniently(self.get(key)?.get()).ok()
    }

    /// Sets a field, in its old place where it had one.
    pub fn set(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        let value = to_raw_value(value).expect("what is written here has text keys alone");
        self.0.insert(key.to_owned(), value);
    }

    /// Sets a field that is not there.
    pub fn supply(&mut self, key: &str, value: &Value) {
        if !self.0.contains_key(key) {
            self.set(key, value);
        }
    }

    pub fn remove(&mut self, key: &str) {
        self.0.shift_remove(key);
    }

    /// Keeps the fields whose keys are wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.0.retain(|key, _| is_wanted(key));
    }

    /// The object as text; its values are written as they came.
    pub fn to_text(&self) -> String {
        serde_json::to_string(&self.0).expect("fields are JSON")
    }

    /// The object on one line.
    pub fn to_raw(&self) -> Box<RawValue> {
        let text = self.to_text();
        let text = match on_one_line(&text) {
            Cow::Owned(line) => line,
            Cow::Borrowed(_) => text,
        };
        RawValue::from_string(text).expect("fields are JSON")
    }
}

/// A JSON text without line breaks, which in JSON stand only between the parts of a text, and would end a line of a stream.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.replace(['\n', '\r'], " ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_changed_stays_as_it_came() {
        let text = r#"{"z":123456789012345678901234567890,"a":{"f": 1.10,"b":"\ud800"},"e":1e400}"#;
        let mut fields = Fields::read(text, "it").unwrap();
        assert_eq!(fields.to_text(), text);
        fields.set("a", &json!([1]));
        fields.supply("z", &json!(0));
        fields.supply("new", &json!("n"));
        fields.remove("e");
        let changed = r#"{"z":123456789012345678901234567890,"a":[1],"new":"n"}"#;
        assert_eq!(fields.to_text(), changed);
        assert_eq!(fields.string("new").as_deref(), Some("n"));
        assert_eq!(fields.string("a"), None);
        let half = Fields::read(r#"{"\ud800":1e400,"a":{"b":1.10,"b":1e999}}"#, "it").unwrap();
        let read = "{\"\u{fffd}\":1e400,\"a\":{\"b\":1e999}}";
        assert_eq!(half.to_text(), read);
        let lines = Fields::read("{\"a\":[1,\r\n2]}", "it").unwrap();
        assert_eq!(lines.to_raw().get(), "{\"a\":[1,  2]}");
    }

    #[test]
    fn what_is_no_object_is_named() {
        for text in ["[]", "7", "{", "null"] {
            let fault = Fields::read(text, "the page").unwrap_err().to_string();
            assert_eq!(fault, "the page must be an object");
        }
    }
}
