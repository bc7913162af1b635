//! Digits of numbers: shortest and fixed forms of floats as Go lays them out, and plain integers.

use crate::limits::NUMBER_PLACES_MAX;

/// Decimal digits `0.d1d2d3… x 10^point`, without sign and trailing zeros; no digits for zero.
struct Decimal<'b> {
    digits: &'b [u8],
    point: i32,
}

/// Appends an unsigned integer in decimal.
pub(crate) fn push_uint(out: &mut Vec<u8>, value: u64) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut rest = value;
    loop {
        at -= 1;
        buffer[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends a signed integer in decimal.
pub(crate) fn push_int(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_uint(out, value.unsigned_abs());
}

/// The whole number a float is, if it is one that small digits can write.
fn small_whole(value: f64, below: f64) -> Option<i64> {
    if value.abs() < below && value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive()) {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        return Some(value as i64);
    }
    None
}

/// Appends a float as `%v` prints it.
pub(crate) fn push_float(out: &mut Vec<u8>, value: f64) {
    match small_whole(value, 1e6) {
        Some(whole) => push_int(out, whole),
        None => push_general(out, value, None, b'e'),
    }
}

/// Appends a float as Go's JSON encoder prints it.
pub(crate) fn push_json_float(out: &mut Vec<u8>, value: f64) {
    if let Some(whole) = small_whole(value, 1e15) {
        return push_int(out, whole);
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = value.abs();
    let mut buffer = [0; 24];
    let decimal = shortest(magnitude, &mut buffer);
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let digits = decimal.digits.len();
        let start = out.len();
        push_exponent_form(out, &decimal, digits.saturating_sub(1), b'e');
        // `e-09` is written `e-9`.
        let end = out.len();
        if out[start..].ends_with(&[b'e', b'-', b'0', out[end - 1]]) {
            out.remove(end - 2);
        }
    } else {
        push_plain(out, &decimal, fraction_places(&decimal));
    }
}

/// Appends a float by one of the verbs `e E f g G b x X`; without precision the shortest that reads back.
pub(crate) fn push_verb(out: &mut Vec<u8>, value: f64, verb: u8, precision: Option<usize>) {
    match verb {
        b'e' | b'E' => {
            push_sign(out, value);
            if let Some(places) = precision {
                let mut buffer = Vec::new();
                push_exponent_form(
                    out,
                    &rounded(value.abs(), places + 1, &mut buffer),
                    places,
                    verb,
                );
            } else {
                let mut buffer = [0; 24];
                let decimal = shortest(value.abs(), &mut buffer);
                push_exponent_form(out, &decimal, decimal.digits.len().saturating_sub(1), verb);
            }
        }
        b'f' => push_fixed(out, value, precision),
        b'b' => push_binary(out, value),
        b'x' | b'X' => push_hexadecimal(out, value, verb, precision),
        b'G' => push_general(out, value, precision, b'E'),
        _ => push_general(out, value, precision, b'e'),
    }
}

fn push_sign(out: &mut Vec<u8>, value: f64) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
}

fn push_fixed(out: &mut Vec<u8>, value: f64, precision: Option<usize>) {
    use std::io::Write as _;
    push_sign(out, value);
    if let Some(places) = precision {
        // Writing to a vector cannot fail.
        let _ = write!(out, "{:.*}", places.min(NUMBER_PLACES_MAX), value.abs());
        out.resize(out.len() + places.saturating_sub(NUMBER_PLACES_MAX), b'0');
    } else {
        let mut buffer = [0; 24];
        let decimal = shortest(value.abs(), &mut buffer);
        push_plain(out, &decimal, fraction_places(&decimal));
    }
}

/// `%g`: exponent form for large and small exponents, else plain.
fn push_general(out: &mut Vec<u8>, value: f64, precision: Option<usize>, mark: u8) {
    push_sign(out, value);
    let (mut few_digits, mut many_digits) = ([0; 24], Vec::new());
    let (decimal, limit) = match precision {
        None => (shortest(value.abs(), &mut few_digits), 6),
        Some(precision) => {
            let precision = precision.max(1);
            let decimal = rounded(value.abs(), precision, &mut many_digits);
            let digits = decimal.digits.len();
            let few = precision > digits
                && i32::try_from(digits).is_ok_and(|digits| digits >= decimal.point);
            (decimal, if few { digits } else { precision })
        }
    };
    let exponent = decimal.point - 1;
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= limit {
        let digits = decimal.digits.len();
        push_exponent_form(out, &decimal, digits.saturating_sub(1), mark);
    } else {
        push_plain(out, &decimal, fraction_places(&decimal));
    }
}

fn fraction_places(decimal: &Decimal<'_>) -> usize {
    let digits = i32::try_from(decimal.digits.len()).unwrap_or(i32::MAX);
    usize::try_from(digits - decimal.point).unwrap_or(0)
}

/// `d.ddde±dd` with `places` digits after the point.
fn push_exponent_form(out: &mut Vec<u8>, decimal: &Decimal<'_>, places: usize, mark: u8) {
    let digit = |at: usize| decimal.digits.get(at).copied().unwrap_or(b'0');
    out.push(digit(0));
    if places > 0 {
        out.push(b'.');
        out.extend((1..=places.min(NUMBER_PLACES_MAX)).map(digit));
        out.resize(out.len() + places.saturating_sub(NUMBER_PLACES_MAX), b'0');
    }
    let exponent = if decimal.digits.is_empty() {
        0
    } else {
        decimal.point - 1
    };
    out.extend([mark, if exponent < 0 { b'-' } else { b'+' }]);
    let magnitude = u64::from(exponent.unsigned_abs());
    if magnitude < 10 {
        out.push(b'0');
    }
    push_uint(out, magnitude);
}

/// Plain notation with `places` digits after the point.
fn push_plain(out: &mut Vec<u8>, decimal: &Decimal<'_>, places: usize) {
    let digits = decimal.digits;
    let whole = usize::try_from(decimal.point).unwrap_or(0);
    if whole == 0 {
        out.push(b'0');
    }
    let shown = whole.min(digits.len());
    out.extend_from_slice(&digits[..shown]);
    out.resize(out.len() + whole - shown, b'0');
    if places > 0 {
        out.push(b'.');
        let zeros = usize::try_from(-decimal.point).unwrap_or(0).min(places);
        out.resize(out.len() + zeros, b'0');
        let rest = &digits[shown..];
        let rest = &rest[..rest.len().min(places - zeros)];
        out.extend_from_slice(rest);
        out.resize(out.len() + places - zeros - rest.len(), b'0');
    }
}

/// The fewest digits that read back as `value`, which is not negative.
fn shortest(value: f64, buffer: &mut [u8; 24]) -> Decimal<'_> {
    let mut text = ryu::Buffer::new();
    from_text(text.format_finite(value).as_bytes(), buffer)
}

/// `count` significant digits of `value`, rounded half to even.
fn rounded(value: f64, count: usize, buffer: &mut Vec<u8>) -> Decimal<'_> {
    let text = format!("{:.*e}", count.min(NUMBER_PLACES_MAX) - 1, value);
    buffer.resize(text.len(), 0);
    from_text(text.as_bytes(), buffer)
}

/// Reads `123.45`, `0.001` or `1.5e-7`. The digits go to `buffer`, which must hold as many bytes as the text.
fn from_text<'b>(text: &[u8], buffer: &'b mut [u8]) -> Decimal<'b> {
    let (mut count, mut point) = (0usize, 0i32);
    let (mut in_fraction, mut exponent, mut negative, mut in_exponent) =
        (false, 0i32, false, false);
    for &byte in text {
        match byte {
            b'.' => in_fraction = true,
            b'e' => in_exponent = true,
            b'-' => negative = true,
            _ if in_exponent => exponent = exponent * 10 + i32::from(byte - b'0'),
            b'0' if count == 0 => point -= i32::from(in_fraction),
            _ => {
                buffer[count] = byte;
                count += 1;
                point += i32::from(!in_fraction);
            }
        }
    }
    while count > 0 && buffer[count - 1] == b'0' {
        count -= 1;
    }
    let point = if count == 0 {
        0
    } else {
        point + if negative { -exponent } else { exponent }
    };
    Decimal {
        digits: &buffer[..count],
        point,
    }
}

/// Mantissa and exponent such that the value is `mantissa * 2^(exponent - 52)`.
fn parts(value: f64) -> (u64, i64) {
    let bits = value.to_bits();
    let raw = (bits >> 52 & 0x7FF).cast_signed();
    let fraction = bits & ((1 << 52) - 1);
    if raw == 0 {
        (fraction, -1022)
    } else {
        (fraction | 1 << 52, raw - 1023)
    }
}

/// `%b`: mantissa and power of two.
fn push_binary(out: &mut Vec<u8>, value: f64) {
    push_sign(out, value);
    let (mantissa, exponent) = parts(value);
    push_uint(out, mantissa);
    out.push(b'p');
    if exponent >= 52 {
        out.push(b'+');
    }
    push_int(out, exponent - 52);
}

/// `%x`: hexadecimal mantissa and power of two.
fn push_hexadecimal(out: &mut Vec<u8>, value: f64, verb: u8, precision: Option<usize>) {
    const ONE: u64 = 1 << 60;
    let digits: &[u8; 16] = if verb == b'X' {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let (mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    }
    mantissa <<= 8;
    while mantissa != 0 && mantissa & ONE == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(places) = precision.filter(|&places| places < 15) {
        let shift = places * 4;
        let extra = (mantissa << shift) & (ONE - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (ONE << 1) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    push_sign(out, value);
    out.extend([b'0', verb, b'0' + u8::from(mantissa & ONE != 0)]);
    mantissa <<= 4;
    let mut hex = |out: &mut Vec<u8>| {
        out.push(digits[(mantissa >> 60 & 0xF) as usize]);
        mantissa <<= 4;
        mantissa == 0
    };
    match precision {
        None if value.to_bits() << 12 != 0 || !value.is_normal() && value != 0.0 => {
            push_all_hex(out, &mut hex);
        }
        None | Some(0) => {}
        Some(places) => {
            out.push(b'.');
            for _ in 0..places.min(20) {
                hex(out);
            }
            out.resize(out.len() + places.saturating_sub(20), b'0');
        }
    }
    out.extend([
        if verb == b'X' { b'P' } else { b'p' },
        if exponent < 0 { b'-' } else { b'+' },
    ]);
    if exponent.abs() < 10 {
        out.push(b'0');
    }
    push_uint(out, exponent.unsigned_abs());
}

fn push_all_hex(out: &mut Vec<u8>, hex: &mut impl FnMut(&mut Vec<u8>) -> bool) {
    let point = out.len();
    out.push(b'.');
    while !hex(out) {}
    // A subnormal power of two has no digits after its point.
    if out[point..] == *b".0" {
        out.truncate(point);
    }
}
