//! Go's quoted forms of strings and characters (`%q`, `%#U`), also used in error texts.

use crate::unicode::{decode, is_print};

const LOWER_HEX: &[u8; 16] = b"0123456789abcdef";

/// A string in double quotes, as `%q` prints it.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    push_quoted(&mut out, bytes, b'"', false);
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends `bytes` in quotes; `ascii` escapes everything beyond ASCII.
pub(crate) fn push_quoted(out: &mut Vec<u8>, bytes: &[u8], quote: u8, ascii: bool) {
    out.push(quote);
    let mut at = 0;
    while at < bytes.len() {
        let plain = plain_prefix(&bytes[at..], quote);
        out.extend_from_slice(&bytes[at..at + plain]);
        at += plain;
        if at == bytes.len() {
            break;
        }
        let (c, width) = decode(&bytes[at..]);
        if width == 1 && c == '\u{FFFD}' {
            push_hex(out, b"\\x", u32::from(bytes[at]), 2);
        } else {
            push_escaped(out, c, quote, ascii);
        }
        at += width;
    }
    out.push(quote);
}

fn plain_prefix(bytes: &[u8], quote: u8) -> usize {
    let special = |&byte: &u8| !(0x20..0x7F).contains(&byte) || byte == quote || byte == b'\\';
    bytes.iter().position(special).unwrap_or(bytes.len())
}

/// Appends a character in single quotes; what is no character prints as U+FFFD.
pub(crate) fn push_quoted_char(out: &mut Vec<u8>, code: u64, ascii: bool) {
    let c = u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or('\u{FFFD}');
    out.push(b'\'');
    push_escaped(out, c, b'\'', ascii);
    out.push(b'\'');
}

fn push_escaped(out: &mut Vec<u8>, c: char, quote: u8, ascii: bool) {
    let code = u32::from(c);
    if c == char::from(quote) || c == '\\' {
        out.extend([b'\\', u8::try_from(code).unwrap_or(b'?')]);
        return;
    }
    if is_print(code) && (c.is_ascii() || !ascii) {
        push_char(out, c);
        return;
    }
    let short = match c {
        '\u{7}' => b'a',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{b}' => b'v',
        _ if code < 0x20 || code == 0x7F => return push_hex(out, b"\\x", code, 2),
        _ if code < 0x1_0000 => return push_hex(out, b"\\u", code, 4),
        _ => return push_hex(out, b"\\U", code, 8),
    };
    out.extend([b'\\', short]);
}

fn push_hex(out: &mut Vec<u8>, prefix: &[u8], code: u32, digits: u32) {
    out.extend_from_slice(prefix);
    out.extend(
        (0..digits)
            .rev()
            .map(|digit| LOWER_HEX[(code >> (4 * digit) & 0xF) as usize]),
    );
}

/// Appends a character as UTF-8.
pub(crate) fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// `U+0041 'A'`, as `%#U` prints it.
pub(crate) fn unicode_point(c: char) -> String {
    let code = u32::from(c);
    if is_print(code) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// Whether a string can stand unchanged between back quotes.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    text.chars()
        .all(|c| c == '\t' || (c >= ' ' && c != '`' && c != '\u{7F}' && c != '\u{FEFF}'))
}
