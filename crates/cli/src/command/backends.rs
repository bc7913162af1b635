//! `onecall backends`: how each backend is doing: state, era, transport, tools, latency, last error, breaker.

use crate::exit::Exit;
use crate::files::FileArgs;
use crate::{print, waiting, wire};
use clap::Args;
use onecall_backends::{BackendState, BackendStatus};
use onecall_runtime::runtime::Runtime;
use onecall_workflow::check::hidden_characters;
use std::path::PathBuf;
use std::time::Duration;

/// How long backends may take to connect and tell their tools.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onecall backends onecall.yaml\n  onecall backends . --json")]
pub(crate) struct BackendsArgs {
    /// Files or directories with backends [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: FileArgs,
}

pub(crate) async fn run(args: BackendsArgs) -> anyhow::Result<Exit> {
    let usage = "onecall backends PATH";
    let paths = args.files.paths_or_here(args.paths, usage)?;
    let Some(mut settings) = args.files.load(&paths)?.usable(None) else {
        return Ok(Exit::Failed);
    };
    let server = wire::only_server(&mut settings)?;
    let runtime = wire::start_to_look(server, &settings).await?;
    waiting::for_tools(&runtime, PATIENCE).await;
    let exit = show(&runtime, args.json);
    runtime.shutdown(Duration::ZERO).await;
    exit
}

fn show(runtime: &Runtime, as_json: bool) -> anyhow::Result<Exit> {
    let statuses = runtime.backends();
    if statuses.is_empty() {
        print::err("error: the paths hold no backend");
        return Ok(Exit::NothingSelected);
    }
    if as_json {
        print::data(serde_json::to_string_pretty(&runtime.backend_reports())?);
    } else {
        let rows: Vec<Row> = statuses.iter().map(row).collect();
        let widths = widths(&rows);
        print::out(line(&HEAD.map(str::to_owned), &widths));
        for row in &rows {
            print::out(line(row, &widths));
        }
        for (name, reason) in statuses.iter().filter_map(trouble) {
            print::out(format!("\n{name}: {reason}"));
        }
        for status in &statuses {
            for remark in &status.remarks {
                print::out(format!("\n{}: {remark}", status.name));
            }
        }
        for warning in &hidden_characters(&runtime.catalog()) {
            print::out(format!(
                "\nwarning[{}]: {}",
                warning.code.as_str(),
                warning.message
            ));
        }
    }
    let is_up = |status: &BackendStatus| status.state == BackendState::Ready;
    Ok(if statuses.iter().all(is_up) {
        Exit::Ok
    } else {
        Exit::Unreachable
    })
}

type Row = [String; 8];

const HEAD: [&str; 8] = [
    "NAME",
    "STATE",
    "TRANSPORT",
    "ERA",
    "REVISION",
    "TOOLS",
    "LATENCY",
    "BREAKER",
];

fn row(status: &BackendStatus) -> Row {
    let dash = || "-".to_owned();
    let latency = |latency: Duration| format!("{:.1} ms", latency.as_secs_f64() * 1000.0);
    [
        status.name.to_string(),
        status.state.word().to_owned(),
        status.transport.to_owned(),
        status.era.map_or_else(dash, str::to_owned),
        status.revision.map_or_else(dash, str::to_owned),
        status.tools.map_or_else(dash, |count| count.to_string()),
        status.latency.map_or_else(dash, latency),
        status.breaker.word().to_owned(),
    ]
}

/// Why it is not ready, or what went wrong before it was.
fn trouble(status: &BackendStatus) -> Option<(&str, String)> {
    let told = status.state.reason().or(status.last_error.as_deref());
    let late = || {
        let is_late = status.state == BackendState::Connecting;
        is_late.then(|| format!("no connection within {} s", PATIENCE.as_secs()))
    };
    let reason = told.map(str::to_owned).or_else(late)?;
    Some((status.name.as_str(), reason))
}

fn widths(rows: &[Row]) -> [usize; 8] {
    std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEAD[column].len()]).max().unwrap_or_default()
    })
}

fn line(row: &Row, widths: &[usize; 8]) -> String {
    let cells = row.iter().zip(widths);
    let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_backends::Breaker;

    fn status(state: BackendState) -> BackendStatus {
        BackendStatus {
            name: "b".into(),
            transport: "http",
            state,
            breaker: Breaker::Closed,
            era: None,
            revision: None,
            server_info: None,
            instructions: None,
            tools: None,
            remarks: Vec::new(),
            in_flight: 0,
            connects: 1,
            latency: None,
            last_error: None,
            stderr: Vec::new(),
        }
    }

    #[test]
    fn one_that_never_answered_has_its_reason() {
        let reason = |state| trouble(&status(state)).map(|(_, reason)| reason);
        let late = reason(BackendState::Connecting);
        assert_eq!(late.as_deref(), Some("no connection within 30 s"));
        assert_eq!(reason(BackendState::Ready), None);
    }
}
