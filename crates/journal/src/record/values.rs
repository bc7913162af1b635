//! Long values, stored once by hash. The smallest part of a value that is too long by itself is taken out, a null
//! stands in its place, and a list of places beside it says what belongs there; so nothing a user can write is
//! mistaken for a reference.

use super::{DecodeError, SEALED};
use crate::limits::INLINE_BYTES_MAX;
use crate::seal::Seal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256 of a stored value's body.
pub(crate) type Hash = [u8; 32];

#[derive(Clone, Debug)]
pub(crate) struct BigValue {
    pub(crate) hash: Hash,
    /// JSON, or a split line when parts of it are stored apart in turn; sealed where its run is.
    pub(crate) body: Vec<u8>,
}

/// The mark of a line that has parts elsewhere; no JSON begins with it.
const MARK: u8 = b'&';

#[derive(Debug, Serialize, Deserialize)]
struct Split {
    /// The rest, with null for each part.
    rest: Value,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    /// JSON pointer into the rest.
    at: String,
    hash: String,
}

pub(super) fn is_split(line: &[u8]) -> bool {
    line.first() == Some(&MARK)
}

/// Writes `value` as a line without its long parts and adds those to `values`.
pub(super) fn split(
    mut value: Value,
    seal: Option<Seal<'_>>,
    values: &mut Vec<BigValue>,
    line: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let mut splitter = Splitter {
        pointer: String::new(),
        parts: Vec::new(),
        seal,
        values,
    };
    splitter.children(&mut value)?;
    let parts = splitter.parts;
    write_line(line, value, parts)
}

fn write_line(line: &mut Vec<u8>, rest: Value, parts: Vec<Part>) -> Result<(), serde_json::Error> {
    if parts.is_empty() {
        return serde_json::to_writer(line, &rest);
    }
    line.push(MARK);
    serde_json::to_writer(line, &Split { rest, parts })
}

struct Splitter<'a> {
    pointer: String,
    /// Parts found so far that nothing above has taken into itself.
    parts: Vec<Part>,
    seal: Option<Seal<'a>>,
    values: &'a mut Vec<BigValue>,
}

impl Splitter<'_> {
    /// Takes long parts out of `value`, in the end `value` itself, and returns about how long it is now.
    fn shrink(&mut self, value: &mut Value) -> Result<usize, serde_json::Error> {
        let first_part = self.parts.len();
        let bytes = self.children(value)?;
        if bytes <= INLINE_BYTES_MAX {
            return Ok(bytes);
        }
        let mut inner: Vec<Part> = self.parts.drain(first_part..).collect();
        for part in &mut inner {
            part.at.drain(..self.pointer.len());
        }
        let mut body = Vec::with_capacity(bytes);
        write_line(&mut body, value.take(), inner)?;
        if let Some(seal) = self.seal {
            body = [&[SEALED], seal.close(&body).as_slice()].concat();
        }
        let hash: Hash = Sha256::digest(&body).into();
        self.parts.push(Part {
            at: self.pointer.clone(),
            hash: hex(&hash),
        });
        self.values.push(BigValue { hash, body });
        Ok(NULL_BYTES)
    }

    fn children(&mut self, value: &mut Value) -> Result<usize, serde_json::Error> {
        let length = self.pointer.len();
        let mut bytes = 2;
        match value {
            Value::Null | Value::Bool(_) => bytes = NULL_BYTES,
            Value::Number(_) => bytes = NUMBER_BYTES,
            Value::String(text) => bytes += text.len(),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let _ = write!(self.pointer, "/{index}");
                    bytes += self.shrink(item)? + 1;
                    self.pointer.truncate(length);
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    self.pointer.push('/');
                    self.pointer
                        .push_str(&name.replace('~', "~0").replace('/', "~1"));
                    bytes += self.shrink(field)? + name.len() + 4;
                    self.pointer.truncate(length);
                }
            }
        }
        Ok(bytes)
    }
}

const NULL_BYTES: usize = 4;
const NUMBER_BYTES: usize = 12;

/// Where a line stands, and what opens its parts.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) index: usize,
    pub(super) seal: Seal<'a>,
}

/// Puts a split line together again.
pub(super) fn join<E: From<DecodeError>>(
    line: &[u8],
    place: Place<'_>,
    fetch: &mut dyn FnMut(Hash) -> Result<Option<Vec<u8>>, E>,
) -> Result<Value, E> {
    let Place { index, seal } = place;
    let bad = |cause| DecodeError::Value { index, cause };
    let Some(line) = line.strip_prefix(&[MARK]) else {
        return Ok(super::parse(line).map_err(bad)?);
    };
    let Split { mut rest, parts } = super::parse(line).map_err(bad)?;
    for part in parts {
        let hash = unhex(&part.hash).ok_or(DecodeError::Missing { index })?;
        let mut body = fetch(hash)?.ok_or(DecodeError::Missing { index })?;
        if let Some(sealed) = body.strip_prefix(&[SEALED]) {
            body = seal.open(sealed).ok_or(DecodeError::Sealed { index })?;
        }
        let value = join(&body, place, fetch)?;
        let slot = rest
            .pointer_mut(&part.at)
            .ok_or(DecodeError::Missing { index })?;
        *slot = value;
    }
    Ok(rest)
}

fn hex(hash: &Hash) -> String {
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(hash)
}
