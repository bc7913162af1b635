//! How a client becomes known: the protected-resource metadata (RFC 9728), and the challenge that leads to it.

use super::jwt::Verifier;
use super::{Denial, Door};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::HOST;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Where a server says who vouches for its callers.
pub(crate) fn routes(door: &Arc<Door>) -> Router {
    let mut router = Router::new().route(&format!("{WELL_KNOWN}{}/mcp", door.path), get(describe));
    if door.path.is_empty() {
        router = router.route(WELL_KNOWN, get(describe));
    }
    router.with_state(Arc::clone(door))
}

async fn describe(State(door): State<Arc<Door>>, headers: HeaderMap) -> Response {
    let rules = door.access.rules();
    match &rules.verifier {
        Some(verifier) => Json(document(verifier, &door, &headers)).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn document(verifier: &Verifier, door: &Door, headers: &HeaderMap) -> Value {
    let mut document = json!({
        "resource": resource(verifier, door, headers),
        "authorization_servers": [verifier.issuer],
        "bearer_methods_supported": ["header"],
    });
    let scopes = verifier.scopes.iter().chain(&verifier.offered);
    let mut all: Vec<&String> = Vec::new();
    for scope in scopes {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    if !all.is_empty() {
        document["scopes_supported"] = json!(all);
    }
    document
}

/// The URL that clients know the server by: as configured, else as they called it.
fn resource(verifier: &Verifier, door: &Door, headers: &HeaderMap) -> String {
    if let Some(resource) = &verifier.resource {
        return resource.clone();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    format!("http://{}{}/mcp", host.unwrap_or("localhost"), door.path)
}

/// The metadata of a resource stands at the well-known path before its own.
fn metadata_url(resource: &str) -> Option<String> {
    let uri: Uri = resource.parse().ok()?;
    let path = uri.path().trim_end_matches('/');
    Some(format!(
        "{}://{}{WELL_KNOWN}{path}",
        uri.scheme_str()?,
        uri.authority()?
    ))
}

/// What `WWW-Authenticate` says. A server that is out of order challenges nobody.
pub(super) fn challenge(
    denial: &Denial,
    verifier: Option<&Verifier>,
    door: &Door,
    headers: &HeaderMap,
) -> Option<String> {
    let (error, text) = match denial {
        Denial::Missing => (None, ""),
        Denial::Malformed(text) => (Some("invalid_request"), *text),
        Denial::Invalid(text) => (Some("invalid_token"), text.as_str()),
        Denial::Scope => (Some("insufficient_scope"), "the token lacks a scope"),
        Denial::Unavailable(_) => return None,
    };
    let mut challenge = "Bearer realm=\"onecall\"".to_owned();
    if let Some(error) = error {
        let text = text.replace(['"', '\\'], "'");
        let _ = write!(
            challenge,
            ", error=\"{error}\", error_description=\"{text}\""
        );
    }
    if let Some(verifier) = verifier {
        if !verifier.scopes.is_empty() {
            let _ = write!(challenge, ", scope=\"{}\"", verifier.scopes.join(" "));
        }
        if let Some(url) = metadata_url(&resource(verifier, door, headers)) {
            let _ = write!(challenge, ", resource_metadata=\"{url}\"");
        }
    }
    Some(challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_well_known_path_stands_before_that_of_the_resource() {
        let cases = [
            (
                "https://a.example/mcp",
                "https://a.example/.well-known/oauth-protected-resource/mcp",
            ),
            (
                "http://127.0.0.1:4483/x/mcp",
                "http://127.0.0.1:4483/.well-known/oauth-protected-resource/x/mcp",
            ),
            (
                "https://a.example",
                "https://a.example/.well-known/oauth-protected-resource",
            ),
        ];
        for (resource, url) in cases {
            assert_eq!(metadata_url(resource).as_deref(), Some(url));
        }
        assert_eq!(metadata_url("demo"), None);
    }
}
