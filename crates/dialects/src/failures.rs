//! The kinds of failures that a retry can name.

use onecall_source::{Diagnostic, Text, codes, suggest};

/// The categories of failures, the first word of each failure code.
const CATEGORIES: [&str; 13] = [
    "input",
    "expression",
    "tool",
    "transport",
    "timeout",
    "denied",
    "declined",
    "cancelled",
    "budget",
    "limit",
    "unknown_outcome",
    "pending",
    "internal",
];

/// What is wrong with a name under `key` that is no category and no code of one.
pub(crate) fn unknown(key: &str, text: &Text) -> Option<Diagnostic> {
    let category = text.split('.').next().unwrap_or(text);
    if CATEGORIES.contains(&category) {
        return None;
    }
    let diagnostic = Diagnostic::error(
        codes::RETRY_ON,
        format!("`{key}` names `{text}`, which is no kind of failure"),
    )
    .label(text.place(), "unknown failure");
    Some(match suggest(category, CATEGORIES) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic.help(format!("the kinds are {}", CATEGORIES.join(", "))),
    })
}
