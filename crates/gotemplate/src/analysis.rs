//! What a template reads and calls, with places: the result of [`crate::Template::analysis`].

use crate::span::Span;

/// What a template reads and calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every read of data, in source order.
    pub reads: Vec<Read>,
    /// Every function that is called, in source order.
    pub functions: Vec<FunctionUse>,
}

/// One read of data: a path of constant segments and what it hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What the path hangs on, as written.
    pub base: Base,
    /// The segments, as written: `.a.b`, `index .a "b" 0`, or a mix.
    pub segments: Vec<Segment>,
    /// The whole path from the root of the data where it is known: through `with`, `range`, variables that are
    /// set once, and template arguments. Each segment keeps the span of where it was written.
    pub rooted: Option<Vec<Segment>>,
    /// The bytes of the whole read.
    pub span: Span,
    /// A part beneath this path is chosen at run time: `index .steps .params.which`.
    pub dynamic: bool,
    /// The value becomes the dot of a block, a variable or a template's argument; reads through that are listed too.
    pub rebinds: bool,
}

/// What a path hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// The dot: `.a.b`.
    Dot(Dot),
    /// `$`, the data the template was called with; the root unless inside a `define`.
    Dollar {
        /// Inside a `define` or `block`, where `$` is that template's argument.
        in_define: bool,
    },
    /// A variable, named with its `$`.
    Variable(String),
    /// The result of a function or a literal.
    Computed,
}

/// Whose dot it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// The data itself.
    Root,
    /// The value of a `with`.
    With,
    /// An element of a `range`.
    Range,
    /// The argument of a `define` or `block`.
    Template,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Which part.
    pub key: Key,
    /// Where it was written; for [`Key::Any`] the ranged expression.
    pub span: Span,
}

/// Which part of a value a segment takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A field or a constant string key.
    Name(String),
    /// A constant index.
    Index(i64),
    /// Each element of a range.
    Any,
}

/// One call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
}

impl Read {
    /// The path from the root as names, as far as it consists of names.
    pub fn root_names(&self) -> Option<Vec<&str>> {
        let segments = self.rooted.as_ref()?;
        Some(
            segments
                .iter()
                .map_while(|segment| segment.key.name())
                .collect(),
        )
    }
}

impl Key {
    /// The name, if this is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Key::Name(name) => Some(name),
            Key::Index(_) | Key::Any => None,
        }
    }
}
