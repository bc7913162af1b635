//! Messages that `rmcp` reads into types of its own. One whose parameters do not fit it takes for something else, and
//! refuses it in words that mislead; so each is read here first, whichever way it came in.

use onecall_mcp::{RpcError, code, method};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, InitializeRequestParams, JsonRpcMessage,
    SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use serde::Deserialize;
use serde_json::Value;

/// The message as `rmcp` takes it.
pub(crate) fn read(text: &[u8]) -> Result<ClientJsonRpcMessage, RpcError> {
    let value = serde_json::from_slice(text)
        .map_err(|error| RpcError::new(code::PARSE, format!("not a JSON text: {error}")))?;
    of_value(value)
}

/// The same for a message that is JSON already.
pub(crate) fn of_value(value: Value) -> Result<ClientJsonRpcMessage, RpcError> {
    let message = ClientJsonRpcMessage::deserialize(value);
    let no_message = |_| RpcError::new(code::INVALID_REQUEST, "not a message of the protocol");
    let message = message.map_err(no_message)?;
    if let JsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(unknown) = &request.request
    {
        fit(&unknown.method, unknown.params.as_ref())?;
    }
    Ok(message)
}

/// Methods that the modern era has no more.
pub(crate) fn is_of_handshake(method: &str) -> bool {
    matches!(
        method,
        method::INITIALIZE | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE
    )
}

/// A request of a known method that is of no type has parameters that do not fit.
fn fit(method: &str, params: Option<&Value>) -> Result<(), RpcError> {
    let params = params.unwrap_or(&Value::Null);
    let fault = match method {
        method::INITIALIZE => fault_of::<InitializeRequestParams>(params),
        method::RESOURCES_SUBSCRIBE => fault_of::<SubscribeRequestParams>(params),
        method::RESOURCES_UNSUBSCRIBE => fault_of::<UnsubscribeRequestParams>(params),
        method::LISTEN => fault_of::<SubscriptionsListenRequestParams>(params),
        _ => return Ok(()),
    };
    let text = format!("the parameters of `{method}` do not fit: {fault}");
    Err(RpcError::invalid_params(text))
}

fn fault_of<'a, T: Deserialize<'a>>(params: &'a Value) -> String {
    match params {
        Value::Null => "there are none".to_owned(),
        params => T::deserialize(params).err().map_or_else(
            || "they are of another shape".to_owned(),
            |error| error.to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_does_not_fit_is_named() {
        let request = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#)
        };
        let initialize = r#","params":{"protocolVersion":"2025-06-18","capabilities":{}"#;
        for (text, code, words) in [
            (
                request("initialize", ""),
                -32602,
                "`initialize` do not fit: there are none",
            ),
            (
                request("initialize", &format!("{initialize}}}")),
                -32602,
                "missing field `clientInfo`",
            ),
            (
                request("initialize", r#","params":[]"#),
                -32600,
                "not a message",
            ),
            (
                request("resources/subscribe", r#","params":{}"#),
                -32602,
                "missing field `uri`",
            ),
            (
                request("subscriptions/listen", r#","params":{"notifications":7}"#),
                -32602,
                "invalid type",
            ),
            (request("foo", r#","params":[1]"#), -32600, "not a message"),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_owned(),
                -32600,
                "not a message",
            ),
            ("{".to_owned(), -32700, "not a JSON text"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert_eq!(error.code, code, "{text}");
            assert!(error.message.contains(words), "{text}: {}", error.message);
        }
        for text in [request("ping", ""), request("foo/bar", r#","params":{}"#)] {
            assert!(read(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
