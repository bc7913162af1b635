//! Keys that stand twice in an object of a JSON text. Two readers could take two values, so such a text is passed on
//! with the last one alone, which is what every reader here takes. Nothing but keys is read: what no value can hold
//! stays as it was written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::message::behind_string;

/// The text without the members that a later one of the same key stands for.
pub(crate) fn settled(text: &str) -> Cow<'_, str> {
    if !is_ambiguous(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in overruled(text) {
        // A member that is cut may hold another.
        if cut.start >= from {
            kept.push_str(&text[from..cut.start]);
            from = cut.end;
        }
    }
    kept.push_str(&text[from..]);
    Cow::Owned(kept)
}

/// Whether some object of a JSON text has a key twice.
pub(crate) fn is_ambiguous(text: &str) -> bool {
    let mut open: Vec<Keys<'_>> = Vec::new();
    walk(text, |part| {
        match part {
            Part::Opens => open.push(Keys::default()),
            Part::Closes => drop(open.pop()),
            Part::Key { key, .. } => {
                let keys = open.last_mut();
                return keys.is_none_or(|keys| keys.insert(decoded(key)));
            }
        }
        true
    })
}

/// Where the members stand that do not count, from the first to the last, each with the comma behind it.
fn overruled(text: &str) -> Vec<Range<usize>> {
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut open: Vec<Members<'_>> = Vec::new();
    walk(text, |part| {
        match part {
            Part::Opens => open.push(Members::default()),
            Part::Closes => drop(open.pop()),
            Part::Key { key, at } => {
                if let Some(members) = open.last_mut() {
                    members.starts.push(at);
                    let own = members.starts.len() - 1;
                    if let Some(before) = members.last.insert(decoded(key), own) {
                        cuts.push(members.starts[before]..members.starts[before + 1]);
                    }
                }
            }
        }
        true
    });
    cuts.sort_unstable_by_key(|cut| (cut.start, usize::MAX - cut.end));
    cuts
}

#[derive(Default)]
struct Members<'a> {
    /// Where each begins.
    starts: Vec<usize>,
    /// The last one of each key.
    last: HashMap<Cow<'a, str>, usize>,
}

enum Part<'a> {
    /// An object or an array.
    Opens,
    Closes,
    /// What stands between its quotes, and where they open.
    Key {
        key: &'a str,
        at: usize,
    },
}

/// Tells of the parts of a JSON text until `visit` says that it is enough; says whether it did.
fn walk<'a>(text: &'a str, mut visit: impl FnMut(Part<'a>) -> bool) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let goes_on = match byte {
            b'{' | b'[' => visit(Part::Opens),
            b'}' | b']' => visit(Part::Closes),
            b'"' => {
                let begin = text.len() - rest.len();
                rest = behind_string(rest);
                let end = (text.len() - rest.len()).saturating_sub(1);
                // In JSON only a key is followed by a colon.
                let is_key = rest.trim_ascii_start().first() == Some(&b':');
                let key = text.get(begin..end).filter(|_| is_key);
                let at = begin - 1;
                key.is_none_or(|key| visit(Part::Key { key, at }))
            }
            _ => true,
        };
        if !goes_on {
            return true;
        }
    }
    false
}

/// A key as readers know it; one that cannot be decoded is compared as it is written.
fn decoded(key: &str) -> Cow<'_, str> {
    if !key.contains('\\') {
        return Cow::Borrowed(key);
    }
    let read = serde_json::from_str(&format!("\"{key}\""));
    read.map_or(Cow::Borrowed(key), Cow::<str>::Owned)
}

/// The keys of one object: a few are compared one by one, many by their hash.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

const KEYS_FEW: usize = 16;

impl<'a> Keys<'a> {
    /// Whether it is new.
    fn insert(&mut self, key: Cow<'a, str>) -> bool {
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
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn of_a_key_that_stands_twice_the_last_value_stays() {
        for (text, wanted) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1, "\u0061" : 2.10}"#, r#"{"\u0061" : 2.10}"#),
            (
                r#"{"l":[{"k":{"a":1,"b":1e400,"a":3}}],"n":1.10}"#,
                r#"{"l":[{"k":{"b":1e400,"a":3}}],"n":1.10}"#,
            ),
            (r#"{"a":{"b":1,"b":2},"a":[3],"a":4}"#, r#"{"a":4}"#),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#),
            (r#"[{"a":1},{"a":1}]"#, r#"[{"a":1},{"a":1}]"#),
        ] {
            assert_eq!(settled(text), wanted);
        }
        let many = |last: usize| {
            let keys = (0..40).chain([last]).map(|key| format!("\"{key}\":0"));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        };
        assert!(!is_ambiguous(&many(40)));
        assert!(is_ambiguous(&many(3)));
        assert!(is_ambiguous(&many(30)));
    }

    /// JSON whose objects have few keys, often twice.
    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![Just("1.10".to_owned()), Just(r#""a:\",{""#.to_owned())];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let member =
                ("[ab]", inner.clone()).prop_map(|(key, value)| format!("\"{key}\" :{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..3)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(member, 0..5)
                    .prop_map(|own| format!("{{{} }}", own.join(",\n"))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_settled_reads_as_before_and_has_no_key_twice(text in json()) {
            let settled = settled(&text);
            prop_assert!(!is_ambiguous(&settled), "{settled}");
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            prop_assert_eq!(read(&settled), read(&text));
        }

        #[test]
        fn any_text_is_walked_to_its_end(text in "[\\[\\]{}\":,\\\\aé1 ]{0,30}") {
            settled(&text);
        }
    }
}
