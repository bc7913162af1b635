//! Prints one value by a verb: scalars by `scalar`, lists and maps by walking them without recursion.

use bumpalo::Bump;

use crate::budget::Budget;
use crate::halt::Outcome;
use crate::options::Mode;
use crate::quote::push_char;
use crate::unicode;
use crate::value::{Entry, ListView, Val};

/// Flags, width and precision of one verb.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own in a format"
)]
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%#v`.
    pub(super) sharp_v: bool,
}

/// Prints values to a text.
pub(crate) struct Printer<'p, 'a> {
    pub(super) out: &'p mut Vec<u8>,
    pub(super) flags: Flags,
    pub(super) mode: Mode,
    pub(super) budget: &'p mut Budget,
    pub(super) arena: &'a Bump,
}

/// A list or map that is being printed, and how far.
enum Walk<'a> {
    List(ListView<'a>, usize),
    Map(&'a [Entry<'a>], usize),
}

impl<'p, 'a> Printer<'p, 'a> {
    pub(crate) fn new(
        out: &'p mut Vec<u8>,
        mode: Mode,
        budget: &'p mut Budget,
        arena: &'a Bump,
    ) -> Self {
        Self {
            out,
            flags: Flags::default(),
            mode,
            budget,
            arena,
        }
    }

    /// Prints as `fmt.Fprint` prints one value; what is absent prints `<nil>`.
    pub(crate) fn plain(&mut self, value: Val<'a>) -> Outcome<()> {
        if matches!(
            value,
            Val::Str(_) | Val::Float(_) | Val::Bool(_) | Val::Int(_)
        ) && self.is_plain()
        {
            self.plain_scalar(value)?;
            return self.budget.text(self.out.len());
        }
        self.argument(value, 'v')
    }

    /// Prints as `fmt.Sprint`: a space between two operands when neither is a string.
    pub(crate) fn print(&mut self, values: &[Val<'a>]) -> Outcome<()> {
        let mut after_string = false;
        for (at, &value) in values.iter().enumerate() {
            let is_string = matches!(value, Val::Str(_));
            if at > 0 && !is_string && !after_string {
                self.out.push(b' ');
            }
            self.plain(value)?;
            after_string = is_string;
        }
        Ok(())
    }

    /// Prints as `fmt.Sprintln`.
    pub(crate) fn println(&mut self, values: &[Val<'a>]) -> Outcome<()> {
        for (at, &value) in values.iter().enumerate() {
            if at > 0 {
                self.out.push(b' ');
            }
            self.plain(value)?;
        }
        self.out.push(b'\n');
        Ok(())
    }

    /// Prints a top-level operand.
    pub(super) fn argument(&mut self, value: Val<'a>, verb: char) -> Outcome<()> {
        match (value, verb) {
            (Val::None(_) | Val::Nil(_), 'T' | 'v') => self.pad(b"<nil>"),
            (Val::None(_) | Val::Nil(_), _) => {
                self.bang(verb);
                self.out.extend_from_slice(b"<nil>)");
                Ok(())
            }
            (_, 'T') => self.text(value.type_name().as_bytes()),
            (_, 'p') => self.pointer(value),
            _ if is_container(value) => {
                if verb != 'w' {
                    return self.container(value, verb);
                }
                self.bang(verb);
                self.type_and_equals(value);
                self.container(value, 'v')?;
                self.out.push(b')');
                Ok(())
            }
            _ => self.scalar(value, verb),
        }
    }

    /// `%!verb(`.
    pub(super) fn bang(&mut self, verb: char) {
        self.out.extend_from_slice(b"%!");
        push_char(self.out, verb);
        self.out.push(b'(');
    }

    pub(super) fn type_and_equals(&mut self, value: Val<'a>) {
        self.out.extend_from_slice(value.type_name().as_bytes());
        self.out.push(b'=');
    }

    /// Addresses mean nothing here: every list and map has the same one.
    fn pointer(&mut self, value: Val<'a>) -> Outcome<()> {
        let address = match value {
            Val::NilMap => 0,
            _ if is_container(value) => 0x00c0_000b_2000,
            _ => return self.bad_verb(value, 'p'),
        };
        let sharp = self.flags.sharp;
        self.flags.sharp = !sharp;
        self.integer(address, false, 16, 'v', b"0123456789abcdefx")?;
        self.flags.sharp = sharp;
        Ok(())
    }

    /// Walks a list or map, printing its leaves by `verb`.
    fn container(&mut self, value: Val<'a>, verb: char) -> Outcome<()> {
        let mut open: Vec<Walk<'a>> = Vec::new();
        let mut next = Some(value);
        loop {
            self.budget.operation()?;
            self.budget.text(self.out.len())?;
            if let Some(value) = next.take() {
                match self.element(value, verb)? {
                    Some(walk) => open.push(walk),
                    None if open.is_empty() => return Ok(()),
                    None => {}
                }
            }
            let Some(walk) = open.last_mut() else {
                return Ok(());
            };
            let separator: &[u8] = if self.flags.sharp_v { b", " } else { b" " };
            let (at, len, close) = match walk {
                Walk::List(list, at) => {
                    (at, list.len(), if self.flags.sharp_v { b'}' } else { b']' })
                }
                Walk::Map(map, at) => (at, map.len(), if self.flags.sharp_v { b'}' } else { b']' }),
            };
            if *at == len {
                self.out.push(close);
                open.pop();
                continue;
            }
            if *at > 0 {
                self.out.extend_from_slice(separator);
            }
            let index = *at;
            *at += 1;
            match *walk {
                Walk::List(list, _) => next = Some(list.get(index, self.mode)),
                Walk::Map(map, _) => {
                    if verb == 'v' && self.is_plain() {
                        self.out.extend_from_slice(map[index].0);
                    } else {
                        self.scalar(Val::Str(map[index].0), verb)?;
                    }
                    self.out.push(b':');
                    next = Some(map[index].1);
                }
            }
        }
    }

    /// Prints a leaf, or the opening of a list or map.
    fn element(&mut self, value: Val<'a>, verb: char) -> Outcome<Option<Walk<'a>>> {
        let sharp_v = self.flags.sharp_v;
        if value.is_absent() {
            self.out.extend_from_slice(if sharp_v {
                b"interface {}(nil)"
            } else {
                b"<nil>"
            });
            return Ok(None);
        }
        if let Some(list) = value.list() {
            self.out
                .extend_from_slice(if sharp_v { b"[]interface {}{" } else { b"[" });
            return Ok(Some(Walk::List(list, 0)));
        }
        if let Some(map) = value.map() {
            if sharp_v && matches!(value, Val::NilMap) {
                self.out.extend_from_slice(b"map[string]interface {}(nil)");
                return Ok(None);
            }
            self.out.extend_from_slice(if sharp_v {
                b"map[string]interface {}{"
            } else {
                b"map["
            });
            self.budget.operations(map.len() as u64)?;
            return Ok(Some(Walk::Map(map.sorted(self.mode, self.arena), 0)));
        }
        if verb == 'v' && self.is_plain() {
            self.plain_scalar(value)?;
        } else {
            self.scalar(value, verb)?;
        }
        Ok(None)
    }

    /// Appends `bytes` padded to the width.
    pub(super) fn pad(&mut self, bytes: &[u8]) -> Outcome<()> {
        let Some(width) = self.flags.width else {
            self.out.extend_from_slice(bytes);
            return self.budget.text(self.out.len());
        };
        let padding = width.saturating_sub(unicode::count(bytes));
        if self.flags.minus {
            self.out.extend_from_slice(bytes);
            self.padding(padding)
        } else {
            self.padding(padding)?;
            self.out.extend_from_slice(bytes);
            Ok(())
        }
    }

    /// Appends `count` blanks or zeros.
    pub(super) fn padding(&mut self, count: usize) -> Outcome<()> {
        self.budget.text(self.out.len().saturating_add(count))?;
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.out.resize(self.out.len() + count, byte);
        Ok(())
    }

    /// Pads with blanks whatever the zero flag says.
    pub(super) fn pad_blank(&mut self, bytes: &[u8]) -> Outcome<()> {
        let zero = std::mem::take(&mut self.flags.zero);
        let outcome = self.pad(bytes);
        self.flags.zero = zero;
        outcome
    }
}

fn is_container(value: Val<'_>) -> bool {
    matches!(
        value,
        Val::Array(_)
            | Val::Object(_)
            | Val::List(_)
            | Val::Map(_)
            | Val::DynList(_)
            | Val::DynMap(_)
            | Val::NilMap
    )
}
