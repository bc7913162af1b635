//! Tokens of an identity provider: who issued them, for whom, when, signed how, and whom they name.

use super::Denial;
use super::keys::Keys;
use super::signatures;
use crate::limits::{CLOCK_LEEWAY, PRINCIPAL_BYTES_MAX};
use crate::options::{AccessError, OidcOptions};
use crate::seal;
use http::Uri;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Accepted unless the configuration names others. Secrets that are shared with the provider are never accepted.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Values of the header `typ` that an access token may have. RFC 9068 requires one of the last two; many providers write
/// `JWT` or nothing.
const TYPES: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];

/// Values that an access token may have in claims by which providers mark the purpose of a token.
/// Keycloak writes `Bearer`, `ID` or `Refresh` to `typ`; Cognito writes `access` or `id` to `token_use`.
const PURPOSES: [(&str, &[&str]); 2] = [
    ("typ", &["bearer", "jwt", "at+jwt", "application/at+jwt"]),
    ("token_use", &["access"]),
];

const NO_ACCESS_TOKEN: &str = "the token is not an access token";

#[derive(Debug)]
pub(crate) struct Verifier {
    pub(super) issuer: String,
    audience: String,
    pub(super) resource: Option<String>,
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    /// All of these must be granted.
    pub(super) scopes: Vec<String>,
    /// Clients are told of these as well.
    pub(super) offered: Vec<String>,
    principal_claim: String,
    keys: Arc<Keys>,
}

impl Verifier {
    pub(super) fn new(options: &OidcOptions) -> Result<Self, AccessError> {
        signatures::install();
        let named = options.algorithms.iter().map(|name| {
            let known = name.parse().ok().filter(|known| ALGORITHMS.contains(known));
            known.ok_or_else(|| AccessError::Algorithm(name.clone()))
        });
        let mut algorithms = named.collect::<Result<Vec<_>, _>>()?;
        if algorithms.is_empty() {
            algorithms.extend(ALGORITHMS);
        }
        Ok(Self {
            issuer: options.issuer.clone(),
            audience: options.audience.clone(),
            resource: options
                .resource
                .clone()
                .or_else(|| url_of(&options.audience)),
            algorithms,
            leeway: options.leeway.unwrap_or(CLOCK_LEEWAY),
            scopes: options.scopes.clone(),
            offered: options.offered_scopes.clone(),
            principal_claim: options.principal_claim.clone(),
            keys: Arc::new(Keys::new(
                &options.issuer,
                options.jwks_url.as_deref(),
                options.allows_http,
            )),
        })
    }

    pub(super) fn public_host(&self) -> Option<String> {
        let resource: Uri = self.resource.as_ref()?.parse().ok()?;
        resource.host().map(str::to_owned)
    }

    /// Scheme, host and port, as an `Origin` header says them: the usual port is left out.
    pub(super) fn public_origin(&self) -> Option<String> {
        let resource: Uri = self.resource.as_ref()?.parse().ok()?;
        let (scheme, host) = (resource.scheme_str()?, resource.host()?);
        let usual = if scheme == "https" { 443 } else { 80 };
        let port = resource.port_u16().filter(|port| *port != usual);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{scheme}://{host}{port}").to_ascii_lowercase())
    }

    /// The principal that a token names.
    pub(super) async fn verify(&self, token: &str) -> Result<String, Denial> {
        let invalid = |text: &str| Denial::Invalid(text.to_owned());
        let header = decode_header(token).map_err(|_| invalid("the token cannot be read"))?;
        self.check_header(&header)?;
        let keys = self
            .keys
            .candidates(header.alg, header.kid.as_deref())
            .await?;
        let validation = self.validation(header.alg);
        let mut fault = invalid("no key of the identity provider fits the token");
        for key in keys {
            match decode::<Map<String, Value>>(token, &key, &validation) {
                Ok(decoded) => return self.principal(&decoded.claims),
                Err(error) => {
                    fault = invalid(words(error.kind()));
                    if !matches!(error.kind(), ErrorKind::InvalidSignature) {
                        break;
                    }
                }
            }
        }
        Err(fault)
    }

    fn check_header(&self, header: &Header) -> Result<(), Denial> {
        let invalid = |text: &str| Err(Denial::Invalid(text.to_owned()));
        if !self.algorithms.contains(&header.alg) {
            return invalid("the token is signed in a way that is not accepted");
        }
        if header.crit.is_some() {
            return invalid("the token demands what is not understood here");
        }
        let kind = header.typ.as_ref().map(|kind| kind.to_ascii_lowercase());
        if kind.is_some_and(|kind| !TYPES.contains(&kind.as_str())) {
            return invalid(NO_ACCESS_TOKEN);
        }
        Ok(())
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation
    }

    fn principal(&self, claims: &Map<String, Value>) -> Result<String, Denial> {
        let invalid = |text: &str| Err(Denial::Invalid(text.to_owned()));
        // `jsonwebtoken` accepts a list that contains the issuer; RFC 7519 knows only a single text.
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return invalid(words(&ErrorKind::InvalidIssuer));
        }
        if !PURPOSES
            .iter()
            .all(|(claim, accepted)| is_one_of(claims.get(*claim), accepted))
        {
            return invalid(NO_ACCESS_TOKEN);
        }
        let latest = seal::now().saturating_add(self.leeway.as_secs());
        let issued = claims.get("iat");
        if issued.is_some_and(|at| at.as_f64().is_none_or(|at| at > latest_seconds(latest))) {
            return invalid("the token was issued in the future");
        }
        let granted = granted(claims);
        if !self
            .scopes
            .iter()
            .all(|scope| granted.contains(&scope.as_str()))
        {
            return Err(Denial::Scope);
        }
        let subject = claims.get(&self.principal_claim).and_then(Value::as_str);
        match subject {
            Some(subject)
                if (1..=PRINCIPAL_BYTES_MAX).contains(&subject.len())
                    && !subject.chars().any(char::is_control) =>
            {
                // The issuer comes first and is fixed, so no subject can pass for a name of the list.
                Ok(format!("{}|{subject}", self.issuer))
            }
            Some(_) | None => invalid("the token names nobody"),
        }
    }
}

/// Whether a claim is absent or has one of these values. A claim that is not text has none of them.
fn is_one_of(claim: Option<&Value>, accepted: &[&str]) -> bool {
    claim.is_none_or(|claim| {
        let text = claim.as_str().unwrap_or_default().to_ascii_lowercase();
        accepted.contains(&text.as_str())
    })
}

#[expect(clippy::cast_precision_loss, reason = "seconds stay far below 2^52")]
fn latest_seconds(seconds: u64) -> f64 {
    seconds as f64
}

/// An audience that is a URL is that of the server.
fn url_of(audience: &str) -> Option<String> {
    let is_url = audience.starts_with("https://") || audience.starts_with("http://");
    is_url.then(|| audience.to_owned())
}

/// `scope` is a text with blanks; some providers write `scp`, as a text or as a list.
fn granted(claims: &Map<String, Value>) -> Vec<&str> {
    let stated = ["scope", "scp"].iter().filter_map(|name| claims.get(*name));
    stated
        .flat_map(|stated| match stated {
            Value::String(text) => text.split_whitespace().collect(),
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        })
        .collect()
}

fn words(fault: &ErrorKind) -> &'static str {
    match fault {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidIssuer => "the token is of another issuer",
        ErrorKind::InvalidSignature => "the signature of the token is wrong",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks `exp`, `iss` or `aud`",
        _ => "the token cannot be read",
    }
}
