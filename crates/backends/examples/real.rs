//! Other people's servers, called through our client: every tool listed, a typical one called, in every era each
//! speaks. `real NODE MODULES PYTHON FILES WORK` takes the programs as the test command obtained them; a word that
//! begins with `-` is the reason why one could not be. Prints a table, which shapes of results were seen, and how many servers were run.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "real/servers.rs"]
mod servers;

use std::process::ExitCode;
use std::time::Duration;

use onecall_backends::{BackendName, Backends, Call, ClientInfo, ListKind, Requester, ToolLists};
use onecall_mcp::{CallAnswer, CallOutput, Era};
use serde_json::{Value, json};

use servers::{Checked, Pages, Programs, Server, Shape};

/// Under load a server may take long to start.
const PATIENCE: Duration = Duration::from_mins(1);

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<ExitCode, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let programs = Programs::read(&words)?;
    let pages = Pages::start().await?;
    let servers = servers::all(&programs, &pages)?;
    let mut rows =
        vec![["server", "version", "era", "transport", "tools", "outcome"].map(str::to_owned)];
    let (mut run, mut seen, mut failed) = (0, Vec::new(), 0);
    for server in &servers {
        run += usize::from(server.is_counted);
        for era in server.eras {
            let row = match tokio::time::timeout(PATIENCE, meet(server, *era)).await {
                Ok(Ok(met)) => {
                    seen.extend(met.shapes);
                    met.row
                }
                Ok(Err(error)) => fault(server, &error.to_string()),
                Err(_) => fault(server, "no outcome in time"),
            };
            failed += usize::from(row[5].starts_with("FAILED"));
            rows.push(row);
        }
    }
    print(&rows);
    let shapes = Shape::ALL
        .iter()
        .filter(|shape| seen.contains(shape))
        .count();
    println!("shapes: {shapes} of {} covered", Shape::ALL.len());
    let skipped = programs.skipped();
    for name in &skipped {
        println!("skipped: {name}");
    }
    let failures = if failed == 0 {
        String::new()
    } else {
        format!(" {failed} failed,")
    };
    println!("real: {run} run,{failures} {} skipped", skipped.len());
    let is_ok = failed == 0 && (shapes == Shape::ALL.len() || !skipped.is_empty());
    Ok(if is_ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Met {
    row: [String; 6],
    shapes: Vec<Shape>,
}

/// Connects, lists, calls and compares.
async fn meet(server: &Server, era: Option<Era>) -> Result<Met, Failure> {
    let (mut options, _running) = server.options().await?;
    options.era = era;
    options.connect_timeout = PATIENCE;
    options.call_timeout = Some(PATIENCE);
    let client = ClientInfo {
        name: "onecall-real".to_owned(),
        version: "1".to_owned(),
    };
    let backends = Backends::start(&client, vec![options])?;
    let met = examine(server, &backends).await;
    backends.shutdown().await;
    met
}

async fn examine(server: &Server, backends: &Backends) -> Result<Met, Failure> {
    let name = backends.names().remove(0);
    let tools = listed(server, backends, &name).await?;
    let mut shapes = Vec::new();
    for check in &server.checks {
        let output = call(backends, &name, check).await?;
        if !(check.holds)(&output) {
            let shown = Value::Object(output.into_object());
            return Err(format!("`{}` answered {shown}", check.tool).into());
        }
        shapes.extend(check.shape);
    }
    if server.offers {
        offers(backends, &name).await?;
    }
    let status = backends.status().remove(0);
    let info = status.server_info.unwrap_or_default();
    let calls = server.checks.len();
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let row = [
        server.name.to_owned(),
        text(&info["version"]),
        format!(
            "{} {}",
            status.era.unwrap_or("?"),
            status.revision.unwrap_or("?")
        ),
        server.transport.to_owned(),
        tools.to_string(),
        format!("ok, {calls} called"),
    ];
    Ok(Met { row, shapes })
}

async fn call(
    backends: &Backends,
    name: &BackendName,
    check: &Checked,
) -> Result<CallOutput, Failure> {
    let call = Call::new(check.tool, check.arguments.clone());
    match backends.call(name, call).await? {
        CallAnswer::Complete(result) => Ok(result.parse()?),
        other => Err(format!("`{}` answered {other:?}", check.tool).into()),
    }
}

/// The number of tools, once it is what it must be: some servers add tools after they have seen who asks, and tell of it.
async fn listed(
    server: &Server,
    backends: &Backends,
    name: &BackendName,
) -> Result<usize, Failure> {
    backends.tools_of(name).await?;
    let mut lists = backends.tool_lists();
    let count = |lists: &ToolLists| lists.lists.first().map_or(0, |(_, tools)| tools.len());
    let complete = lists.wait_for(|lists| count(lists) == server.tools);
    if let Ok(complete) = tokio::time::timeout(PATIENCE / 4, complete).await {
        return Ok(count(&*complete?));
    }
    let last = count(&lists.borrow());
    Err(format!("{last} tools listed, not {}", server.tools).into())
}

/// Resources and prompts of a server that has both are listed, and one of each is read.
async fn offers(backends: &Backends, name: &BackendName) -> Result<(), Failure> {
    let resources = backends.list(name, ListKind::Resources).await?;
    let prompts = backends.list(name, ListKind::Prompts).await?;
    let templates = backends.list(name, ListKind::ResourceTemplates).await?;
    let (Some(resource), Some(prompt), false) =
        (resources.first(), prompts.first(), templates.is_empty())
    else {
        return Err("no resources, templates or prompts".into());
    };
    let nobody = Requester::default();
    let params = json!({ "uri": resource.value()["uri"] });
    backends
        .request(name, "resources/read", params.into(), &nobody)
        .await?;
    let params = json!({ "name": prompt.value()["name"], "arguments": {} });
    backends
        .request(name, "prompts/get", params.into(), &nobody)
        .await?;
    Ok(())
}

fn fault(server: &Server, reason: &str) -> [String; 6] {
    let dash = || "-".to_owned();
    let transport = server.transport.to_owned();
    let outcome = format!("FAILED: {reason}");
    [
        server.name.to_owned(),
        dash(),
        dash(),
        transport,
        dash(),
        outcome,
    ]
}

fn print(rows: &[[String; 6]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
