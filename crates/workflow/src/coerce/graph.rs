//! A schema as a graph of nodes with its references followed: which schema applies to which part of a value.
//! It says where to look; whether a value is valid is for `validators`, how costly that is for `analysis`.

use super::limits;
use jsonschema::Draft;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::BitOr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) const ROOT: Self = Self(0);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of JSON types. Whole numbers stand apart from other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => {
                Self::INTEGER
            }
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER | Self::FRACTION,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::NONE,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One schema. Everything it refers to is resolved.
#[derive(Debug)]
pub(super) struct Node {
    /// JSON pointer into the schema document.
    pub(super) pointer: String,
    /// What its own `type`, `const` and `enum` admit.
    pub(super) kinds: Kinds,
    /// `$ref` and `allOf`: schemas that apply to the same value as well.
    pub(super) all: Vec<NodeId>,
    /// `anyOf` and `oneOf`.
    pub(super) choices: Vec<Vec<NodeId>>,
    /// `not`, `if` and others that see the same value but do not say what it should be.
    pub(super) aside: Vec<NodeId>,
    pub(super) properties: BTreeMap<String, NodeId>,
    pub(super) patterns: Vec<(String, NodeId)>,
    pub(super) additional: Option<NodeId>,
    pub(super) prefix: Vec<NodeId>,
    pub(super) items: Option<NodeId>,
    /// `contains`, `unevaluatedItems` and others that see the parts of the value.
    pub(super) beneath: Vec<NodeId>,
    pub(super) required: Vec<String>,
    pub(super) default: Option<Value>,
    pub(super) sensitive: bool,
}

impl Node {
    /// Schemas that see the same value.
    pub(super) fn in_place(&self) -> impl Iterator<Item = NodeId> + '_ {
        let choices = self.choices.iter().flatten();
        self.all.iter().chain(choices).chain(&self.aside).copied()
    }

    /// Schemas that see parts of the value.
    pub(super) fn inside(&self) -> impl Iterator<Item = NodeId> + '_ {
        let patterns = self.patterns.iter().map(|(_, node)| node);
        (self.properties.values())
            .chain(patterns)
            .chain(&self.additional)
            .chain(&self.prefix)
            .chain(&self.items)
            .chain(&self.beneath)
            .copied()
    }

    pub(super) fn item(&self, index: usize) -> Option<NodeId> {
        self.prefix.get(index).copied().or(self.items)
    }
}

#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    guards: Vec<bool>,
}

impl Graph {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Whether a sensitive schema is this one or can be reached from it.
    pub(super) fn guards(&self, id: NodeId) -> bool {
        self.guards[id.index()]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// Builds the graph of what the root reaches. `None` when the schema is too large to look at.
    pub(super) fn build(schema: &Value, draft: Draft, faults: &mut Vec<String>) -> Option<Self> {
        let anchors = survey(schema, faults)?;
        let mut builder = Builder {
            schema,
            old_references: matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7),
            anchors,
            known: BTreeMap::new(),
            queue: Vec::new(),
            faults,
        };
        builder.enter(schema, String::new());
        let mut nodes = Vec::new();
        while let Some((value, pointer)) = builder.queue.get(nodes.len()).cloned() {
            nodes.push(builder.node(value, pointer));
        }
        let guards = guards(&nodes);
        Some(Self { nodes, guards })
    }
}

/// Marks what leads to a sensitive schema, going backwards from those.
fn guards(nodes: &[Node]) -> Vec<bool> {
    let mut above = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for below in node.in_place().chain(node.inside()) {
            above[below.index()].push(index);
        }
    }
    let mut marked: Vec<bool> = nodes.iter().map(|node| node.sensitive).collect();
    let mut queue: Vec<usize> = (0..nodes.len()).filter(|index| marked[*index]).collect();
    while let Some(index) = queue.pop() {
        for parent in &above[index] {
            if !marked[*parent] {
                marked[*parent] = true;
                queue.push(*parent);
            }
        }
    }
    marked
}

/// Measures the document and finds its anchors, without recursion.
fn survey<'a>(
    schema: &'a Value,
    faults: &mut Vec<String>,
) -> Option<BTreeMap<&'a str, (&'a Value, String)>> {
    let mut anchors = BTreeMap::new();
    let mut count = 0_usize;
    let mut stack = vec![(schema, String::new(), 0_usize)];
    while let Some((value, pointer, depth)) = stack.pop() {
        count += 1;
        if count > limits::SCHEMA_VALUES_MAX || depth > limits::SCHEMA_NESTING_MAX {
            faults.push(format!(
                "the schema is too large: at most {} values, nested {} deep, are read",
                limits::SCHEMA_VALUES_MAX,
                limits::SCHEMA_NESTING_MAX
            ));
            return None;
        }
        match value {
            Value::Object(object) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(name) = object.get(key).and_then(Value::as_str) {
                        anchors.insert(name, (value, pointer.clone()));
                    }
                }
                for (key, below) in object {
                    stack.push((below, joined(&pointer, key), depth + 1));
                }
            }
            Value::Array(items) => {
                for (index, below) in items.iter().enumerate() {
                    stack.push((below, format!("{pointer}/{index}"), depth + 1));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Some(anchors)
}

fn joined(pointer: &str, key: &str) -> String {
    let escaped = key.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{escaped}")
}

struct Builder<'a, 'f> {
    schema: &'a Value,
    /// Up to draft 7 a `$ref` hides what stands beside it.
    old_references: bool,
    anchors: BTreeMap<&'a str, (&'a Value, String)>,
    /// By address in the document, so that one schema is one node however it is reached.
    known: BTreeMap<usize, NodeId>,
    queue: Vec<(&'a Value, String)>,
    faults: &'f mut Vec<String>,
}

impl<'a> Builder<'a, '_> {
    fn enter(&mut self, value: &'a Value, pointer: String) -> NodeId {
        let next = NodeId(u32::try_from(self.queue.len()).unwrap_or(u32::MAX));
        let id = *self
            .known
            .entry(std::ptr::from_ref(value).addr())
            .or_insert(next);
        if id == next {
            self.queue.push((value, pointer));
        }
        id
    }

    fn node(&mut self, value: &'a Value, pointer: String) -> Node {
        let empty = Map::new();
        let object = match value {
            Value::Object(object) => object,
            _ => &empty,
        };
        let mut node = Node {
            kinds: kinds(value),
            all: Vec::new(),
            choices: Vec::new(),
            aside: Vec::new(),
            properties: BTreeMap::new(),
            patterns: Vec::new(),
            additional: None,
            prefix: Vec::new(),
            items: None,
            beneath: Vec::new(),
            required: texts(object.get("required")),
            default: object.get("default").cloned(),
            sensitive: is_sensitive(object),
            pointer,
        };
        let Value::Object(object) = value else {
            return node;
        };
        let id = object.get("$id").and_then(Value::as_str);
        if !node.pointer.is_empty() && id.is_some_and(|id| !id.starts_with('#')) {
            self.fault(&node.pointer, "a schema with its own `$id` is not read");
        }
        self.references(object, &mut node);
        if self.old_references && object.contains_key("$ref") {
            node.kinds = Kinds::ALL;
            node.required = Vec::new();
            return node;
        }
        self.same_value(object, &mut node);
        self.object_parts(object, &mut node);
        self.array_parts(object, &mut node);
        node
    }

    fn references(&mut self, object: &'a Map<String, Value>, node: &mut Node) {
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = object.get(key).and_then(Value::as_str) else {
                continue;
            };
            match self.resolve(reference) {
                Some((target, pointer)) => {
                    let id = self.enter(target, pointer);
                    node.all.push(id);
                }
                None => self.fault(
                    &node.pointer,
                    &format!("`{key}: {reference}` leads to no schema of this document"),
                ),
            }
        }
    }

    fn resolve(&self, reference: &str) -> Option<(&'a Value, String)> {
        let own = self.schema.get("$id").and_then(Value::as_str);
        let fragment = match reference.split_once('#') {
            Some(("", fragment)) => fragment,
            Some((base, fragment)) if own.is_some_and(|own| own.trim_end_matches('#') == base) => {
                fragment
            }
            None if own == Some(reference) => "",
            _ => return None,
        };
        let fragment = percent_decoded(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let (value, pointer) = self.anchors.get(fragment.as_str())?;
            return Some((value, pointer.clone()));
        }
        let target = self.schema.pointer(&fragment)?;
        (target.is_object() || target.is_boolean()).then_some((target, fragment))
    }

    fn same_value(&mut self, object: &'a Map<String, Value>, node: &mut Node) {
        node.all.extend(self.list(object, "allOf", &node.pointer));
        for key in ["anyOf", "oneOf"] {
            let branches = self.list(object, key, &node.pointer);
            if !branches.is_empty() {
                node.choices.push(branches);
            }
        }
        for key in ["not", "if", "then", "else"] {
            node.aside.extend(self.one(object, key, &node.pointer));
        }
        for key in ["dependentSchemas", "dependencies"] {
            let named = self.named(object, key, &node.pointer);
            node.aside.extend(named.into_iter().map(|(_, id)| id));
        }
    }

    fn object_parts(&mut self, object: &'a Map<String, Value>, node: &mut Node) {
        let properties = self.named(object, "properties", &node.pointer);
        node.properties = properties.into_iter().collect();
        node.patterns = self.named(object, "patternProperties", &node.pointer);
        node.additional = self.one(object, "additionalProperties", &node.pointer);
        for key in ["propertyNames", "unevaluatedProperties"] {
            node.beneath.extend(self.one(object, key, &node.pointer));
        }
    }

    fn array_parts(&mut self, object: &'a Map<String, Value>, node: &mut Node) {
        node.prefix = self.list(object, "prefixItems", &node.pointer);
        match object.get("items") {
            Some(Value::Array(_)) => {
                node.prefix = self.list(object, "items", &node.pointer);
                node.items = self.one(object, "additionalItems", &node.pointer);
            }
            _ => node.items = self.one(object, "items", &node.pointer),
        }
        for key in ["contains", "unevaluatedItems"] {
            node.beneath.extend(self.one(object, key, &node.pointer));
        }
    }

    fn one(&mut self, object: &'a Map<String, Value>, key: &str, at: &str) -> Option<NodeId> {
        let value = object.get(key)?;
        (value.is_object() || value.is_boolean()).then(|| self.enter(value, joined(at, key)))
    }

    fn list(&mut self, object: &'a Map<String, Value>, key: &str, at: &str) -> Vec<NodeId> {
        let values = object.get(key).and_then(Value::as_array);
        let at = joined(at, key);
        values
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, value)| self.enter(value, format!("{at}/{index}")))
            .collect()
    }

    fn named(
        &mut self,
        object: &'a Map<String, Value>,
        key: &str,
        at: &str,
    ) -> Vec<(String, NodeId)> {
        let values = object.get(key).and_then(Value::as_object);
        let at = joined(at, key);
        values
            .into_iter()
            .flatten()
            // `dependencies` holds lists of names as well.
            .filter(|(_, value)| value.is_object() || value.is_boolean())
            .map(|(name, value)| (name.clone(), self.enter(value, joined(&at, name))))
            .collect()
    }

    fn fault(&mut self, pointer: &str, message: &str) {
        if self.faults.len() < limits::FAULTS_MAX {
            self.faults.push(format!("at `#{pointer}`: {message}"));
        }
    }
}

fn kinds(schema: &Value) -> Kinds {
    let object = match schema {
        Value::Bool(false) => return Kinds::NONE,
        Value::Object(object) => object,
        _ => return Kinds::ALL,
    };
    let any = |values: &[Value]| {
        values
            .iter()
            .fold(Kinds::NONE, |kinds, value| kinds | Kinds::of(value))
    };
    let by_type = match object.get("type") {
        Some(Value::String(name)) => Kinds::named(name),
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .fold(Kinds::NONE, |kinds, name| kinds | Kinds::named(name)),
        _ => Kinds::ALL,
    };
    let by_const = object.get("const").map_or(Kinds::ALL, Kinds::of);
    let by_enum = object
        .get("enum")
        .and_then(Value::as_array)
        .map_or(Kinds::ALL, |options| any(options));
    by_type.and(by_const).and(by_enum)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}

pub fn is_sensitive(object: &Map<String, Value>) -> bool {
    let says = |key: &str| object.get(key) == Some(&Value::Bool(true));
    says("writeOnly")
        || says("x-sensitive")
        || object.get("format").and_then(Value::as_str) == Some("password")
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
