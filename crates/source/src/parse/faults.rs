//! The diagnostics of reading YAML and JSON, one function each.

use crate::fields::shorten;
use crate::limits::{DEPTH_MAX, NODES_MAX, SOURCE_BYTES_MAX};
use crate::{Diagnostic, Place, SourceId, Span, codes};

pub(super) fn source_too_long(source: SourceId, bytes: usize) -> Diagnostic {
    Diagnostic::error(
        codes::DOCUMENT_LIMIT,
        format!("the file has {bytes} bytes, more than the {SOURCE_BYTES_MAX} that are read"),
    )
    .label(Span::new(source, 0, 0), "")
    .help("split the file")
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::DOCUMENT_LIMIT,
        format!("the document is nested deeper than {DEPTH_MAX} levels"),
    )
    .label(span, "too deep from here on")
}

pub(super) fn too_many_nodes(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::DOCUMENT_LIMIT,
        format!("the file has more than {NODES_MAX} values, its aliases expanded"),
    )
    .label(span, "the limit is reached here")
    .help("use fewer or smaller aliases, or split the file")
}

pub(super) fn syntax(span: Span, message: impl Into<String>, label: &str) -> Diagnostic {
    Diagnostic::error(codes::SYNTAX, message).label(span, label)
}

pub(super) fn tab_indentation(span: Span, more_lines: usize) -> Diagnostic {
    let diagnostic = Diagnostic::error(codes::TAB_INDENTATION, "a tab in the indentation")
        .label(span, "YAML is indented by spaces alone")
        .help("indent by spaces");
    match more_lines {
        0 => diagnostic,
        1 => diagnostic.note("1 more line is indented by tabs"),
        _ => diagnostic.note(format!("{more_lines} more lines are indented by tabs")),
    }
}

pub(super) fn duplicate_key(key: &str, first: &Place, again: &Place) -> Diagnostic {
    Diagnostic::error(
        codes::DUPLICATE_KEY,
        format!("the key `{}` is written twice", shorten(key)),
    )
    .label(again, "written again here")
    .secondary(first, "first written here")
    .help("keep one of the two")
}

pub(super) fn key_not_text(key: &str, kind: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::KEY_NOT_TEXT,
        format!("the key `{key}` is {kind}, taken as text"),
    )
    .label(span, "keys are text")
    .help(format!("write `\"{key}\"`"))
}

pub(super) fn complex_key(place: &Place, kind: &str) -> Diagnostic {
    Diagnostic::error(codes::COMPLEX_KEY, format!("{kind} cannot be a key"))
        .label(place, "keys are text")
}

pub(super) fn unquoted_template(span: Span, raw: &str) -> Diagnostic {
    let quote = if raw.contains('"') { '\'' } else { '"' };
    Diagnostic::error(
        codes::UNQUOTED_TEMPLATE,
        "a value that starts with `{{` must be quoted",
    )
    .label(span, "YAML reads this as a mapping")
    .help(format!("write `{quote}{}{quote}`", shorten(raw)))
}

pub(super) fn legacy_boolean(raw: &str, span: Span) -> Diagnostic {
    let meant = match raw.to_ascii_lowercase().as_str() {
        "yes" | "on" => "true",
        _ => "false",
    };
    Diagnostic::warning(
        codes::LEGACY_BOOLEAN,
        format!("`{raw}` is text in YAML 1.2, and was a boolean in YAML 1.1"),
    )
    .label(span, "taken as text")
    .help(format!(
        "write `\"{raw}\"` for the text or `{meant}` for the boolean"
    ))
}

pub(super) fn legacy_number(raw: &str, decimal: &str, span: Span) -> Diagnostic {
    let digits = raw.trim_start_matches(['+', '-', '0']);
    let octal = i64::from_str_radix(digits, 8).ok();
    let diagnostic = Diagnostic::warning(
        codes::LEGACY_NUMBER,
        format!("`{raw}` is the decimal number {decimal} in YAML 1.2, and was octal in YAML 1.1"),
    )
    .label(span, format!("taken as {decimal}"));
    match octal {
        Some(_) => diagnostic.help(format!(
            "write `{decimal}` for the decimal number, `0o{digits}` for the octal one or `\"{raw}\"` for the text"
        )),
        None => diagnostic.help(format!(
            "write `{decimal}` for the number or `\"{raw}\"` for the text"
        )),
    }
}

pub(super) fn inexact_number(raw: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::INEXACT_NUMBER,
        format!("`{}` has more digits than a number keeps", shorten(raw)),
    )
    .label(span, "rounded to the nearest number")
    .help("write it in quotes to keep it as text")
}

pub(super) fn not_a_json_number(raw: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::INEXACT_NUMBER,
        format!("`{}` is a number that JSON data cannot hold", shorten(raw)),
    )
    .label(span, "taken as text")
    .help("write it in quotes if it is meant as text")
}

pub(super) fn unknown_tag(tag: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(
        codes::UNKNOWN_TAG,
        format!("the tag `{}` has no meaning here", shorten(tag)),
    )
    .label(span, "the value is read as if it had no tag")
    .help("remove the tag")
}

pub(super) fn tag_does_not_fit(tag: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_TAG,
        format!("the value does not fit its tag `{}`", shorten(tag)),
    )
    .label(span, "not a value of this kind")
    .help("remove the tag, or correct the value")
}

pub(super) fn unknown_anchor(span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(
        codes::BAD_ALIAS,
        format!("no anchor is named `{}`", shorten(name)),
    )
    .label(span, "an alias to nothing")
    .help(format!(
        "quote the value if it is text, or write `&{}` before the value meant, further up",
        shorten(name)
    ))
}

pub(super) fn recursive_alias(span: Span) -> Diagnostic {
    Diagnostic::error(codes::BAD_ALIAS, "an alias inside the value it stands for")
        .label(span, "this value would contain itself")
}

pub(super) fn bad_merge(place: &Place, kind: &str) -> Diagnostic {
    Diagnostic::error(
        codes::BAD_ALIAS,
        format!("the merge key `<<` needs a mapping or a sequence of mappings, but has {kind}"),
    )
    .label(place, "nothing to merge")
}

pub(super) fn lenient_json(span: Span, what: &str) -> Diagnostic {
    Diagnostic::warning(codes::LENIENT_JSON, format!("{what} is not standard JSON"))
        .label(span, "accepted here")
        .help("remove it if other programs read this file")
}
