//! The escapers `html`, `js` and `urlquery`.

use crate::budget::Budget;
use crate::halt::Outcome;
use crate::unicode::{decode, is_print};

/// How often the bound on output is looked at while escaping.
const CHUNK_BYTES: usize = 4_096;

const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends `text` escaped for HTML.
pub(crate) fn html(out: &mut Vec<u8>, text: &[u8], budget: &Budget) -> Outcome<()> {
    for chunk in text.chunks(CHUNK_BYTES) {
        for &byte in chunk {
            match byte {
                0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
                b'"' => out.extend_from_slice(b"&#34;"),
                b'\'' => out.extend_from_slice(b"&#39;"),
                b'&' => out.extend_from_slice(b"&amp;"),
                b'<' => out.extend_from_slice(b"&lt;"),
                b'>' => out.extend_from_slice(b"&gt;"),
                _ => out.push(byte),
            }
        }
        budget.text(out.len())?;
    }
    Ok(())
}

/// Appends `text` escaped for a JavaScript string.
pub(crate) fn js(out: &mut Vec<u8>, text: &[u8], budget: &Budget) -> Outcome<()> {
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte >= 0x80 {
            let (c, width) = decode(&text[at..]);
            if is_print(u32::from(c)) {
                out.extend_from_slice(&text[at..at + width]);
            } else {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
            }
            at += width;
            continue;
        }
        match byte {
            b'\\' | b'\'' | b'"' => out.extend([b'\\', byte]),
            b'<' | b'>' | b'&' | b'=' | 0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend([
                    UPPER_HEX[usize::from(byte >> 4)],
                    UPPER_HEX[usize::from(byte & 0xF)],
                ]);
            }
            _ => out.push(byte),
        }
        at += 1;
        if at % CHUNK_BYTES == 0 {
            budget.text(out.len())?;
        }
    }
    budget.text(out.len())
}

/// Appends `text` escaped for a URL query.
pub(crate) fn urlquery(out: &mut Vec<u8>, text: &[u8], budget: &Budget) -> Outcome<()> {
    for chunk in text.chunks(CHUNK_BYTES) {
        for &byte in chunk {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    out.push(byte);
                }
                b' ' => out.push(b'+'),
                _ => out.extend([
                    b'%',
                    UPPER_HEX[usize::from(byte >> 4)],
                    UPPER_HEX[usize::from(byte & 0xF)],
                ]),
            }
        }
        budget.text(out.len())?;
    }
    Ok(())
}
