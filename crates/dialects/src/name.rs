//! Names that every dialect checks alike: of tools, of steps, and of the tools that steps call.

use crate::limits::{NAME_CHARACTERS_MAX, NAME_CHARACTERS_USUAL, STEP_NAME_CHARACTERS_MAX};
use onecall_source::{Diagnostic, Text, codes};

/// What a workflow without a name is called in messages about its other faults.
pub(crate) const UNNAMED: &str = "(no name)";

/// What has a name, as messages say it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
}

pub(crate) const TOOL: Named = Named {
    what: "tool",
    help: "use 1 to 64 lower-case letters, digits, `_` and `-`",
};

/// Why nothing that becomes a tool can have this name: the protocol refuses it.
pub(crate) fn fault(name: &Text, named: Named) -> Option<Diagnostic> {
    let length = name.chars().count();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let reason = match name.chars().find(|c| !allowed(*c)) {
        _ if name.is_empty() => "is empty".to_owned(),
        Some(bad) => format!("has {bad:?} in it"),
        None if length > NAME_CHARACTERS_MAX => {
            format!("has {length} characters, more than {NAME_CHARACTERS_MAX}")
        }
        None => return None,
    };
    let shown: String = name.chars().take(40).collect();
    let what = named.what;
    let message = format!("the name `{shown}` cannot be that of a {what}: it {reason}");
    Some(
        Diagnostic::error(codes::INVALID_NAME, message)
            .label(name.place(), format!("not a {what} name"))
            .help(named.help),
    )
}

/// What is said of a name that the protocol takes and some clients do not.
pub(crate) fn too_long(name: &str) -> Option<String> {
    let length = name.chars().count();
    (length > NAME_CHARACTERS_USUAL)
        .then(|| format!("has {length} characters, more than {NAME_CHARACTERS_USUAL}"))
}

/// How a dialect speaks of the name of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepNamed {
    /// `id`, `name`.
    pub(crate) name: &'static str,
    /// `a step`, `a node`.
    pub(crate) of: &'static str,
    pub(crate) help: &'static str,
    /// What the dialect itself refuses.
    pub(crate) refuses: fn(&str) -> Option<&'static str>,
}

/// Why no step can have this name.
pub(crate) fn step_fault(name: &Text, named: StepNamed) -> Option<Diagnostic> {
    let reason = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().count() > STEP_NAME_CHARACTERS_MAX {
        "has more than 128 characters"
    } else if name.chars().any(char::is_control) {
        "has control characters in it"
    } else {
        (named.refuses)(name)?
    };
    let shown: String = name.chars().take(40).filter(|c| !c.is_control()).collect();
    let (what, of) = (named.name, named.of);
    let message = format!("the {what} `{shown}` of {of} {reason}");
    Some(
        Diagnostic::error(codes::INVALID_NAME, message)
            .label(name.place(), format!("not the {what} of {of}"))
            .help(named.help),
    )
}

/// Why a reference is that of no tool; `message` is given what can be shown of it.
pub(crate) fn tool_fault(tool: &Text, message: impl FnOnce(&str) -> String) -> Option<Diagnostic> {
    let inside =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '/' | '@' | '^' | '-');
    if tool.starts_with(|c: char| c.is_ascii_alphanumeric()) && tool.chars().all(inside) {
        return None;
    }
    let shown: String = tool.chars().take(60).collect();
    Some(
        Diagnostic::error(codes::TOOL_REFERENCE, message(&shown))
            .label(tool.place(), "no tool can be named so")
            .help("write the name clients see, or the backend, a dot, and the tool's own name"),
    )
}

/// Why the item of a loop cannot be read under this name.
pub(crate) fn item_fault(name: &Text, key: &str) -> Option<Diagnostic> {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let reason = if !plain {
        "is no name that an expression can read"
    } else if *name == *"index" {
        "is taken by the number of the item"
    } else {
        return None;
    };
    let message = format!("`{key}: {name}` {reason}");
    Some(about_item(
        Diagnostic::error(codes::INVALID_ITEM_NAME, message),
        name,
    ))
}

/// A diagnostic about the name of an item, with its place.
pub(crate) fn about_item(diagnostic: Diagnostic, name: &Text) -> Diagnostic {
    diagnostic
        .label(name.place(), "not an item name")
        .help("use letters, digits and `_`, such as `item`")
}
