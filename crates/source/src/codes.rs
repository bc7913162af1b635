//! The diagnostic codes of the whole project, in one table, so that none is given twice.
//! Each code has a page in `docs/diagnostics/`; the rules that raise them stand in their own crates.

mod table;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

pub use table::*;

/// A registered code, such as `WF005`. Two codes are equal when their ids are.
#[derive(Clone, Copy)]
pub struct Code(&'static Registered);

/// What the table says of a code.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
}

impl Code {
    pub(crate) const fn new(registered: &'static Registered) -> Self {
        Self(registered)
    }

    /// `WF005`.
    pub fn as_str(self) -> &'static str {
        self.0.id
    }

    /// A few words: `duplicate key`.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// One sentence.
    pub fn description(self) -> &'static str {
        self.0.description
    }
}

/// Every code, in order.
pub fn all() -> impl Iterator<Item = Code> {
    table::LIST.iter().copied()
}

/// The code of this id, in any case: `WF005`, `wf005`.
pub fn find(id: &str) -> Option<Code> {
    all().find(|code| code.as_str().eq_ignore_ascii_case(id))
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.id)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.id.cmp(other.0.id)
    }
}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

/// Defines the constants and their list from the same lines, so that neither lacks one.
macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal, $description:literal;)*) => {
        $(
            #[doc = concat!("`", $id, "`: ", $description)]
            pub const $name: $crate::Code = $crate::Code::new(&$crate::codes::Registered {
                id: $id,
                title: $title,
                description: $description,
            });
        )*
        pub(super) const LIST: &[$crate::Code] = &[$($name),*];
    };
}
use codes;

#[cfg(test)]
mod tests;
