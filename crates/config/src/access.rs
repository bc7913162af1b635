//! Who may call a server: `auth` of `onecall.yaml`, and `incomingAuth` of a ToolHive configuration. What cannot be
//! enforced is refused by name. How tokens are checked is left to the front door.

use crate::backend::Reader;
use crate::limits::TOKEN_BYTES_MIN;
use crate::settings::{Access, CallerToken, Oidc, TokenText};
use crate::substitute::substitute;
use crate::toolhive::refuse;
use crate::{keys, literal};
use onecall_dialects::toolhive::read_duration;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Place, Text, codes};

/// Signatures with a public key.
pub(crate) const ALGORITHMS: &[&str] = &[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA",
];

impl Reader<'_> {
    /// `auth` of `onecall.yaml`.
    pub(crate) fn access(&self, mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Access {
        let place = fields.place().clone();
        let stated = fields.sequence("tokens", diagnostics);
        let oidc = fields.optional_fields("oidc", diagnostics);
        fields.finish(diagnostics);
        if stated.is_empty() && oidc.is_none() {
            let why = "`auth` names neither `tokens` nor `oidc`, so nobody could call";
            diagnostics.push(unfit(&place, why, "name one of them, or remove `auth`"));
        }
        let mut tokens: Vec<CallerToken> = Vec::new();
        for node in stated {
            let Some(token) = self.caller_token(node, diagnostics) else {
                continue;
            };
            if tokens.iter().any(|earlier| earlier.text == token.text) {
                let why = "two principals have the same token";
                diagnostics.push(unfit(&node.place, why, "give each a token of its own"));
            }
            tokens.push(token);
        }
        let oidc = oidc.and_then(|own| self.oidc(own, diagnostics));
        Access { tokens, oidc }
    }

    fn caller_token(&self, node: &Node, diagnostics: &mut Diagnostics) -> Option<CallerToken> {
        let mut fields = Fields::read(node, "a token", diagnostics)?;
        let principal = fields.required_string("principal", diagnostics);
        let token = fields.optional_string("token", diagnostics);
        let file = fields.optional_string("token_file", diagnostics);
        if token.is_none() && file.is_none() {
            fields.required("token", diagnostics);
        }
        fields.finish(diagnostics);
        let text = match (token, file) {
            (Some(token), None) => TokenText::Stated(self.token(token, diagnostics)),
            (None, Some(file)) => TokenText::File(self.path(file)),
            (Some(_), Some(file)) => {
                diagnostics.push(
                    Diagnostic::error(
                        codes::KEYS_CONFLICT,
                        "a token has both `token` and `token_file`",
                    )
                    .label(file.place(), "only one can be used")
                    .help("remove one of them"),
                );
                return None;
            }
            (None, None) => return None,
        };
        let principal = principal?;
        // `ISSUER|SUBJECT` names a caller that an identity provider vouches for.
        let is_unfit = |c: char| c.is_control() || c == '|';
        if principal.is_empty() || principal.chars().any(is_unfit) {
            let why = "the name of a principal is empty, or has control characters or `|`";
            let help = "give it a name that can be shown and that no identity provider gives";
            diagnostics.push(unfit(principal.place(), why, help));
        }
        Some(CallerToken {
            principal: principal.to_string(),
            text,
        })
    }

    fn token(&self, stated: &Text, diagnostics: &mut Diagnostics) -> String {
        let before = diagnostics.error_count();
        let token = substitute(stated, self.environment, diagnostics);
        let is_known = diagnostics.error_count() == before;
        if is_known && !TokenText::is_fit(&token) {
            let why = format!(
                "a token has fewer than {TOKEN_BYTES_MIN} characters, or some that fit in no header"
            );
            let help = "make one with `openssl rand -hex 32`, and name its variable: `${VARIABLE}`";
            diagnostics.push(unfit(stated.place(), &why, help));
        } else {
            literal::check("token", stated, diagnostics);
        }
        token
    }

    fn oidc(&self, mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Oidc> {
        let stated = Stated::read(&mut fields, "jwks_url", diagnostics);
        let algorithms = fields.sequence("algorithms", diagnostics).iter();
        let algorithms = algorithms
            .filter_map(|node| node.expect_choice("algorithms", ALGORITHMS, diagnostics))
            .map(str::to_owned)
            .collect();
        let leeway = read_duration(&mut fields, "leeway", diagnostics);
        let scopes = fields.string_sequence("scopes", diagnostics);
        let claim = fields.optional_string("principal_claim", diagnostics);
        fields.finish(diagnostics);
        let oidc = self.provider(&stated, false, diagnostics)?;
        Some(Oidc {
            algorithms,
            leeway: leeway.map(|leeway| leeway.value),
            scopes: scopes.iter().map(ToString::to_string).collect(),
            principal_claim: claim.map(ToString::to_string),
            ..oidc
        })
    }

    /// `incomingAuth` of a ToolHive configuration.
    pub(crate) fn incoming(
        &self,
        mut fields: Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Access> {
        let kind = fields.entry("type");
        fields.required("type", diagnostics);
        let choice = fields.optional_choice("type", &["oidc", "local", "anonymous"], diagnostics);
        let choice = choice.map(|choice| choice.value);
        if let (Some("local"), Some(entry)) = (choice, kind) {
            let why = "callers would not be identified";
            diagnostics.push(keys::refused(entry, "incomingAuth.type: local", why));
        }
        let authz = fields.entry("authz").filter(|entry| !entry.value.is_null());
        if let Some(entry) = authz {
            let kind = entry.value.get("type");
            let kind = kind.and_then(|node| node.as_text().cloned());
            if kind.is_none_or(|kind| kind != "none") {
                let why = "callers would not be authorised";
                diagnostics.push(keys::refused(entry, "incomingAuth.authz", why));
            }
        }
        let access = if choice == Some("oidc") {
            let block = fields.required_fields("oidc", diagnostics);
            block.and_then(|own| self.toolhive_oidc(own, diagnostics))
        } else {
            // Only `type: oidc` uses it.
            fields.entry("oidc");
            None
        };
        fields.finish(diagnostics);
        access
    }

    fn toolhive_oidc(
        &self,
        mut fields: Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Access> {
        let stated = Stated::read(&mut fields, "jwksUrl", diagnostics);
        let scopes = fields.string_sequence("scopes", diagnostics);
        let allows_http = fields.optional_bool("insecureAllowHttp", diagnostics);
        let why = "tokens would not be looked up there";
        refuse(&mut fields, "introspectionUrl", why, diagnostics);
        let inert = [
            "clientId",
            "clientSecretEnv",
            "protectedResourceAllowPrivateIp",
            "jwksAllowPrivateIp",
            "caBundlePath",
        ];
        keys::warn_inert(&mut fields, "incomingAuth.oidc.", &inert, diagnostics);
        fields.finish(diagnostics);
        let allows_http = allows_http.is_some_and(|allows| allows.value);
        let oidc = self.provider(&stated, allows_http, diagnostics)?;
        Some(Access {
            tokens: Vec::new(),
            oidc: Some(Oidc {
                offered_scopes: scopes.iter().map(ToString::to_string).collect(),
                ..oidc
            }),
        })
    }

    /// What both kinds of files say of a provider.
    fn provider(
        &self,
        stated: &Stated<'_>,
        allows_http: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<Oidc> {
        let (stated_issuer, stated_audience) = (stated.issuer?, stated.audience?);
        let mut text = |text: &Text| substitute(text, self.environment, diagnostics);
        let issuer = text(stated_issuer);
        let audience = text(stated_audience);
        let jwks_url = stated.jwks_url.map(&mut text);
        let resource = stated.resource.map(&mut text);
        let urls = [
            Some((&issuer, stated_issuer)),
            jwks_url.as_ref().zip(stated.jwks_url),
        ];
        for (url, written) in urls.into_iter().flatten() {
            let is_allowed = allows_http && url.starts_with("http://");
            if !is_safe(url) && !is_allowed {
                let why =
                    "the identity provider is not reached by https, so others could sign tokens";
                diagnostics.push(unfit(written.place(), why, "write its https:// URL"));
            }
        }
        Some(Oidc {
            issuer,
            audience,
            jwks_url,
            resource,
            algorithms: Vec::new(),
            leeway: None,
            scopes: Vec::new(),
            offered_scopes: Vec::new(),
            principal_claim: None,
            allows_http,
            place: stated.place.clone(),
        })
    }
}

/// A provider as a file writes it.
struct Stated<'a> {
    issuer: Option<&'a Text>,
    audience: Option<&'a Text>,
    jwks_url: Option<&'a Text>,
    resource: Option<&'a Text>,
    place: Place,
}

impl<'a> Stated<'a> {
    /// Reads the keys that both kinds of files have; they spell one of them differently.
    fn read(
        fields: &mut Fields<'a>,
        jwks_url: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        Self {
            issuer: fields.required_string("issuer", diagnostics),
            audience: fields.required_string("audience", diagnostics),
            jwks_url: fields.optional_string(jwks_url, diagnostics),
            resource: fields.optional_string("resource", diagnostics),
            place: fields.place().clone(),
        }
    }
}

/// By https, or within this machine.
fn is_safe(url: &str) -> bool {
    let is_here = |host: &str| {
        let rest = url
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_prefix(host));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    };
    url.starts_with("https://")
        || ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|host| is_here(host))
}

/// Adds what another file says; one identity provider is enough for both.
pub(crate) fn join(to: &mut Option<Access>, more: Access, diagnostics: &mut Diagnostics) {
    let Some(own) = to else {
        *to = Some(more);
        return;
    };
    own.tokens.extend(more.tokens);
    match (&own.oidc, more.oidc) {
        (Some(own), Some(other))
            if own.issuer != other.issuer || own.audience != other.audience =>
        {
            diagnostics.push(
                Diagnostic::error(
                    codes::KEYS_CONFLICT,
                    "two identity providers are named for one server",
                )
                .label(&other.place, "this one")
                .secondary(&own.place, "and this one")
                .help("remove one of them"),
            );
        }
        (Some(_), _) => {}
        (None, other) => own.oidc = other,
    }
}

fn unfit(place: &Place, why: &str, help: &str) -> Diagnostic {
    Diagnostic::error(codes::ACCESS, why)
        .label(place, "callers would be told apart by this")
        .help(help)
}
