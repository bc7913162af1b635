//! The tree every document is read into: JSON's data model, with the place of each node.
//! Typed reading that reports faults is in `fields`; building the tree is in `parse`.

use serde_json::{Map, Number, Value};

use crate::{Place, Text};

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: NodeKind,
    /// For a scalar its own text, quotes included.
    pub place: Place,
    /// False when a syntax fault may have cost this mapping some of its entries.
    pub(crate) complete: bool,
}

#[derive(Clone, Debug)]
pub enum NodeKind {
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Sequence(Vec<Node>),
    /// In the order written; no key twice.
    Mapping(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Text,
    pub value: Node,
}

impl Node {
    pub fn new(kind: NodeKind, place: impl Into<Place>) -> Self {
        Self {
            kind,
            place: place.into(),
            complete: true,
        }
    }

    /// A tree without text, as of a cluster's resource; places are paths below `place`.
    pub fn from_json(value: &Value, place: &Place) -> Self {
        let kind = match value {
            Value::Null => NodeKind::Null,
            Value::Bool(value) => NodeKind::Bool(*value),
            Value::Number(value) => NodeKind::Number(value.clone()),
            Value::String(value) => NodeKind::String(Text::new(value.as_str(), place)),
            Value::Array(items) => NodeKind::Sequence(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| Self::from_json(item, &place.index(index)))
                    .collect(),
            ),
            Value::Object(entries) => NodeKind::Mapping(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let place = place.key(key);
                        Entry {
                            key: Text::new(key.as_str(), &place),
                            value: Self::from_json(value, &place),
                        }
                    })
                    .collect(),
            ),
        };
        Self::new(kind, place)
    }

    /// The data alone, keys in the order written.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(value) => Value::Number(value.clone()),
            NodeKind::String(text) => Value::String(text.as_str().to_owned()),
            NodeKind::Sequence(items) => items.iter().map(Self::to_json).collect(),
            NodeKind::Mapping(entries) => {
                let pairs = entries
                    .iter()
                    .map(|entry| (entry.key.as_str().to_owned(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// What it is, for messages: `a number`.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Null => "null",
            NodeKind::Bool(_) => "a boolean",
            NodeKind::Number(_) => "a number",
            NodeKind::String(_) => "a string",
            NodeKind::Sequence(_) => "a sequence",
            NodeKind::Mapping(_) => "a mapping",
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, NodeKind::Null)
    }

    pub fn as_text(&self) -> Option<&Text> {
        match &self.kind {
            NodeKind::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            NodeKind::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<&Number> {
        match &self.kind {
            NodeKind::Number(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_mapping(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of this key, when this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_mapping()?.iter().find(|entry| entry.key == *key)
    }

    /// The value of this key, when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// False when a syntax fault may have cost this mapping some of its entries, so that nothing can be called missing.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}
