//! `onecall serve`: publish workflows as an MCP server, over HTTP or stdio.

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::{demo_files, print, wire};
use anyhow::Context;
use onecall_gateway::{HttpOptions, StdioOptions, serve_http, serve_stdio};
use onecall_runtime::publish::{Published, Target};
use onecall_runtime::runtime::Runtime;
use std::net::SocketAddr;
use std::time::Duration;

/// How long runs may go on after the first signal.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) async fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let loaded = if args.demo {
        demo_files::load(&args.paths)?
    } else {
        wire::load(&args.paths)?
    };
    wire::report(&loaded);
    if loaded.diagnostics.has_errors() {
        return Ok(Exit::Failed);
    }
    if loaded.is_empty() {
        print::err("error: the paths hold no backends and no workflows");
        return Ok(Exit::NothingSelected);
    }
    let journal = wire::open_store(&args.store, &loaded)?;
    let runtime = wire::start(loaded, journal, true).await?;
    let stop = wire::stop_on_signals();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let served = if args.stdio {
        serve_stdio(runtime.clone(), StdioOptions::new(version), stop.clone()).await
    } else {
        let mut options = HttpOptions::new(args.host.clone(), args.port, version);
        options.allow_anonymous = args.allow_anonymous;
        let told = runtime.clone();
        let ready = move |address| {
            tokio::spawn(announce(told, address));
        };
        serve_http(runtime.clone(), options, stop.clone(), ready).await
    };
    runtime.shutdown(GRACE).await;
    served.context("the server stopped")?;
    Ok(Exit::Ok)
}

/// Says what is published, from where, at which URL, and what to paste into a client.
async fn announce(runtime: Runtime, address: SocketAddr) {
    let url = format!("http://{address}/mcp");
    let published = runtime.settled().await;
    for line in tool_lines(&published) {
        print::out(line);
    }
    print::out(format!("serving `{}` at {url}", runtime.name()));
    print::out("client configuration:");
    print::out(format!(
        "  {{ \"mcpServers\": {{ \"onecall\": {{ \"type\": \"http\", \"url\": \"{url}\" }} }} }}"
    ));
}

fn tool_lines(published: &Published) -> Vec<String> {
    let mut lines = Vec::new();
    for tool in published.workflows() {
        let about = tool
            .definition
            .description()
            .unwrap_or("")
            .lines()
            .next()
            .unwrap_or("");
        lines.push(
            format!("workflow  {}  {about}", tool.name)
                .trim_end()
                .to_owned(),
        );
    }
    let tools = published
        .tools
        .iter()
        .filter_map(|tool| match &tool.target {
            Target::Workflow(_) => None,
            Target::Backend { backend, .. } => {
                Some(format!("tool      {}  (from {backend})", tool.name))
            }
        });
    lines.extend(tools);
    for withheld in &published.withheld {
        lines.push(format!(
            "withheld  {}: {}",
            withheld.workflow, withheld.reason
        ));
    }
    lines
}
