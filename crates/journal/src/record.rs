//! Events as they lie on disk: one line of JSON each, in form 1; long values stand apart, by hash.
//! The JSON of an event is the engine's own while the two agree; where a later engine differs, its old shape
//! gets a type here and a conversion by hand. `test-data/` holds what every build must read.
//!
//! All that is stored of a run's values passes `encode` and `decode`, which seal the events of runs with sensitive
//! values line by line.

mod values;

use crate::limits::INLINE_BYTES_MAX;
use crate::seal::Seal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use onecall_engine::event::Event;
use onecall_engine::identity::Timestamp;
use onecall_engine::journal::Phase;
use onecall_workflow::policy::Durability;
use serde::Deserialize;
use std::borrow::Cow;
use std::io;
use values::Place;
pub(crate) use values::{BigValue, Hash};

/// The form that this build writes. It reads this and every older one.
pub(crate) const FORM: u32 = 1;

/// Events ready for the disk.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Lines, each with its end. Batches of one form are joined by putting one after the other.
    pub(crate) lines: Vec<u8>,
    pub(crate) values: Vec<BigValue>,
    pub(crate) count: u64,
}

impl Encoded {
    pub(crate) fn bytes(&self) -> usize {
        let apart: usize = self.values.iter().map(|value| value.body.len()).sum();
        self.lines.len() + apart
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("it is stored in form {0}, which this version does not know")]
    Form(u32),
    #[error("event {index} is not what this version expects ({cause})")]
    Event {
        index: usize,
        cause: serde_json::Error,
    },
    #[error("a value of event {index} is not what this version expects ({cause})")]
    Value {
        index: usize,
        cause: serde_json::Error,
    },
    #[error("event {index} names a value that is not in the store")]
    Missing { index: usize },
    #[error("event {index} is sealed with another key than that of this store")]
    Sealed { index: usize },
}

/// The mark of what is sealed; neither JSON nor a split line begins with it.
const SEALED: u8 = b'#';

/// Encodes events that are short together, as most are. `None`: too long, use `encode` on a thread that may work.
pub(crate) fn encode_short(events: &[Event], seal: Option<Seal<'_>>) -> Option<Encoded> {
    let mut short = Short {
        lines: Vec::with_capacity(1024),
    };
    for event in events {
        serde_json::to_writer(&mut short, event).ok()?;
        short.lines.push(b'\n');
    }
    Some(Encoded {
        lines: seal_lines(short.lines, seal),
        values: Vec::new(),
        count: events.len() as u64,
    })
}

/// Encodes events of any length.
pub(crate) fn encode(
    events: &[Event],
    seal: Option<Seal<'_>>,
) -> Result<Encoded, serde_json::Error> {
    let mut lines = Vec::new();
    let mut values = Vec::new();
    for event in events {
        let start = lines.len();
        serde_json::to_writer(&mut lines, event)?;
        if lines.len() - start > INLINE_BYTES_MAX {
            lines.truncate(start);
            values::split(serde_json::to_value(event)?, seal, &mut values, &mut lines)?;
        }
        lines.push(b'\n');
    }
    Ok(Encoded {
        lines: seal_lines(lines, seal),
        values,
        count: events.len() as u64,
    })
}

/// A line holds no end of a line, so lines can be sealed one by one and joined as before.
fn seal_lines(lines: Vec<u8>, seal: Option<Seal<'_>>) -> Vec<u8> {
    let Some(seal) = seal else {
        return lines;
    };
    let mut sealed = Vec::with_capacity(lines.len() * 2);
    for line in lines.split(|byte| *byte == b'\n') {
        if !line.is_empty() {
            sealed.push(SEALED);
            sealed.extend(STANDARD_NO_PAD.encode(seal.close(line)).into_bytes());
            sealed.push(b'\n');
        }
    }
    sealed
}

/// Whether any of these lines is sealed.
pub(crate) fn is_sealed(lines: &[u8]) -> bool {
    let mut lines = lines.split(|byte| *byte == b'\n');
    lines.any(|line| line.first() == Some(&SEALED))
}

/// A text that nobody may read in the store.
pub(crate) fn seal_text(text: &str, seal: Seal<'_>) -> String {
    format!("#{}", STANDARD_NO_PAD.encode(seal.close(text.as_bytes())))
}

/// `None`: it was sealed otherwise. A text of an older build is not sealed at all.
pub(crate) fn open_text(text: &str, seal: Seal<'_>) -> Option<String> {
    let Some(sealed) = text.strip_prefix('#') else {
        return Some(text.to_owned());
    };
    let opened = seal.open(&STANDARD_NO_PAD.decode(sealed).ok()?)?;
    String::from_utf8(opened).ok()
}

/// Gives back exactly what was encoded. `fetch` finds a value that stands apart.
pub(crate) fn decode<E: From<DecodeError>>(
    form: u32,
    lines: &[u8],
    seal: Seal<'_>,
    fetch: &mut dyn FnMut(Hash) -> Result<Option<Vec<u8>>, E>,
) -> Result<Vec<Event>, E> {
    if form != FORM {
        return Err(DecodeError::Form(form).into());
    }
    let mut events = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        if line.is_empty() {
            continue;
        }
        let index = events.len();
        let opened = match line.strip_prefix(&[SEALED]) {
            None => Cow::Borrowed(line),
            Some(sealed) => {
                let sealed = STANDARD_NO_PAD.decode(sealed).ok();
                let opened = sealed.and_then(|sealed| seal.open(&sealed));
                Cow::Owned(opened.ok_or(DecodeError::Sealed { index })?)
            }
        };
        events.push(if values::is_split(&opened) {
            let whole = values::join(&opened, Place { index, seal }, fetch)?;
            serde_json::from_value(whole).map_err(|cause| DecodeError::Event { index, cause })?
        } else {
            parse(&opened).map_err(|cause| DecodeError::Event { index, cause })?
        });
    }
    Ok(events)
}

/// A value may lie deeper inside its event than the parser's own limit allows for what comes from outside.
pub(crate) fn parse<'de, T: Deserialize<'de>>(line: &'de [u8]) -> Result<T, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(line);
    parser.disable_recursion_limit();
    let parsed = T::deserialize(&mut parser)?;
    parser.end()?;
    Ok(parsed)
}

struct Short {
    lines: Vec<u8>,
}

impl io::Write for Short {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    // Called for every sign of JSON.
    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.lines.len() + bytes.len() > INLINE_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.lines.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// When the last of the first events happened: later than the creation where a run was imported.
pub(crate) fn last_time(events: &[Event], created: Timestamp) -> Timestamp {
    events.last().map_or(created, |event| event.at.max(created))
}

pub(crate) fn durability_text(durability: Durability) -> &'static str {
    match durability {
        Durability::None => "none",
        Durability::Async => "async",
        Durability::Sync => "sync",
    }
}

pub(crate) fn durability_from(text: &str) -> Option<Durability> {
    [Durability::None, Durability::Async, Durability::Sync]
        .into_iter()
        .find(|durability| durability_text(*durability) == text)
}

/// A phase that a later version wrote counts as held: a person must look at the run.
pub(crate) fn phase_from(text: &str) -> Phase {
    Phase::parse(text).unwrap_or(Phase::Held)
}

#[cfg(test)]
mod tests;
