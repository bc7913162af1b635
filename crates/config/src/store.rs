//! Which stores can be named: files by their path, and no URLs.

use onecall_source::{Diagnostic, Text, codes};

/// Names of stores that are written without `//` elsewhere; as paths they would make odd files.
const SCHEMES: [&str; 7] = [
    "file",
    "mariadb",
    "memory",
    "mysql",
    "postgres",
    "postgresql",
    "sqlite",
];

/// The scheme of a store that is named by a URL, such as `postgres`. `None`: it is a path.
pub fn store_scheme(store: &str) -> Option<&str> {
    if store.starts_with(":memory:") {
        return Some("memory");
    }
    let (scheme, rest) = store.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let is_known = SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    (is_scheme && (rest.starts_with("//") || is_known)).then_some(scheme)
}

pub(crate) fn fault(store: &Text) -> Option<Diagnostic> {
    let scheme = store_scheme(store)?;
    let fault = Diagnostic::error(
        codes::STORE_UNSUPPORTED,
        format!("a store at a `{scheme}:` URL is not supported"),
    );
    Some(fault.label(store.place(), "not the path of a file").help(
        "write the path of a SQLite file, such as `runs.db`; `--ephemeral` stores runs in memory",
    ))
}

#[cfg(test)]
mod tests {
    use super::store_scheme;

    #[test]
    fn urls_are_told_from_paths() {
        for (store, scheme) in [
            ("postgres://me:secret@host/db", "postgres"),
            ("POSTGRES://h", "POSTGRES"),
            ("mysql://h/db", "mysql"),
            ("s3+http://bucket", "s3+http"),
            ("sqlite:runs.db", "sqlite"),
            ("memory:", "memory"),
            (":memory:", "memory"),
            ("file:runs.db", "file"),
        ] {
            assert_eq!(store_scheme(store), Some(scheme), "{store}");
        }
        for path in [
            "runs.db",
            "./a:b.db",
            "runs:1.db",
            "/var/lib/x://y",
            "C:/runs.db",
            "sqlite",
        ] {
            assert_eq!(store_scheme(path), None, "{path}");
        }
    }
}
