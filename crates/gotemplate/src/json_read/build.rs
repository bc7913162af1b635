//! Builds values in the arena from JSON text that has been checked, without recursion.

use bumpalo::Bump;

use super::seek::skip_string;
use super::skip_space;
use crate::budget::Budget;
use crate::halt::Outcome;
use crate::options::Mode;
use crate::quote::push_char;
use crate::unicode::decode;
use crate::value::{Absence, Entry, Val};

/// A list or object that is being built: where its entries begin, and for an object the key that waits for its value.
struct Open<'a> {
    is_object: bool,
    mark: usize,
    key: Option<&'a [u8]>,
}

/// Builds the value of a checked text.
pub(crate) fn build<'a>(
    text: &'a [u8],
    mode: Mode,
    budget: &mut Budget,
    arena: &'a Bump,
) -> Outcome<Val<'a>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut open: Vec<Open<'a>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let start = at;
        at += 1;
        let value = match byte {
            b'{' | b'[' => {
                open.push(Open {
                    is_object: byte == b'{',
                    mark: entries.len(),
                    key: None,
                });
                continue;
            }
            b'}' | b']' => match open.pop() {
                Some(done) => close(&done, &mut entries, arena),
                None => Val::Nil(Absence::Null),
            },
            b'"' => {
                at = skip_string(text, start);
                let string = unquoted(&text[start + 1..at - 1], budget, arena)?;
                if let Some(Open {
                    is_object: true,
                    key: key @ None,
                    ..
                }) = open.last_mut()
                {
                    *key = Some(string);
                    continue;
                }
                Val::Str(string)
            }
            b't' => word(&mut at, start + 4, Val::Bool(true)),
            b'f' => word(&mut at, start + 5, Val::Bool(false)),
            b'n' => word(&mut at, start + 4, Val::Nil(Absence::Null)),
            b'-' | b'0'..=b'9' => {
                while text.get(at).is_some_and(|byte| {
                    matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
                }) {
                    at += 1;
                }
                number(&text[start..at], mode)
            }
            _ => {
                at = skip_space(text, at);
                continue;
            }
        };
        budget.operation()?;
        budget.produced(size_of::<Entry<'a>>())?;
        match open.last_mut() {
            None => return Ok(value),
            Some(open) => entries.push((open.key.take().unwrap_or_default(), value)),
        }
    }
    Ok(Val::Nil(Absence::Null))
}

fn word<'a>(at: &mut usize, end: usize, value: Val<'a>) -> Val<'a> {
    *at = end;
    value
}

fn close<'a>(open: &Open<'a>, entries: &mut Vec<Entry<'a>>, arena: &'a Bump) -> Val<'a> {
    let own = &mut entries[open.mark..];
    let value = if open.is_object {
        if own.is_sorted_by(|left, right| left.0 < right.0) {
            Val::Map(arena.alloc_slice_copy(own))
        } else {
            // A stable sort keeps equal keys in order; the last of them is the one that counts.
            own.sort_by(|left, right| left.0.cmp(right.0));
            let unique =
                (0..own.len()).filter(|&at| own.get(at + 1).is_none_or(|next| next.0 != own[at].0));
            let unique: Vec<usize> = unique.collect();
            Val::Map(arena.alloc_slice_fill_iter(unique.into_iter().map(|at| own[at])))
        }
    } else {
        Val::List(arena.alloc_slice_fill_iter(own.iter().map(|entry| entry.1)))
    };
    entries.truncate(open.mark);
    value
}

fn number<'a>(text: &[u8], mode: Mode) -> Val<'a> {
    let text = std::str::from_utf8(text).unwrap_or("0");
    if mode == Mode::Workflow && text != "-0" && !text.contains(['.', 'e', 'E']) {
        if let Ok(whole) = text.parse() {
            return Val::Whole(whole);
        }
        if let Ok(big) = text.parse() {
            return Val::Big(big);
        }
    }
    Val::from_float(text.parse().unwrap_or_default(), mode)
}

/// The value of a string without its quotes: borrowed if nothing in it needs a change.
fn unquoted<'a>(text: &'a [u8], budget: &mut Budget, arena: &'a Bump) -> Outcome<&'a [u8]> {
    if memchr::memchr(b'\\', text).is_none() && std::str::from_utf8(text).is_ok() {
        return Ok(text);
    }
    budget.produced(text.len() * 3)?;
    let mut out = Vec::with_capacity(text.len());
    decode_string(text, &mut out);
    Ok(arena.alloc_slice_copy(&out))
}

/// Whether a key with its quotes is `name`.
pub(super) fn key_is(token: &[u8], name: &str) -> bool {
    let inner = &token[1..token.len() - 1];
    if inner == name.as_bytes() {
        return !inner.contains(&b'\\');
    }
    if memchr::memchr(b'\\', inner).is_none() && std::str::from_utf8(inner).is_ok() {
        return false;
    }
    let mut out = Vec::with_capacity(inner.len());
    decode_string(inner, &mut out);
    out == name.as_bytes()
}

fn decode_string(text: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            let (c, width) = decode(&text[at..]);
            push_char(out, c);
            at += width;
            continue;
        }
        let escape = text.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        match escape {
            b'b' => out.push(0x08),
            b'f' => out.push(0x0C),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let first = code_unit(text, at);
                at += 4;
                let second = if text[at.min(text.len())..].starts_with(b"\\u") {
                    code_unit(text, at + 2)
                } else {
                    0
                };
                if (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second) {
                    at += 6;
                    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                    push_char(out, char::from_u32(code).unwrap_or('\u{FFFD}'));
                } else {
                    push_char(out, char::from_u32(first).unwrap_or('\u{FFFD}'));
                }
            }
            other => out.push(other),
        }
    }
}

fn code_unit(text: &[u8], at: usize) -> u32 {
    let digits = text.get(at..at + 4).unwrap_or_default();
    digits.iter().fold(0, |code, &byte| {
        code << 4 | char::from(byte).to_digit(16).unwrap_or(0)
    })
}

/// A member that was sought: scalars are read at once, lists and objects stay text.
pub(crate) fn found<'a>(text: &'a [u8], mode: Mode, arena: &'a Bump) -> Val<'a> {
    match text.first() {
        Some(b'{' | b'[') => Val::Raw(text),
        Some(b'"') => {
            let inner = &text[1..text.len() - 1];
            if memchr::memchr(b'\\', inner).is_none() && std::str::from_utf8(inner).is_ok() {
                return Val::Str(inner);
            }
            let mut out = Vec::with_capacity(inner.len());
            decode_string(inner, &mut out);
            Val::Str(arena.alloc_slice_copy(&out))
        }
        Some(b't') => Val::Bool(true),
        Some(b'f') => Val::Bool(false),
        Some(b'n') | None => Val::Nil(Absence::Null),
        Some(_) => number(text, mode),
    }
}
