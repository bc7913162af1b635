//! `auth` of a backend in `onecall.yaml`: a bearer token, or a token server that gives one. What other ways of
//! authentication there are is refused by name.

use crate::backend::{Reader, transport_unfit};
use crate::settings::{Backend, Subject, TokenServer, Transport};
use crate::substitute::substitute;
use crate::{headers, literal};
use onecall_source::{Diagnostic, Diagnostics, Fields, codes};

pub(crate) const KINDS: [&str; 3] = ["bearer", "client_credentials", "token_exchange"];

impl Reader<'_> {
    pub(crate) fn auth(
        &self,
        mut fields: Fields<'_>,
        backend: &mut Backend,
        diagnostics: &mut Diagnostics,
    ) {
        let place = fields.place().clone();
        fields.required("type", diagnostics);
        let kind = fields.optional_choice("type", &KINDS, diagnostics);
        let headers = match &mut backend.transport {
            Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. } => headers,
            Transport::Stdio { .. } => {
                fields.rest();
                let why = "`auth` goes with a `url`";
                return diagnostics.push(transport_unfit(&place, why));
            }
        };
        match kind.map(|kind| kind.value) {
            Some("bearer") => {
                let written = fields.required_string("token", diagnostics);
                let token = written.map(|written| {
                    literal::check("token", written, diagnostics);
                    let token = substitute(written, self.environment, diagnostics);
                    headers::check_value(written, &token, diagnostics);
                    token
                });
                let bearer = token.map(|token| format!("Bearer {token}"));
                headers.extend(bearer.map(|bearer| ("Authorization".to_owned(), bearer)));
            }
            Some(kind) => {
                backend.tokens = self.token_server(kind, &mut fields, diagnostics);
            }
            None => {
                fields.rest();
            }
        }
        fields.finish(diagnostics);
    }

    fn token_server(
        &self,
        kind: &str,
        fields: &mut Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<TokenServer> {
        let url = fields.required_string("token_url", diagnostics);
        let url = url.map(|written| {
            let before = diagnostics.error_count();
            let url = substitute(written, self.environment, diagnostics);
            // What a variable that is not set would have given is not known.
            if diagnostics.error_count() == before {
                headers::check_token_url(written, &url, diagnostics);
            }
            url
        });
        let client_id = self.secret(fields, "client_id", diagnostics);
        if client_id.is_none() {
            fields.required("client_id", diagnostics);
        }
        let client_secret = self.secret(fields, "client_secret", diagnostics);
        let scopes = fields.string_sequence("scopes", diagnostics);
        let audience = self.secret(fields, "audience", diagnostics);
        let resource = self.secret(fields, "resource", diagnostics);
        let exchange = if kind == "token_exchange" {
            Some(self.subject(fields, diagnostics)?)
        } else {
            None
        };
        Some(TokenServer {
            url: url?,
            client_id: client_id?,
            client_secret,
            scopes: scopes.iter().map(ToString::to_string).collect(),
            audience,
            resource,
            exchange,
        })
    }

    /// What is exchanged: a token of the file, or with `subject: caller` that of whoever calls.
    fn subject(&self, fields: &mut Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Subject> {
        let token = self.secret(fields, "subject_token", diagnostics);
        let caller = fields.optional_choice("subject", &["caller"], diagnostics);
        if token.is_none() && caller.is_none() {
            fields.required("subject_token", diagnostics);
            return None;
        }
        if let (Some(_), Some(caller)) = (&token, &caller) {
            let message = "only one of subject_token or subject must be set";
            diagnostics.push(
                Diagnostic::error(codes::KEYS_CONFLICT, message)
                    .label(&caller.place, "whose token is exchanged")
                    .help("write one of them"),
            );
        }
        let kind = fields.optional_string("subject_token_type", diagnostics);
        Some(Subject {
            token,
            kind: kind.map(ToString::to_string),
        })
    }

    /// A text in which variables of the environment may stand.
    fn secret(
        &self,
        fields: &mut Fields<'_>,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<String> {
        let text = fields.optional_string(key, diagnostics)?;
        if matches!(key, "client_secret" | "subject_token") {
            literal::check(key, text, diagnostics);
        }
        Some(substitute(text, self.environment, diagnostics))
    }
}
