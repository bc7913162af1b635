//! Format strings: flags, widths, precisions, argument numbers, and what Go prints when they do not fit.

use super::printer::{Flags, Printer};
use crate::halt::Outcome;
use crate::quote::push_char;
use crate::unicode::decode;
use crate::value::Val;

/// Where a format string and its operands have been read to.
struct Reader<'f, 'v, 'a> {
    format: &'f [u8],
    at: usize,
    values: &'v [Val<'a>],
    argument: usize,
    /// An explicit argument number was used somewhere.
    reordered: bool,
    /// The argument numbers of this verb are good.
    good: bool,
}

impl<'a> Printer<'_, 'a> {
    /// Prints as `fmt.Sprintf`.
    pub(crate) fn printf(&mut self, format: &[u8], values: &[Val<'a>]) -> Outcome<()> {
        let mut reader = Reader {
            format,
            at: 0,
            values,
            argument: 0,
            reordered: false,
            good: true,
        };
        while reader.at < format.len() {
            let rest = &format[reader.at..];
            let text = memchr::memchr(b'%', rest).unwrap_or(rest.len());
            self.out.extend_from_slice(&rest[..text]);
            self.budget.text(self.out.len())?;
            reader.at += text;
            if reader.at >= format.len() {
                break;
            }
            reader.at += 1;
            self.budget.operation()?;
            self.verb(&mut reader)?;
        }
        self.flags = Flags::default();
        if !reader.reordered && reader.argument < values.len() {
            self.extra(&values[reader.argument..])?;
        }
        Ok(())
    }

    fn extra(&mut self, values: &[Val<'a>]) -> Outcome<()> {
        self.out.extend_from_slice(b"%!(EXTRA ");
        for (at, &value) in values.iter().enumerate() {
            if at > 0 {
                self.out.extend_from_slice(b", ");
            }
            if value.is_absent() {
                self.out.extend_from_slice(b"<nil>");
            } else {
                self.type_and_equals(value);
                self.plain(value)?;
            }
        }
        self.out.push(b')');
        Ok(())
    }

    /// One verb; the percent sign has been read.
    fn verb(&mut self, reader: &mut Reader<'_, '_, 'a>) -> Outcome<()> {
        reader.good = true;
        self.flags = Flags::default();
        while let Some(&byte) = reader.format.get(reader.at) {
            match byte {
                b'#' => self.flags.sharp = true,
                b'0' => self.flags.zero = true,
                b'+' => self.flags.plus = true,
                b'-' => self.flags.minus = true,
                b' ' => self.flags.space = true,
                b'a'..=b'z' if reader.argument < reader.values.len() => {
                    reader.at += 1;
                    return self.operand(reader, char::from(byte));
                }
                _ => break,
            }
            reader.at += 1;
        }
        self.width_and_precision(reader);
        if reader.at >= reader.format.len() {
            self.out.extend_from_slice(b"%!(NOVERB)");
            return Ok(());
        }
        let (verb, size) = decode(&reader.format[reader.at..]);
        reader.at += size;
        if verb == '%' {
            self.out.push(b'%');
        } else if !reader.good {
            self.note(verb, b"BADINDEX)");
        } else if reader.argument >= reader.values.len() {
            self.note(verb, b"MISSING)");
        } else {
            return self.operand(reader, verb);
        }
        Ok(())
    }

    fn note(&mut self, verb: char, what: &[u8]) {
        self.out.extend_from_slice(b"%!");
        push_char(self.out, verb);
        self.out.push(b'(');
        self.out.extend_from_slice(what);
    }

    fn operand(&mut self, reader: &mut Reader<'_, '_, 'a>, verb: char) -> Outcome<()> {
        if matches!(verb, 'v' | 'w') {
            self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
            self.flags.plus = false;
        }
        let value = reader.values[reader.argument];
        reader.argument += 1;
        self.argument(value, verb)
    }

    fn width_and_precision(&mut self, reader: &mut Reader<'_, '_, 'a>) {
        let mut after_index = reader.index();
        if reader.peek() == Some(b'*') {
            reader.at += 1;
            match reader.starred() {
                Some(width) => {
                    self.flags.width = Some(width.unsigned_abs()).filter(|&width| width > 0);
                    if width < 0 {
                        self.flags.minus = true;
                        self.flags.zero = false;
                    }
                }
                None => self.out.extend_from_slice(b"%!(BADWIDTH)"),
            }
            after_index = false;
        } else {
            let width = reader.number();
            self.flags.width = width;
            if after_index && width.is_some() {
                reader.good = false;
            }
        }
        if reader.at + 1 < reader.format.len() && reader.peek() == Some(b'.') {
            reader.at += 1;
            if after_index {
                reader.good = false;
            }
            after_index = reader.index();
            if reader.peek() == Some(b'*') {
                reader.at += 1;
                self.flags.precision = reader
                    .starred()
                    .and_then(|value| usize::try_from(value).ok());
                if self.flags.precision.is_none() {
                    self.out.extend_from_slice(b"%!(BADPREC)");
                }
                after_index = false;
            } else {
                self.flags.precision = Some(reader.number().unwrap_or(0));
            }
        }
        if !after_index {
            reader.index();
        }
    }
}

impl Reader<'_, '_, '_> {
    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// A decimal number here. One that is too large swallows the rest of the format, as in Go.
    fn number(&mut self) -> Option<usize> {
        let (number, at) = parse_number(self.format, self.at, self.format.len());
        self.at = at;
        number
    }

    /// An argument number in brackets here; says whether one was found that can be read.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let close = if rest.len() < 3 {
            None
        } else {
            memchr::memchr(b']', rest)
        };
        let Some(close) = close else {
            self.good = false;
            self.at += 1;
            return false;
        };
        let (number, at) = parse_number(rest, 1, close);
        self.at += close + 1;
        let Some(number) = number.filter(|_| at == close) else {
            self.good = false;
            return false;
        };
        match number
            .checked_sub(1)
            .filter(|&index| index < self.values.len())
        {
            Some(index) => self.argument = index,
            None => self.good = false,
        }
        true
    }

    /// The operand that stands for a width or precision.
    fn starred(&mut self) -> Option<isize> {
        let value = self.values.get(self.argument)?;
        self.argument += 1;
        let number = match *value {
            Val::Int(number) => number,
            Val::Byte(number) => i64::from(number),
            _ => return None,
        };
        isize::try_from(number)
            .ok()
            .filter(|number| number.unsigned_abs() <= 1_000_000)
    }
}

fn parse_number(bytes: &[u8], start: usize, end: usize) -> (Option<usize>, usize) {
    if start >= end {
        return (None, end);
    }
    let (mut number, mut at) = (None, start);
    while at < end && bytes[at].is_ascii_digit() {
        let value = number.unwrap_or(0);
        if value > 1_000_000 {
            return (None, end);
        }
        number = Some(value * 10 + usize::from(bytes[at] - b'0'));
        at += 1;
    }
    (number, at)
}
