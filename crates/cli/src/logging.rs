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
    let level = cli.log_level.as_deref().filter(|level| !level.is_empty());
    // The report of a test names every node that failed.
    let is_test = matches!(cli.command, Command::Test(_));
    let level = level.or(is_test.then_some("error"));
    let filter = EnvFilter::try_new(filter(level, is_server)).map_err(|_| {
        let level = level.unwrap_or_default();
        anyhow!(
            "`{level}` is no log level; write error, warn, info, debug, or a filter such as `onecall_engine=debug`"
        )
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| print::LogWriter::Json);
    match cli.log {
        LogFormat::Text => {
            let builder = builder.with_ansi(print::Style::of_stderr().color);
            let builder = builder.with_writer(|| print::LogWriter::Text);
            builder.finish().with(Unsaid).init();
        }
        LogFormat::Json => builder.json().finish().with(Unsaid).init(),
    }
    Ok(())
}

/// Levels that stand for what this program says; what the libraries below it say is only of interest to those who
/// write a filter.
const LEVELS: [&str; 3] = ["info", "debug", "trace"];

/// What is logged unless told otherwise. The protocol library warns of clients that go away and other things that
/// tell a user nothing.
const USUAL: &str = "warn,rmcp=error";

/// A command that makes a call tells itself how its run ended, so that is logged by servers and on demand.
fn filter(level: Option<&str>, is_server: bool) -> String {
    let own = ",onecall_runtime::log=error";
    match level {
        None if is_server => USUAL.to_owned(),
        None => format!("{USUAL}{own}"),
        Some(level) if LEVELS.contains(&level) => format!("warn,onecall={level}"),
        Some("warn") if !is_server => format!("warn{own}"),
        Some(other) => other.to_owned(),
    }
}

/// How `rmcp` says that nobody was left to take an answer, and that one is an error, with all that a backend wrote in it.
const LEFT_OUT: [&str; 3] = [
    "failed to send pending response during drain",
    "fail to response message",
    "response error",
];

/// Leaves out what `rmcp` calls an error and is none: a client went away before its answer, as every listener does. Also
/// what it logs of errors that are answered, which hold what backends said. Who asks for `rmcp=debug` sees messages.
struct Unsaid;

impl<S: Subscriber> Layer<S> for Unsaid {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        if event.metadata().target() != "rmcp::service" {
            return true;
        }
        let mut found = Unsays(false);
        event.record(&mut found);
        !found.0
    }
}

/// Whether an event is to be left out.
struct Unsays(bool);

impl Visit for Unsays {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let is_it = || LEFT_OUT.contains(&format!("{value:?}").as_str());
        self.0 |= field.name() == "message" && is_it();
    }
}

#[cfg(test)]
mod tests {
    use super::{Unsaid, filter};
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::EnvFilter;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is logged of a few events with this level.
    fn logged(level: Option<&str>) -> String {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::try_new(filter(level, true)).unwrap())
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish()
            .with(Unsaid);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "rmcp::transport", "a client went");
            tracing::warn!(target: "rmcp::service", error = "secret", "response error");
            tracing::error!(target: "rmcp::service", "it broke");
            tracing::warn!(target: "onecall_backends::slot", "a backend is down");
        });
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_protocol_library_warns_only_who_asked_for_a_level() {
        let usual = logged(None);
        assert!(!usual.contains("a client went"), "{usual}");
        assert!(
            usual.contains("it broke") && usual.contains("a backend is down"),
            "{usual}"
        );
        assert!(logged(Some("warn")).contains("a client went"));
        for level in ["warn", "debug", "rmcp=trace"] {
            assert!(!logged(Some(level)).contains("secret"), "{level}");
        }
    }
}
