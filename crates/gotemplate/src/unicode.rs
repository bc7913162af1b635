//! Which characters print and which make names, by the Unicode version Go 1.26 carries.

use crate::unicode_tables::{PRINT, WORD};

/// Whether Go prints the character as itself inside quotes.
pub(crate) fn is_print(c: u32) -> bool {
    if c < 0x80 {
        return (0x20..0x7F).contains(&c);
    }
    in_ranges(&PRINT, c)
}

/// Whether the character may stand in a name: letter, decimal digit or underscore.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c == '_' || c.is_ascii_alphanumeric();
    }
    in_ranges(&WORD, u32::from(c))
}

fn in_ranges(ranges: &[(u32, u32)], c: u32) -> bool {
    ranges
        .binary_search_by(|&(low, high)| {
            if high < c {
                std::cmp::Ordering::Less
            } else if low > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

/// The first character of `bytes` and its width; a bad byte is U+FFFD of width 1, as Go decodes.
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else {
        return ('\u{FFFD}', 0);
    };
    if first < 0x80 {
        return (char::from(first), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return ('\u{FFFD}', 1),
    };
    let decoded = bytes
        .get(..width)
        .and_then(|head| std::str::from_utf8(head).ok());
    match decoded.and_then(|text| text.chars().next()) {
        Some(c) => (c, width),
        None => ('\u{FFFD}', 1),
    }
}

/// How many characters there are, each bad byte counted as one.
pub(crate) fn count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.chars().count();
    }
    let (mut at, mut n) = (0, 0);
    while at < bytes.len() {
        at += decode(&bytes[at..]).1;
        n += 1;
    }
    n
}
