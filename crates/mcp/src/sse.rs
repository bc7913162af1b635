//! Server-sent events, decoded from bytes without I/O and with a limit on one event.

/// One event. `data` is empty for priming events and for events that only set an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub event: Option<String>,
    pub data: Vec<u8>,
    pub id: Option<String>,
    pub retry_ms: Option<u64>,
}

impl SseEvent {
    /// Whether it carries a message of the protocol: an event that names no type is a `message`, and others, such as
    /// `ping`, are for whoever knows them.
    pub fn is_message(&self) -> bool {
        let kind = self.event.as_deref().unwrap_or_default();
        matches!(kind, "" | "message")
    }
}

/// An event grew over the limit; the stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct SseTooLong {
    pub limit: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Decodes a stream of events chunk by chunk.
#[derive(Debug)]
pub struct SseDecoder {
    line: Vec<u8>,
    current: SseEvent,
    has_data: bool,
    after_return: bool,
    /// No line has ended yet.
    is_first: bool,
    limit: usize,
    lines: usize,
}

impl SseDecoder {
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            current: SseEvent::default(),
            has_data: false,
            after_return: false,
            is_first: true,
            limit,
            lines: 0,
        }
    }

    /// Takes one chunk and returns the events that it completes.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<Vec<SseEvent>, SseTooLong> {
        let mut events = Vec::new();
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let upto = end.unwrap_or(rest.len());
            if self.line.len() + upto + self.current.data.len() > self.limit {
                return Err(SseTooLong { limit: self.limit });
            }
            self.line.extend_from_slice(&rest[..upto]);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            events.extend(self.end_line());
        }
        Ok(events)
    }

    /// Lines that were decoded so far, those that made no event too; for who bounds the work.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The beginning of the event that is not complete yet.
    pub fn unfinished(&self) -> &[u8] {
        if self.has_data {
            &self.current.data
        } else {
            &self.line
        }
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        self.lines = self.lines.wrapping_add(1);
        let mut line = std::mem::take(&mut self.line);
        // The standard has one byte order mark ignored, at the beginning of the stream.
        if std::mem::take(&mut self.is_first) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            self.has_data = false;
            let event = std::mem::take(&mut self.current);
            return (event != SseEvent::default()).then_some(event);
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = match colon {
            // A comment, used as keep-alive.
            Some(0) => return None,
            Some(at) => (
                &line[..at],
                line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]),
            ),
            None => (&line[..], &[][..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.current.data.push(b'\n');
                }
                self.current.data.extend_from_slice(value);
            }
            b"event" => self.current.event = Some(text()),
            b"id" => self.current.id = Some(text()),
            b"retry" => self.current.retry_ms = text().parse().ok(),
            _ => {}
        }
        None
    }
}

/// One event with JSON data, as a server writes it.
pub fn encode_event(data: &str) -> String {
    let mut text = String::with_capacity(data.len() + 24);
    text.push_str("event: message\n");
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_order_mark_is_ignored_at_the_beginning() {
        let data = |text: &str| {
            let mut decoder = SseDecoder::new(1000);
            let chunks = text.as_bytes().chunks(1);
            let events = chunks.flat_map(|chunk| decoder.feed(chunk).unwrap());
            let data = events.map(|event| String::from_utf8(event.data).unwrap());
            data.collect::<Vec<_>>()
        };
        assert_eq!(data("\u{feff}data: a\n\ndata: b\n\n"), ["a", "b"]);
        assert_eq!(data("\u{feff}\n\ndata: a\n\n"), ["a"]);
        // Elsewhere it is part of an unknown field.
        assert!(data("\u{feff}\u{feff}data: a\n\n").is_empty());
        assert_eq!(data("data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    }

    #[test]
    fn events_are_found_whatever_the_chunks_and_line_ends() {
        let unix =
            ": hi\n\nid: 1\nretry: 50\ndata:\n\nevent: message\ndata: {\ndata: }\n\nignored: x\n\n";
        for text in [
            unix.to_owned(),
            unix.replace('\n', "\r\n"),
            unix.replace('\n', "\r"),
        ] {
            for size in 1..text.len() {
                let mut decoder = SseDecoder::new(1000);
                let mut events = Vec::new();
                for chunk in text.as_bytes().chunks(size) {
                    events.extend(decoder.feed(chunk).unwrap());
                }
                assert_eq!(events.len(), 2, "chunks of {size}: {events:?}");
                assert_eq!(
                    (events[0].id.as_deref(), events[0].retry_ms),
                    (Some("1"), Some(50))
                );
                assert!(events[0].data.is_empty());
                assert_eq!(events[1].data, b"{\n}");
                assert_eq!(events[1].event.as_deref(), Some("message"));
            }
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = SseDecoder::new(100);
        let mut fed = 0;
        while decoder.feed(b"data: 0123456789\n").is_ok() {
            fed += 1;
            assert!(fed < 20, "not refused");
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let text = "{\"a\":1}\n{}";
        let events = SseDecoder::new(100)
            .feed(encode_event(text).as_bytes())
            .unwrap();
        assert_eq!(events[0].data, text.as_bytes());
    }
}
