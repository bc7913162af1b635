//! As whom backends are called. What cannot be enforced yet refuses the file.

use crate::backend::Reader;
use crate::settings::{Subject, TokenServer};
use crate::workloads::{Header, Way, Workloads};
use crate::{headers, keys, literal};
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Text, codes};

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
    workloads.default_way =
        default.and_then(|entry| strategy(entry, "outgoingAuth.default", reader, diagnostics));
    for entry in own {
        let path = format!("outgoingAuth.backends.{}", entry.key);
        let way = strategy(entry, &path, reader, diagnostics);
        workloads.names.push(entry.key.clone());
        workloads.ways.push((entry.key.clone(), way));
    }
}

/// What a strategy adds to each call; other ways to authenticate are refused.
fn strategy(
    entry: &Entry,
    path: &str,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Way> {
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
            header(block?, reader, diagnostics).map(Way::Header)
        }
        "token_exchange" => {
            let block = fields.required_fields("tokenExchange", diagnostics);
            fields.finish(diagnostics);
            let server = exchange(block?, path, reader, diagnostics)?;
            Some(Way::Exchange(Box::new(server)))
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
    if let Some(name) = name {
        headers::check_name(name, diagnostics);
    }
    let value = fields.optional_string("headerValue", diagnostics);
    let variable = fields.optional_string("headerValueEnv", diagnostics);
    let place = fields.place();
    fields.finish(diagnostics);
    let value = match (value, variable) {
        (Some(value), None) => {
            if name.is_some_and(|name| literal::is_secret(name, value)) {
                let instead = "`headerValueEnv: NAME`";
                literal::check_with("headerValue", value, instead, diagnostics);
            }
            headers::check_value(value, value, diagnostics);
            value.to_string()
        }
        (None, Some(variable)) => {
            let value = from_environment(variable, reader, diagnostics)?;
            headers::check_value(variable, &value, diagnostics);
            value
        }
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

/// The value of a variable, which must have one.
fn from_environment(
    variable: &Text,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    let value = (reader.environment)(variable).filter(|value| !value.is_empty());
    if value.is_none() {
        diagnostics.push(
            Diagnostic::error(
                codes::VARIABLE_NOT_SET,
                format!("environment variable {variable} not set or empty"),
            )
            .label(variable.place(), "no value")
            .help(format!("set `{variable}`")),
        );
    }
    value
}

/// The exchange of the caller's own token (RFC 8693).
fn exchange(
    mut fields: Fields<'_>,
    path: &str,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<TokenServer> {
    let url = fields.required_string("tokenUrl", diagnostics);
    if let Some(url) = url {
        headers::check_token_url(url, url, diagnostics);
    }
    let client_id = fields.optional_string("clientId", diagnostics);
    let secret = fields.optional_string("clientSecret", diagnostics);
    let variable = fields.optional_string("clientSecretEnv", diagnostics);
    let audience = fields.optional_string("audience", diagnostics);
    let scopes = fields.string_sequence("scopes", diagnostics);
    let kind = fields.optional_string("subjectTokenType", diagnostics);
    if let Some(entry) = fields.entry("subjectProviderName") {
        let path = format!("{path}.tokenExchange.subjectProviderName");
        let why = "the token of an upstream provider would not be the one exchanged";
        diagnostics.push(keys::refused(entry, &path, why));
    }
    fields.finish(diagnostics);
    if let (Some(_), Some(second)) = (secret, variable) {
        let message = "only one of clientSecret or clientSecretEnv must be set";
        diagnostics.push(
            Diagnostic::error(codes::KEYS_CONFLICT, message)
                .label(second.place(), "the secret of the client")
                .help("write one of them"),
        );
    }
    let client_secret = match (secret, variable) {
        (Some(secret), _) => {
            let instead = "`clientSecretEnv: NAME`";
            literal::check_with("clientSecret", secret, instead, diagnostics);
            Some(secret.to_string())
        }
        (None, Some(variable)) => Some(from_environment(variable, reader, diagnostics)?),
        (None, None) => None,
    };
    Some(TokenServer {
        url: url?.to_string(),
        client_id: client_id.map(ToString::to_string).unwrap_or_default(),
        client_secret,
        scopes: scopes.iter().map(ToString::to_string).collect(),
        audience: audience.map(ToString::to_string),
        resource: None,
        exchange: Some(Subject {
            token: None,
            kind: kind.map(|kind| token_type(kind)),
        }),
    })
}

/// Short names of token types stand for their URNs.
fn token_type(kind: &str) -> String {
    match kind {
        "access_token" | "id_token" | "jwt" => format!("urn:ietf:params:oauth:token-type:{kind}"),
        other => other.to_owned(),
    }
}

fn one_value(place: &onecall_source::Place, message: &str) -> Diagnostic {
    Diagnostic::error(codes::KEYS_CONFLICT, message)
        .label(place, "the value of the header")
        .help("write one of them")
}
