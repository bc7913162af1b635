//! The function `fromJson`: JSON text to values by Go's rules. Text is checked once in full; a path then skips
//! what is off it, and only what is asked for is built.

mod build;
mod check;
mod seek;

pub(crate) use build::{build, found};
pub(crate) use check::check;
pub(crate) use seek::{element, field, is_object};

/// Skips blanks.
#[inline]
fn skip_space(text: &[u8], mut at: usize) -> usize {
    if text.get(at).is_some_and(|&byte| byte > b' ') {
        return at;
    }
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}
