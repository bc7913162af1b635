//! Every key that is accepted, what it does, and what it may hold. `onecall schema` prints it, as a list and as JSON
//! Schema; a test shows the difference that each key makes, and another that no reader asks for a key beside these.

mod files;
mod resources;
mod suites;
mod tools;
mod workflows;

pub use files::MCP_SERVERS;

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes what is done.
    Acts,
    /// It restricts who may do what and cannot be enforced here, so the file is refused.
    Refused,
    /// It is read over, with a warning.
    Warned,
    /// It acts in the cluster that runs the resource, or where tests are run, which a note says.
    Noted,
    /// It says something to people or to the cluster, and has no effect by its nature.
    Free,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acts => "acts",
            Self::Refused => "refused",
            Self::Warned => "warned",
            Self::Noted => "noted",
            Self::Free => "free",
        }
    }
}

/// What a key may hold.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Text,
    Flag,
    /// A whole number within these bounds.
    Whole(i64, i64),
    Duration,
    Choice(&'static [&'static str]),
    Texts,
    /// Texts by name.
    Pairs,
    /// A mapping of this part.
    One(&'static str),
    /// A list of them.
    Many(&'static str),
    /// Some of them, by name.
    Named(&'static str),
    /// A name, alone or as `{name: …}`.
    Reference,
    References,
    /// A mapping of anything.
    Mapping,
    Any,
}

/// A key of a part.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub effect: Effect,
    pub shape: Shape,
    pub required: bool,
}

/// A mapping that files hold.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub name: &'static str,
    /// Parts whose keys it has too.
    pub includes: &'static [&'static str],
    pub keys: &'static [Key],
    /// Other keys are warned of, not refused.
    pub is_open: bool,
}

/// All parts, in the order of the documents.
pub fn parts() -> impl Iterator<Item = &'static Part> {
    tools::PARTS
        .iter()
        .chain(files::PARTS)
        .chain(resources::PARTS)
        .chain(workflows::PARTS)
        .chain(suites::PARTS)
}

/// The part of this name.
pub fn part(name: &str) -> Option<&'static Part> {
    parts().find(|part| part.name == name)
}

const fn key(name: &'static str, effect: Effect, shape: Shape) -> Key {
    Key {
        name,
        effect,
        shape,
        required: false,
    }
}

/// A key that acts.
const fn acts(name: &'static str, shape: Shape) -> Key {
    key(name, Effect::Acts, shape)
}

/// A key that acts and must be there.
const fn needed(name: &'static str, shape: Shape) -> Key {
    Key {
        required: true,
        ..acts(name, shape)
    }
}

const fn refused(name: &'static str) -> Key {
    key(name, Effect::Refused, Shape::Any)
}

const fn warned(name: &'static str) -> Key {
    key(name, Effect::Warned, Shape::Any)
}

const fn noted(name: &'static str) -> Key {
    key(name, Effect::Noted, Shape::Any)
}

const fn free(name: &'static str) -> Key {
    key(name, Effect::Free, Shape::Any)
}

const fn plain(name: &'static str, keys: &'static [Key]) -> Part {
    Part {
        name,
        includes: &[],
        keys,
        is_open: false,
    }
}
