//! HTTP headers of Streamable HTTP: names, the base64 form of values, and which headers mirror
//! which part of the body. Parameters mirrored by a tool's schema are in `param_header`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::error::{RpcError, code};
use crate::method;

/// Header names, in the spelling of `http::HeaderName` (lower case).
pub mod name {
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    pub const METHOD: &str = "mcp-method";
    pub const NAME: &str = "mcp-name";
    pub const SESSION: &str = "mcp-session-id";
    pub const PARAM_PREFIX: &str = "mcp-param-";
    pub const LAST_EVENT: &str = "last-event-id";
}

/// They say how a message is read from its connection; another value would spoil it.
const FRAMING: [&str; 5] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "expect",
];

/// Whether a header belongs to the connection, so that nobody else may set it.
pub fn is_framing(name: &str) -> bool {
    FRAMING.iter().any(|own| own.eq_ignore_ascii_case(name))
}

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// A value as it goes into a header: plain where it is visible ASCII without padding, else
/// `=?base64?…?=`. A plain value that looks encoded is encoded too.
pub fn encode_value(value: &str) -> String {
    let visible = value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ') || value.is_empty();
    if visible && !padded && !value.starts_with(OPEN) {
        return value.to_owned();
    }
    format!("{OPEN}{}{CLOSE}", STANDARD.encode(value))
}

/// The value behind a header; `None` where the base64 form is broken.
pub fn decode_value(header: &str) -> Option<String> {
    let Some(inner) = header
        .strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(CLOSE))
    else {
        return Some(header.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

/// The value that `Mcp-Name` mirrors for this method, if the method has one.
pub fn mirrored<'a>(method: &str, params: &'a Value) -> Option<&'a str> {
    let key = match method {
        method::TOOLS_CALL | method::PROMPTS_GET => "name",
        method::RESOURCES_READ => "uri",
        method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL => "taskId",
        _ => return None,
    };
    params.get(key)?.as_str()
}

/// A header is missing or does not say what the body says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("header `{header}` {fault}")]
pub struct HeaderFault {
    pub header: String,
    pub fault: &'static str,
}

impl From<HeaderFault> for RpcError {
    fn from(fault: HeaderFault) -> Self {
        Self::new(code::HEADER_MISMATCH, fault.to_string())
    }
}

/// Server side: compares the mirrored headers of a modern request with its body. `header` looks
/// one up by its lower-case name.
pub fn check_mirrored<'h>(
    method: &str,
    params: &Value,
    header: impl Fn(&str) -> Option<&'h str>,
) -> Result<(), HeaderFault> {
    let version = crate::meta::get(params, crate::meta::PROTOCOL_VERSION).and_then(Value::as_str);
    check_header(
        name::PROTOCOL_VERSION,
        version,
        header(name::PROTOCOL_VERSION),
    )?;
    check_header(name::METHOD, Some(method), header(name::METHOD))?;
    match mirrored(method, params) {
        Some(wanted) => check_header(name::NAME, Some(wanted), header(name::NAME)),
        None => Ok(()),
    }
}

/// Compares one header with what the body says; either may be absent.
pub fn check_header(
    header: &str,
    wanted: Option<&str>,
    given: Option<&str>,
) -> Result<(), HeaderFault> {
    let fault = |fault| {
        Err(HeaderFault {
            header: header.to_owned(),
            fault,
        })
    };
    match (wanted, given) {
        (None, None) => Ok(()),
        (Some(_), None) => fault("is missing"),
        (None, Some(_)) => fault("has no counterpart in the body"),
        (Some(wanted), Some(given)) if given == wanted && !given.starts_with(OPEN) => Ok(()),
        (Some(wanted), Some(given)) => match decode_value(given) {
            None => fault("is not valid base64"),
            Some(decoded) if decoded == wanted => Ok(()),
            Some(_) => fault("differs from the body"),
        },
    }
}

/// The length that a `Content-Length` states: digits alone, and few enough for every file system.
pub fn content_length(value: &[u8]) -> Option<u64> {
    if value.len() > 15 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_length_is_digits_alone() {
        assert_eq!(content_length(b"0"), Some(0));
        assert_eq!(
            content_length(b"123456789012345"),
            Some(123_456_789_012_345)
        );
        for odd in ["", "+1", "-1", " 1", "1, 1", "0x1", "1234567890123456"] {
            assert_eq!(content_length(odd.as_bytes()), None, "{odd}");
        }
    }

    #[test]
    fn values_survive_the_header() {
        for value in [
            "plain",
            "two words",
            " padded ",
            "",
            "Zürich",
            "a\nb",
            "=?base64?x?=",
        ] {
            let encoded = encode_value(value);
            assert!(
                encoded.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
                "{encoded}"
            );
            assert_eq!(decode_value(&encoded).as_deref(), Some(value));
        }
        assert_eq!(encode_value("plain"), "plain");
        assert_eq!(encode_value("Zürich"), "=?base64?WsO8cmljaA==?=");
        assert_eq!(decode_value("=?base64?!?="), None);
    }

    #[test]
    fn mirrored_headers_must_match_the_body() {
        let params = json!({
            "name": "add", "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }
        });
        let check = |name: &'static str| {
            check_mirrored("tools/call", &params, move |header| match header {
                "mcp-protocol-version" => Some("2026-07-28"),
                "mcp-method" => Some("tools/call"),
                "mcp-name" => Some(name).filter(|name| !name.is_empty()),
                _ => None,
            })
        };
        assert_eq!(check("add"), Ok(()));
        assert_eq!(
            check("sub").unwrap_err().to_string(),
            "header `mcp-name` differs from the body"
        );
        assert_eq!(
            check("").unwrap_err().to_string(),
            "header `mcp-name` is missing"
        );
    }
}
