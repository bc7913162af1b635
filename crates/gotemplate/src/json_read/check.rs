//! Checks that a text is JSON, with Go's words where it is not. Nesting is kept in a bit set, not on the stack.

use crate::halt::{Outcome, fail};
use crate::limits::JSON_DEPTH_MAX;

use super::skip_space;

/// What must come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of an array that holds none.
    ValueOrEnd,
    /// A key, or the end of an object that holds none.
    KeyOrEnd,
    Key,
    /// A comma or the end of what is open.
    Next,
}

/// Checks a whole text; gives the bytes of the value without surrounding blanks.
pub(crate) fn check(text: &[u8]) -> Outcome<&[u8]> {
    let start = skip_space(text, 0);
    let mut at = start;
    let mut open: Vec<bool> = Vec::with_capacity(16);
    let mut expect = Expect::Value;
    let mut too_large = None;
    loop {
        at = skip_space(text, at);
        if expect == Expect::Next && open.is_empty() {
            break;
        }
        let Some(&byte) = text.get(at) else {
            return end_of_input();
        };
        match expect {
            Expect::Next => match (byte, open.last()) {
                (b',', Some(true)) => (expect, at) = (Expect::Key, at + 1),
                (b',', _) => (expect, at) = (Expect::Value, at + 1),
                (b'}', Some(true)) | (b']', Some(false)) => {
                    open.pop();
                    at += 1;
                }
                (_, Some(true)) => return invalid(text, at, "after object key:value pair"),
                _ => return invalid(text, at, "after array element"),
            },
            Expect::ValueOrEnd if byte == b']' => {
                open.pop();
                (expect, at) = (Expect::Next, at + 1);
            }
            Expect::KeyOrEnd if byte == b'}' => {
                open.pop();
                (expect, at) = (Expect::Next, at + 1);
            }
            Expect::Key | Expect::KeyOrEnd => {
                at = key(text, at)?;
                expect = Expect::Value;
            }
            Expect::Value | Expect::ValueOrEnd if matches!(byte, b'{' | b'[') => {
                open.push(byte == b'{');
                if open.len() > JSON_DEPTH_MAX {
                    return invalid(text, at, "exceeded max depth");
                }
                expect = if byte == b'{' {
                    Expect::KeyOrEnd
                } else {
                    Expect::ValueOrEnd
                };
                at += 1;
            }
            Expect::Value | Expect::ValueOrEnd => {
                let end = scalar(text, at)?;
                if overflows(&text[at..end]) {
                    too_large.get_or_insert(at..end);
                }
                (expect, at) = (Expect::Next, end);
            }
        }
    }
    if at < text.len() {
        return invalid(text, at, "after top-level value");
    }
    if let Some(number) = too_large {
        let number = String::from_utf8_lossy(&text[number]);
        return fail(format!(
            "json: cannot unmarshal number {number} into Go value of type float64"
        ));
    }
    Ok(text[start..].trim_ascii_end())
}

/// Bytes that stand for themselves in a JSON string.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    plain[0x22] = false;
    plain[0x5C] = false;
    plain
};

/// Whether a scalar is a number beyond float64.
fn overflows(scalar: &[u8]) -> bool {
    if !matches!(scalar[0], b'-' | b'0'..=b'9') {
        return false;
    }
    let suspicious = scalar.len() > 300
        || (scalar.len() > 3 && scalar.iter().any(|byte| matches!(byte, b'e' | b'E')));
    suspicious
        && std::str::from_utf8(scalar)
            .is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_infinite))
}

fn key(text: &[u8], at: usize) -> Outcome<usize> {
    if text[at] != b'"' {
        return invalid(text, at, "looking for beginning of object key string");
    }
    let at = skip_space(text, string(text, at)?);
    match text.get(at) {
        Some(b':') => Ok(at + 1),
        Some(_) => invalid(text, at, "after object key"),
        None => end_of_input(),
    }
}

fn scalar(text: &[u8], at: usize) -> Outcome<usize> {
    match text[at] {
        b'"' => string(text, at),
        b't' => word(text, at, "true"),
        b'f' => word(text, at, "false"),
        b'n' => word(text, at, "null"),
        b'-' | b'0'..=b'9' => number(text, at),
        _ => invalid(text, at, "looking for beginning of value"),
    }
}

fn string(text: &[u8], start: usize) -> Outcome<usize> {
    let mut at = start + 1;
    loop {
        let plain = |&byte: &u8| PLAIN[usize::from(byte)];
        at += text[at..]
            .iter()
            .position(|byte| !plain(byte))
            .unwrap_or(text.len() - at);
        match text.get(at) {
            None => return end_of_input(),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape(text, at + 1)?,
            Some(_) => return invalid(text, at, "in string literal"),
        }
    }
}

fn escape(text: &[u8], at: usize) -> Outcome<usize> {
    match text.get(at) {
        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => Ok(at + 1),
        Some(b'u') => {
            for digit in at + 1..at + 5 {
                match text.get(digit) {
                    Some(byte) if byte.is_ascii_hexdigit() => {}
                    _ => return invalid(text, digit, "in \\u hexadecimal character escape"),
                }
            }
            Ok(at + 5)
        }
        _ => invalid(text, at, "in string escape code"),
    }
}

fn word(text: &[u8], start: usize, word: &str) -> Outcome<usize> {
    for (offset, expected) in word.bytes().enumerate().skip(1) {
        match text.get(start + offset) {
            Some(&byte) if byte == expected => {}
            _ => {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return invalid(text, start + offset, &place);
            }
        }
    }
    Ok(start + word.len())
}

fn number(text: &[u8], start: usize) -> Outcome<usize> {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let run = |mut at: usize| {
        while digit(at) {
            at += 1;
        }
        at
    };
    let require = |at: usize, place: &str| match text.get(at) {
        Some(byte) if byte.is_ascii_digit() => Ok(run(at)),
        _ => invalid(text, at, place),
    };
    let mut at = start + usize::from(text[start] == b'-');
    at = if text.get(at) == Some(&b'0') {
        at + 1
    } else {
        require(at, "in numeric literal")?
    };
    if text.get(at) == Some(&b'.') {
        at = require(at + 1, "after decimal point in numeric literal")?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        at = require(at, "in exponent of numeric literal")?;
    }
    Ok(at)
}

fn end_of_input<T>() -> Outcome<T> {
    fail("unexpected end of JSON input")
}

/// A character that does not fit. Go takes the end of the text for a blank where that tells more.
fn invalid<T>(text: &[u8], at: usize, place: &str) -> Outcome<T> {
    let mut shown = Vec::new();
    match text.get(at).copied().unwrap_or(b' ') {
        b'\'' => shown.extend_from_slice(br"'\''"),
        b'"' => shown.extend_from_slice(b"'\"'"),
        byte => crate::quote::push_quoted_char(&mut shown, u64::from(byte), false),
    }
    fail(format!(
        "invalid character {} {place}",
        String::from_utf8_lossy(&shown)
    ))
}
