//! Newline-delimited framing with a size limit, without I/O: the caller reads bytes into
//! [`Lines::space`] and takes whole lines out. A line over the limit is skipped, not kept.

/// Bytes of an overlong line that are kept at either end, enough to find whose answer it was.
const KEPT: usize = 512;
const CHUNK: usize = 16 * 1024;
/// Capacity that is given back once the buffer is empty.
const SHRINK: usize = 1024 * 1024;

/// Splits a byte stream into lines of at most `limit` bytes.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    limit: usize,
    skipped: Option<Skipped>,
}

/// One line of the stream, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Text(&'a [u8]),
    /// The line was longer than the limit; both ends of it are kept.
    TooLong(Skipped),
}

/// What is left of a line over the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    pub bytes: usize,
}

impl Lines {
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            limit,
            skipped: None,
        }
    }

    /// The buffer to append the next bytes to.
    pub fn space(&mut self) -> &mut Vec<u8> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > SHRINK {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(CHUNK);
        &mut self.buffer
    }

    /// Bytes of the unfinished line so far, skipped ones included.
    pub fn unfinished_bytes(&self) -> usize {
        let skipped = self.skipped.as_ref().map_or(0, |skipped| skipped.bytes);
        skipped + self.buffer.len() - self.start
    }

    /// The next whole line; `None` until more bytes arrive. Empty lines are passed over.
    #[expect(
        clippy::should_implement_trait,
        reason = "lines borrow from the buffer"
    )]
    pub fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
            let Some(offset) = found else {
                self.scanned = self.buffer.len();
                if self.skipped.is_some() || self.buffer.len() - self.start > self.limit {
                    self.skip_to(self.buffer.len());
                }
                return None;
            };
            let end = self.scanned + offset;
            if self.skipped.is_some() || end - self.start > self.limit {
                self.skip_to(end);
                self.start = end + 1;
                self.scanned = self.start;
                return self.skipped.take().map(Line::TooLong);
            }
            let begin = self.start;
            self.start = end + 1;
            self.scanned = self.start;
            if self.buffer[begin..end]
                .iter()
                .any(|byte| !byte.is_ascii_whitespace())
            {
                return Some(Line::Text(&self.buffer[begin..end]));
            }
        }
    }

    /// Moves the bytes up to `end` into the memory of a skipped line.
    fn skip_to(&mut self, end: usize) {
        let bytes = &self.buffer[self.start..end];
        let skipped = self.skipped.get_or_insert_with(|| Skipped {
            head: bytes[..bytes.len().min(KEPT)].to_vec(),
            tail: Vec::new(),
            bytes: 0,
        });
        skipped.bytes += bytes.len();
        skipped
            .tail
            .extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let excess = skipped.tail.len().saturating_sub(KEPT);
        skipped.tail.drain(..excess);
        self.start = end;
        self.scanned = end;
    }
}

impl Skipped {
    /// The ends of a text that is at hand.
    pub fn of(text: &[u8]) -> Self {
        Self {
            head: text[..text.len().min(KEPT)].to_vec(),
            tail: text[text.len().saturating_sub(KEPT)..].to_vec(),
            bytes: text.len(),
        }
    }

    /// The request id of the answer, where one end of the line shows it plainly: servers write the
    /// envelope before or after the result. None for what is no answer.
    pub fn response_id(&self) -> Option<i64> {
        const KEY: &[u8] = b"\"id\"";
        let place = |key: &[u8]| self.head.windows(key.len()).position(|own| own == key);
        let first = |keys: [&[u8]; 2]| keys.into_iter().filter_map(place).min();
        // Invariant: in the head only what stands before the first of these is the envelope's.
        let answer = first([b"\"result\"", b"\"error\""])?;
        if first([b"\"method\"", b"\"params\""]).is_some_and(|asked| asked < answer) {
            return None;
        }
        if let Some(at) = place(KEY).filter(|at| *at < answer) {
            return number(&self.head[at + KEY.len()..]);
        }
        let at = self.tail.windows(KEY.len()).rposition(|own| own == KEY)?;
        number(&self.tail[at + KEY.len()..])
    }
}

/// The whole number after the colon of a key.
fn number(bytes: &[u8]) -> Option<i64> {
    let rest = String::from_utf8_lossy(bytes);
    let digits = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(lines: &mut Lines, bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        lines.space().extend_from_slice(bytes);
        while let Some(line) = lines.next() {
            out.push(match line {
                Line::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Line::TooLong(skipped) => format!("<{}>", skipped.bytes),
            });
        }
        out
    }

    #[test]
    fn lines_are_found_whatever_the_chunks() {
        let text = b"one\n\n two\r\nthree\n";
        for size in 1..text.len() {
            let mut lines = Lines::new(100);
            let got: Vec<_> = text
                .chunks(size)
                .flat_map(|chunk| feed(&mut lines, chunk))
                .collect();
            assert_eq!(got, ["one", " two\r", "three"], "chunks of {size}");
        }
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_is_read() {
        let long = "x".repeat(50);
        let text = format!("a\n{long}\nb\n");
        for size in 1..text.len() {
            let mut lines = Lines::new(10);
            let chunks = text.as_bytes().chunks(size);
            let got: Vec<_> = chunks.flat_map(|chunk| feed(&mut lines, chunk)).collect();
            assert_eq!(got, ["a", "<50>", "b"], "chunks of {size}");
        }
    }

    #[test]
    fn an_overlong_answer_names_its_request() {
        let id_of = |text: String| {
            let mut lines = Lines::new(100);
            lines.space().extend_from_slice(text.as_bytes());
            match lines.next() {
                Some(Line::TooLong(skipped)) => skipped.response_id(),
                other => panic!("{other:?}"),
            }
        };
        let filler = "y".repeat(5000);
        let first = format!("{{\"jsonrpc\":\"2.0\",\"id\": 17,\"result\":\"{filler}\"}}\n");
        assert_eq!(id_of(first), Some(17));
        let last = format!(
            "{{\"result\":{{\"id\":3,\"t\":\"{filler}\"}},\"jsonrpc\":\"2.0\",\"id\":18}}\n"
        );
        assert_eq!(id_of(last), Some(18));
        let failed = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":19,\"error\":{{\"code\":1,\"data\":[\"{filler}\",{{\"id\":3}}]}}}}\n"
        );
        assert_eq!(id_of(failed), Some(19));
        assert_eq!(id_of(format!("{filler}\n")), None);
        let told = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{{\"result\":\"{filler}\",\"id\":3}}}}\n"
        );
        assert_eq!(id_of(told), None);
    }
}
