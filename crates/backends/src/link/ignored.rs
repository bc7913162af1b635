//! What a server writes that is no message: counted, with the first and the last of it kept to be shown when something
//! fails. Nothing is allocated for a line, since there may be millions.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::{
    IGNORED_LAST_LINES, IGNORED_LINE_BYTES_MAX, UNHEARD_BYTES_MAX, UNHEARD_LINES_MAX,
};

#[derive(Debug, Default)]
pub(crate) struct Ignored {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: u64,
    first: Vec<u8>,
    /// Those after the first.
    last: VecDeque<Vec<u8>>,
}

impl Ignored {
    pub(super) fn add(&self, line: &[u8]) {
        let line = &line[..line.len().min(IGNORED_LINE_BYTES_MAX)];
        let mut kept = self.lock();
        kept.lines += 1;
        if kept.lines == 1 {
            kept.first.extend_from_slice(line);
            return;
        }
        let mut room = if kept.last.len() < IGNORED_LAST_LINES {
            Vec::with_capacity(IGNORED_LINE_BYTES_MAX)
        } else {
            kept.last.pop_front().unwrap_or_default()
        };
        room.clear();
        room.extend_from_slice(line);
        kept.last.push_back(room);
    }

    /// The first line, as part of a message. Empty ones are not counted.
    pub(super) fn first(&self) -> String {
        let kept = self.lock();
        match kept.lines {
            0 => "empty lines".to_owned(),
            _ => format!("`{}`", shown(&kept.first)),
        }
    }

    /// What a failure should tell besides its reason.
    pub(crate) fn told(&self) -> Option<String> {
        let kept = self.lock();
        let lines: Vec<_> = [&kept.first].into_iter().chain(&kept.last).collect();
        let mut texts: Vec<_> = lines.iter().map(|line| shown(line)).collect();
        if kept.lines > lines.len() as u64 {
            texts.insert(1, "…".to_owned());
        }
        let texts = texts.join(" | ");
        match kept.lines {
            0 => None,
            1 => Some(format!("1 line of its output was no message: {texts}")),
            lines => Some(format!(
                "{lines} lines of its output were no messages: {texts}"
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without control characters, since it ends up on terminals.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().filter(|c| !c.is_control()).collect()
}

/// How much came before the first message.
#[derive(Debug, Default)]
pub(super) struct Overture {
    is_over: bool,
    lines: usize,
    bytes: usize,
}

impl Overture {
    pub(super) fn read(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn line(&mut self, is_message: bool) {
        self.is_over |= is_message;
        self.lines = self.lines.saturating_add(1);
    }

    /// Whether no message is expected any more; `unread` bytes may be one.
    pub(super) fn is_hopeless(&self, unread: usize) -> bool {
        let bytes = self.bytes.saturating_sub(unread);
        !self.is_over && (self.lines > UNHEARD_LINES_MAX || bytes > UNHEARD_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_lines_are_told() {
        let ignored = Ignored::default();
        let told = || ignored.told().unwrap_or_default();
        assert_eq!(told(), "");
        ignored.add(b"one\x1b");
        assert_eq!(told(), "1 line of its output was no message: one");
        ignored.add(b"two");
        assert_eq!(told(), "2 lines of its output were no messages: one | two");
        for line in ["three", "four", &"x".repeat(1000)] {
            ignored.add(line.as_bytes());
        }
        let last = "x".repeat(IGNORED_LINE_BYTES_MAX);
        let all = format!("5 lines of its output were no messages: one | … | four | {last}");
        assert_eq!(told(), all);
    }
}
