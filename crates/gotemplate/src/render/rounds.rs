//! Loops: what can be ranged over, and the rounds.

use super::Machine;
use crate::format::printer::Printer;
use crate::halt::{Outcome, fail};
use crate::program::{LoopVariables, Target};
use crate::value::{Absence, Entry, ListView, Val};

/// A loop that is running.
pub(super) struct Round<'a> {
    over: Over<'a>,
    /// The round that comes next.
    at: usize,
    variables: LoopVariables,
    /// The dot outside, and how many dots were kept then.
    dot: Val<'a>,
    dots: usize,
}

/// What is ranged over.
#[derive(Clone, Copy)]
enum Over<'a> {
    Count(u64),
    /// As `Count`, but the rounds are bytes.
    Bytes(u8),
    List(ListView<'a>),
    Map(&'a [Entry<'a>]),
}

impl<'a> Machine<'a> {
    pub(super) fn enter_range(
        &mut self,
        variables: LoopVariables,
        otherwise: Target,
        pc: usize,
    ) -> Outcome<usize> {
        let value = self.accumulator;
        let over = match value {
            Val::Int(_) | Val::Byte(_) if matches!(variables, LoopVariables::Both(..)) => {
                let shown = self.shown(value)?;
                return fail(format!(
                    "can't use {shown} to iterate over more than one variable"
                ));
            }
            Val::Int(count) => Over::Count(u64::try_from(count).unwrap_or(0)),
            Val::Byte(count) => Over::Bytes(count),
            Val::None(_) | Val::Nil(_) => return Ok(otherwise as usize),
            _ => match (value.list(), value.map()) {
                (Some(list), _) => Over::List(list),
                (_, Some(map)) => {
                    self.budget.operations(map.len() as u64)?;
                    self.budget.produced(map.len() * size_of::<Entry<'_>>())?;
                    Over::Map(map.sorted(self.mode, self.arena))
                }
                _ => {
                    let shown = self.shown(value)?;
                    return fail(format!("range can't iterate over {shown}"));
                }
            },
        };
        self.rounds.push(Round {
            over,
            at: 0,
            variables,
            dot: self.dot,
            dots: self.dots.len(),
        });
        if self.advance() {
            return Ok(pc + 1);
        }
        self.rounds.pop();
        Ok(otherwise as usize)
    }

    fn shown(&mut self, value: Val<'a>) -> Outcome<String> {
        let mut out = Vec::new();
        Printer::new(&mut out, self.mode, &mut self.budget, self.arena).plain(value)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Sets up the next round, if there is one.
    fn advance(&mut self) -> bool {
        let Some(round) = self.rounds.last_mut() else {
            return false;
        };
        let at = round.at;
        let (index, element) = match round.over {
            Over::Count(count) if (at as u64) < count => (
                Val::None(Absence::Missing),
                Val::Int(i64::try_from(at).unwrap_or(i64::MAX)),
            ),
            Over::Bytes(count) if at < usize::from(count) => (
                Val::None(Absence::Missing),
                Val::Byte(u8::try_from(at).unwrap_or(u8::MAX)),
            ),
            Over::List(list) if at < list.len() => (
                Val::Int(i64::try_from(at).unwrap_or(i64::MAX)),
                list.get(at, self.mode),
            ),
            Over::Map(map) if at < map.len() => (Val::Str(map[at].0), map[at].1),
            _ => return false,
        };
        round.at += 1;
        let variables = round.variables;
        self.dots.truncate(round.dots);
        self.dot = element;
        match variables {
            LoopVariables::None => {}
            LoopVariables::Element(slot) => self.assign(slot, element),
            LoopVariables::Both(first, second) => {
                self.assign(first, index);
                self.assign(second, element);
            }
        }
        true
    }

    /// Where to go on after a round.
    pub(super) fn next_round(&mut self, body: Target, pc: usize) -> usize {
        if self.advance() {
            return body as usize;
        }
        self.leave_range();
        pc + 1
    }

    pub(super) fn leave_range(&mut self) {
        if let Some(round) = self.rounds.pop() {
            self.dot = round.dot;
            self.dots.truncate(round.dots);
        }
    }
}
