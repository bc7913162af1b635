//! The headers of a usual call, found in one pass over all that came: to look each of them up costs more than to read
//! the call.

use http::HeaderMap;
use memchr::memmem;
use onecall_mcp::{Revision, check_header, meta, name};

/// The kinds of content that requests and answers have.
pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";

/// Each is the only one of its name.
#[derive(Debug, Default)]
pub(crate) struct Heads<'a> {
    pub(crate) host: Option<&'a [u8]>,
    pub(crate) origin: Option<&'a [u8]>,
    accept: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    version: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    /// `traceparent`, `tracestate` and `baggage`.
    trace: [Option<&'a [u8]>; 3],
}

impl<'a> Heads<'a> {
    /// `None` where one of them is given twice, which is not usual.
    pub(crate) fn read(headers: &'a HeaderMap) -> Option<Self> {
        let mut heads = Self::default();
        for (name, value) in headers {
            if !heads.take(name.as_str(), value.as_bytes()) {
                return None;
            }
        }
        Some(heads)
    }

    /// Whether it is the first of its name, or none that is looked for.
    pub(crate) fn take(&mut self, name: &str, value: &'a [u8]) -> bool {
        let place = match name.len() {
            4 if is(name, "host") => &mut self.host,
            6 if is(name, "accept") => &mut self.accept,
            6 if is(name, "origin") => &mut self.origin,
            7 if is(name, meta::BAGGAGE) => &mut self.trace[2],
            8 if is(name, name::NAME) => &mut self.name,
            10 if is(name, name::METHOD) => &mut self.method,
            10 if is(name, meta::TRACE_STATE) => &mut self.trace[1],
            11 if is(name, meta::TRACE_PARENT) => &mut self.trace[0],
            12 if is(name, "content-type") => &mut self.content_type,
            20 if is(name, name::PROTOCOL_VERSION) => &mut self.version,
            _ => return true,
        };
        place.replace(value).is_none()
    }

    /// They are those of a modern request that can be answered with JSON.
    pub(crate) fn is_plain(&self) -> bool {
        let holds = |value: &[u8], kind: &str| memmem::find(value, kind.as_bytes()).is_some();
        let is_taken = |takes: &[u8]| holds(takes, JSON) && holds(takes, EVENTS);
        let is_json = |kind: &[u8]| kind.starts_with(JSON.as_bytes());
        let is_modern = |version: &[u8]| version == Revision::MODERN.as_str().as_bytes();
        self.version.is_some_and(is_modern)
            && self.accept.is_some_and(is_taken)
            && self.content_type.is_some_and(is_json)
    }

    /// What they repeat of the body is what the body says.
    pub(crate) fn are_of(&self, method: &str, name: &str) -> bool {
        let is_same = self.method.is_some_and(|own| own == method.as_bytes());
        is_same && check_header(name::NAME, Some(name), self.name.and_then(text)).is_ok()
    }

    /// Trace context that came in headers.
    pub(crate) fn trace(&self) -> Vec<(&'static str, String)> {
        let named = [meta::TRACE_PARENT, meta::TRACE_STATE, meta::BAGGAGE];
        let given = named.into_iter().zip(self.trace);
        let given = given.filter_map(|(name, value)| Some((name, text(value?)?.to_owned())));
        given.collect()
    }
}

/// Whether a header has this name, which is given in small letters. Names are short: what the library does for long
/// texts costs more than the letters.
pub(crate) fn is(name: &str, wanted: &str) -> bool {
    let mut pairs = name.bytes().zip(wanted.bytes());
    name.len() == wanted.len() && pairs.all(|(own, wanted)| own.to_ascii_lowercase() == wanted)
}

/// The value of a header that is nothing but visible characters, blanks and tabs.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    let is_shown = |byte: &u8| (b' '..0x7f).contains(byte) || *byte == b'\t';
    let text = std::str::from_utf8(value).ok()?;
    value.iter().all(is_shown).then_some(text)
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
        assert_eq!(heads.host.unwrap(), b"h");
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
