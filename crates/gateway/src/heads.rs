//! The headers of a usual call, found in one pass over all that came: to look each of them up costs more than to read
//! the call.

use http::{HeaderMap, HeaderValue};
use memchr::memmem;
use onecall_mcp::{Revision, check_header, meta, name};

/// The kinds of content that requests and answers have.
pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";

/// Each is the only one of its name.
#[derive(Debug, Default)]
pub(crate) struct Heads<'a> {
    pub(crate) host: Option<&'a HeaderValue>,
    pub(crate) origin: Option<&'a HeaderValue>,
    accept: Option<&'a HeaderValue>,
    content_type: Option<&'a HeaderValue>,
    version: Option<&'a HeaderValue>,
    method: Option<&'a HeaderValue>,
    name: Option<&'a HeaderValue>,
    /// `traceparent`, `tracestate` and `baggage`.
    trace: [Option<&'a HeaderValue>; 3],
}

impl<'a> Heads<'a> {
    /// `None` where one of them is given twice, which is not usual.
    pub(crate) fn read(headers: &'a HeaderMap) -> Option<Self> {
        let mut heads = Self::default();
        for (name, value) in headers {
            let place = match name.as_str() {
                "host" => &mut heads.host,
                "origin" => &mut heads.origin,
                "accept" => &mut heads.accept,
                "content-type" => &mut heads.content_type,
                name::PROTOCOL_VERSION => &mut heads.version,
                name::METHOD => &mut heads.method,
                name::NAME => &mut heads.name,
                meta::TRACE_PARENT => &mut heads.trace[0],
                meta::TRACE_STATE => &mut heads.trace[1],
                meta::BAGGAGE => &mut heads.trace[2],
                _ => continue,
            };
            if place.replace(value).is_some() {
                return None;
            }
        }
        Some(heads)
    }

    /// They are those of a modern request that can be answered with JSON.
    pub(crate) fn is_plain(&self) -> bool {
        let holds = |value: &HeaderValue, kind: &str| {
            memmem::find(value.as_bytes(), kind.as_bytes()).is_some()
        };
        let is_taken = |takes: &HeaderValue| holds(takes, JSON) && holds(takes, EVENTS);
        let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(JSON.as_bytes());
        let is_modern = |version: &HeaderValue| version == Revision::MODERN.as_str();
        self.version.is_some_and(is_modern)
            && self.accept.is_some_and(is_taken)
            && self.content_type.is_some_and(is_json)
    }

    /// What they repeat of the body is what the body says.
    pub(crate) fn are_of(&self, method: &str, name: &str) -> bool {
        let says = |header, wanted: &str, given: Option<&HeaderValue>| {
            let given = given.and_then(|given| given.to_str().ok());
            check_header(header, Some(wanted), given).is_ok()
        };
        let is_same = |wanted, given: Option<&HeaderValue>| given.is_some_and(|own| own == wanted);
        is_same(method, self.method) && says(name::NAME, name, self.name)
    }

    /// Trace context that came in headers.
    pub(crate) fn trace(&self) -> Vec<(&'static str, String)> {
        let named = [meta::TRACE_PARENT, meta::TRACE_STATE, meta::BAGGAGE];
        let given = named.into_iter().zip(self.trace);
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let given = given.filter_map(|(name, value)| Some((name, text(value?)?)));
        given.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Heads;
    use http::{HeaderMap, HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::from_static(value);
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    const PLAIN: [(&str, &str); 3] = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
    ];

    #[test]
    fn each_is_found_in_its_place() {
        let given = [("host", "h"), ("traceparent", "t"), ("x", "y")];
        let headers = headers(&[&PLAIN[..], &given[..]].concat());
        let heads = Heads::read(&headers).unwrap();
        assert!(heads.is_plain());
        assert_eq!(heads.host.unwrap(), "h");
        assert_eq!(heads.origin, None);
        assert_eq!(heads.trace(), [("traceparent", "t".to_owned())]);
    }

    #[test]
    fn what_is_not_usual_is_told() {
        for lacking in 0..PLAIN.len() {
            let mut pairs = PLAIN.to_vec();
            pairs.remove(lacking);
            let headers = headers(&pairs);
            assert!(!Heads::read(&headers).unwrap().is_plain(), "{pairs:?}");
        }
        for (name, value) in [("host", "h"), ("mcp-name", "n"), ("origin", "o")] {
            assert!(Heads::read(&headers(&[(name, value), (name, value)])).is_none());
        }
        let mut odd = headers(&[("mcp-method", "m"), ("mcp-name", "=?base64?bg==?=")]);
        assert!(Heads::read(&odd).unwrap().are_of("m", "n"));
        assert!(!Heads::read(&odd).unwrap().are_of("n", "n"));
        odd.insert("mcp-name", HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(!Heads::read(&odd).unwrap().are_of("m", "n"));
    }
}
