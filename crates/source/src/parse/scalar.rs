//! What a plain scalar means: the core schema of YAML 1.2, with a word on what YAML 1.1 made of it.

use serde_json::Number;

/// The value of a plain scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    /// A whole number that only a rounded one can stand for.
    Rounded(Number),
    /// Decimal here, octal in YAML 1.1.
    LeadingZero(Number),
    /// A number JSON data has no form for: infinite, or not a number.
    NoNumber,
    /// A boolean of YAML 1.1; text here.
    LegacyBool,
    Text,
}

pub(super) fn resolve(raw: &str) -> Scalar {
    match raw {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => {
            return Scalar::LegacyBool;
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::NoNumber,
        _ => {}
    }
    if !raw.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Scalar::Text;
    }
    if let Some(digits) = raw.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = raw.strip_prefix("0x") {
        return radix(digits, 16);
    }
    decimal(raw)
}

fn radix(digits: &str, radix: u32) -> Scalar {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Scalar::Text;
    }
    if let Ok(value) = u64::from_str_radix(digits, radix) {
        return Scalar::Number(Number::from(value));
    }
    let rounded = digits.chars().fold(0.0, |value, digit| {
        value * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or(0))
    });
    Number::from_f64(rounded).map_or(Scalar::NoNumber, Scalar::Rounded)
}

fn decimal(raw: &str) -> Scalar {
    let unsigned = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Scalar::NoNumber;
    }
    if !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return whole(raw, unsigned);
    }
    if !is_float(unsigned) {
        return Scalar::Text;
    }
    match raw.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(number) => Scalar::Number(number),
        None => Scalar::NoNumber,
    }
}

fn whole(raw: &str, digits: &str) -> Scalar {
    let exact = raw
        .parse::<i64>()
        .map(Number::from)
        .or_else(|_| raw.parse::<u64>().map(Number::from));
    match exact {
        Ok(number) if digits.len() > 1 && digits.starts_with('0') => Scalar::LeadingZero(number),
        Ok(number) => Scalar::Number(number),
        Err(_) => match raw.parse::<f64>().ok().and_then(Number::from_f64) {
            Some(number) => Scalar::Rounded(number),
            None => Scalar::NoNumber,
        },
    }
}

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, then an exponent if any; the sign is off already.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    is_digits(before)
        && is_digits(after)
        && !(before.is_empty() && after.is_empty())
        && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::{Scalar, resolve};

    fn show(raw: &str) -> String {
        match resolve(raw) {
            Scalar::Number(number) => format!("number {number}"),
            Scalar::Rounded(number) => format!("rounded {number}"),
            Scalar::LeadingZero(number) => format!("zero {number}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    #[test]
    fn core_schema() {
        for (raw, expected) in [
            ("", "null"),
            ("~", "null"),
            ("nULL", "text"),
            ("True", "bool(true)"),
            ("tRUE", "text"),
            ("yes", "legacybool"),
            ("y", "text"),
            ("12", "number 12"),
            ("-12", "number -12"),
            ("+12", "number 12"),
            ("0o14", "number 12"),
            ("0xC", "number 12"),
            ("0o8", "text"),
            ("0b11", "text"),
            ("1_000", "text"),
            ("12:30:45", "text"),
            ("0755", "zero 755"),
            ("08", "zero 8"),
            ("0", "number 0"),
            ("1.0", "number 1.0"),
            ("1.", "number 1.0"),
            (".5", "number 0.5"),
            ("1e3", "number 1000.0"),
            ("1e", "text"),
            (".", "text"),
            ("-", "text"),
            ("1.2.3", "text"),
            (".inf", "nonumber"),
            ("-.INF", "nonumber"),
            (".nan", "nonumber"),
            ("1e999", "nonumber"),
            ("18446744073709551615", "number 18446744073709551615"),
            ("18446744073709551616", "rounded 1.8446744073709552e+19"),
        ] {
            assert_eq!(show(raw), expected, "{raw:?}");
        }
    }
}
