//! Secrets that are written in a file: who can read the file, a backup of it or its history, has them.

use onecall_source::{Diagnostic, Diagnostics, Text, codes};

/// What the name of a variable, header, flag or parameter contains whose value is a secret.
const SECRET_WORDS: [&str; 9] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "AUTHORIZATION",
    "CREDENTIAL",
    "BEARER",
];

/// The same, if they are a whole word of the name: `GITHUB_PAT`, and not `PATH`.
const SECRET_WHOLE_WORDS: [&str; 3] = ["PAT", "PASS", "DSN"];

/// How keys of well-known services begin.
const SECRET_PREFIXES: [&str; 10] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
];

/// Whether the value of a variable, header, flag or parameter of this name is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let upper = variable_name(name);
    let mut words = upper.split('_');
    SECRET_WORDS.iter().any(|word| upper.contains(word))
        || words.any(|word| SECRET_WHOLE_WORDS.contains(&word))
}

/// Whether a text begins as keys of well-known services do.
pub fn is_known_key(text: &str) -> bool {
    SECRET_PREFIXES
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// The name in the letters of a variable.
pub fn variable_name(name: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

/// Warns of a secret that is written in the file. `key` holds it.
pub(crate) fn check(key: &str, written: &Text, diagnostics: &mut Diagnostics) {
    let name = variable_name(key);
    check_with(key, written, &format!("`{key}: ${{{name}}}`"), diagnostics);
}

/// As `check`, for a variable or header that may hold anything.
pub(crate) fn check_named(name: &str, written: &Text, diagnostics: &mut Diagnostics) {
    if is_secret(name, written) {
        check(name, written, diagnostics);
    }
}

pub(crate) fn is_secret(name: &str, value: &str) -> bool {
    is_secret_name(name) || is_known_key(value)
}

/// As `check`. `instead`: what to write.
pub(crate) fn check_with(key: &str, written: &Text, instead: &str, diagnostics: &mut Diagnostics) {
    if written.is_empty() || written.contains("${") {
        return;
    }
    diagnostics.push(
        Diagnostic::warning(
            codes::LITERAL_SECRET,
            format!("the secret `{key}` is written in this file"),
        )
        .label(written.place(), "")
        .help(format!(
            "set an environment variable and name it: {instead}"
        )),
    );
}
