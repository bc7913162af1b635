//! Keys that are known and do not act: a protection that cannot be enforced refuses the file,
//! everything else says that it has no effect yet.

use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Text, codes};

/// Warns of a key that is read over.
pub(crate) fn inert(entry: &Entry, path: &str) -> Diagnostic {
    Diagnostic::warning(codes::KEY_INERT, format!("`{path}` has no effect yet"))
        .label(entry.key.place(), "read over")
        .help("remove it if you can do without")
}

/// Refuses a key that restricts who may do what.
pub(crate) fn refused(entry: &Entry, path: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        codes::KEY_REFUSED,
        format!("`{path}` cannot be enforced yet: {why}"),
    )
    .label(entry.key.place(), "protection that is not available")
    .help("remove it only if the server is safe without it")
}

/// Warns of each of these keys that is written.
pub(crate) fn warn_inert(
    fields: &mut Fields<'_>,
    prefix: &str,
    keys: &[&'static str],
    diagnostics: &mut Diagnostics,
) {
    for key in keys {
        if let Some(entry) = fields.entry(key)
            && !entry.value.is_null()
        {
            diagnostics.push(inert(entry, &format!("{prefix}{key}")));
        }
    }
}

/// Notes keys that act in the cluster that runs a resource.
pub(crate) fn in_cluster(kind: &str, name: &Text, entries: &[&Entry]) -> Option<Diagnostic> {
    let first = entries.first()?;
    let keys: Vec<String> = entries.iter().map(|own| format!("`{}`", own.key)).collect();
    let (keys, act) = (
        keys.join(", "),
        if keys.len() == 1 { "acts" } else { "act" },
    );
    let message = format!("{keys} of {kind} `{name}` {act} in the cluster that runs it, not here");
    let label = if entries.len() == 1 {
        "read over"
    } else {
        "this and the others are read over"
    };
    Some(
        Diagnostic::remark(codes::KEY_INERT, message)
            .label(first.key.place(), label)
            .help("nothing needs to be changed"),
    )
}
