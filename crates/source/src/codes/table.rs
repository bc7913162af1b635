//! The table itself. A new code goes into its range, in order; its page goes into `docs/diagnostics/`.

super::codes! {
    // Shape. Up to `WF029` raised by this crate, from `WF030` on by dialects and `workflow`.
    NOT_UTF8 = "WF001", "not UTF-8", "The file holds bytes that are not UTF-8 text.";
    SYNTAX = "WF002", "syntax", "The file cannot be read as YAML or JSON at this place.";
    TAB_INDENTATION = "WF003", "tab in indentation", "A YAML line is indented by a tab.";
    DOCUMENT_LIMIT = "WF004", "document too large", "A file is longer, deeper or, with its aliases expanded, larger than is read.";
    DUPLICATE_KEY = "WF005", "duplicate key", "A mapping has the same key twice.";
    KEY_NOT_TEXT = "WF006", "key is not text", "A key is written as a number, a boolean or null and is taken as text.";
    COMPLEX_KEY = "WF007", "key is a collection", "A key is a mapping or a sequence.";
    UNQUOTED_TEMPLATE = "WF008", "template without quotes", "A value that starts with `{{` is not quoted, so YAML reads it as a mapping.";
    LEGACY_BOOLEAN = "WF009", "boolean of YAML 1.1", "A value such as `yes` or `off` is text here and was a boolean in YAML 1.1.";
    LEGACY_NUMBER = "WF010", "octal number of YAML 1.1", "A number with a leading zero is decimal here and was octal in YAML 1.1.";
    INEXACT_NUMBER = "WF011", "number cannot be kept", "A number cannot be held exactly as JSON data.";
    UNKNOWN_TAG = "WF012", "tag not applied", "A YAML tag has no meaning here, or does not fit its value.";
    BAD_ALIAS = "WF013", "alias cannot be followed", "An alias or merge key does not lead to a value that fits.";
    LENIENT_JSON = "WF016", "not standard JSON", "A JSON file has comments or trailing commas, which other programs may refuse.";
    UNKNOWN_KEY = "WF020", "unknown key", "A mapping has a key that is not known there.";
    MISSING_KEY = "WF021", "missing key", "A mapping lacks a key that it needs.";
    WRONG_TYPE = "WF022", "wrong type", "A value is of another type than the one needed.";
    MISSING_VALUE = "WF023", "missing value", "A key that needs a value has none.";
    UNKNOWN_VALUE = "WF024", "unknown value", "A value is not one of those known.";
    OUT_OF_RANGE = "WF025", "number out of range", "A number is outside the range allowed.";

    // `WF1xx`: the graph of steps.

    // `WF2xx`: templates, paths and other expressions.

    // `WF3xx`: the tools of the backends.

    // `WF4xx`: questions to people, and output.

    // `WF5xx`: test suites.

    // `WF6xx`: configuration.
}
