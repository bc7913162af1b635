//! A server that answers each method with a text of its own, byte for byte: what the tests hold against what reaches a
//! client. It speaks the handshake, or the modern era where it is given a text for `server/discover`.
//!
//! A text is a line for each thing to do: `tell NOTIFICATION` tells, `ask REQUEST` asks under the id `"q"` and waits for
//! the answer, and the last one is the result, or after `error ` the error. In them `TOKEN` stands for the progress token
//! of the request, and `HEARD` for what was heard last as a text: the answer to a question, or the parameters of the
//! request. Once it has heard `inputResponses` it answers a method `m` with the text of `m again`, where there is one.

use onecall_mcp::{Incoming, RequestId, RpcError, method, parse_of_server};
use std::io::{BufRead as _, Lines, StdinLock, StdoutLock, Write as _};

const OPENED: &str = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"answers","version":"1"},"capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}}"#;

type Failure = Box<dyn std::error::Error>;

/// `given`: methods and their texts in turn.
pub(crate) fn serve(given: &[String]) -> Result<(), Failure> {
    let mut server = Server {
        given,
        lines: std::io::stdin().lock().lines(),
        output: std::io::stdout().lock(),
        is_answered: false,
    };
    while let Some(line) = server.lines.next() {
        // The parameters of a client are read as those of a server: they are told as they came.
        let read = parse_of_server(line?.as_bytes());
        if let Ok(Incoming::Request { id, method, params }) = read {
            server.answer(&id, &method, params.text())?;
        }
    }
    Ok(())
}

struct Server<'a> {
    given: &'a [String],
    lines: Lines<StdinLock<'static>>,
    output: StdoutLock<'static>,
    is_answered: bool,
}

impl Server<'_> {
    fn answer(&mut self, id: &RequestId, method: &str, params: &str) -> Result<(), Failure> {
        self.is_answered |= params.contains("\"inputResponses\"");
        let token = params.split("\"progressToken\":").nth(1);
        let token = token.and_then(|rest| rest.split([',', '}']).next());
        let mut heard = params.to_owned();
        let text = self.text(method);
        for line in text.split('\n') {
            let line = line.replace("TOKEN", token.unwrap_or("0"));
            let line = line.replace("HEARD", &serde_json::to_string(&heard)?);
            if let Some(told) = line.strip_prefix("tell ") {
                self.write(&format!("{{\"jsonrpc\":\"2.0\",{}", &told[1..]))?;
            } else if let Some(asked) = line.strip_prefix("ask ") {
                self.write(&format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":\"q\",{}",
                    &asked[1..]
                ))?;
                heard = self.reply()?;
            } else {
                let outcome = match line.strip_prefix("error ") {
                    Some(error) => format!("\"error\":{error}"),
                    None => format!("\"result\":{line}"),
                };
                let id = id.to_value();
                self.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}"))?;
            }
        }
        Ok(())
    }

    /// The text for a method.
    fn text(&self, method: &str) -> String {
        let of = |name: &str| {
            let pair = self.given.chunks(2).find(|pair| pair[0] == name);
            pair.and_then(|pair| pair.get(1).cloned())
        };
        let again = of(&format!("{method} again")).filter(|_| self.is_answered);
        let opened = || (method == method::INITIALIZE).then(|| OPENED.to_owned());
        let unknown = || format!("error {}", RpcError::method_not_found(method).to_value());
        again
            .or_else(|| of(method))
            .or_else(opened)
            .unwrap_or_else(unknown)
    }

    /// The result or the error that a question is answered with.
    fn reply(&mut self) -> Result<String, Failure> {
        loop {
            let line = self.lines.next().ok_or("closed while asking")??;
            if let Ok(Incoming::Response { outcome, .. }) = parse_of_server(line.as_bytes()) {
                return Ok(match outcome {
                    Ok(result) => result.get().to_owned(),
                    Err(error) => serde_json::to_string(&error)?,
                });
            }
        }
    }

    fn write(&mut self, message: &str) -> std::io::Result<()> {
        writeln!(self.output, "{message}")?;
        self.output.flush()
    }
}
