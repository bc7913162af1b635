//! Names of tools: what the protocol refuses is refused in every dialect.

use crate::limits::NAME_CHARACTERS_MAX;
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
