//! Runs a compiled template. All state is on the heap, so neither deep templates nor deep data need a deep stack.

mod call;
mod rounds;

use crate::limits::MISSING_MAX;
use bumpalo::Bump;

use crate::budget::Budget;
use crate::format::printer::Printer;
use crate::halt::{Halt, Outcome, fail};
use crate::json_read;
use crate::options::{Mode, RenderOptions};
use crate::program::{Constant, NO_VARIABLE, Op, Operand, OperandKind, Program};
use crate::select::Selector;
use crate::tree::{NodeId, Run, Tree};
use crate::value::{Absence, Val};
use rounds::Round;

/// What a run needs besides the data.
#[derive(Clone, Copy)]
pub(crate) struct Code<'c> {
    pub(crate) source: &'c str,
    pub(crate) tree: &'c Tree,
    pub(crate) program: &'c Program,
}

/// Why and where a run stopped.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) halt: Box<Halt>,
    pub(crate) at: NodeId,
    /// Index into the tree's definitions.
    pub(crate) definition: u32,
}

/// A template that called another one.
struct Frame<'a> {
    pc: usize,
    dot: Val<'a>,
    dollar: Val<'a>,
    variables: usize,
    entry: u32,
}

pub(crate) struct Machine<'a> {
    code: Code<'a>,
    mode: Mode,
    selector: Selector<'a>,
    arena: &'a Bump,
    budget: Budget,
    pub(crate) out: Vec<u8>,
    scratch: Vec<u8>,
    /// Nodes that printed no value.
    pub(crate) missing: Vec<NodeId>,
    accumulator: Val<'a>,
    dot: Val<'a>,
    dollar: Val<'a>,
    stack: Vec<Val<'a>>,
    dots: Vec<Val<'a>>,
    rounds: Vec<Round<'a>>,
    frames: Vec<Frame<'a>>,
    variables: Vec<Option<Val<'a>>>,
    /// Where the variables of the running template begin.
    base: usize,
    entry: u32,
    /// Where an error is reported if not at the operation itself.
    blame: Option<NodeId>,
    /// After `and` or `or` stopped early: the node later errors name, and the one they should.
    detour: Option<(NodeId, NodeId)>,
    /// Stop at the value of the action instead of writing it.
    wants_value: bool,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        code: Code<'a>,
        root: Val<'a>,
        options: &RenderOptions,
        arena: &'a Bump,
    ) -> Self {
        // The root is given as it is, not held by a container: a null is no value.
        let root = root.unwrapped();
        Self {
            code,
            mode: options.mode,
            selector: Selector {
                mode: options.mode,
                missing_key: options.missing_key,
                arena,
            },
            arena,
            budget: Budget::new(&options.limits),
            out: Vec::new(),
            scratch: Vec::new(),
            missing: Vec::new(),
            accumulator: Val::None(Absence::Missing),
            dot: root,
            dollar: root,
            stack: Vec::new(),
            dots: Vec::new(),
            rounds: Vec::new(),
            frames: Vec::new(),
            variables: Vec::new(),
            base: 0,
            entry: code.program.root,
            blame: None,
            detour: None,
            wants_value: false,
        }
    }

    /// Runs to the end, writing to `out`.
    pub(crate) fn render(&mut self) -> Result<(), Stop> {
        let code = self.code;
        self.out
            .reserve(code.program.text_bytes.saturating_add(48).min(1 << 20));
        self.run().map(|_| ())
    }

    /// Runs up to the value of the only action.
    pub(crate) fn value(&mut self) -> Result<Val<'a>, Stop> {
        self.wants_value = true;
        self.run()
    }

    fn run(&mut self) -> Result<Val<'a>, Stop> {
        let program = self.code.program;
        let Some(entry) = program.entries.get(self.entry as usize) else {
            return Ok(Val::None(Absence::Missing));
        };
        self.variables.resize(entry.variables as usize, None);
        let mut pc = entry.start as usize;
        while let Some(&op) = program.ops.get(pc) {
            match self.step(op, pc) {
                Ok(next) if next == END => return Ok(self.accumulator),
                Ok(next) => pc = next,
                Err(halt) => return Err(self.stop(halt, pc)),
            }
        }
        Ok(self.accumulator)
    }

    fn stop(&self, halt: Box<Halt>, pc: usize) -> Stop {
        let at = self.detoured(self.blame.unwrap_or(self.code.program.at[pc]));
        let definition = self.code.program.entries[self.entry as usize].definition;
        Stop {
            halt,
            at,
            definition,
        }
    }

    fn detoured(&self, at: NodeId) -> NodeId {
        match self.detour {
            Some((from, to)) if from == at => to,
            _ => at,
        }
    }

    /// Does one operation and says where to go on.
    #[inline]
    fn step(&mut self, op: Op, pc: usize) -> Outcome<usize> {
        self.budget.operation()?;
        match op {
            Op::Text(start, end) => {
                self.out
                    .extend_from_slice(&self.code.source.as_bytes()[start as usize..end as usize]);
                self.budget.text(self.out.len())?;
            }
            Op::EmitOperand(index) => {
                let operand = self.code.program.operands[index as usize];
                let value = self.fetch(operand)?;
                return self.emit(value, operand.node, pc);
            }
            Op::Emit(node) => return self.emit(self.accumulator, node, pc),
            Op::Load(index) => {
                self.accumulator = self.fetch(self.code.program.operands[index as usize])?;
            }
            Op::Call(index) => return self.call(index, pc),
            Op::Unwrap => self.accumulator = self.accumulator.unwrapped(),
            Op::Jump(to) => return Ok(to as usize),
            Op::JumpUnless(to) => {
                if !self.accumulator.truth() {
                    return Ok(to as usize);
                }
            }
            Op::Decide { stop_on, to } => {
                if self.accumulator.truth() == stop_on {
                    let at = &self.code.program.at;
                    self.detour = Some((at[to as usize], self.detoured(at[pc])));
                    return Ok(to as usize);
                }
                self.detour = None;
            }
            Op::Fields { names, lazy } => {
                self.accumulator = self.fields(self.accumulator, names, false)?;
                if !lazy {
                    self.accumulator = self.settled(self.accumulator)?;
                }
            }
            Op::NextRound { body } => return Ok(self.next_round(body, pc)),
            _ => return self.rare(op, pc),
        }
        Ok(pc + 1)
    }

    fn rare(&mut self, op: Op, pc: usize) -> Outcome<usize> {
        match op {
            Op::Push => self.stack.push(self.accumulator),
            Op::Pop => self.accumulator = self.pop(),
            Op::Drop => {
                self.pop();
            }
            Op::Store(slot) => self.variables[self.base + slot as usize] = Some(self.accumulator),
            Op::Assign(slot) => self.assign(slot, self.accumulator),
            Op::Forget(from) => {
                let from = (self.base + from as usize).min(self.variables.len());
                self.variables[from..].fill(None);
            }
            Op::EnterWith(otherwise) => {
                if !self.accumulator.truth() {
                    return Ok(otherwise as usize);
                }
                self.dots.push(self.dot);
                self.dot = self.accumulator;
            }
            Op::LeaveWith => self.dot = self.dots.pop().unwrap_or(self.dot),
            Op::EnterRange {
                variables,
                otherwise,
            } => return self.enter_range(variables, otherwise, pc),
            Op::LeaveRange => self.leave_range(),
            Op::Method(index) => self.method(self.code.program.operands[index as usize])?,
            Op::MethodFields(names) => {
                let (before, last) = split_last(names);
                let receiver = self.fields(self.accumulator, before, false)?;
                self.method_field(receiver, last, names.len > 1)?;
            }
            Op::CallTemplate(entry) => return self.enter_template(entry, pc),
            Op::LoadNothing => self.accumulator = Val::None(Absence::Null),
            Op::Return => return Ok(self.leave_template()),
            Op::Fail(index) => return fail(self.code.program.messages[index as usize].clone()),
            _ => {}
        }
        Ok(pc + 1)
    }

    fn pop(&mut self) -> Val<'a> {
        self.stack.pop().unwrap_or(Val::None(Absence::Missing))
    }

    /// Writes a value, or gives it if that is wanted.
    fn emit(&mut self, value: Val<'a>, node: NodeId, pc: usize) -> Outcome<usize> {
        if self.wants_value {
            self.accumulator = value;
            return Ok(END);
        }
        match value {
            Val::Str(text) => {
                self.out.extend_from_slice(text);
                self.budget.text(self.out.len())?;
            }
            Val::None(_) | Val::Nil(_) => {
                self.out.extend_from_slice(b"<no value>");
                self.note_missing(value, node);
            }
            _ => {
                Printer::new(&mut self.out, self.mode, &mut self.budget, self.arena)
                    .plain(value)?;
            }
        }
        Ok(pc + 1)
    }

    fn note_missing(&mut self, value: Val<'a>, node: NodeId) {
        if value.is_missing() && self.missing.len() < MISSING_MAX && !self.missing.contains(&node) {
            self.missing.push(node);
        }
    }

    fn fetch(&mut self, operand: Operand) -> Outcome<Val<'a>> {
        let (base, names) = match operand.kind {
            OperandKind::Dot(names) => (self.dot, names),
            OperandKind::Dollar(names) => (self.dollar, names),
            OperandKind::Variable(slot, names) => {
                if let Some(value) = self.variable(slot) {
                    (value, names)
                } else {
                    self.blame = Some(operand.at);
                    let place = self.code.tree.node(operand.node).place;
                    let text = &self.code.source[place.range()];
                    let name = text.split('.').next().unwrap_or(text);
                    return fail(format!("undefined variable: {name}"));
                }
            }
            OperandKind::Constant(index) => return Ok(self.constant(index)),
            OperandKind::Nil => return Ok(Val::None(Absence::Null)),
            OperandKind::Stack => return Ok(self.pop()),
            OperandKind::Fail(index) => {
                self.blame = Some(operand.at);
                return fail(self.code.program.messages[index as usize].clone());
            }
        };
        if names.len == 0 {
            return Ok(base);
        }
        let is_count = matches!(base, Val::Int(_) | Val::Byte(_));
        let outcome = self.fields(base, names, operand.from_container && !is_count);
        if outcome.is_err() {
            self.blame = Some(operand.at);
        }
        outcome
    }

    fn constant(&self, index: u32) -> Val<'a> {
        match self.code.program.constants[index as usize] {
            Constant::Bool(value) => Val::Bool(value),
            Constant::Int(value) => Val::Int(value),
            Constant::Float(value) => Val::Float(value),
            Constant::Complex(index) => Val::Complex(&self.code.program.complexes[index as usize]),
            Constant::String(index) => Val::Str(&self.code.tree.strings[index as usize]),
        }
    }

    fn variable(&self, slot: u32) -> Option<Val<'a>> {
        let mut slot = slot;
        loop {
            if let Some(&Some(value)) = self.variables.get(self.base + slot as usize) {
                return Some(value);
            }
            slot = self.behind(slot)?;
        }
    }

    /// The variable of the same name behind one that may not have been set.
    fn behind(&self, slot: u32) -> Option<u32> {
        let fallbacks = &self.code.program.fallbacks;
        fallbacks
            .iter()
            .find(|one| one.entry == self.entry && one.slot == slot)
            .map(|one| one.behind)
    }

    fn assign(&mut self, slot: u32, value: Val<'a>) {
        if slot == NO_VARIABLE {
            self.dollar = value;
            return;
        }
        let mut slot = slot;
        while self.variables[self.base + slot as usize].is_none() {
            match self.behind(slot) {
                Some(behind) => slot = behind,
                None => break,
            }
        }
        self.variables[self.base + slot as usize] = Some(value);
    }

    #[inline]
    fn fields(&self, value: Val<'a>, names: Run, from_container: bool) -> Outcome<Val<'a>> {
        let mut value = value;
        let mut from_container = from_container;
        for place in self.code.tree.names(names) {
            let name = &self.code.source[place.range()];
            value = self.selector.field(value, name, from_container)?;
            from_container = true;
        }
        Ok(value)
    }

    fn method(&mut self, operand: Operand) -> Outcome<()> {
        let (kind, last, path) = match operand.kind {
            OperandKind::Dot(names) => {
                let (before, last) = split_last(names);
                (OperandKind::Dot(before), last, before)
            }
            OperandKind::Dollar(names) => {
                let (before, last) = split_last(names);
                (OperandKind::Dollar(before), last, before)
            }
            OperandKind::Variable(slot, names) => {
                let (before, last) = split_last(names);
                (OperandKind::Variable(slot, before), last, before)
            }
            other => (other, Run::default(), Run::default()),
        };
        let receiver = self.fetch(Operand { kind, ..operand })?;
        self.method_field(receiver, last, path.len > 0 || operand.from_container)
    }

    /// A field that is given arguments: only an absent receiver lets that pass.
    fn method_field(&mut self, receiver: Val<'a>, last: Run, from_container: bool) -> Outcome<()> {
        if receiver.map().is_some()
            || matches!(receiver, Val::Raw(text) if json_read::is_object(text))
        {
            let place = self.code.tree.names(last)[0];
            return fail(format!(
                "{} is not a method but has arguments",
                &self.code.source[place.range()]
            ));
        }
        self.accumulator = self.fields(receiver, last, from_container)?;
        Ok(())
    }

    /// Reads JSON text in full if that has not been done.
    fn settled(&mut self, value: Val<'a>) -> Outcome<Val<'a>> {
        match value {
            Val::Raw(text) => json_read::build(text, self.mode, &mut self.budget, self.arena),
            other => Ok(other),
        }
    }

    fn enter_template(&mut self, index: u32, pc: usize) -> Outcome<usize> {
        self.budget.depth(self.frames.len())?;
        let entry = self.code.program.entries[index as usize];
        self.budget
            .produced(entry.variables as usize * size_of::<Val<'_>>())?;
        self.frames.push(Frame {
            pc: pc + 1,
            dot: self.dot,
            dollar: self.dollar,
            variables: self.base,
            entry: self.entry,
        });
        self.base = self.variables.len();
        self.variables
            .resize(self.base + entry.variables as usize, None);
        (self.dot, self.dollar, self.entry) = (self.accumulator, self.accumulator, index);
        Ok(entry.start as usize)
    }

    fn leave_template(&mut self) -> usize {
        let Some(frame) = self.frames.pop() else {
            return END;
        };
        self.variables.truncate(self.base);
        (self.dot, self.dollar, self.base, self.entry) =
            (frame.dot, frame.dollar, frame.variables, frame.entry);
        frame.pc
    }
}

/// The program is over.
const END: usize = usize::MAX;

/// A run of names without its last, and that last.
fn split_last(names: Run) -> (Run, Run) {
    let before = Run {
        start: names.start,
        len: names.len.saturating_sub(1),
    };
    (
        before,
        Run {
            start: names.start + before.len,
            len: names.len - before.len,
        },
    )
}
