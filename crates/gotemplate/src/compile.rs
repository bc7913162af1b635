//! Turns a [`Tree`] into a [`Program`]. What is left to do is kept on a list of our own, so no nesting of blocks or
//! parentheses can exhaust the thread's stack.

mod command;

use crate::program::{
    Entry, Fallback, LoopVariables, NO_VARIABLE, Op, Operand, OperandKind, Program, Target,
};
use crate::quote::quoted;
use crate::tree::{Branch, BranchKind, Kind, NodeId, Place, Run, Tree};

/// Compiles a whole source.
pub(crate) fn compile(source: &str, tree: &Tree, name: &str) -> Program {
    let mut compiler = Compiler {
        source,
        tree,
        program: Program::default(),
        labels: Vec::new(),
        work: Vec::new(),
        scope: Vec::new(),
        next_variable: 0,
        dot_is_element: false,
        at: 0,
        conditional: 0,
        loops: Vec::new(),
    };
    for index in 0..tree.definitions.len() {
        compiler.definition(index, name);
    }
    compiler.finish()
}

/// A variable in scope.
#[derive(Clone, Copy)]
struct Variable {
    name: Place,
    slot: u32,
    /// It holds elements of what a loop ranges over.
    is_element: bool,
}

/// Something still to be compiled. The list is worked off from its end.
enum Work {
    Node(NodeId),
    List(Run),
    Pipe(NodeId, bool),
    Command {
        node: NodeId,
        piped: bool,
        emits: bool,
        lazy: bool,
    },
    Argument(NodeId, bool),
    Op(Op),
    /// An operation reported at a node; the node does not become current.
    OpAt(Op, NodeId),
    At(NodeId),
    Label(Target),
    Declare(NodeId),
    EndScope(usize),
    EndLoop,
    EnterRange {
        pipe: NodeId,
        otherwise: Target,
    },
    /// An argument of a call has been evaluated: remember where, and push it.
    PushArgument {
        operands: usize,
        node: NodeId,
    },
    Conditional(i32),
    /// Whether the dot is an element of what a loop ranges over.
    Dot(bool),
    Call(Box<command::Pending>),
}

/// Labels of the innermost loop.
struct Loop {
    next: Target,
    leave: Target,
    leaves: bool,
}

struct Compiler<'t> {
    source: &'t str,
    tree: &'t Tree,
    program: Program,
    labels: Vec<Target>,
    work: Vec<Work>,
    scope: Vec<Variable>,
    next_variable: u32,
    dot_is_element: bool,
    /// The node Go would report an error at now.
    at: NodeId,
    /// How many short-circuit arguments are open: what is declared there may never be.
    conditional: i32,
    loops: Vec<Loop>,
}

impl Compiler<'_> {
    fn definition(&mut self, index: usize, root_name: &str) {
        let definition = &self.tree.definitions[index];
        if definition.name == root_name.as_bytes() {
            self.program.root = to_u32(self.program.entries.len());
        }
        let start = to_u32(self.program.ops.len());
        self.scope.clear();
        self.next_variable = 0;
        self.dot_is_element = false;
        self.work.push(Work::Op(Op::Return));
        self.work.push(Work::List(definition.list));
        while let Some(work) = self.work.pop() {
            self.step(work);
        }
        let variables = self.next_variable;
        self.program.entries.push(Entry {
            start,
            variables,
            definition: to_u32(index),
        });
    }

    fn step(&mut self, work: Work) {
        match work {
            Work::Node(node) => self.statement(node),
            Work::List(run) => {
                let tree = self.tree;
                self.work.extend(
                    tree.children(run)
                        .iter()
                        .rev()
                        .map(|&node| Work::Node(node)),
                );
            }
            Work::Pipe(node, lazy) => self.pipe(node, lazy),
            Work::Command {
                node,
                piped,
                emits,
                lazy,
            } => self.command(node, piped, emits, lazy),
            Work::Argument(node, lazy) => self.argument(node, lazy),
            Work::Op(op) => self.emit(op),
            Work::OpAt(op, at) => self.emit_at(op, at),
            Work::At(node) => self.at = node,
            Work::Label(label) => self.labels[label as usize] = to_u32(self.program.ops.len()),
            Work::Declare(pipe) => self.declare(pipe),
            Work::EndScope(variables) => self.scope.truncate(variables),
            Work::EndLoop => self.end_loop(),
            Work::EnterRange { pipe, otherwise } => self.enter_range(pipe, otherwise),
            Work::PushArgument { operands, node } => {
                self.program.operands[operands] = Operand {
                    kind: OperandKind::Stack,
                    node,
                    at: self.at,
                    from_container: false,
                };
                self.emit(Op::Push);
            }
            Work::Conditional(change) => self.conditional += change,
            Work::Dot(is_element) => self.dot_is_element = is_element,
            Work::Call(pending) => self.finish_call(&pending),
        }
    }

    fn emit(&mut self, op: Op) {
        self.emit_at(op, self.at);
    }

    fn emit_at(&mut self, op: Op, at: NodeId) {
        self.program.ops.push(op);
        self.program.at.push(at);
    }

    fn label(&mut self) -> Target {
        self.labels.push(0);
        to_u32(self.labels.len() - 1)
    }

    fn fail(&mut self, message: String) {
        let index = self.message(message);
        self.emit(Op::Fail(index));
    }

    fn message(&mut self, message: String) -> u32 {
        push(&mut self.program.messages, message)
    }

    fn statement(&mut self, node: NodeId) {
        let syntax = self.tree.node(node);
        self.at = node;
        match syntax.kind {
            Kind::Text => {
                self.program.text_bytes += (syntax.place.end - syntax.place.start) as usize;
                self.emit(Op::Text(syntax.place.start, syntax.place.end));
            }
            Kind::Action(pipe) => self.action(node, pipe),
            Kind::Branch(index) => self.branch(self.tree.branches[index as usize]),
            Kind::Template(index) => self.template(index),
            Kind::Break => {
                if let Some(innermost) = self.loops.last_mut() {
                    innermost.leaves = true;
                    let leave = innermost.leave;
                    self.emit(Op::Jump(leave));
                }
            }
            Kind::Continue => {
                if let Some(innermost) = self.loops.last() {
                    let next = innermost.next;
                    self.emit(Op::Jump(next));
                }
            }
            _ => {}
        }
    }

    /// Prints a pipeline, by the shortest way there is.
    fn action(&mut self, node: NodeId, pipe: NodeId) {
        let parts = self.tree.pipe(pipe);
        if parts.variables.len > 0 {
            self.work.push(Work::Pipe(pipe, false));
            return;
        }
        let commands = self.tree.children(parts.commands);
        let last = commands[commands.len() - 1];
        let arguments = self.tree.arguments(last);
        if commands.len() == 1
            && arguments.len() == 1
            && !self.tree.has_nested_declarations
            && let Some(operand) = self.simple(arguments[0])
        {
            self.at = arguments[0];
            if !self.not_a_command(operand.kind) {
                let index = push(&mut self.program.operands, operand);
                self.emit(Op::EmitOperand(index));
            }
            return;
        }
        let emits = command::writes_text(self.tree.node(arguments[0]).kind);
        if !emits {
            self.work.push(Work::OpAt(Op::Emit(pipe), node));
        }
        self.pipe_commands(pipe, emits, false);
    }

    fn pipe(&mut self, pipe: NodeId, lazy: bool) {
        let parts = self.tree.pipe(pipe);
        if parts.variables.len > 0 {
            self.work.push(Work::Declare(pipe));
        }
        self.pipe_commands(pipe, false, lazy && parts.variables.len == 0);
    }

    fn pipe_commands(&mut self, pipe: NodeId, emits: bool, lazy: bool) {
        self.at = pipe;
        if self.tree.has_nested_declarations && self.conditional == 0 {
            self.emit(Op::Forget(self.next_variable));
        }
        let commands = self.tree.children(self.tree.pipe(pipe).commands);
        for (at, &node) in commands.iter().enumerate().rev() {
            let is_last = at + 1 == commands.len();
            if command::may_be_nil(self.tree.node(self.tree.arguments(node)[0]).kind) {
                self.work.push(Work::Op(Op::Unwrap));
            }
            self.work.push(Work::Command {
                node,
                piped: at > 0,
                emits: emits && is_last,
                lazy: lazy && is_last,
            });
        }
    }

    fn name(&self, place: Place) -> &str {
        &self.source[place.range()]
    }

    fn find_variable(&self, name: &str) -> Option<Variable> {
        self.scope
            .iter()
            .rev()
            .find(|variable| self.name(variable.name) == name)
            .copied()
    }

    /// The value of a pipeline has been found: declares or assigns its variables.
    fn declare(&mut self, pipe: NodeId) {
        let parts = self.tree.pipe(pipe);
        for place in self.tree.names(parts.variables).to_vec() {
            let known = self.find_variable(self.name(place));
            if parts.assigns {
                match known {
                    Some(variable) => self.emit(Op::Assign(variable.slot)),
                    None if self.name(place) == "$" => self.emit(Op::Assign(NO_VARIABLE)),
                    None => {
                        let message = format!("undefined variable: {}", self.name(place));
                        self.fail(message);
                    }
                }
                continue;
            }
            let slot = self.next_variable;
            self.next_variable += 1;
            if let Some(behind) = known.filter(|_| self.conditional > 0) {
                let entry = to_u32(self.program.entries.len());
                self.program.fallbacks.push(Fallback {
                    entry,
                    slot,
                    behind: behind.slot,
                });
            }
            self.scope.push(Variable {
                name: place,
                slot,
                is_element: false,
            });
            self.emit(Op::Store(slot));
        }
    }

    fn branch(&mut self, branch: Branch) {
        let end_scope = Work::EndScope(self.scope.len());
        let dot = Work::Dot(self.dot_is_element);
        let (otherwise, end) = (self.label(), self.label());
        let mut steps = vec![Work::Pipe(branch.pipe, false)];
        match branch.kind {
            BranchKind::If => {
                steps.push(Work::Op(Op::JumpUnless(otherwise)));
                steps.push(Work::List(branch.list));
            }
            BranchKind::With => {
                steps.push(Work::Op(Op::EnterWith(otherwise)));
                steps.push(Work::Dot(false));
                steps.push(Work::List(branch.list));
                steps.push(Work::Op(Op::LeaveWith));
            }
            BranchKind::Range => {
                let (body, next, leave) = (self.label(), self.label(), self.label());
                self.loops.push(Loop {
                    next,
                    leave,
                    leaves: false,
                });
                steps.push(Work::EnterRange {
                    pipe: branch.pipe,
                    otherwise,
                });
                steps.push(Work::Dot(true));
                steps.push(Work::Label(body));
                steps.push(Work::List(branch.list));
                steps.push(Work::Label(next));
                steps.push(Work::Op(Op::NextRound { body }));
                steps.push(Work::EndLoop);
            }
        }
        steps.push(dot);
        if let Some(list) = branch.otherwise {
            steps.push(Work::Op(Op::Jump(end)));
            steps.push(Work::Label(otherwise));
            steps.push(Work::List(list));
        } else {
            steps.push(Work::Label(otherwise));
        }
        steps.push(Work::Label(end));
        steps.push(end_scope);
        self.work.extend(steps.into_iter().rev());
    }

    /// What follows the rounds of a loop: the way out of a `break`, if there is one.
    fn end_loop(&mut self) {
        let Some(done) = self.loops.pop() else { return };
        if done.leaves {
            let past = self.label();
            self.emit(Op::Jump(past));
            self.labels[done.leave as usize] = to_u32(self.program.ops.len());
            self.emit(Op::LeaveRange);
            self.labels[past as usize] = to_u32(self.program.ops.len());
        }
    }

    fn enter_range(&mut self, pipe: NodeId, otherwise: Target) {
        let parts = self.tree.pipe(pipe);
        let names = self.tree.names(parts.variables);
        let slot = |&name| {
            self.find_variable(self.name(name))
                .map_or(NO_VARIABLE, |variable| variable.slot)
        };
        let slots: Vec<u32> = names.iter().map(slot).collect();
        let last = self.next_variable.wrapping_sub(1);
        let variables = match (names.len(), parts.assigns) {
            (0, _) => LoopVariables::None,
            (1, true) => LoopVariables::Element(slots[0]),
            (1, false) => LoopVariables::Element(last),
            (_, true) => LoopVariables::Both(slots[0], slots[1]),
            (_, false) => LoopVariables::Both(last.wrapping_sub(1), last),
        };
        if let (Some(variable), false) = (self.scope.last_mut(), parts.assigns || names.is_empty())
        {
            variable.is_element = true;
        }
        self.emit(Op::EnterRange {
            variables,
            otherwise,
        });
    }

    fn template(&mut self, index: u32) {
        let call = self.tree.calls[index as usize];
        let name = &self.tree.strings[call.name as usize];
        let Some(entry) = self
            .tree
            .definitions
            .iter()
            .position(|definition| definition.name == *name)
        else {
            let message = format!("template {} not defined", quoted(name));
            return self.fail(message);
        };
        self.work
            .push(Work::OpAt(Op::CallTemplate(to_u32(entry)), self.at));
        match call.pipe {
            Some(pipe) => self.work.push(Work::Pipe(pipe, false)),
            None => self.emit(Op::LoadNothing),
        }
    }

    fn finish(mut self) -> Program {
        let labels = self.labels;
        let resolve = |target: &mut Target| *target = labels[*target as usize];
        for op in &mut self.program.ops {
            match op {
                Op::Jump(to)
                | Op::JumpUnless(to)
                | Op::Decide { to, .. }
                | Op::EnterWith(to)
                | Op::EnterRange { otherwise: to, .. }
                | Op::NextRound { body: to } => resolve(to),
                _ => {}
            }
        }
        self.program
    }
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn push<T>(pool: &mut Vec<T>, value: T) -> u32 {
    pool.push(value);
    to_u32(pool.len() - 1)
}
