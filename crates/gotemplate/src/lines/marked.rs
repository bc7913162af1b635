//! JSON data in which some numbers are native integers and some values nil maps, which JSON itself cannot say.

use std::borrow::Cow;

use serde_json::Value;

use crate::context::{List, Node, Object};

/// A value; lists and objects are kept as JSON unless something in them is marked.
#[derive(Debug)]
pub(super) enum Marked {
    Json(Value),
    Int(i64),
    NilMap,
    List(Vec<Marked>),
    Object(Vec<(String, Marked)>),
}

impl Marked {
    pub(super) fn new(value: Value) -> Self {
        Marked::Json(value)
    }

    /// Marks what dotted paths lead to; paths that lead nowhere mark nothing.
    pub(super) fn mark(&mut self, ints: Vec<&str>, nil_maps: Vec<&str>) {
        for path in ints {
            self.at(path, |value| {
                if let Marked::Json(Value::Number(number)) = value {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "the case says that it is an integer"
                    )]
                    // By way of float64, as Go decodes it; what does not fit becomes the least integer there.
                    let whole = number.as_f64().unwrap_or_default() as i64;
                    *value = Marked::Int(if whole == i64::MAX { i64::MIN } else { whole });
                }
            });
        }
        for path in nil_maps {
            self.at(path, |value| *value = Marked::NilMap);
        }
    }

    fn at(&mut self, path: &str, change: impl FnOnce(&mut Marked)) {
        let mut value = self;
        for name in path.split('.') {
            value.open();
            let found = match value {
                Marked::List(list) => name
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| list.get_mut(index)),
                Marked::Object(fields) => fields
                    .iter_mut()
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value),
                _ => None,
            };
            let Some(found) = found else { return };
            value = found;
        }
        change(value);
    }

    /// Makes the members of a list or object reachable.
    fn open(&mut self) {
        if let Marked::Json(value) = self {
            match value.take() {
                Value::Array(list) => {
                    *self = Marked::List(list.into_iter().map(Marked::Json).collect());
                }
                Value::Object(map) => {
                    *self = Marked::Object(
                        map.into_iter()
                            .map(|(key, value)| (key, Marked::Json(value)))
                            .collect(),
                    );
                }
                other => *value = other,
            }
        }
    }

    pub(super) fn node(&self) -> Node<'_> {
        match self {
            Marked::Json(value) => Node::Json(value),
            Marked::Int(value) => Node::Int(*value),
            Marked::NilMap => Node::NilMap,
            Marked::List(_) => Node::List(self),
            Marked::Object(_) => Node::Object(self),
        }
    }
}

impl List for Marked {
    fn get(&self, index: usize) -> Option<Node<'_>> {
        match self {
            Marked::List(list) => list.get(index).map(Marked::node),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Marked::List(list) => list.len(),
            _ => 0,
        }
    }
}

impl Object for Marked {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        match self {
            Marked::Object(fields) => fields
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.node()),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        match self {
            Marked::Object(fields) => fields
                .iter()
                .map(|(name, _)| Cow::Borrowed(name.as_str()))
                .collect(),
            _ => Vec::new(),
        }
    }
}
