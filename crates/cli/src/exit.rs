//! Exit codes of every command: one documented enum.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All well.
    Ok,
    /// Faults in files, a failed test, a failed run.
    Failed,
    /// The command line was wrong.
    Usage,
    /// A server or backend cannot be reached, or left before the result of a run that goes on.
    Unreachable,
    /// Nothing matched what was asked for.
    NothingSelected,
    /// A run waits for a person.
    Waiting,
    /// Interrupted by a signal.
    Interrupted,
}

/// A command line that parses and still makes no sense; ends with `Exit::Usage`.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Nothing is as it was asked for; ends with `Exit::NothingSelected`.
#[derive(Debug)]
pub(crate) struct Nothing(pub(crate) String);

impl std::fmt::Display for Nothing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Nothing {}

/// The exit code of a command that ended with an error.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<Usage>().is_some() {
        Exit::Usage
    } else if error.downcast_ref::<Nothing>().is_some() {
        Exit::NothingSelected
    } else if is_interrupt(error) {
        Exit::Interrupted
    } else {
        Exit::Failed
    }
}

/// A person pressed Ctrl-C at a prompt, which the terminal tells as a key and not as a signal.
fn is_interrupt(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::Interrupted)
}

/// An error that says how the command line should be.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(text.into()))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::NothingSelected => 4,
            Exit::Waiting => 5,
            Exit::Interrupted => 130,
        })
    }
}
