//! The demo backend as a program of its own, for tests of crates below the command line.
//! `demo [--ledger FILE] [--changing] [--http PORT]`; the address is printed on stdout.

use std::net::{Ipv4Addr, SocketAddr};

use onecall_demo::{Options, serve_http, serve_stdio};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    let mut port = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--ledger" => options.ledger = arguments.next().map(Into::into),
            "--changing" => options.changing_list = true,
            "--http" => port = arguments.next().and_then(|port| port.parse::<u16>().ok()),
            other => return Err(format!("unknown argument `{other}`").into()),
        }
    }
    match port {
        None => serve_stdio(options).await?,
        Some(port) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            serve_http(options, address, CancellationToken::new(), announce).await?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "tests read the address from here")]
fn announce(address: SocketAddr) {
    println!("http://{address}/mcp");
}
