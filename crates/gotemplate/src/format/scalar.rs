//! Prints booleans, numbers and strings by a verb.

use super::number::{push_float, push_int, push_json_float, push_uint, push_verb};
use super::printer::Printer;
use crate::halt::Outcome;
use crate::quote::{can_backquote, push_char, push_quoted, push_quoted_char};
use crate::unicode::{decode, is_print};
use crate::value::Val;

const LOWER: &[u8; 17] = b"0123456789abcdefx";
const UPPER: &[u8; 17] = b"0123456789ABCDEFX";

impl<'a> Printer<'_, 'a> {
    /// Prints a value that is neither absent nor a list or map.
    pub(super) fn scalar(&mut self, value: Val<'a>, verb: char) -> Outcome<()> {
        match value {
            Val::Str(text) => self.string(text, verb, value),
            Val::Bool(flag) if matches!(verb, 't' | 'v') => {
                self.pad(if flag { b"true" } else { b"false" })
            }
            Val::Int(number) => self.whole(number.unsigned_abs(), number < 0, true, verb, value),
            Val::Byte(number) => self.whole(u64::from(number), false, false, verb, value),
            Val::Float(number) => self.float_verb(number, verb, value),
            Val::Whole(_) | Val::Big(_) | Val::Fraction(_) => self.json_number(value, verb),
            Val::Complex(&(real, imaginary)) => self.complex(real, imaginary, verb, value),
            _ => self.bad_verb(value, verb),
        }
    }

    /// `%!verb(type=value)`.
    pub(super) fn bad_verb(&mut self, value: Val<'a>, verb: char) -> Outcome<()> {
        self.bang(verb);
        self.type_and_equals(value);
        // Every scalar prints by this verb, so this does not come back here.
        self.scalar(value, 'v')?;
        self.out.push(b')');
        Ok(())
    }

    /// Prints a value that is neither absent nor a list or map by a bare `%v`.
    pub(super) fn plain_scalar(&mut self, value: Val<'a>) -> Outcome<()> {
        match value {
            Val::Str(text) => self.out.extend_from_slice(text),
            Val::Float(number) => push_float(self.out, number),
            Val::Bool(flag) => self
                .out
                .extend_from_slice(if flag { b"true" } else { b"false" }),
            Val::Int(number) => push_int(self.out, number),
            Val::Whole(_) | Val::Big(_) | Val::Fraction(_) => push_json_number(self.out, value),
            _ => return self.scalar(value, 'v'),
        }
        Ok(())
    }

    pub(super) fn is_plain(&self) -> bool {
        let flags = &self.flags;
        flags.width.is_none()
            && flags.precision.is_none()
            && !flags.plus
            && !flags.sharp
            && !flags.space
            && !flags.sharp_v
    }

    fn whole(
        &mut self,
        magnitude: u64,
        negative: bool,
        signed: bool,
        verb: char,
        value: Val<'a>,
    ) -> Outcome<()> {
        let code = if negative { u64::MAX } else { magnitude };
        match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                let outcome = self.integer(magnitude, negative, 16, verb, LOWER);
                self.flags.sharp = sharp;
                outcome
            }
            'v' | 'd' if self.is_plain() => {
                if negative {
                    self.out.push(b'-');
                }
                push_uint(self.out, magnitude);
                Ok(())
            }
            'v' | 'd' => self.integer(magnitude, negative, 10, verb, LOWER),
            'b' => self.integer(magnitude, negative, 2, verb, LOWER),
            'o' | 'O' => self.integer(magnitude, negative, 8, verb, LOWER),
            'x' => self.integer(magnitude, negative, 16, verb, LOWER),
            'X' => self.integer(magnitude, negative, 16, verb, UPPER),
            'c' => {
                let c = u32::try_from(code)
                    .ok()
                    .and_then(char::from_u32)
                    .unwrap_or('\u{FFFD}');
                let mut buffer = Vec::with_capacity(4);
                push_char(&mut buffer, c);
                self.pad(&buffer)
            }
            'q' => {
                let mut buffer = Vec::with_capacity(12);
                push_quoted_char(&mut buffer, code, self.flags.plus);
                self.pad(&buffer)
            }
            'U' => {
                let bits = if negative {
                    magnitude.wrapping_neg()
                } else {
                    magnitude
                };
                self.code_point(bits)
            }
            _ => self.bad_verb(value, verb),
        }
    }

    /// An integer in a base with sign, prefix, precision and width.
    pub(super) fn integer(
        &mut self,
        magnitude: u64,
        negative: bool,
        base: u64,
        verb: char,
        digits: &[u8; 17],
    ) -> Outcome<()> {
        let flags = self.flags;
        let mut least = flags.precision.unwrap_or(0);
        if flags.precision == Some(0) && magnitude == 0 {
            let zero = std::mem::take(&mut self.flags.zero);
            let outcome = self.padding(flags.width.unwrap_or(0));
            self.flags.zero = zero;
            return outcome;
        }
        if flags.precision.is_none() && flags.zero && !flags.minus && flags.width.is_some() {
            let sign = usize::from(negative || flags.plus || flags.space);
            least = flags.width.unwrap_or(0).saturating_sub(sign);
        }
        self.budget.text(self.out.len().saturating_add(least))?;
        // Built from the last digit to the first.
        let mut text: Vec<u8> = Vec::with_capacity(least.max(64) + 4);
        let mut rest = magnitude;
        loop {
            text.push(digits[usize::try_from(rest % base).unwrap_or(0)]);
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        if text.len() < least {
            text.resize(least, b'0');
        }
        if flags.sharp {
            match base {
                2 => text.extend(b"b0"),
                8 if text.last() != Some(&b'0') => text.push(b'0'),
                16 => text.extend([digits[16], b'0']),
                _ => {}
            }
        }
        if verb == 'O' {
            text.extend(b"o0");
        }
        if negative {
            text.push(b'-');
        } else if flags.plus {
            text.push(b'+');
        } else if flags.space {
            text.push(b' ');
        }
        text.reverse();
        self.pad_blank(&text)
    }

    /// `%U`.
    fn code_point(&mut self, code: u64) -> Outcome<()> {
        let least = self.flags.precision.unwrap_or(0).max(4);
        self.budget.text(self.out.len().saturating_add(least))?;
        let mut text = b"U+".to_vec();
        let digits = format!("{code:X}");
        text.resize(2 + least.saturating_sub(digits.len()), b'0');
        text.extend_from_slice(digits.as_bytes());
        let shown = u32::try_from(code)
            .ok()
            .filter(|&code| self.flags.sharp && is_print(code));
        if let Some(c) = shown.and_then(char::from_u32) {
            text.extend_from_slice(format!(" '{c}'").as_bytes());
        }
        self.pad_blank(&text)
    }

    fn float_verb(&mut self, number: f64, verb: char, value: Val<'a>) -> Outcome<()> {
        match verb {
            'v' if self.is_plain() => {
                push_float(self.out, number);
                Ok(())
            }
            'b' => self.float(number, b'b', None),
            'v' | 'g' => self.float(number, b'g', None),
            'G' => self.float(number, b'G', None),
            'x' => self.float(number, b'x', None),
            'X' => self.float(number, b'X', None),
            'f' | 'F' => self.float(number, b'f', Some(6)),
            'e' => self.float(number, b'e', Some(6)),
            'E' => self.float(number, b'E', Some(6)),
            _ => self.bad_verb(value, verb),
        }
    }

    fn float(&mut self, number: f64, verb: u8, precision: Option<usize>) -> Outcome<()> {
        let precision = self.flags.precision.or(precision);
        self.budget
            .text(self.out.len().saturating_add(precision.unwrap_or(0)))?;
        let mut text = vec![b'+'];
        push_verb(&mut text, number, verb, precision);
        if text[1] == b'-' {
            text.remove(0);
        }
        if self.flags.sharp && verb != b'b' {
            text = with_point(&text, verb, precision);
        }
        self.signed(text)
    }

    /// Writes a number text that begins with its sign.
    fn signed(&mut self, mut text: Vec<u8>) -> Outcome<()> {
        let flags = self.flags;
        if flags.space && text[0] == b'+' && !flags.plus {
            text[0] = b' ';
        }
        if !flags.plus && text[0] == b'+' {
            return self.pad(&text[1..]);
        }
        let width = flags.width.unwrap_or(0);
        if flags.zero && !flags.minus && width > text.len() {
            self.out.push(text[0]);
            self.padding(width - text.len())?;
            self.out.extend_from_slice(&text[1..]);
            return Ok(());
        }
        self.pad(&text)
    }

    /// A JSON number in workflow mode: `%v` as JSON writes it, `%d` if it is whole, else as a float64.
    fn json_number(&mut self, value: Val<'a>, verb: char) -> Outcome<()> {
        if verb == 'v' {
            if self.is_plain() {
                push_json_number(self.out, value);
                return Ok(());
            }
            let mut text = vec![b'+'];
            push_json_number(&mut text, value);
            if text[1] == b'-' {
                text.remove(0);
            }
            return self.signed(text);
        }
        let number = as_float(value);
        if verb != 'd' {
            return self.float_verb(number, verb, value);
        }
        match value {
            Val::Whole(whole) => self.whole(whole.unsigned_abs(), whole < 0, true, 'd', value),
            Val::Big(big) => self.whole(big, false, true, 'd', value),
            _ if number.fract() != 0.0 => self.bad_verb(value, verb),
            _ if number.abs() < 1.8e19 => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "whole and within range"
                )]
                let magnitude = number.abs() as u64;
                self.whole(magnitude, number < 0.0, true, 'd', value)
            }
            _ => self.float(number, b'f', Some(0)),
        }
    }

    fn complex(&mut self, real: f64, imaginary: f64, verb: char, value: Val<'a>) -> Outcome<()> {
        if !matches!(
            verb,
            'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E'
        ) {
            return self.bad_verb(value, verb);
        }
        self.out.push(b'(');
        self.float_verb(real, verb, value)?;
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float_verb(imaginary, verb, value)?;
        self.flags.plus = plus;
        self.out.extend_from_slice(b"i)");
        Ok(())
    }

    fn string(&mut self, text: &'a [u8], verb: char, value: Val<'a>) -> Outcome<()> {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' => self.hexadecimal(text, LOWER),
            'X' => self.hexadecimal(text, UPPER),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    /// `%s`: cut to the precision, padded to the width.
    pub(super) fn text(&mut self, text: &[u8]) -> Outcome<()> {
        self.pad(self.cut(text))
    }

    fn cut<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else {
            return text;
        };
        let mut at = 0;
        for _ in 0..precision {
            if at >= text.len() {
                return text;
            }
            at += decode(&text[at..]).1;
        }
        &text[..at]
    }

    fn quoted(&mut self, text: &[u8]) -> Outcome<()> {
        let text = self.cut(text);
        self.budget
            .text(self.out.len().saturating_add(text.len()))?;
        let mut buffer = Vec::with_capacity(text.len() + 2);
        if self.flags.sharp && can_backquote(text) {
            buffer.push(b'`');
            buffer.extend_from_slice(text);
            buffer.push(b'`');
        } else {
            push_quoted(&mut buffer, text, b'"', self.flags.plus);
        }
        self.pad(&buffer)
    }

    /// `%x` of a string: its bytes, with `#` prefixed and with a space separated.
    fn hexadecimal(&mut self, text: &[u8], digits: &[u8; 17]) -> Outcome<()> {
        let flags = self.flags;
        let length = text.len().min(flags.precision.unwrap_or(usize::MAX));
        if length == 0 {
            return self.padding(flags.width.unwrap_or(0));
        }
        let mut width = 2 * length;
        if flags.space {
            width = width * if flags.sharp { 2 } else { 1 } + length - 1;
        } else if flags.sharp {
            width += 2;
        }
        self.budget.text(self.out.len().saturating_add(width))?;
        let padding = flags.width.unwrap_or(0).saturating_sub(width);
        if !flags.minus {
            self.padding(padding)?;
        }
        for (at, byte) in text[..length].iter().enumerate() {
            if flags.space && at > 0 {
                self.out.push(b' ');
            }
            if flags.sharp && (at == 0 || flags.space) {
                self.out.extend([b'0', digits[16]]);
            }
            self.out.extend([
                digits[usize::from(byte >> 4)],
                digits[usize::from(byte & 0xF)],
            ]);
        }
        if flags.minus {
            self.padding(padding)?;
        }
        Ok(())
    }
}

/// Appends a JSON number as JSON writes it.
pub(crate) fn push_json_number(out: &mut Vec<u8>, value: Val<'_>) {
    match value {
        Val::Whole(whole) => push_int(out, whole),
        Val::Big(big) => push_uint(out, big),
        other => push_json_float(out, as_float(other)),
    }
}

/// The float64 a number is to Go.
#[expect(
    clippy::cast_precision_loss,
    reason = "Go rounds JSON integers to float64 in the same way"
)]
pub(crate) fn as_float(value: Val<'_>) -> f64 {
    match value {
        Val::Float(number) | Val::Fraction(number) => number,
        Val::Whole(number) | Val::Int(number) => number as f64,
        Val::Big(number) => number as f64,
        Val::Byte(number) => f64::from(number),
        _ => 0.0,
    }
}

/// The `#` flag: always a decimal point, and for `g` and `x` trailing zeros up to the precision.
fn with_point(text: &[u8], verb: u8, precision: Option<usize>) -> Vec<u8> {
    let mut digits = match verb {
        b'g' | b'G' | b'x' => precision.unwrap_or(6).cast_signed(),
        _ => 0,
    };
    let is_hex = matches!(verb, b'x' | b'X');
    let is_exponent =
        |byte: &u8| matches!(byte, b'p' | b'P') || (!is_hex && matches!(byte, b'e' | b'E'));
    let split = text.iter().position(is_exponent).unwrap_or(text.len());
    let (head, tail) = text.split_at(split);
    let (mut has_point, mut seen_nonzero) = (false, false);
    for &byte in &head[1..] {
        if byte == b'.' {
            has_point = true;
            continue;
        }
        seen_nonzero |= byte != b'0';
        digits -= isize::from(seen_nonzero);
    }
    let mut out = head.to_vec();
    if !has_point {
        if head[1..] == *b"0" {
            digits -= 1;
        }
        out.push(b'.');
    }
    out.resize(out.len() + usize::try_from(digits).unwrap_or(0), b'0');
    out.extend_from_slice(tail);
    out
}
