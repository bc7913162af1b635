//! Names of tools and steps: what cannot be a name is refused in every dialect.

use crate::limits::{NAME_CHARACTERS_MAX, STEP_NAME_CHARACTERS_MAX};
use onecall_source::{Diagnostic, Text, codes};

/// Why no tool can have this name.
pub(crate) fn fault(name: &Text) -> Option<Diagnostic> {
    let length = name.chars().count();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() {
        return Some(refused(name, "is empty"));
    }
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        return Some(refused(name, &format!("has {bad:?} in it")));
    }
    (length > NAME_CHARACTERS_MAX).then(|| refused(name, &format!("has {length} characters")))
}

fn refused(name: &Text, reason: &str) -> Diagnostic {
    let shown: String = name.chars().take(40).collect();
    Diagnostic::error(
        codes::INVALID_NAME,
        format!("the name `{shown}` cannot be that of a tool: it {reason}"),
    )
    .label(name.place(), "not a tool name")
    .help("use 1 to 64 lower-case letters, digits, `_` and `-`")
}

/// Why no step can have this name, in words that follow it.
pub(crate) fn step_fault(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("is empty")
    } else if name.chars().count() > STEP_NAME_CHARACTERS_MAX {
        Some("has more than 128 characters")
    } else if name.chars().any(char::is_control) {
        Some("has control characters in it")
    } else {
        None
    }
}

/// The start of a name, for a message about it.
pub(crate) fn shown(name: &str) -> String {
    name.chars().take(40).filter(|c| !c.is_control()).collect()
}

/// Whether a tool can be named so: a published name, or a backend, a dot, and the tool's own name.
pub(crate) fn is_tool_reference(name: &str) -> bool {
    let inside =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '/' | '@' | '^' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(inside)
}

/// Whether expressions can read a value of this name.
pub(crate) fn is_readable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
