//! Who may call, and as whom backends are called. What cannot be enforced yet refuses the file.

use crate::backend::Reader;
use crate::keys;
use crate::workloads::{Header, Workloads};
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, codes};

pub(super) fn incoming(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) {
    let kind = fields.entry("type");
    fields.required("type", diagnostics);
    let choice = fields.optional_choice("type", &["oidc", "local", "anonymous"], diagnostics);
    if let (Some(choice), Some(entry)) = (choice, kind)
        && choice.value != "anonymous"
    {
        let why = match choice.value {
            "oidc" => "tokens of callers would not be checked",
            _ => "callers would not be identified",
        };
        let path = format!("incomingAuth.type: {}", choice.value);
        diagnostics.push(keys::refused(entry, &path, why));
    }
    // Only `type: oidc` uses it, which is refused above.
    fields.entry("oidc");
    if let Some(entry) = fields.entry("authz")
        && !entry.value.is_null()
    {
        let none = entry
            .value
            .get("type")
            .and_then(|node| node.as_text().cloned());
        if none.is_none_or(|kind| kind != "none") {
            let why = "callers would not be authorised";
            diagnostics.push(keys::refused(entry, "incomingAuth.authz", why));
        }
    }
    fields.finish(diagnostics);
}

/// Strategies with their block, in the words of the file.
const STRATEGIES: [&str; 7] = [
    "unauthenticated",
    "header_injection",
    "token_exchange",
    "upstream_inject",
    "aws_sts",
    "obo",
    "xaa",
];

pub(super) fn outgoing(
    mut fields: Fields<'_>,
    workloads: &mut Workloads,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) {
    let source = fields.entry("source");
    let choice = fields.optional_choice("source", &["inline", "discovered"], diagnostics);
    if let (Some(choice), Some(entry)) = (choice, source)
        && choice.value == "discovered"
    {
        // From a file there is nothing to discover credentials on.
        diagnostics.push(keys::inert(entry, "outgoingAuth.source: discovered"));
    }
    let default = fields
        .entry("default")
        .filter(|entry| !entry.value.is_null());
    let own = fields.mapping("backends", diagnostics);
    fields.finish(diagnostics);
    workloads.default_header =
        default.and_then(|entry| strategy(entry, "outgoingAuth.default", reader, diagnostics));
    for entry in own {
        let path = format!("outgoingAuth.backends.{}", entry.key);
        let header = strategy(entry, &path, reader, diagnostics);
        workloads.names.push(entry.key.clone());
        workloads.headers.push((entry.key.clone(), header));
    }
}

/// The header a strategy adds to each call; other ways to authenticate are refused.
fn strategy(
    entry: &Entry,
    path: &str,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Header> {
    let mut fields = Fields::read(&entry.value, "an authentication strategy", diagnostics)?;
    fields.required("type", diagnostics);
    let kind = fields.optional_choice("type", &STRATEGIES, diagnostics)?;
    match kind.value {
        "unauthenticated" => {
            fields.finish(diagnostics);
            None
        }
        "header_injection" => {
            let block = fields.required_fields("headerInjection", diagnostics);
            fields.finish(diagnostics);
            header(block?, reader, diagnostics)
        }
        other => {
            fields.rest();
            let path = format!("{path}.type: {other}");
            let why = "backends would be called without these credentials";
            diagnostics.push(keys::refused(entry, &path, why));
            None
        }
    }
}

fn header(
    mut fields: Fields<'_>,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Header> {
    let name = fields.required_string("headerName", diagnostics);
    let value = fields.optional_string("headerValue", diagnostics);
    let variable = fields.optional_string("headerValueEnv", diagnostics);
    let place = fields.place();
    fields.finish(diagnostics);
    let value = match (value, variable) {
        (Some(value), None) => value.to_string(),
        (None, Some(variable)) => match (reader.environment)(variable) {
            Some(value) if !value.is_empty() => value,
            Some(_) | None => {
                diagnostics.push(
                    Diagnostic::error(
                        codes::VARIABLE_NOT_SET,
                        format!("environment variable {variable} not set or empty"),
                    )
                    .label(variable.place(), "no value")
                    .help(format!("set `{variable}`")),
                );
                return None;
            }
        },
        (Some(_), Some(second)) => {
            diagnostics.push(one_value(
                second.place(),
                "only one of headerValue or headerValueEnv must be set",
            ));
            return None;
        }
        (None, None) => {
            diagnostics.push(one_value(
                place,
                "either headerValue or headerValueEnv must be set",
            ));
            return None;
        }
    };
    Some(Header {
        name: name?.to_string(),
        value,
    })
}

fn one_value(place: &onecall_source::Place, message: &str) -> Diagnostic {
    Diagnostic::error(codes::KEYS_CONFLICT, message)
        .label(place, "the value of the header")
        .help("write one of them")
}
