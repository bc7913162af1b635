//! Values of literals: quoted strings, character constants and numbers, by Go's rules.

use crate::quote::{push_char, quoted};
use crate::tree::Number;
use crate::unicode::decode;

/// The value of a string item with its quotes; `None` if an escape is wrong.
pub(crate) fn unquote(text: &str) -> Option<Vec<u8>> {
    let inner = text.get(1..text.len().checked_sub(1)?)?.as_bytes();
    if text.starts_with('`') {
        return Some(
            inner
                .iter()
                .copied()
                .filter(|&byte| byte != b'\r')
                .collect(),
        );
    }
    if !inner.contains(&b'\\') {
        return Some(inner.to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        let (unit, width) = unquote_char(&inner[at..], b'"')?;
        match unit {
            Unit::Char(c) => push_char(&mut out, c),
            Unit::Byte(byte) => out.push(byte),
        }
        at += width;
    }
    Some(out)
}

/// What one position of a quoted text stands for.
enum Unit {
    Char(char),
    Byte(u8),
}

fn unquote_char(bytes: &[u8], quote: u8) -> Option<(Unit, usize)> {
    let first = *bytes.first()?;
    if first == quote {
        return None;
    }
    if first != b'\\' {
        let (c, width) = decode(bytes);
        return Some((Unit::Char(c), width));
    }
    let simple = |c: char| Some((Unit::Char(c), 2));
    match *bytes.get(1)? {
        b'a' => simple('\u{7}'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'v' => simple('\u{b}'),
        b'\\' => simple('\\'),
        byte @ (b'\'' | b'"') if byte == quote => simple(char::from(byte)),
        b'x' => digits(bytes, 2, 2, 16).map(|code| (Unit::Byte(code.to_le_bytes()[0]), 4)),
        b'u' => digits(bytes, 2, 4, 16)
            .and_then(char::from_u32)
            .map(|c| (Unit::Char(c), 6)),
        b'U' => digits(bytes, 2, 8, 16)
            .and_then(char::from_u32)
            .map(|c| (Unit::Char(c), 10)),
        b'0'..=b'7' => {
            let code = digits(bytes, 1, 3, 8)?;
            u8::try_from(code).ok().map(|byte| (Unit::Byte(byte), 4))
        }
        _ => None,
    }
}

fn digits(bytes: &[u8], from: usize, count: usize, base: u32) -> Option<u32> {
    let text = bytes.get(from..from + count)?;
    text.iter().try_fold(0u32, |value, &byte| {
        let digit = char::from(byte).to_digit(base)?;
        value.checked_mul(base)?.checked_add(digit)
    })
}

/// The value of a character constant with its quotes.
pub(crate) fn character(text: &str) -> Result<Number, String> {
    let (unit, width) = unquote_char(&text.as_bytes()[1..], b'\'').ok_or("invalid syntax")?;
    if &text.as_bytes()[1 + width..] != b"'" {
        return Err(format!("malformed character constant: {text}"));
    }
    Ok(Number::Int(match unit {
        Unit::Char(c) => i64::from(u32::from(c)),
        Unit::Byte(byte) => i64::from(byte),
    }))
}

/// The value of a complex constant such as `1+2i`.
pub(crate) fn complex(text: &str) -> Result<Number, String> {
    let bytes = text.as_bytes();
    let is_split = |at: &usize| {
        matches!(bytes[*at], b'+' | b'-') && !matches!(bytes[*at - 1], b'e' | b'E' | b'p' | b'P')
    };
    let split = (1..bytes.len()).rfind(is_split);
    let parts = split.and_then(|at| Some((float(&text[..at])?, float(&text[at..text.len() - 1])?)));
    parts
        .map(|(real, imaginary)| Number::Complex(real, imaginary))
        .ok_or_else(|| "syntax error scanning complex number".to_owned())
}

/// The value of a number item.
pub(crate) fn number(text: &str) -> Result<Number, String> {
    if let Some(imaginary) = text.strip_suffix('i').and_then(float) {
        return Ok(Number::Complex(0.0, imaginary));
    }
    if let Some(whole) = integer(text) {
        return Ok(match whole {
            // Go takes the digit e of a signed hexadecimal number for the mark of an exponent.
            #[expect(clippy::cast_precision_loss, reason = "Go rounds the same way")]
            Number::Int(value) if text.starts_with(['-', '+']) && text.contains(['e', 'E']) => {
                Number::Float(value as f64)
            }
            other => other,
        });
    }
    match float(text) {
        Some(_) if !text.contains(['.', 'e', 'E', 'p', 'P']) => {
            Err(format!("integer overflow: {}", quoted(text.as_bytes())))
        }
        Some(value) => Ok(Number::Float(value)),
        None => Err(format!(
            "illegal number syntax: {}",
            quoted(text.as_bytes())
        )),
    }
}

fn integer(text: &str) -> Option<Number> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &unsigned[2..]),
        [b'0', b'o' | b'O', ..] => (8, &unsigned[2..]),
        [b'0', b'b' | b'B', ..] => (2, &unsigned[2..]),
        [b'0', _, ..] => (8, &unsigned[1..]),
        _ => (10, unsigned),
    };
    if digits.is_empty() || (unsigned.contains('_') && !underscores_fit(unsigned)) {
        return None;
    }
    let mut magnitude: u64 = 0;
    for byte in digits.bytes().filter(|&byte| byte != b'_') {
        let digit = char::from(byte).to_digit(base)?;
        magnitude = magnitude
            .checked_mul(u64::from(base))?
            .checked_add(u64::from(digit))?;
    }
    let signed = if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    };
    match signed {
        Some(value) => Some(Number::Int(value)),
        None if text.starts_with(['-', '+']) => None,
        None => Some(Number::Overflows),
    }
}

/// Whether underscores stand only between digits, or after a base prefix.
fn underscores_fit(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let prefixed = matches!(
        text.as_bytes(),
        [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]
    );
    let hex = matches!(text.as_bytes(), [b'0', b'x' | b'X', ..]);
    let mut last = if prefixed { b'0' } else { b'^' };
    for &byte in &text.as_bytes()[if prefixed { 2 } else { 0 }..] {
        if byte.is_ascii_digit() || (hex && byte.is_ascii_hexdigit()) {
            last = b'0';
        } else if byte == b'_' {
            if last != b'0' {
                return false;
            }
            last = b'_';
        } else {
            if last == b'_' {
                return false;
            }
            last = b'!';
        }
    }
    last != b'_'
}

/// A decimal or hexadecimal float; `None` if it is malformed or out of range.
fn float(text: &str) -> Option<f64> {
    if text.contains('_') && !underscores_fit(text) {
        return None;
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(&plain);
    let value = if unsigned.starts_with("0x") || unsigned.starts_with("0X") {
        hex_float(&unsigned[2..])?
    } else {
        let digits_only = unsigned
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
        digits_only
            .then(|| unsigned.parse::<f64>().ok())
            .flatten()?
    };
    if value.is_infinite() {
        return None;
    }
    Some(if plain.starts_with('-') {
        -value
    } else {
        value
    })
}

fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent_digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if exponent_digits.is_empty() || !exponent_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = exponent_digits
        .parse::<i32>()
        .unwrap_or(100_000)
        .min(100_000);
    let mut exponent = if exponent.starts_with('-') {
        -magnitude
    } else {
        magnitude
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    // Sixty bits of mantissa and a sticky bit are enough to round once to 53.
    let (mut bits, mut sticky): (u64, bool) = (0, false);
    for (place, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16)?);
        let in_fraction = place >= whole.len();
        if bits >> 56 == 0 {
            bits = bits << 4 | digit;
            exponent -= if in_fraction { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            exponent += if in_fraction { 0 } else { 4 };
        }
    }
    Some(scale(bits << 1 | u64::from(sticky), exponent - 1))
}

/// `bits * 2^exponent`, rounded once to nearest even, also into the subnormal range.
fn scale(bits: u64, exponent: i32) -> f64 {
    if bits == 0 {
        return 0.0;
    }
    let top = 64 - bits.leading_zeros().cast_signed() + exponent;
    if top > 1024 {
        return f64::INFINITY;
    }
    let keep = 53.min(top + 1074);
    if keep < 0 {
        return 0.0;
    }
    let length = 64 - bits.leading_zeros().cast_signed();
    let drop = length - keep;
    if drop <= 0 {
        return two_to(exponent, bits);
    }
    let drop = drop.cast_unsigned();
    let (kept, rest) = if drop >= 64 {
        (0, bits)
    } else {
        (bits >> drop, bits & ((1 << drop) - 1))
    };
    let half = if drop > 64 {
        u64::MAX
    } else {
        1u64 << (drop - 1)
    };
    let up = rest > half || (rest == half && kept & 1 == 1);
    two_to(exponent + drop.cast_signed(), kept + u64::from(up))
}

/// `mantissa * 2^exponent` where the mantissa fits 54 bits and the result is exact or infinite.
fn two_to(exponent: i32, mantissa: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "the mantissa has at most 54 bits, a power of two if 54"
    )]
    let mut value = mantissa as f64;
    let mut exponent = exponent;
    while exponent > 1000 {
        value *= 2f64.powi(1000);
        exponent -= 1000;
    }
    while exponent < -1000 {
        value *= 2f64.powi(-1000);
        exponent += 1000;
    }
    value * 2f64.powi(exponent)
}
