//! The only file that writes to standard output and standard error.
//! Results go to stdout, everything about how they came to be to stderr. A closed pipe is no fault.

use std::io::{IsTerminal, Write};

/// A line of result.
pub(crate) fn out(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{}", text.as_ref());
    let _ = stdout.flush();
}

/// A line of progress or explanation.
pub(crate) fn err(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}

/// Whether to colour what goes to stderr.
pub(crate) fn stderr_color(no_color: bool) -> bool {
    !no_color && std::io::stderr().is_terminal()
}
