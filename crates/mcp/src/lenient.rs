//! Reading JSON that is sound, and yet more than a value can hold, where somebody must read inside. A text of JavaScript
//! may have a lone surrogate, which it writes as `\ud800`: such half a character becomes U+FFFD. A number may be out of
//! range (`1e400`): it becomes the largest there is.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::message::behind_string;

/// What stands for a character that cannot be told.
const REPLACEMENT: &str = "\\ufffd";

/// Reads a JSON text; what no value can hold is read as the nearest that one can.
pub fn read_leniently<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        let mended = mend(text);
        match (&mended, bounded(&mended)) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => Err(error),
            (_, readable) => serde_json::from_str(&readable),
        }
    })
}

/// Reads a JSON text whose values are not looked into: nothing but half a character in a key can stand in the way.
pub(crate) fn read_unlooked<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| match mend(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(mended) => serde_json::from_str(&mended),
    })
}

/// A JSON text without escapes of lone surrogates.
pub fn mend(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    // Outside of strings JSON has no backslash.
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        let start = at + found;
        at = match unit(text, start) {
            None => start + 2,
            Some(high) if is_high(high) && unit(text, start + 6).is_some_and(is_low) => start + 12,
            Some(half) if is_high(half) || is_low(half) => {
                mended.push_str(&text[copied..start]);
                mended.push_str(REPLACEMENT);
                copied = start + 6;
                copied
            }
            Some(_) => start + 6,
        }
        .min(text.len());
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[copied..]);
    Cow::Owned(mended)
}

/// A JSON text whose numbers fit a value: one that is out of range is the largest there is.
fn bounded(text: &str) -> Cow<'_, str> {
    let mut own = String::new();
    let mut copied = 0;
    for place in numbers(text) {
        let number = &text[place.clone()];
        if number.parse().is_ok_and(f64::is_infinite) {
            own.push_str(&text[copied..place.start]);
            own.push_str(if number.starts_with('-') { "-" } else { "" });
            own.push_str(LARGEST);
            copied = place.end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    own.push_str(&text[copied..]);
    Cow::Owned(own)
}

/// The numbers of a JSON text that no value holds to the last digit, as they are written, sorted.
pub fn long_numbers(text: &str) -> Vec<&str> {
    let mut long: Vec<&str> = numbers(text).map(|place| &text[place]).collect();
    long.retain(|number| is_long(number));
    long.sort_unstable();
    long
}

/// What a JSON text says to the last digit, to be compared or hashed: numbers that no value holds stand in it as texts.
pub fn to_the_digit(text: &str) -> serde_json::Result<Value> {
    let mut own = String::new();
    let mut copied = 0;
    for place in numbers(text).filter(|place| is_long(&text[place.clone()])) {
        own.push_str(&text[copied..place.start]);
        // No text that people write begins so.
        own.push_str("\"\\u0001");
        own.push_str(&text[place.clone()]);
        own.push('"');
        copied = place.end;
    }
    own.push_str(&text[copied..]);
    read_leniently(&own)
}

fn is_long(number: &str) -> bool {
    let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.trim_start_matches(['-', '0', '.']);
    let digits = digits.bytes().filter(u8::is_ascii_digit).count();
    let read: Option<f64> = number.parse().ok().filter(|read: &f64| read.is_finite());
    let is_same =
        || read.is_some_and(|read| serde_json::json!(read).to_string().as_str() == number);
    !is_whole && (read.is_none() || digits > DIGITS_SAFE && !is_same())
}

/// Decimal digits that every floating number keeps.
const DIGITS_SAFE: usize = 15;

/// Where the numbers of a JSON text stand.
pub(crate) fn numbers(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        while let [byte, behind @ ..] = rest {
            let start = text.len() - rest.len();
            rest = behind;
            match byte {
                b'"' => rest = behind_string(rest),
                b'-' | b'0'..=b'9' => {
                    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                    let length = behind.iter().take_while(|byte| is_part(byte)).count();
                    rest = &behind[length..];
                    return Some(start..start + 1 + length);
                }
                _ => {}
            }
        }
        None
    })
}

/// The largest number that a value can hold.
const LARGEST: &str = "1.7976931348623157e308";

/// The unit of UTF-16 that a `\uXXXX` at this place stands for.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_no_value_holds_is_replaced() {
        for (text, wanted) in [
            (r#""d \ud800 e""#, "d \u{fffd} e"),
            (r#""\uDBFF""#, "\u{fffd}"),
            (r#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (
                r#""\ud83d\ude00 \\ud800 \u0041\n""#,
                "\u{1f600} \\ud800 A\n",
            ),
            (r#""\\\ud800é""#, "\\\u{fffd}é"),
            (r#""\ud800\u0041""#, "\u{fffd}A"),
        ] {
            assert_eq!(read_leniently::<String>(text).unwrap(), wanted, "{text}");
        }
        let numbers: Value = read_leniently(r#"[1e400,-1E+999,1e-400,"\ud800 1e400"]"#).unwrap();
        assert_eq!(numbers, json!([f64::MAX, f64::MIN, 0.0, "\u{fffd} 1e400"]));
        let keys: Value = read_leniently(r#"{"\udfff": [1, "\ud800"]}"#).unwrap();
        assert_eq!(keys.to_string(), "{\"\u{fffd}\":[1,\"\u{fffd}\"]}");
    }

    #[test]
    fn numbers_that_lose_digits_are_told() {
        let text = r#"{"12345678901234567890123":[18446744073709551615,-5,0.30000000000000004,1.10,0.5e-7,
            18446744073709551616,123456789012345.67890,1e400,-1e999]}"#;
        let long = [
            "-1e999",
            "123456789012345.67890",
            "18446744073709551616",
            "1e400",
        ];
        assert_eq!(long_numbers(text), long);
        let read = to_the_digit(r#"[1.10,1e400,{"a":18446744073709551616}]"#).unwrap();
        let whole = json!([1.1, "\u{1}1e400", { "a": "\u{1}18446744073709551616" }]);
        assert_eq!(read, whole);
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in ["", "{", r#""\ud80"#, r#""\ud800"#, r#""\x""#, "\\", "\"\\é"] {
            assert!(read_leniently::<Value>(text).is_err(), "{text}");
        }
    }

    proptest! {
        /// Whatever units a server writes, what is read is what a lossy reader of UTF-16 makes of them.
        #[test]
        fn any_units_are_read_as_utf16(units in prop::collection::vec(
            prop_oneof![Just(0xd83d_u16), Just(0xde00), 0xd7fe_u16..0xe002, 0_u16..0x80], 0..12
        )) {
            let escaped: Vec<String> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read: String = read_leniently(&format!("\"{}\"", escaped.concat())).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }
}
