//! `${VAR}`, `${env:VAR}` and `${VAR:-text}` in the arguments, environment, headers, URL and credentials of a backend and in the
//! server's own `auth`, and nowhere else.

use onecall_source::{Diagnostic, Diagnostics, Text, codes};

/// Where values of variables come from.
pub type Environment<'e> = dyn Fn(&str) -> Option<String> + 'e;

/// The text with its variables replaced; one that is not set is reported and left as it is.
pub(crate) fn substitute(
    text: &Text,
    environment: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find("${") {
        let start = at + found;
        if text[..start].ends_with('$') && start > at {
            // `$${` is a literal `${`.
            out.push_str(&text[at..start - 1]);
            out.push_str("${");
            at = start + 2;
            continue;
        }
        out.push_str(&text[at..start]);
        let Some(length) = text[start..].find('}') else {
            out.push_str(&text[start..]);
            return out;
        };
        let end = start + length + 1;
        let inside = &text[start + 2..end - 1];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        // As Cursor and VS Code write it.
        let name = name.strip_prefix("env:").unwrap_or(name);
        match (environment(name), default) {
            // As in a shell, the default replaces an empty value too.
            (value, Some(default)) => match value.filter(|value| !value.is_empty()) {
                Some(value) => out.push_str(&value),
                None => out.push_str(default),
            },
            (Some(value), None) => out.push_str(&value),
            (None, None) => {
                diagnostics.push(not_set(text, name, start..end));
                out.push_str(&text[start..end]);
            }
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

fn not_set(text: &Text, name: &str, range: std::ops::Range<usize>) -> Diagnostic {
    if name.starts_with("input:") {
        return Diagnostic::error(
            codes::VARIABLE_NOT_SET,
            format!("`${{{name}}}` is asked for by an editor, and nobody can be asked here"),
        )
        .label(text.place_of(range), "no value")
        .help(
            "name an environment variable instead, such as `${TOKEN}`; `onecall init FILE` does",
        );
    }
    if is_of_editor(name) {
        return Diagnostic::error(
            codes::VARIABLE_NOT_SET,
            format!("`${{{name}}}` is filled in by an editor, and not here"),
        )
        .label(text.place_of(range), "no value")
        .help("write the value itself; `onecall init FILE` does so for `${workspaceFolder}` and `${userHome}`");
    }
    Diagnostic::error(
        codes::VARIABLE_NOT_SET,
        format!("the environment variable `{name}` is not set"),
    )
    .label(text.place_of(range), "no value")
    .help(format!(
        "set `{name}`, or write `${{{name}:-text}}` with a text to use instead"
    ))
}

/// Whether only an editor knows what this stands for: `workspaceFolder`, `config:editor.fontSize`.
fn is_of_editor(name: &str) -> bool {
    const KNOWN: [&str; 5] = [
        "workspaceFolder",
        "workspaceFolderBasename",
        "workspaceRoot",
        "userHome",
        "pathSeparator",
    ];
    KNOWN.contains(&name) || name.contains(':')
}
