//! Who is let in over HTTP, by `Host` and `Origin`: a page of somebody else must not reach a server on this machine
//! through its reader's browser.

use crate::admit::refuse;
use crate::answer_page;
use crate::auth::Access;
use crate::heads::{self, Heads};
use crate::http::{Mount, PROBES};
use crate::limits::NAME_LOGGED_MAX;
use crate::mirrors::sole;
use crate::options::HttpOptions;
use crate::refused::{self, Source};
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
    /// The server's own address as a `Host` header, which needs no further look.
    own: String,
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
            own: address.to_string(),
            is_loopback: address.ip().is_loopback(),
            hosts,
            origins,
            public: accesses().filter_map(Access::public_origin).collect(),
        }
    }

    /// Whether the sender of a usual call is let in; who is not is told why elsewhere.
    pub(crate) fn lets_in(&self, heads: &Heads<'_>) -> bool {
        let is_known = |host: &[u8]| {
            let allows = |host: Authority| self.allows_host(&host);
            host == self.own.as_bytes() || Authority::try_from(host).is_ok_and(allows)
        };
        let is_friendly = |origin: &[u8]| {
            let origin = heads::text(origin);
            origin.is_some_and(|origin| self.allows_origin(origin))
        };
        heads.host.is_some_and(is_known) && heads.origin.is_none_or(is_friendly)
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
    let source = Source {
        host: &host,
        origin: &origin,
    };
    refused::log_source(reason, source);
}

fn check_caller(
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

#[cfg(test)]
mod tests {
    use super::{Gate, check_caller};
    use crate::heads::Heads;
    use crate::options::HttpOptions;
    use axum::body::Body;
    use axum::extract::Request;
    use http::HeaderValue;

    const OWN: &str = "127.0.0.1:4000";

    /// A gate of this machine, which also goes by names.
    fn local() -> Gate {
        let mut options = HttpOptions::new("127.0.0.1", 4000, "1");
        options.allowed_hosts = vec!["Tools.example".to_owned(), "ports.example:81".to_owned()];
        options.allowed_origins = vec!["https://App.example".to_owned()];
        Gate::new(&options, OWN.parse().unwrap(), &[])
    }

    /// A gate that other machines reach.
    fn open() -> Gate {
        let options = HttpOptions::new("0.0.0.0", 4000, "1");
        Gate::new(&options, "0.0.0.0:4000".parse().unwrap(), &[])
    }

    fn request(uri: &str, hosts: &[&str], origins: &[&str]) -> Request {
        let mut request = Request::builder().uri(uri).body(Body::empty()).unwrap();
        // A byte for each character.
        let bytes = |text: &str| text.chars().map(|own| own as u8).collect::<Vec<_>>();
        for (name, values) in [("host", hosts), ("origin", origins)] {
            for value in values {
                let value = HeaderValue::from_bytes(&bytes(value)).unwrap();
                request.headers_mut().append(name, value);
            }
        }
        request
    }

    /// Both forms of the rule say the same of a request.
    fn check(gate: &Gate, request: &Request, is_let_in: bool) {
        let heads = Heads::read(request.headers());
        let usual = heads.is_some_and(|heads| gate.lets_in(&heads));
        let checked = check_caller(gate, request, false);
        let said = (usual, checked.is_ok());
        assert_eq!(said, (is_let_in, is_let_in), "{request:?} {checked:?}");
    }

    #[test]
    fn hosts_are_let_in_alike_on_both_ways() {
        // On this machine, and where other machines may call.
        for (host, at_home, abroad) in [
            (OWN, true, true),
            ("127.0.0.1", true, true),
            ("localhost", true, true),
            ("LOCALHOST:1", true, true),
            ("localhost.", false, false),
            ("tools.example", true, false),
            ("TOOLS.EXAMPLE:7", true, false),
            ("ports.example:81", true, false),
            ("ports.example:82", false, false),
            ("evil.com", false, false),
            ("evil.com:4000", false, false),
            ("user@localhost", true, true),
            ("localhost@evil.com", false, false),
            ("evil@127.0.0.1", true, true),
            ("evil@127.0.0.1:4000", true, true),
            ("[::1]", true, true),
            ("[::1]:5", true, true),
            ("[2001:db8::1]:5", false, true),
            ("127.1", false, false),
            ("127.0.0.2", true, true),
            ("0.0.0.0", false, true),
            ("0.0.0.0:4000", false, true),
            ("192.0.2.1", false, true),
            ("", false, false),
            ("\u{ff}", false, false),
            ("127.0.0.1:99999", true, true),
            ("127.0.0.1:port", true, true),
            ("localhost,evil.com", false, false),
            ("localhost\tx", false, false),
            ("127.0.0.1/evil", false, false),
            ("%6cocalhost", false, false),
            ("::1", false, false),
            ("[::ffff:127.0.0.1]", false, true),
        ] {
            let request = request("/mcp", &[host], &[]);
            check(&local(), &request, at_home);
            check(&open(), &request, abroad);
        }
    }

    #[test]
    fn origins_are_let_in_alike_on_both_ways() {
        for (origin, is_let_in) in [
            ("null", false),
            ("http://localhost", true),
            ("HTTP://LOCALHOST:1", true),
            ("https://app.example", true),
            ("HTTPS://APP.EXAMPLE", true),
            ("https://app.example:443", false),
            ("https://evil.com", false),
            ("http://127.0.0.1.evil.com", false),
            ("http://localhost@evil.com", false),
            ("http://evil.com@localhost", true),
            ("file://", false),
            ("localhost", false),
            ("http://[::1]", true),
            ("http://localhost/x", true),
            ("\u{ff}", false),
            ("", false),
        ] {
            check(&local(), &request("/mcp", &[OWN], &[origin]), is_let_in);
            check(&local(), &request("/mcp", &["evil.com"], &[origin]), false);
        }
    }

    #[test]
    fn what_is_given_twice_or_in_the_line_is_taken_alike_on_both_ways() {
        let here = "http://localhost/mcp";
        let there = "http://evil.com/mcp";
        for (uri, hosts, origins, is_let_in) in [
            ("/mcp", &[][..], &[][..], false),
            ("/mcp", &["localhost", "localhost"], &[], false),
            (here, &["evil.com"], &[], false),
            (there, &["localhost"], &[], true),
            (there, &[], &[], false),
            (
                "/mcp",
                &["localhost"],
                &["http://localhost", "http://localhost"],
                false,
            ),
        ] {
            check(&local(), &request(uri, hosts, origins), is_let_in);
        }
        // A host that stands in the line alone is not usual, and checked on the long way.
        let request = request(here, &[], &[]);
        assert!(!local().lets_in(&Heads::read(request.headers()).unwrap()));
        assert_eq!(check_caller(&local(), &request, false), Ok(()));
    }
}
