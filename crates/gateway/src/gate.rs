//! Who is let in over HTTP, by `Host` and `Origin`: a page of somebody else must not reach a server on this machine
//! through its reader's browser.

use crate::admit::refuse;
use crate::answer_page;
use crate::auth::Access;
use crate::http::{Mount, PROBES};
use crate::limits::NAME_LOGGED_MAX;
use crate::mirrors::sole;
use crate::options::HttpOptions;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri};
use onecall_mcp::{RpcError, code};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Who may speak to this face.
#[derive(Debug)]
pub(crate) struct Gate {
    is_loopback: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Where people reach the servers, as `https://name`.
    public: Vec<String>,
}

impl Gate {
    pub(crate) fn new(options: &HttpOptions, address: SocketAddr, mounts: &[Mount]) -> Self {
        let lower = |text: &String| text.to_ascii_lowercase();
        let mut hosts: Vec<String> = options.allowed_hosts.iter().map(lower).collect();
        hosts.push(lower(&options.host));
        let accesses = || mounts.iter().filter_map(|mount| mount.access.as_ref());
        let known = accesses().filter_map(Access::public_host);
        hosts.extend(known.map(|host| lower(&host)));
        let mut origins: Vec<String> = options.allowed_origins.iter().map(lower).collect();
        let public = options.public_url.as_ref();
        if let Some(url) = public.and_then(|url| url.parse::<Uri>().ok())
            && let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority())
        {
            hosts.push(authority.host().to_ascii_lowercase());
            origins.push(lower(&format!("{scheme}://{authority}")));
        }
        Self {
            is_loopback: address.ip().is_loopback(),
            hosts,
            origins,
            public: accesses().filter_map(Access::public_origin).collect(),
        }
    }

    /// A rebinding attack needs a name, so an address is fine where other machines may call at all.
    fn allows_host(&self, authority: &Authority) -> bool {
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_named =
            |allowed: &String| *allowed == host || allowed.as_str() == authority.as_str();
        is_loopback(bare)
            || (!self.is_loopback && bare.parse::<IpAddr>().is_ok())
            || self.hosts.iter().any(is_named)
    }

    fn allows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        let host = uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        uri.scheme().is_some() && is_loopback(bare)
    }

    /// A form is sent by the page it stands on, wherever that is reached: under the host that was let in, or under
    /// the public name of the server where a proxy before it changes the host.
    fn is_own_page(&self, origin: &str, host: &Authority) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        let (Some(scheme), Some(sender)) = (uri.scheme_str(), uri.authority()) else {
            return false;
        };
        let default = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let place = |authority: &Authority| {
            let port = authority.port_u16().unwrap_or(default);
            (authority.host().to_ascii_lowercase(), port)
        };
        place(sender) == place(host) || self.public.contains(&origin)
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Refuses callers that a web page of somebody else may have sent. Probes come by whatever name or address their
/// sender knows, and learn nothing.
pub(crate) async fn caller(
    State(gate): State<Arc<Gate>>,
    request: Request,
    next: Next,
) -> Response {
    if PROBES.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let matched = request.extensions().get::<MatchedPath>();
    let is_page = matched.is_some_and(|path| path.as_str().ends_with(answer_page::ROUTE));
    let Err((status, text)) = check_caller(&gate, &request, is_page) else {
        return next.run(request).await;
    };
    log_refusal(request.headers(), text);
    if is_page {
        return answer_page::not_let_in(status, text);
    }
    refuse(status, None, &RpcError::new(code::INVALID_REQUEST, text))
}

fn log_refusal(headers: &HeaderMap, reason: &str) {
    let named = |header| {
        let value = headers.get(header).and_then(|own| own.to_str().ok());
        let value = value.unwrap_or_default().chars();
        value.take(NAME_LOGGED_MAX).collect::<String>()
    };
    let (host, origin) = (named(HOST), named(ORIGIN));
    tracing::warn!(reason, host, origin, "a request was refused");
}

pub(crate) fn check_caller(
    gate: &Gate,
    request: &Request,
    is_page: bool,
) -> Result<(), (StatusCode, &'static str)> {
    let headers = request.headers();
    let host = match sole(headers, HOST.as_str()) {
        Err(()) => return Err((StatusCode::BAD_REQUEST, "more than one `Host` header")),
        Ok(Some(host)) => host.parse::<Authority>().ok(),
        Ok(None) => request.uri().authority().cloned(),
    };
    let Some(host) = host else {
        return Err((
            StatusCode::BAD_REQUEST,
            "the `Host` header is missing or malformed",
        ));
    };
    if !gate.allows_host(&host) {
        return Err((StatusCode::FORBIDDEN, "this `Host` is not allowed"));
    }
    match sole(headers, ORIGIN.as_str()) {
        Ok(None) => Ok(()),
        Ok(Some(origin)) if gate.allows_origin(origin) => Ok(()),
        Ok(Some(origin)) if is_page && gate.is_own_page(origin, &host) => Ok(()),
        Ok(Some(_)) | Err(()) => Err((StatusCode::FORBIDDEN, "this `Origin` is not allowed")),
    }
}
