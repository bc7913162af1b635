//! Calls of functions: fetching arguments, and what each function does with them.

use super::{END, Machine};
use crate::compare::Comparer;
use crate::escape;
use crate::format::printer::Printer;
use crate::function::Function;
use crate::halt::{Halt, Outcome, fail};
use crate::json_read;
use crate::json_write;
use crate::options::MissingKey;
use crate::program::{Call, Operand, Piped};
use crate::quote::push_quoted;
use crate::select::length;
use crate::tree_text::node_text;
use crate::value::{Absence, Val};

/// Calls with up to this many arguments need no list on the heap.
const FEW: usize = 6;

/// A text buffer up to this size is kept for the next call.
const SCRATCH_BYTES_KEPT: usize = 1 << 20;

/// Bytes of text that are looked through for one operation.
const BYTES_PER_OPERATION: usize = 64;

impl<'a> Machine<'a> {
    pub(super) fn call(&mut self, index: u32, pc: usize) -> Outcome<usize> {
        let call = self.code.program.calls[index as usize];
        let operands: &'a [Operand] = &self.code.program.operands[call.arguments.range()];
        let count = operands.len() + usize::from(call.piped != Piped::No);
        if count <= FEW {
            let mut values = [Val::None(Absence::Missing); FEW];
            self.fetch_all(call, operands, &mut values[..count])?;
            return self.apply(call, operands, &values[..count], pc);
        }
        self.budget.operations(count as u64)?;
        let mut values = vec![Val::None(Absence::Missing); count];
        self.fetch_all(call, operands, &mut values)?;
        self.apply(call, operands, &values, pc)
    }

    fn fetch_all(
        &mut self,
        call: Call,
        operands: &[Operand],
        values: &mut [Val<'a>],
    ) -> Outcome<()> {
        if call.on_stack {
            for value in values[..operands.len()].iter_mut().rev() {
                *value = self.pop();
            }
        } else {
            for (value, &operand) in values.iter_mut().zip(operands) {
                *value = self.fetch(operand)?;
            }
        }
        if let Some(last) = values.get_mut(operands.len()) {
            *last = if call.piped == Piped::Stack {
                self.pop()
            } else {
                self.accumulator
            };
        }
        Ok(())
    }

    fn apply(
        &mut self,
        call: Call,
        operands: &'a [Operand],
        values: &[Val<'a>],
        pc: usize,
    ) -> Outcome<usize> {
        if call.function.signature().string_first && !matches!(values[0], Val::Str(_)) {
            return self.not_a_string(operands, values[0]);
        }
        let result = self.function(call, operands, values);
        match result {
            Ok(value) => {
                self.accumulator = value;
                Ok(if call.emits && self.wants_value {
                    END
                } else {
                    pc + 1
                })
            }
            Err(mut halt) => {
                if let Halt::Fail(message) = &mut *halt {
                    *message = format!("error calling {}: {message}", call.function.name());
                }
                Err(halt)
            }
        }
    }

    fn not_a_string<T>(&mut self, operands: &[Operand], value: Val<'a>) -> Outcome<T> {
        if let Some(first) = operands.first() {
            self.blame = Some(first.at);
        }
        match value {
            Val::None(_) => {
                let halt = Halt::Fail("invalid value; expected string".to_owned());
                let is_missing =
                    value.is_missing() && self.selector.missing_key == MissingKey::Error;
                Err(Box::new(if is_missing {
                    Halt::MissingKey("invalid value; expected string".to_owned())
                } else {
                    halt
                }))
            }
            _ => fail(format!(
                "wrong type for value; expected string; got {}",
                value.type_name()
            )),
        }
    }

    fn function(
        &mut self,
        call: Call,
        operands: &'a [Operand],
        values: &[Val<'a>],
    ) -> Outcome<Val<'a>> {
        match call.function {
            Function::Eq
            | Function::Ne
            | Function::Lt
            | Function::Le
            | Function::Gt
            | Function::Ge => self.comparison(call.function, values).map(Val::Bool),
            Function::Not => Ok(Val::Bool(!values[0].truth())),
            Function::Len => {
                length(values[0]).map(|length| Val::Int(i64::try_from(length).unwrap_or(i64::MAX)))
            }
            Function::Index => {
                self.budget.operations(values.len() as u64)?;
                let found = self.selector.index(values[0], &values[1..])?;
                if call.lazy {
                    Ok(found)
                } else {
                    self.settled(found)
                }
            }
            Function::Slice => {
                if matches!(values[0], Val::DynList(_)) {
                    let count = length(values[0])?;
                    self.budget.operations(count as u64)?;
                    self.budget.produced(count * size_of::<Val<'_>>())?;
                }
                self.selector
                    .slice(values[0], &values[1..], self.held(call, values))
            }
            Function::FromJson => self.read_json(values[0], call.lazy),
            Function::Call => self.call_value(operands, values[0]),
            Function::And | Function::Or => {
                Ok(values.last().copied().unwrap_or(Val::None(Absence::Null)))
            }
            _ => self.text_function(call, operands, values),
        }
    }

    /// Which slice indexes are held by a container; counters of a loop are not.
    fn held(&self, call: Call, values: &[Val<'a>]) -> u64 {
        let paths = call.from_container;
        let count = values.iter().enumerate().skip(1).take(63);
        let is_plain_count = |at: usize, value: Val<'_>| {
            let operand = self.code.program.operands[call.arguments.range()].get(at);
            let is_path = operand.is_none_or(|operand| {
                !matches!(
                    self.code.tree.node(operand.node).kind,
                    crate::tree::Kind::Dot | crate::tree::Kind::Variable(_)
                )
            });
            matches!(value, Val::Int(_) | Val::Byte(_))
                && !is_path
                && !has_fields(self.code.tree, operand)
        };
        count
            .filter(|&(at, &value)| paths >> at & 1 == 1 && !is_plain_count(at, value))
            .map(|(at, _)| 1 << (at - 1))
            .sum()
    }

    fn comparison(&mut self, function: Function, values: &[Val<'a>]) -> Outcome<bool> {
        for &value in values {
            if let Val::Str(text) = value {
                self.budget
                    .operations((text.len() / BYTES_PER_OPERATION) as u64)?;
            }
        }
        let mut comparer = Comparer {
            mode: self.mode,
            budget: &mut self.budget,
            arena: self.arena,
        };
        match function {
            Function::Eq => comparer.equals_any(values[0], &values[1..]),
            Function::Ne => comparer
                .equals_any(values[0], &values[1..])
                .map(|equal| !equal),
            Function::Lt => comparer.less(values[0], values[1]),
            Function::Le => comparer.less_or_equal(values[0], values[1]),
            Function::Gt => comparer
                .less_or_equal(values[0], values[1])
                .map(|less| !less),
            _ => comparer.less(values[0], values[1]).map(|less| !less),
        }
    }

    fn read_json(&mut self, value: Val<'a>, lazy: bool) -> Outcome<Val<'a>> {
        let Val::Str(text) = value else {
            return fail("expected string");
        };
        self.budget
            .operations((text.len() / BYTES_PER_OPERATION) as u64)?;
        let text = json_read::check(text)?;
        let found = json_read::found(text, self.mode, self.arena);
        if lazy { Ok(found) } else { self.settled(found) }
    }

    /// There are no function values, so `call` always fails.
    fn call_value(&self, operands: &[Operand], value: Val<'a>) -> Outcome<Val<'a>> {
        if value.is_absent() {
            return fail("call of nil");
        }
        let name = match operands.first() {
            Some(operand) => node_text(self.code.tree, self.code.source, operand.node),
            None => match value {
                Val::Str(text) => String::from_utf8_lossy(text).into_owned(),
                _ => format!("<{} Value>", value.type_name()),
            },
        };
        fail(format!("non-function {name} of type {}", value.type_name()))
    }

    /// Functions that give text. It goes to the output or becomes a string.
    fn text_function(
        &mut self,
        call: Call,
        operands: &'a [Operand],
        values: &[Val<'a>],
    ) -> Outcome<Val<'a>> {
        if call.function != Function::Json {
            for (at, &value) in values.iter().enumerate() {
                if value.is_missing() {
                    let node = operands
                        .get(at)
                        .map_or(self.code.program.at[0], |operand| operand.node);
                    self.note_missing(value, node);
                }
            }
        }
        if call.emits && !self.wants_value {
            let mut out = std::mem::take(&mut self.out);
            let outcome = self.write_text(call.function, values, &mut out);
            self.out = out;
            outcome?;
            self.budget.text(self.out.len())?;
            return Ok(Val::None(Absence::Null));
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let outcome = self.write_text(call.function, values, &mut scratch);
        let text = match outcome {
            Ok(()) => self
                .budget
                .produced(scratch.len())
                .map(|()| Val::Str(self.arena.alloc_slice_copy(&scratch))),
            Err(halt) => Err(halt),
        };
        if scratch.capacity() <= SCRATCH_BYTES_KEPT {
            self.scratch = scratch;
        }
        text
    }

    fn write_text(
        &mut self,
        function: Function,
        values: &[Val<'a>],
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        let (mode, arena) = (self.mode, self.arena);
        match function {
            Function::Json => json_write::write(out, values[0], mode, &mut self.budget, arena),
            Function::Quote => {
                if let Val::Str(text) = values[0] {
                    self.budget.text(out.len() + text.len())?;
                    push_quoted(out, text, b'"', false);
                }
                Ok(())
            }
            Function::Printf => {
                let Val::Str(format) = values[0] else {
                    return fail("expected string");
                };
                Printer::new(out, mode, &mut self.budget, arena).printf(format, &values[1..])
            }
            Function::Print => Printer::new(out, mode, &mut self.budget, arena).print(values),
            Function::Println => Printer::new(out, mode, &mut self.budget, arena).println(values),
            _ => self.escaped(function, values, out),
        }
    }

    /// `html`, `js`, `urlquery`: all arguments as `print` joins them, what is absent as `<no value>`.
    fn escaped(
        &mut self,
        function: Function,
        values: &[Val<'a>],
        out: &mut Vec<u8>,
    ) -> Outcome<()> {
        let escape = match function {
            Function::Html => escape::html,
            Function::Js => escape::js,
            _ => escape::urlquery,
        };
        if let [Val::Str(text)] = values {
            return escape(out, text, &self.budget);
        }
        let shown = |&value: &Val<'a>| {
            if value.is_absent() {
                Val::Str(b"<no value>")
            } else {
                value
            }
        };
        let values: Vec<Val<'a>> = values.iter().map(shown).collect();
        let mut joined = Vec::new();
        Printer::new(&mut joined, self.mode, &mut self.budget, self.arena).print(&values)?;
        escape(out, &joined, &self.budget)
    }
}

fn has_fields(tree: &crate::tree::Tree, operand: Option<&Operand>) -> bool {
    operand.is_some_and(|operand| matches!(tree.node(operand.node).kind, crate::tree::Kind::Variable(run) if run.len > 1))
}
