//! Who calls. A principal owns the runs, questions, tasks and sessions it starts; to others they do not exist.
//! Where a server asks who calls, every request shows a token: one of a list, or one of an identity provider.
//! What a principal may call is not decided here.

mod bearer;
mod jwt;
mod keys;
mod metadata;
mod signatures;

pub(crate) use metadata::routes;

use crate::admit::refuse;
use crate::limits::{CALLER_TOKEN_BYTES_MAX, RETRY_AFTER_SECONDS};
use crate::mirrors::sole;
use crate::options::{AccessError, AccessOptions};
use crate::refused;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bearer::Bearers;
use http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use jwt::Verifier;
use onecall_mcp::{RpcError, code};
use onecall_runtime::calls::CallerToken;
use std::sync::{Arc, PoisonError, RwLock};

/// A caller as it is known here; nobody in particular where callers are not asked who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Principal(Option<Arc<str>>);

impl Principal {
    fn named(name: &str) -> Self {
        Self(Some(name.into()))
    }

    /// The one that was found out for a request.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// Who may call one server. It can be replaced while the server runs, so that a token can be withdrawn.
#[derive(Clone, Debug)]
pub struct Access(Arc<RwLock<Arc<Rules>>>);

impl Access {
    pub fn new(options: &AccessOptions) -> Result<Self, AccessError> {
        if options.tokens.is_empty() && options.oidc.is_none() {
            return Err(AccessError::Nobody);
        }
        let rules = Arc::new(Rules::new(options)?);
        Ok(Self(Arc::new(RwLock::new(rules))))
    }

    /// From the next request on. Where the last token is withdrawn nobody is let in.
    pub fn replace(&self, options: &AccessOptions) -> Result<(), AccessError> {
        let rules = Arc::new(Rules::new(options)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = rules;
        Ok(())
    }

    fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The name that clients know the server by, if it is known.
    pub(crate) fn public_host(&self) -> Option<String> {
        self.rules().verifier.as_ref()?.public_host()
    }

    /// What browsers call that place when they send a form from it.
    pub(crate) fn public_origin(&self) -> Option<String> {
        self.rules().verifier.as_ref()?.public_origin()
    }

    /// Where clients and people reach the server, if that is known.
    pub(crate) fn public_base(&self) -> Option<String> {
        let rules = self.rules();
        let resource = rules.verifier.as_ref()?.resource.as_ref()?;
        resource.strip_suffix("/mcp").map(str::to_owned)
    }

    /// Who sends a request that may also come from nobody in particular.
    pub(crate) async fn glimpse(&self, headers: &HeaderMap) -> Option<Principal> {
        let shown = self.rules().identify(headers).await;
        shown.ok().map(|identity| identity.principal)
    }
}

/// What makes a caller known.
#[derive(Debug)]
struct Rules {
    bearers: Bearers,
    verifier: Option<Verifier>,
}

/// A caller that showed who it is.
struct Identity {
    principal: Principal,
    /// What it showed, where a token server would take it.
    token: Option<CallerToken>,
}

/// Why a request is not let in.
#[derive(Debug, PartialEq, Eq)]
enum Denial {
    /// It showed nothing.
    Missing,
    /// What it showed is in no shape to be looked at.
    Malformed(&'static str),
    /// What it showed does not count, or not any more.
    Invalid(String),
    /// It is known and lacks a scope.
    Scope,
    /// The identity provider cannot be asked for its keys.
    Unavailable(String),
}

impl Rules {
    fn new(options: &AccessOptions) -> Result<Self, AccessError> {
        let verifier = options.oidc.as_ref().map(Verifier::new).transpose()?;
        Ok(Self {
            bearers: Bearers::new(&options.tokens),
            verifier,
        })
    }

    async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Denial> {
        let token = shown(headers)?;
        if let Some(principal) = self.bearers.find(token) {
            return Ok(Identity {
                principal: Principal::named(principal),
                token: None,
            });
        }
        let Some(verifier) = &self.verifier else {
            return Err(Denial::Invalid("the token is not known".to_owned()));
        };
        let principal = verifier.verify(token).await?;
        Ok(Identity {
            principal: Principal::named(&principal),
            token: Some(CallerToken::new(token)),
        })
    }
}

/// The token of a request. It stands in its header and nowhere else.
fn shown(headers: &HeaderMap) -> Result<&str, Denial> {
    let header = sole(headers, AUTHORIZATION.as_str());
    let Some(header) = header.map_err(|()| Denial::Malformed("`Authorization` is not one text"))?
    else {
        return Err(Denial::Missing);
    };
    match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            let token = token.trim();
            if token.len() > CALLER_TOKEN_BYTES_MAX {
                return Err(Denial::Malformed("the token is too long"));
            }
            Ok(token)
        }
        Some(_) | None => Err(Denial::Malformed("`Authorization` is no bearer token")),
    }
}

/// A server whose callers are asked who they are, and the path it stands under.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) access: Access,
    pub(crate) path: String,
}

/// Lets known callers in, and says to others how to become known.
pub(crate) async fn known(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    let rules = door.access.rules();
    let identity = match rules.identify(request.headers()).await {
        Ok(identity) => identity,
        Err(denial) => return denied(&denial, &rules, &door, request.headers()),
    };
    // Nothing behind this line needs it, so nothing behind this line can pass it on.
    request.headers_mut().remove(AUTHORIZATION);
    request.extensions_mut().insert(identity.principal);
    if let Some(token) = identity.token {
        request.extensions_mut().insert(token);
    }
    next.run(request).await
}

fn denied(denial: &Denial, rules: &Rules, door: &Door, headers: &HeaderMap) -> Response {
    let (status, text) = match denial {
        Denial::Missing => (
            StatusCode::UNAUTHORIZED,
            "this server wants a bearer token in `Authorization`",
        ),
        Denial::Malformed(text) => (StatusCode::BAD_REQUEST, *text),
        Denial::Invalid(text) => (StatusCode::UNAUTHORIZED, text.as_str()),
        Denial::Scope => (StatusCode::FORBIDDEN, "the token lacks a scope"),
        Denial::Unavailable(_) => {
            let text = "tokens cannot be checked at the moment; come back later";
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
    };
    match denial {
        Denial::Unavailable(reason) => refused::log(reason, None),
        _ => refused::log(text, None),
    }
    let error = RpcError::new(code::INVALID_REQUEST, text);
    let mut response = refuse(status, None, &error);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        let later = HeaderValue::from(RETRY_AFTER_SECONDS);
        response.headers_mut().insert(RETRY_AFTER, later);
    }
    let challenge = metadata::challenge(denial, rules.verifier.as_ref(), door, headers);
    if let Some(challenge) = challenge.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

#[cfg(test)]
mod tests;
