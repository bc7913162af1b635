//! Headers that repeat parts of a modern request's body, and headers that may be given only once.

use crate::raw::Content;
use crate::server::Shared;
use http::HeaderMap;
use onecall_mcp::{
    Revision, RpcError, check_header, code, decode_value, method, mirrored, name,
    param_header_values,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// Modern requests repeat parts of their body in headers, on which middleboxes route; the two must agree.
pub(crate) fn check_mirrors(
    shared: &Shared,
    headers: &HeaderMap,
    content: &Content,
) -> Result<(), RpcError> {
    let Content {
        method,
        params,
        written,
    } = content;
    let version = one(headers, name::PROTOCOL_VERSION)?;
    if version.is_none_or(|version| version < Revision::MODERN.as_str()) {
        return Ok(());
    }
    agree(headers, name::METHOD, Some(method))?;
    let subject = mirrored(method, params);
    if let Some(wanted) = subject {
        agree(headers, name::NAME, Some(wanted))?;
    }
    match subject {
        Some(tool) if method == method::TOOLS_CALL => {
            check_repeated(shared, headers, tool, written.arguments.as_deref())
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether the schema of a tool wants parameters repeated.
pub(crate) fn repeats(shared: &Shared, tool: &str) -> bool {
    let published = shared.runtime.current();
    let tool = published.find(tool);
    tool.is_some_and(|tool| !tool.param_headers.is_empty())
}

/// Parameters of a tool that its schema wants repeated.
pub(crate) fn check_repeated(
    shared: &Shared,
    headers: &HeaderMap,
    tool: &str,
    arguments: Option<&RawValue>,
) -> Result<(), RpcError> {
    let published = shared.runtime.current();
    let Some(tool) = published.find(tool) else {
        return Ok(());
    };
    if tool.param_headers.is_empty() {
        return Ok(());
    }
    // What cannot be read holds nothing that could be repeated.
    let arguments = arguments.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let arguments: Value = arguments.unwrap_or_default();
    let wanted = param_header_values(&tool.param_headers, &arguments);
    for param in &tool.param_headers {
        let wanted = wanted.iter().find(|(name, _)| *name == param.header);
        let decoded = wanted.and_then(|(_, value)| decode_value(value));
        agree(headers, &param.header, decoded.as_deref())?;
    }
    Ok(())
}

pub(crate) fn agree(
    headers: &HeaderMap,
    header: &str,
    wanted: Option<&str>,
) -> Result<(), RpcError> {
    check_header(header, wanted, one(headers, header)?).map_err(RpcError::from)
}

fn one<'a>(headers: &'a HeaderMap, header: &str) -> Result<Option<&'a str>, RpcError> {
    sole(headers, header).map_err(|()| {
        let text = format!("header `{header}` is given more than once or is not text");
        RpcError::new(code::HEADER_MISMATCH, text)
    })
}

/// The only value of a header. Intermediaries resolve duplicates differently, so there may be none.
pub(crate) fn sole<'a>(headers: &'a HeaderMap, header: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(header).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(());
    }
    first.to_str().map(Some).map_err(|_| ())
}
