//! Logs of the process, on stderr.

use crate::args::{Cli, Command, LogFormat};
use crate::print;
use anyhow::anyhow;
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

pub(crate) fn start(cli: &Cli) -> anyhow::Result<()> {
    let is_server = matches!(cli.command, Command::Serve(_));
    if is_server && cli.log == LogFormat::Json {
        print::in_json();
    }
    let level = &cli.log_level;
    let filter = EnvFilter::try_new(filter(level, is_server)).map_err(|_| {
        anyhow!(
            "`{level}` is no log level; write error, warn, info, debug, or a filter such as `onecall_engine=debug`"
        )
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match cli.log {
        LogFormat::Text => {
            let builder = builder.with_ansi(print::Style::of_stderr().color);
            builder.finish().with(Departures).init();
        }
        LogFormat::Json => builder.json().finish().with(Departures).init(),
    }
    Ok(())
}

/// Levels that stand for what this program says; what the libraries below it say is only of interest to those who
/// write a filter.
const LEVELS: [&str; 3] = ["info", "debug", "trace"];

/// A command that makes a call tells itself how its run ended, so that is logged by servers and on demand.
fn filter(level: &str, is_server: bool) -> String {
    match level {
        level if LEVELS.contains(&level) => format!("warn,onecall={level}"),
        "warn" if !is_server => "warn,onecall_runtime::log=error".to_owned(),
        other => other.to_owned(),
    }
}

/// How `rmcp` says that nobody was left to take an answer.
const DEPARTURES: [&str; 2] = [
    "failed to send pending response during drain",
    "fail to response message",
];

/// Leaves out what `rmcp` calls an error and is none: a client went away before its answer, as every listener does.
struct Departures;

impl<S: Subscriber> Layer<S> for Departures {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if event.metadata().target() != "rmcp::service" {
            return true;
        }
        let mut found = Departure(false);
        event.record(&mut found);
        !found.0
    }
}

/// Whether an event tells of an answer that nobody was left to take.
struct Departure(bool);

impl Visit for Departure {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let is_it = || DEPARTURES.contains(&format!("{value:?}").as_str());
        self.0 |= field.name() == "message" && is_it();
    }
}
