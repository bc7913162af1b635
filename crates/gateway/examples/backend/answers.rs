//! A handshake server that answers each method with a text of its own, byte for byte: what the tests hold against what
//! reaches a client. A text after `error ` is an error.

use onecall_mcp::{Incoming, RpcError, method, parse};
use std::io::{BufRead as _, Write as _};

const OPENED: &str = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"answers","version":"1"},
    "capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}}}"#;

/// `given`: methods and their texts in turn.
pub(crate) fn serve(given: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, .. }) = parse(line?.as_bytes()) else {
            continue;
        };
        let text = match method.as_str() {
            method::INITIALIZE => Some(OPENED),
            name => given
                .chunks(2)
                .find(|pair| pair[0] == name)
                .and_then(|pair| pair.get(1).map(String::as_str)),
        };
        let outcome = match text.map(|text| (text, text.strip_prefix("error "))) {
            Some((_, Some(error))) => format!("\"error\":{error}"),
            Some((result, None)) => format!("\"result\":{result}"),
            None => format!(
                "\"error\":{}",
                RpcError::method_not_found(&method).to_value()
            ),
        };
        let outcome = outcome.replace('\n', " ");
        let id = id.to_value();
        writeln!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}")?;
        output.flush()?;
    }
    Ok(())
}
