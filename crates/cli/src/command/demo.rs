//! `onecall demo`: the built-in MCP backend.

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::input::read_text;
use crate::limits::ANSWERS_BYTES_MAX;
use crate::{print, signals};
use anyhow::Context;
use serde_json::{Map, Value};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    let options = onecall_demo::Options {
        ledger: args.ledger,
        answers: answers(args.answers.as_deref())?,
        ..onecall_demo::Options::default()
    };
    let Some(port) = args.http else {
        onecall_demo::serve_stdio(options)
            .await
            .context("the demo backend stopped")?;
        return Ok(Exit::Ok);
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stop = signals::stop_on_signals();
    let ready = |address: SocketAddr| print::out(format!("demo backend at http://{address}/mcp"));
    onecall_demo::serve_http(options, address, stop, ready)
        .await
        .context("the demo backend stopped")?;
    Ok(Exit::Ok)
}

fn answers(path: Option<&Path>) -> anyhow::Result<Map<String, Value>> {
    let Some(path) = path else {
        return Ok(Map::new());
    };
    let text = read_text(path, ANSWERS_BYTES_MAX)?;
    serde_json::from_str(&text)
        .with_context(|| format!("`{}` is no JSON object of answers", path.display()))
}
