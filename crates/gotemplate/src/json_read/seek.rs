//! Finds a member of JSON text that has been checked, skipping the rest.

use super::build::key_is;
use super::skip_space;

/// Whether the text is an object; otherwise it is an array or a scalar.
pub(crate) fn is_object(text: &[u8]) -> bool {
    text.first() == Some(&b'{')
}

/// The member of this name of an object; of several the last, as in Go.
pub(crate) fn field<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    let mut at = skip_space(text, 1);
    while text.get(at) == Some(&b'"') {
        let key_end = skip_value(text, at);
        let start = skip_space(text, skip_space(text, key_end) + 1);
        let end = skip_value(text, start);
        if key_is(&text[at..key_end], name) {
            found = Some(&text[start..end]);
        }
        at = skip_space(text, end);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
    }
    found
}

/// The element at `index` of an array, or how many there are.
pub(crate) fn element(text: &[u8], index: usize) -> Result<&[u8], usize> {
    let mut at = skip_space(text, 1);
    let mut count = 0;
    while text.get(at).is_some_and(|&byte| byte != b']') {
        let end = skip_value(text, at);
        if count == index {
            return Ok(&text[at..end]);
        }
        count += 1;
        at = skip_space(text, end);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
    }
    Err(count)
}

/// One past the value that begins at `at`.
fn skip_value(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = skip_string(text, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => {
                at += 1;
                if depth == 0 {
                    while text.get(at).is_some_and(|byte| {
                        !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                    }) {
                        at += 1;
                    }
                }
            }
        }
        if depth == 0 {
            break;
        }
    }
    at
}

pub(super) fn skip_string(text: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(offset) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += offset;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}
