//! Numbers of things in words, for every text that a person reads.

use std::fmt::Display;

/// `1 tool`, `2 tools`, `0 entries`. `noun`: of one.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{count} {stem}ies"),
        Some(_) | None => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_one() {
        for (count, noun, told) in [
            (0, "tool", "0 tools"),
            (1, "tool", "1 tool"),
            (2, "tool", "2 tools"),
            (1, "property", "1 property"),
            (2, "property", "2 properties"),
            (2, "key", "2 keys"),
        ] {
            assert_eq!(counted::<usize>(count, noun), told);
        }
    }
}
