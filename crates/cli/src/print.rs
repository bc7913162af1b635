//! The only file that writes to standard output and standard error.
//! Results go to stdout, everything about how they came to be to stderr. A closed pipe is no fault.

use indicatif::MultiProgress;
use onecall_runtime::now;
pub(crate) use onecall_source::counted;
use onecall_source::hidden;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether lines on stderr are JSON, as the log's are.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on every line on stderr is a JSON object.
pub(crate) fn in_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// The live picture that is drawn on stderr now; what else is written there goes above it.
static LIVE: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// From now on lines on stderr are written above this picture; `None`: the picture has ended.
pub(crate) fn live(picture: Option<MultiProgress>) {
    *LIVE.lock().unwrap_or_else(PoisonError::into_inner) = picture;
}

/// Writes to stderr while the live picture is taken away, and puts it back below.
fn above_picture<T>(write: impl FnOnce() -> T) -> T {
    let picture = LIVE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match picture {
        Some(picture) => picture.suspend(write),
        None => write(),
    }
}

/// Stderr as the log writes to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogWriter {
    /// Lines for people, which may hold what a backend wrote.
    Text,
    /// Lines for programs, verbatim.
    Json,
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        // One event is one write.
        above_picture(|| {
            let mut stderr = std::io::stderr().lock();
            match self {
                Self::Json => stderr.write_all(bytes),
                Self::Text => {
                    let text = for_people(&text, stderr.is_terminal());
                    stderr.write_all(text.as_bytes())
                }
            }
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().lock().flush()
    }
}

/// Whether a result could not be written.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// A line of result, for people.
pub(crate) fn out(text: impl AsRef<str>) {
    let is_terminal = std::io::stdout().is_terminal();
    write_out(&for_people(text.as_ref(), is_terminal));
}

/// A result that programs read, such as JSON: verbatim, unless it goes to a terminal.
pub(crate) fn data(text: impl AsRef<str>) {
    let text = text.as_ref();
    if std::io::stdout().is_terminal() {
        write_out(&harmless(text));
    } else {
        write_out(text);
    }
}

fn write_out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
    let lost = written
        .err()
        .filter(|error| error.kind() != ErrorKind::BrokenPipe);
    if let Some(error) = lost
        && !IS_LOST.swap(true, Ordering::Relaxed)
    {
        err(format!("error: the result cannot be written: {error}"));
    }
}

/// Whether everything that was to be written to stdout was, or nobody wanted it.
pub(crate) fn is_all_written() -> bool {
    !IS_LOST.load(Ordering::Relaxed)
}

/// A line of progress or explanation.
pub(crate) fn err(text: impl AsRef<str>) {
    let text = text.as_ref();
    if !IS_JSON.load(Ordering::Relaxed) {
        let stderr = std::io::stderr();
        let text = for_people(text, stderr.is_terminal());
        above_picture(|| {
            let _ = writeln!(stderr.lock(), "{text}");
        });
        return;
    }
    // What only sets paragraphs apart says nothing.
    if !text.trim().is_empty() {
        let _ = writeln!(std::io::stderr().lock(), "{}", logged(text));
    }
}

/// Text without hidden characters. Only a terminal gets colours.
fn for_people(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal {
        harmless(text)
    } else {
        hidden::strip(text)
    }
}

/// Text as a terminal may have it: with colours, without hidden characters and without anything that moves, renames or
/// answers. Much of what is printed was written by a backend.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_odd = hidden::is_hidden;
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_odd) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = colour(rest).unwrap_or_default();
        kept.push_str(colour);
        let first = rest.chars().next().map_or(0, char::len_utf8);
        rest = &rest[colour.len().max(first)..];
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The sequence at the beginning that sets a colour, if one stands there.
fn colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    // Text in no colour at all would be hidden too.
    let is_concealed = numbers[..end].split(';').any(|number| number == "8");
    (numbers[end..].starts_with('m') && !is_concealed).then(|| &text[..end + 3])
}

/// A line as the log would write it.
fn logged(text: &str) -> serde_json::Value {
    let level = match text {
        text if text.starts_with("error") => "ERROR",
        text if text.starts_with("warning") => "WARN",
        _ => "INFO",
    };
    serde_json::json!({
        "timestamp": now().to_rfc3339(), "level": level,
        "fields": { "message": text }, "target": "onecall",
    })
}

/// How text for people is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) color: bool,
    /// Box-drawing characters in place of ASCII.
    pub(crate) boxes: bool,
}

impl Style {
    pub(crate) fn of_stdout() -> Self {
        Self::of(std::io::stdout().is_terminal(), |name| {
            std::env::var_os(name)
        })
    }

    pub(crate) fn of_stderr() -> Self {
        Self::of(std::io::stderr().is_terminal(), |name| {
            std::env::var_os(name)
        })
    }

    /// Plain where nobody looks. `NO_COLOR` takes the colour away, a dumb terminal the boxes too.
    fn of(is_terminal: bool, environment: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_able = is_terminal && environment("TERM").is_none_or(|term| term != "dumb");
        let no_color = environment("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            color: is_able && !no_color,
            boxes: is_able,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, for_people, harmless};
    use std::ffi::OsString;

    fn style(is_terminal: bool, set: &[(&str, &str)]) -> (bool, bool) {
        let environment = |name: &str| {
            let found = set.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let style = Style::of(is_terminal, environment);
        (style.color, style.boxes)
    }

    #[test]
    fn a_terminal_is_told_colours_and_nothing_else() {
        let title = "\u{1b}]0;owned\u{7}";
        let text = format!("a{title}\u{1b}[2Jb\u{1b}[1;31mred\u{1b}[0m\r\u{9b}1Ac\n\td");
        let told = "a]0;owned[2Jb\u{1b}[1;31mred\u{1b}[0m1Ac\n\td";
        assert_eq!(harmless(&text), told);
        assert_eq!(harmless("ends in \u{1b}[3"), "ends in [3");
        assert_eq!(harmless("plain …"), "plain …");
        assert_eq!(harmless("a\u{202e}b\u{e0041}\u{1b}[0;8mc"), "ab[0;8mc");
        let red = "\u{1b}[31mred\u{202e}\u{1b}[0m";
        assert_eq!(for_people(red, true), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(for_people(red, false), "[31mred[0m");
    }

    #[test]
    fn only_a_terminal_gets_colour_and_boxes() {
        assert_eq!(style(false, &[]), (false, false));
        assert_eq!(style(true, &[]), (true, true));
        assert_eq!(style(true, &[("NO_COLOR", "1")]), (false, true));
        assert_eq!(style(true, &[("NO_COLOR", "")]), (true, true));
        assert_eq!(style(true, &[("TERM", "dumb")]), (false, false));
    }
}
