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
    /// A server or backend cannot be reached.
    Unreachable,
    /// Nothing matched what was asked for.
    NothingSelected,
    /// A run waits for a person.
    Waiting,
    /// Interrupted by a signal.
    Interrupted,
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
