//! Durations as both documents write them: `500ms`, `30s`, `1h15m`, `1.5h`. `0s` means "the default".

use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Spanned, Text, codes};
use std::time::Duration;

/// Units with their length in nanoseconds; longer spellings first.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
];

/// A duration, or `None` when the text is none. What is shorter than a millisecond but not zero is one.
pub fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanos = 0.0_f64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|end| *end > 0)?;
        let (number, after) = rest.split_at(digits);
        let plain = number
            .split_once('.')
            .is_none_or(|(whole, part)| !whole.is_empty() && !part.is_empty());
        if !plain || number.matches('.').count() > 1 {
            return None;
        }
        let (unit, length) = UNITS.iter().find(|(unit, _)| {
            after.strip_prefix(unit).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit())
            })
        })?;
        nanos += number.parse::<f64>().ok()? * length;
        rest = &after[unit.len()..];
    }
    // Limit: a hundred years; beyond that sums of deadlines would not fit.
    if !nanos.is_finite() || nanos > 3.2e18 {
        return None;
    }
    let exact = Duration::from_secs_f64(nanos / 1e9);
    let millis = exact.as_millis();
    let rounded = Duration::from_millis(u64::try_from(millis).ok()?);
    if rounded.is_zero() && !exact.is_zero() {
        return Some(Duration::from_millis(1));
    }
    Some(rounded)
}

/// The duration of an optional key; `None` for absent and for `0s`, which means the default.
pub fn read(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<Spanned<Duration>> {
    let node = fields.optional(key)?;
    if let NodeKind::Number(number) = &node.kind {
        diagnostics.push(without_unit(node, key, &number.to_string()));
        return None;
    }
    let text = node.expect_string(key, diagnostics)?;
    match parse(text) {
        Some(duration) if duration.is_zero() => None,
        Some(duration) => Some(Spanned::new(duration, text.place())),
        None => {
            diagnostics.push(not_a_duration(text, key));
            None
        }
    }
}

fn without_unit(node: &Node, key: &str, number: &str) -> Diagnostic {
    Diagnostic::error(
        codes::INVALID_DURATION,
        format!("`{key}` is a number without a unit"),
    )
    .label(&node.place, "seconds, minutes or hours?")
    .help(format!("write `{number}s` for seconds"))
}

fn not_a_duration(text: &Text, key: &str) -> Diagnostic {
    let shown: String = text.chars().take(60).collect();
    let diagnostic = Diagnostic::error(
        codes::INVALID_DURATION,
        format!("`{key}` is `{shown}`, which is no duration"),
    )
    .label(text.place(), "not a duration");
    if text.parse::<f64>().is_ok_and(|number| number >= 0.0) {
        return diagnostic.help(format!("write `{shown}s` for seconds"));
    }
    diagnostic.help("write a number and a unit (`ms`, `s`, `m`, `h`), such as `30s` or `1h30m`")
}
