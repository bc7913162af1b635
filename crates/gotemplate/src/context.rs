//! How a template sees its data: borrowed JSON, and lazily resolved objects and lists of the caller.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// A borrowed value of the caller. The root of a rendering is one too.
#[derive(Clone, Copy)]
pub enum Node<'a> {
    /// JSON null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A native integer (Go's `int`); numbers inside [`Node::Json`] are float64 to Go.
    Int(i64),
    /// A number as JSON has it (Go's `float64`).
    Float(f64),
    /// A text.
    Str(&'a str),
    /// Any JSON value.
    Json(&'a Value),
    /// An object whose fields are found when they are read.
    Object(&'a dyn Object),
    /// A list whose elements are found when they are read.
    List(&'a dyn List),
    /// Go's nil map: prints `map[]`, equals nil, its fields have no value, `json` gives `null`.
    NilMap,
}

/// An object whose fields are found when they are read.
pub trait Object {
    /// The field of this name.
    fn get(&self, key: &str) -> Option<Node<'_>>;

    /// All names, in any order; the renderer sorts them.
    fn keys(&self) -> Vec<Cow<'_, str>>;

    /// How many fields there are.
    fn len(&self) -> usize {
        self.keys().len()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A list whose elements are found when they are read.
pub trait List {
    /// The element at this place.
    fn get(&self, index: usize) -> Option<Node<'_>>;

    /// How many elements there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a Value> for Node<'a> {
    fn from(value: &'a Value) -> Self {
        Node::Json(value)
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Null => f.write_str("Null"),
            Node::Bool(value) => write!(f, "Bool({value})"),
            Node::Int(value) => write!(f, "Int({value})"),
            Node::Float(value) => write!(f, "Float({value})"),
            Node::Str(value) => write!(f, "Str({value:?})"),
            Node::Json(value) => write!(f, "Json({value})"),
            Node::Object(value) => write!(f, "Object({} fields)", value.len()),
            Node::List(value) => write!(f, "List({} elements)", value.len()),
            Node::NilMap => f.write_str("NilMap"),
        }
    }
}
