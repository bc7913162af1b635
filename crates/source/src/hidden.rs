//! Characters that are not shown, or that change how the text around them is shown: controls, bidirectional overrides,
//! tags. A backend can hide instructions to a model in them, or make a line look like another.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Whether a character has no place in a text for people. Line breaks and tabs have.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c => c.is_control() || HIDDEN.iter().any(|range| range.contains(&c)),
    }
}

/// What is hidden besides controls.
const HIDDEN: [RangeInclusive<char>; 9] = [
    // Marks, overrides and isolates of direction.
    '\u{061c}'..='\u{061c}',
    '\u{200e}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    // Zero-width space; separators of lines and paragraphs.
    '\u{200b}'..='\u{200b}',
    '\u{2028}'..='\u{2029}',
    // Invisible operators, isolates, deprecated formats.
    '\u{2060}'..='\u{206f}',
    // Byte order mark, interlinear annotation.
    '\u{feff}'..='\u{feff}',
    '\u{fff9}'..='\u{fffb}',
    // Tags: a second, invisible alphabet.
    '\u{e0000}'..='\u{e007f}',
];

/// The text without hidden characters.
pub fn strip(text: &str) -> Cow<'_, str> {
    if text.contains(is_hidden) {
        Cow::Owned(text.chars().filter(|c| !is_hidden(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// The hidden characters of a text, each once. A carriage return is not counted.
pub fn find(text: &str) -> BTreeSet<char> {
    let is_odd = |c: &char| is_hidden(*c) && *c != '\r';
    text.chars().filter(is_odd).collect()
}

/// The character as people write it, such as `U+202E`.
pub fn name(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_found_and_taken_out() {
        let text = "a\u{202e}b\u{1b}[2Jc\u{e0041}\u{9b}d\r\n\te\u{200b}";
        assert_eq!(strip(text), "ab[2Jcd\n\te");
        let names: Vec<String> = find(text).into_iter().map(name).collect();
        assert_eq!(names, ["U+001B", "U+009B", "U+200B", "U+202E", "U+E0041"]);
    }

    #[test]
    fn what_people_write_stays() {
        // Persian with a zero-width non-joiner, an emoji of several parts, accents, Hebrew.
        let text = "می\u{200c}خواهم 👩\u{200d}👧 e\u{301} שלום ☎\u{fe0f}";
        assert!(matches!(strip(text), Cow::Borrowed(_)));
        assert!(find(text).is_empty());
    }
}
