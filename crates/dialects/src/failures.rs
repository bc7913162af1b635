//! The kinds of failures that a retry can name.

use onecall_source::{Diagnostic, Text, codes, suggest};
use onecall_workflow::policy::FAILURE_CODES;
use std::collections::BTreeSet;

/// What is wrong with a name under `key` that is neither a category nor a code.
pub(crate) fn unknown(key: &str, text: &Text) -> Option<Diagnostic> {
    let category = |code: &'static str| code.split('.').next().unwrap_or(code);
    let categories: BTreeSet<&str> = FAILURE_CODES.iter().copied().map(category).collect();
    let name: &str = text;
    if categories.contains(name) || FAILURE_CODES.contains(&name) {
        return None;
    }
    let diagnostic = Diagnostic::error(
        codes::RETRY_ON,
        format!("`{key}` names `{text}`, which is no kind of failure"),
    )
    .label(text.place(), "unknown failure");
    let names = categories.iter().chain(FAILURE_CODES).copied();
    let help = suggest(name, names).map_or_else(
        || {
            let categories: Vec<&str> = categories.into_iter().collect();
            format!("the kinds are {}", categories.join(", "))
        },
        |near| format!("did you mean `{near}`?"),
    );
    Some(diagnostic.help(help))
}
