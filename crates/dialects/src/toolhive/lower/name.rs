//! Names of composite tools: what the protocol refuses is an error everywhere, what the guide refuses in resources.

use super::super::Home;
use crate::name;
use onecall_source::{Diagnostic, Text, codes};

/// What is wrong with the name of a composite tool.
pub fn faults(name: &Text, home: Home) -> Option<Diagnostic> {
    if let Some(fault) = name::fault(name, name::TOOL) {
        return Some(fault);
    }
    let strict = super::is_strict(home);
    if !follows_guide(name) {
        return Some(unusual(
            name,
            strict,
            "does not match `^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`",
        ));
    }
    name::too_long(name).map(|reason| unusual(name, strict, &reason))
}

fn follows_guide(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.chars().all(|c| edge(c) || matches!(c, '_' | '-'))
        && name.starts_with(edge)
        && name.ends_with(edge)
}

fn unusual(name: &Text, strict: bool, reason: &str) -> Diagnostic {
    let shown: String = name.chars().take(40).collect();
    let message = format!("the name `{shown}` {reason}");
    let diagnostic = if strict {
        Diagnostic::error(codes::INVALID_NAME, message)
    } else {
        Diagnostic::warning(codes::UNUSUAL_NAME, message)
    };
    diagnostic
        .label(name.place(), "not every system takes this name")
        .help("use 1 to 64 lower-case letters, digits, `_` and `-`, starting and ending with a letter or digit")
}
