//! Headers that backends are called with and where their credentials go: what no request can carry, what is given
//! twice, and what would go over an open wire. `backends` refuses the same, without a place.

use crate::settings::{Backend, Transport};
use onecall_mcp::{is_framing, url};
use onecall_source::{Diagnostic, Diagnostics, Text, codes};

const AUTHORIZATION: &str = "Authorization";

pub(crate) fn check_name(name: &Text, diagnostics: &mut Diagnostics) {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let shown = name.as_str();
    let (message, help) = if shown.is_empty() || !shown.chars().all(is_sign) {
        (
            format!("no header can be named `{}`", shown.escape_debug()),
            "use letters, digits and `-`, such as `X-Api-Key`",
        )
    } else if is_framing(shown) {
        (
            format!("the header `{shown}` belongs to the connection and cannot be set"),
            "remove it",
        )
    } else {
        return;
    };
    diagnostics.push(
        Diagnostic::error(codes::HEADER, message)
            .label(name.place(), "cannot be sent")
            .help(help),
    );
}

/// `value` is what was written with its variables replaced; it is not shown, since it may be a secret.
pub(crate) fn check_value(written: &Text, value: &str, diagnostics: &mut Diagnostics) {
    let Some(bad) = value.chars().find(|c| c.is_ascii_control() && *c != '\t') else {
        return;
    };
    let message = format!("no header can have this value: it has {bad:?} in it");
    diagnostics.push(
        Diagnostic::error(codes::HEADER, message)
            .label(written.place(), "cannot be sent")
            .help("write it on one line; a variable may hold a line break at its end"),
    );
}

/// Headers that are given in more than one way, of backends with all that is said of them.
pub(crate) fn check_backends(backends: &[Backend], diagnostics: &mut Diagnostics) {
    for backend in backends {
        let (Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. }) =
            &backend.transport
        else {
            continue;
        };
        let given = headers.iter().map(|(name, _)| name.as_str());
        let token = backend.tokens.iter().map(|_| AUTHORIZATION);
        let mut known: Vec<&str> = Vec::new();
        for name in given.chain(token) {
            if known.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                diagnostics.push(given_twice(backend, name));
            }
            known.push(name);
        }
    }
}

fn given_twice(backend: &Backend, name: &str) -> Diagnostic {
    let message = format!(
        "backend `{}` is called with two headers `{name}`",
        backend.name
    );
    Diagnostic::error(codes::HEADER, message)
        .label(&backend.place, "which of them is meant?")
        .help("give it once: by `headers`, or by what says how the backend is authenticated")
}

/// Where the credentials of the client go.
pub(crate) fn check_token_url(written: &Text, stated: &str, diagnostics: &mut Diagnostics) {
    let fault = if !url::is_http(stated) || url::stray(stated).is_some() {
        "a token server has a URL that starts with `https://`, without blanks"
    } else if url::has_credentials(stated) {
        "the URL of a token server holds no credentials"
    } else if !url::is_safe(stated) {
        "credentials go to a token server over https, or within this machine"
    } else {
        return;
    };
    diagnostics.push(
        Diagnostic::error(codes::TOKEN_URL, fault)
            .label(written.place(), "not such a URL")
            .help(
                "write `https://` and the whole URL; `http://` is for `localhost` and `127.0.0.1`",
            ),
    );
}
