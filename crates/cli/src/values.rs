//! `key=text` and `key:=json` on the command line.

use crate::exit::usage;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reads words into an object.
pub(crate) fn object(words: &[String]) -> anyhow::Result<Map<String, Value>> {
    let mut object = Map::new();
    for word in words {
        let Some((key, text)) = word.split_once('=') else {
            return Err(usage(format!(
                "`{word}` is neither `key=text` nor `key:=json`"
            )));
        };
        let (key, value) = match key.strip_suffix(':') {
            None => (key, Value::from(text)),
            Some(key) => {
                let value = serde_json::from_str(text).map_err(|error| {
                    usage(format!(
                        "the value of `{key}` is not JSON ({error}): `{text}`"
                    ))
                })?;
                (key, value)
            }
        };
        if key.is_empty() {
            return Err(usage(format!("`{word}` has no key")));
        }
        object.insert(key.to_owned(), value);
    }
    Ok(object)
}

/// Reads `key=value` words into labels.
pub(crate) fn labels(words: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let pairs = words.iter().map(|word| match word.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(usage(format!("`{word}` is no label; write `key=value`"))),
    });
    pairs.collect()
}

/// Whether a word is an argument rather than a name.
pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(key, _)| {
        let key = key.strip_suffix(':').unwrap_or(key);
        !key.is_empty() && !key.contains(['/', '\\'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_become_an_object() {
        let words = [
            "who=Ada".to_owned(),
            "n:=3".to_owned(),
            "url=a=b".to_owned(),
        ];
        let expected = json!({ "who": "Ada", "n": 3, "url": "a=b" });
        assert_eq!(Value::Object(object(&words).unwrap()), expected);
        assert!(object(&["bare".to_owned()]).is_err());
        assert!(object(&["n:=x".to_owned()]).is_err());
        assert!(is_assignment("a:=1") && !is_assignment("./a=b/c") && !is_assignment("greet"));
    }
}
