//! Values as a running template sees them: small, copied freely, borrowed from the data or the arena.

use crate::limits::SCANNED_ENTRIES_MAX;
use bumpalo::Bump;
use serde_json::{Map, Number, Value};

use crate::context::{List, Node, Object};
use crate::options::Mode;

/// Whether a value that is not there was never there, or is a JSON null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    Missing,
    Null,
}

/// A value.
#[derive(Clone, Copy)]
pub(crate) enum Val<'a> {
    /// Go's invalid value: prints `<no value>`.
    None(Absence),
    /// Go's nil interface: what a container holds for a null.
    Nil(Absence),
    Bool(bool),
    Int(i64),
    /// A byte of a string.
    Byte(u8),
    /// A float64: a literal, and in Go mode every JSON number.
    Float(f64),
    /// In workflow mode, a JSON number that is written as an integer.
    Whole(i64),
    /// The same beyond `i64`.
    Big(u64),
    /// In workflow mode, any other JSON number.
    Fraction(f64),
    Complex(&'a (f64, f64)),
    Str(&'a [u8]),
    Array(&'a [Value]),
    Object(&'a Map<String, Value>),
    /// A list made during the rendering.
    List(&'a [Val<'a>]),
    /// A map made during the rendering, sorted by key.
    Map(&'a [(&'a [u8], Val<'a>)]),
    DynList(&'a dyn List),
    DynMap(&'a dyn Object),
    NilMap,
    /// JSON text that is known to be valid and not read yet; see `json_read`.
    Raw(&'a [u8]),
}

impl<'a> Val<'a> {
    /// The value of a node of the caller.
    pub(crate) fn from_node(node: Node<'a>, mode: Mode) -> Self {
        match node {
            Node::Null => Val::Nil(Absence::Null),
            Node::Bool(value) => Val::Bool(value),
            Node::Int(value) => Val::Int(value),
            Node::Float(value) => Val::from_float(value, mode),
            Node::Str(text) => Val::Str(text.as_bytes()),
            Node::Json(value) => Val::from_json(value, mode),
            Node::Object(object) => Val::DynMap(object),
            Node::List(list) => Val::DynList(list),
            Node::NilMap => Val::NilMap,
        }
    }

    pub(crate) fn from_json(value: &'a Value, mode: Mode) -> Self {
        match value {
            Value::Null => Val::Nil(Absence::Null),
            Value::Bool(value) => Val::Bool(*value),
            Value::Number(number) => Val::from_number(number, mode),
            Value::String(text) => Val::Str(text.as_bytes()),
            Value::Array(list) => Val::Array(list),
            Value::Object(map) => Val::Object(map),
        }
    }

    fn from_number(number: &Number, mode: Mode) -> Self {
        if mode == Mode::Workflow {
            if let Some(whole) = number.as_i64() {
                return Val::Whole(whole);
            }
            if let Some(big) = number.as_u64() {
                return Val::Big(big);
            }
        }
        Val::from_float(number.as_f64().unwrap_or_default(), mode)
    }

    pub(crate) fn from_float(value: f64, mode: Mode) -> Self {
        if mode == Mode::Workflow {
            Val::Fraction(value)
        } else {
            Val::Float(value)
        }
    }

    /// What a value becomes at the end of a pipeline: a nil interface is no value any more.
    pub(crate) fn unwrapped(self) -> Self {
        match self {
            Val::Nil(absence) => Val::None(absence),
            other => other,
        }
    }

    /// Whether it is Go's invalid value once interfaces are looked through.
    pub(crate) fn is_absent(self) -> bool {
        matches!(self, Val::None(_) | Val::Nil(_))
    }

    pub(crate) fn is_missing(self) -> bool {
        matches!(
            self,
            Val::None(Absence::Missing) | Val::Nil(Absence::Missing)
        )
    }

    /// Truth as `if` sees it.
    pub(crate) fn truth(self) -> bool {
        match self {
            Val::None(_) | Val::Nil(_) | Val::NilMap => false,
            Val::Bool(value) => value,
            Val::Int(value) | Val::Whole(value) => value != 0,
            Val::Byte(value) => value != 0,
            Val::Big(value) => value != 0,
            Val::Float(value) | Val::Fraction(value) => value != 0.0,
            Val::Complex(&(real, imaginary)) => real != 0.0 || imaginary != 0.0,
            Val::Str(text) => !text.is_empty(),
            Val::Array(list) => !list.is_empty(),
            Val::Object(map) => !map.is_empty(),
            Val::List(list) => !list.is_empty(),
            Val::Map(map) => !map.is_empty(),
            Val::DynList(list) => !list.is_empty(),
            Val::DynMap(map) => !map.is_empty(),
            Val::Raw(_) => true,
        }
    }

    /// The name of its Go type, once interfaces are looked through.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Val::None(_) | Val::Nil(_) => "interface {}",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Byte(_) => "uint8",
            Val::Float(_) | Val::Whole(_) | Val::Big(_) | Val::Fraction(_) => "float64",
            Val::Complex(_) => "complex128",
            Val::Str(_) => "string",
            Val::Raw(text) if text.first() == Some(&b'[') => "[]interface {}",
            Val::Array(_) | Val::List(_) | Val::DynList(_) => "[]interface {}",
            Val::Object(_) | Val::Map(_) | Val::DynMap(_) | Val::NilMap | Val::Raw(_) => {
                "map[string]interface {}"
            }
        }
    }

    /// The list it is, if it is one.
    pub(crate) fn list(self) -> Option<ListView<'a>> {
        match self {
            Val::Array(list) => Some(ListView::Json(list)),
            Val::List(list) => Some(ListView::Made(list)),
            Val::DynList(list) => Some(ListView::Dyn(list)),
            _ => None,
        }
    }

    /// The map it is, if it is one.
    pub(crate) fn map(self) -> Option<MapView<'a>> {
        match self {
            Val::Object(map) => Some(MapView::Json(map)),
            Val::Map(map) => Some(MapView::Made(map)),
            Val::DynMap(map) => Some(MapView::Dyn(map)),
            Val::NilMap => Some(MapView::Made(&[])),
            _ => None,
        }
    }
}

/// A list, wherever it lives.
#[derive(Clone, Copy)]
pub(crate) enum ListView<'a> {
    Json(&'a [Value]),
    Made(&'a [Val<'a>]),
    Dyn(&'a dyn List),
}

impl<'a> ListView<'a> {
    pub(crate) fn len(self) -> usize {
        match self {
            ListView::Json(list) => list.len(),
            ListView::Made(list) => list.len(),
            ListView::Dyn(list) => list.len(),
        }
    }

    /// The element at `index`, which must be below the length; a list that lies about that holds nulls.
    pub(crate) fn get(self, index: usize, mode: Mode) -> Val<'a> {
        match self {
            ListView::Json(list) => list.get(index).map(|value| Val::from_json(value, mode)),
            ListView::Made(list) => list.get(index).copied(),
            ListView::Dyn(list) => list.get(index).map(|node| Val::from_node(node, mode)),
        }
        .unwrap_or(Val::Nil(Absence::Null))
    }

    /// The elements from `start` up to `end`; beyond the list there are nulls.
    pub(crate) fn slice(self, start: usize, end: usize, mode: Mode, arena: &'a Bump) -> Val<'a> {
        match self {
            ListView::Json(list) if end <= list.len() => Val::Array(&list[start..end]),
            ListView::Made(list) if end <= list.len() => Val::List(&list[start..end]),
            _ => Val::List(
                arena.alloc_slice_fill_iter((start..end).map(|index| self.get(index, mode))),
            ),
        }
    }
}

/// One entry of a map.
pub(crate) type Entry<'a> = (&'a [u8], Val<'a>);

/// A map, wherever it lives.
#[derive(Clone, Copy)]
pub(crate) enum MapView<'a> {
    Json(&'a Map<String, Value>),
    Made(&'a [Entry<'a>]),
    Dyn(&'a dyn Object),
}

impl<'a> MapView<'a> {
    pub(crate) fn len(self) -> usize {
        match self {
            MapView::Json(map) => map.len(),
            MapView::Made(map) => map.len(),
            MapView::Dyn(map) => map.len(),
        }
    }

    pub(crate) fn get(self, key: &str, mode: Mode) -> Option<Val<'a>> {
        match self {
            MapView::Json(map) => json_field(map, key).map(|value| Val::from_json(value, mode)),
            MapView::Made(map) => {
                let found = map.binary_search_by(|entry| entry.0.cmp(key.as_bytes()));
                found.ok().map(|at| map[at].1)
            }
            MapView::Dyn(map) => map.get(key).map(|node| Val::from_node(node, mode)),
        }
    }

    /// The entries in the order of their keys' bytes.
    pub(crate) fn sorted(self, mode: Mode, arena: &'a Bump) -> &'a [Entry<'a>] {
        let entries: &'a mut [Entry<'a>] = match self {
            MapView::Made(map) => return map,
            MapView::Json(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key.as_bytes(), Val::from_json(value, mode)));
                arena.alloc_slice_fill_iter(entries)
            }
            MapView::Dyn(map) => {
                let mut entries = bumpalo::collections::Vec::new_in(arena);
                for key in map.keys() {
                    if let Some(node) = map.get(&key) {
                        entries
                            .push((arena.alloc_str(&key).as_bytes(), Val::from_node(node, mode)));
                    }
                }
                entries.into_bump_slice_mut()
            }
        };
        if !entries.is_sorted_by(|left, right| left.0 <= right.0) {
            entries.sort_unstable_by(|left, right| left.0.cmp(right.0));
        }
        entries
    }
}

/// A field of a JSON object.
pub(crate) fn json_field<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    if map.len() <= SCANNED_ENTRIES_MAX {
        return map
            .iter()
            .find(|(name, _)| name.as_str() == key)
            .map(|(_, value)| value);
    }
    map.get(key)
}
