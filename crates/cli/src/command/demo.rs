//! `onecall demo`: the built-in MCP backend.

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::{print, wire};
use anyhow::Context;
use std::net::{Ipv4Addr, SocketAddr};

pub(crate) async fn run(args: DemoArgs) -> anyhow::Result<Exit> {
    let options = onecall_demo::Options {
        ledger: args.ledger,
        ..onecall_demo::Options::default()
    };
    let Some(port) = args.http else {
        onecall_demo::serve_stdio(options)
            .await
            .context("the demo backend stopped")?;
        return Ok(Exit::Ok);
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stop = wire::stop_on_signals();
    let ready = |address: SocketAddr| print::out(format!("demo backend at http://{address}/mcp"));
    onecall_demo::serve_http(options, address, stop, ready)
        .await
        .context("the demo backend stopped")?;
    Ok(Exit::Ok)
}
