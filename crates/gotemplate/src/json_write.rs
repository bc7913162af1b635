//! The function `json`: a value as Go's encoding/json writes it, without recursion.

use bumpalo::Bump;

use crate::budget::Budget;
use crate::format::number::{push_int, push_json_float, push_uint};
use crate::halt::{Outcome, fail};
use crate::options::Mode;
use crate::unicode::decode;
use crate::value::{Entry, ListView, Val};

/// A list or object that is being written, and how far.
enum Walk<'a> {
    List(ListView<'a>, usize),
    Map(&'a [Entry<'a>], usize),
}

/// Appends `value` as JSON.
pub(crate) fn write<'a>(
    out: &mut Vec<u8>,
    value: Val<'a>,
    mode: Mode,
    budget: &mut Budget,
    arena: &'a Bump,
) -> Outcome<()> {
    let mut open: Vec<Walk<'a>> = Vec::new();
    let mut next = Some(value);
    loop {
        budget.operation()?;
        budget.text(out.len())?;
        if let Some(value) = next.take() {
            if let Some(list) = value.list() {
                out.push(b'[');
                open.push(Walk::List(list, 0));
            } else if let Some(map) = value.map().filter(|_| !matches!(value, Val::NilMap)) {
                out.push(b'{');
                budget.operations(map.len() as u64)?;
                open.push(Walk::Map(map.sorted(mode, arena), 0));
            } else {
                leaf(out, value)?;
            }
        }
        let Some(walk) = open.last_mut() else {
            return Ok(());
        };
        let (at, len, close) = match walk {
            Walk::List(list, at) => (at, list.len(), b']'),
            Walk::Map(map, at) => (at, map.len(), b'}'),
        };
        if *at == len {
            out.push(close);
            open.pop();
            continue;
        }
        if *at > 0 {
            out.push(b',');
        }
        let index = *at;
        *at += 1;
        match *walk {
            Walk::List(list, _) => next = Some(list.get(index, mode)),
            Walk::Map(map, _) => {
                string(out, map[index].0);
                out.push(b':');
                next = Some(map[index].1);
            }
        }
    }
}

fn leaf(out: &mut Vec<u8>, value: Val<'_>) -> Outcome<()> {
    match value {
        Val::Bool(true) => out.extend_from_slice(b"true"),
        Val::Bool(false) => out.extend_from_slice(b"false"),
        Val::Int(number) | Val::Whole(number) => push_int(out, number),
        Val::Byte(number) => push_uint(out, u64::from(number)),
        Val::Big(number) => push_uint(out, number),
        Val::Float(number) | Val::Fraction(number) => push_json_float(out, number),
        Val::Str(text) => string(out, text),
        Val::Complex(_) => return fail("json: unsupported type: complex128"),
        _ => out.extend_from_slice(b"null"),
    }
    Ok(())
}

/// Bytes that stand for themselves in a JSON string.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x80 {
        plain[byte] = !matches!(byte, 0x22 | 0x5C | 0x3C | 0x3E | 0x26);
        byte += 1;
    }
    plain
};

/// Appends a JSON string, with what is special to HTML and JavaScript escaped.
fn string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if PLAIN[usize::from(byte)] {
            at += 1;
            continue;
        }
        if byte < 0x80 {
            out.extend_from_slice(&text[done..at]);
            escape(out, byte);
            at += 1;
            done = at;
            continue;
        }
        let (c, width) = decode(&text[at..]);
        let escaped: &[u8] = match c {
            '\u{FFFD}' if width == 1 => b"\\ufffd",
            '\u{2028}' => b"\\u2028",
            '\u{2029}' => b"\\u2029",
            _ => b"",
        };
        if !escaped.is_empty() {
            out.extend_from_slice(&text[done..at]);
            out.extend_from_slice(escaped);
            done = at + width;
        }
        at += width;
    }
    out.extend_from_slice(&text[done..]);
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let digits = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.extend([
                digits[usize::from(byte >> 4)],
                digits[usize::from(byte & 0xF)],
            ]);
            return;
        }
    };
    out.extend([b'\\', short]);
}
