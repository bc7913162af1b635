//! Commands and their arguments: what is called, what is fetched, what can only fail.

use super::{Compiler, Work, push, to_u32};
use crate::function::Function;
use crate::program::{Call, Constant, Op, Operand, OperandKind, Piped};
use crate::tree::{Kind, NodeId, Number, Run};
use crate::tree_text::node_text;

/// A call whose arguments are on their way.
pub(super) struct Pending {
    call: Call,
    node: NodeId,
}

/// A call as it is written.
#[derive(Clone, Copy)]
struct Site<'t> {
    function: Function,
    arguments: &'t [NodeId],
    /// The node of its name.
    name: NodeId,
    /// The node an error of the function is reported at.
    node: NodeId,
    piped: bool,
    emits: bool,
    lazy: bool,
}

/// Whether what a command calls gives text, which can go straight to the output.
pub(super) fn writes_text(first: Kind) -> bool {
    use Function::{Html, Js, Json, Print, Printf, Println, Quote, Urlquery};
    matches!(
        first,
        Kind::Identifier(Html | Js | Json | Print | Printf | Println | Quote | Urlquery)
    )
}

/// Whether a command can give a nil interface.
pub(super) fn may_be_nil(first: Kind) -> bool {
    match first {
        Kind::Identifier(function) => {
            matches!(
                function,
                Function::And | Function::Or | Function::Index | Function::FromJson
            )
        }
        Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Pipe(_) => false,
        _ => true,
    }
}

impl<'t> Compiler<'t> {
    /// The operand a node is, if fetching it takes one step.
    pub(super) fn simple(&mut self, node: NodeId) -> Option<Operand> {
        let mut from_container = false;
        let kind = match self.tree.node(node).kind {
            Kind::Dot => {
                from_container = self.dot_is_element;
                OperandKind::Dot(Run::default())
            }
            Kind::Field(run) => {
                from_container = self.dot_is_element;
                OperandKind::Dot(run)
            }
            Kind::Nil => OperandKind::Nil,
            Kind::Variable(run) => {
                let fields = Run {
                    start: run.start + 1,
                    len: run.len - 1,
                };
                let name = self.name(self.tree.names(run)[0]);
                match self.find_variable(name) {
                    Some(variable) => {
                        from_container = variable.is_element;
                        OperandKind::Variable(variable.slot, fields)
                    }
                    None if name == "$" => OperandKind::Dollar(fields),
                    None => {
                        let message = format!("undefined variable: {name}");
                        OperandKind::Fail(self.message(message))
                    }
                }
            }
            Kind::Bool(value) => self.constant(Constant::Bool(value)),
            Kind::String(index) => self.constant(Constant::String(index)),
            Kind::Number(index) => match self.tree.numbers[index as usize] {
                Number::Int(value) => self.constant(Constant::Int(value)),
                Number::Float(value) => self.constant(Constant::Float(value)),
                Number::Complex(real, imaginary) => {
                    let index = push(&mut self.program.complexes, (real, imaginary));
                    self.constant(Constant::Complex(index))
                }
                Number::Overflows => {
                    let message =
                        format!("{} overflows int", node_text(self.tree, self.source, node));
                    OperandKind::Fail(self.message(message))
                }
            },
            _ => return None,
        };
        Some(Operand {
            kind,
            node,
            at: node,
            from_container,
        })
    }

    fn constant(&mut self, constant: Constant) -> OperandKind {
        OperandKind::Constant(push(&mut self.program.constants, constant))
    }

    fn load(&mut self, operand: Operand) {
        let index = push(&mut self.program.operands, operand);
        self.emit(Op::Load(index));
    }

    pub(super) fn command(&mut self, node: NodeId, piped: bool, emits: bool, lazy: bool) {
        let arguments = self.tree.arguments(node);
        let first = arguments[0];
        let has_arguments = arguments.len() > 1 || piped;
        match self.tree.node(first).kind {
            Kind::Identifier(function) => {
                let arguments = &arguments[1..];
                self.call(Site {
                    function,
                    arguments,
                    name: first,
                    node,
                    piped,
                    emits,
                    lazy,
                });
            }
            Kind::Pipe(_) if has_arguments => self.not_a_function(first),
            Kind::Pipe(_) => self.work.push(Work::Pipe(first, lazy)),
            Kind::Chain(base, names) => self.chain(first, base, names, has_arguments, lazy),
            kind => {
                self.at = first;
                let Some(operand) = self.simple(first) else {
                    return;
                };
                let has_fields = match kind {
                    Kind::Field(_) => true,
                    Kind::Variable(run) => run.len > 1,
                    _ => false,
                };
                if has_arguments && has_fields {
                    let index = push(&mut self.program.operands, operand);
                    self.emit(Op::Method(index));
                    return;
                }
                if matches!(kind, Kind::Variable(_)) || !has_arguments {
                    if self.not_a_command(operand.kind) {
                        return;
                    }
                    self.load(operand);
                }
                if has_arguments {
                    self.not_a_function(first);
                }
            }
        }
    }

    /// Fails on a bare `nil`.
    pub(super) fn not_a_command(&mut self, kind: OperandKind) -> bool {
        let is_nil = matches!(kind, OperandKind::Nil);
        if is_nil {
            self.fail("nil is not a command".to_owned());
        }
        is_nil
    }

    fn not_a_function(&mut self, node: NodeId) {
        let message = format!(
            "can't give argument to non-function {}",
            node_text(self.tree, self.source, node)
        );
        self.fail(message);
    }

    fn chain(&mut self, node: NodeId, base: NodeId, names: Run, has_arguments: bool, lazy: bool) {
        self.at = node;
        let op = if has_arguments {
            Op::MethodFields(names)
        } else {
            Op::Fields { names, lazy }
        };
        self.work.push(Work::Op(op));
        self.work.push(Work::Argument(base, true));
    }

    /// Evaluates an argument into the accumulator.
    pub(super) fn argument(&mut self, node: NodeId, lazy: bool) {
        self.at = node;
        match self.tree.node(node).kind {
            Kind::Pipe(_) => self.work.push(Work::Pipe(node, lazy)),
            Kind::Identifier(function) => {
                self.call(Site {
                    function,
                    arguments: &[],
                    name: node,
                    node,
                    piped: false,
                    emits: false,
                    lazy,
                });
            }
            Kind::Chain(base, names) => self.chain(node, base, names, false, lazy),
            _ => {
                if let Some(operand) = self.simple(node) {
                    self.load(operand);
                }
            }
        }
    }

    fn call(&mut self, site: Site<'t>) {
        self.at = site.name;
        if let Some(message) = arity_fault(&site) {
            return self.fail(message);
        }
        if matches!(site.function, Function::And | Function::Or) {
            return self.short_circuit(&site);
        }
        let is_simple = |&node: &NodeId| {
            !matches!(
                self.tree.node(node).kind,
                Kind::Pipe(_) | Kind::Identifier(_) | Kind::Chain(..)
            )
        };
        let on_stack = !site.arguments.iter().all(is_simple);
        let start = self.program.operands.len();
        let piped = match (site.piped, on_stack) {
            (false, _) => Piped::No,
            (true, false) => Piped::Accumulator,
            (true, true) => Piped::Stack,
        };
        let call = Call {
            function: site.function,
            arguments: Run {
                start: to_u32(start),
                len: to_u32(site.arguments.len()),
            },
            on_stack,
            piped,
            emits: site.emits,
            lazy: site.lazy,
            from_container: self.held(site.arguments),
        };
        let pending = Pending {
            call,
            node: site.node,
        };
        if on_stack {
            self.push_arguments(&site, pending);
            return;
        }
        for (at, &node) in site.arguments.iter().enumerate() {
            let operand = match self.string_fault(&site, at, node) {
                Some(message) => {
                    let kind = OperandKind::Fail(self.message(message));
                    Operand {
                        kind,
                        node,
                        at: node,
                        from_container: false,
                    }
                }
                None => match self.simple(node) {
                    Some(operand) => operand,
                    None => continue,
                },
            };
            self.program.operands.push(operand);
            self.at = node;
        }
        self.finish_call(&pending);
    }

    fn push_arguments(&mut self, site: &Site<'t>, pending: Pending) {
        let start = self.program.operands.len();
        let placeholder = Operand {
            kind: OperandKind::Stack,
            node: site.node,
            at: site.node,
            from_container: false,
        };
        self.program
            .operands
            .resize(start + site.arguments.len(), placeholder);
        if site.piped {
            self.emit(Op::Push);
        }
        self.work.push(Work::Call(Box::new(pending)));
        for (at, &node) in site.arguments.iter().enumerate().rev() {
            self.work.push(Work::PushArgument {
                operands: start + at,
                node,
            });
            match self.string_fault(site, at, node) {
                Some(message) => {
                    let index = self.message(message);
                    self.work.push(Work::Op(Op::Fail(index)));
                    self.work.push(Work::At(node));
                }
                None => self.work.push(Work::Argument(
                    node,
                    at == 0 && site.function == Function::Index,
                )),
            }
        }
    }

    pub(super) fn finish_call(&mut self, pending: &Pending) {
        let index = push(&mut self.program.calls, pending.call);
        self.emit_at(Op::Call(index), pending.node);
    }

    /// Why a literal cannot be the string a function wants first.
    fn string_fault(&self, site: &Site<'t>, at: usize, node: NodeId) -> Option<String> {
        if at > 0 || !site.function.signature().string_first {
            return None;
        }
        match self.tree.node(node).kind {
            Kind::Nil => Some("cannot assign nil to string".to_owned()),
            Kind::Bool(_) | Kind::Number(_) => Some(format!(
                "expected string; found {}",
                node_text(self.tree, self.source, node)
            )),
            _ => None,
        }
    }

    /// Which arguments come straight out of a list or map.
    fn held(&self, arguments: &[NodeId]) -> u64 {
        let is_held = |node: NodeId| match self.tree.node(node).kind {
            Kind::Field(_) | Kind::Chain(..) => true,
            Kind::Dot => self.dot_is_element,
            Kind::Variable(run) if run.len > 1 => true,
            Kind::Variable(run) => self
                .find_variable(self.name(self.tree.names(run)[0]))
                .is_some_and(|variable| variable.is_element),
            _ => false,
        };
        arguments
            .iter()
            .take(64)
            .enumerate()
            .map(|(at, &node)| u64::from(is_held(node)) << at)
            .sum()
    }

    /// `and` and `or`: each argument only if the ones before did not decide.
    fn short_circuit(&mut self, site: &Site<'t>) {
        let stop_on = site.function == Function::Or;
        let (short, end) = (self.label(), self.label());
        let mut steps = Vec::with_capacity(site.arguments.len() * 4 + 5);
        if site.piped {
            steps.push(Work::Op(Op::Push));
        }
        for (at, &node) in site.arguments.iter().enumerate() {
            let is_last = at + 1 == site.arguments.len() && !site.piped;
            if at == 1 {
                steps.push(Work::Conditional(1));
            }
            steps.push(Work::Argument(node, false));
            if !is_last {
                steps.push(Work::Op(Op::Decide { stop_on, to: short }));
            }
        }
        if site.arguments.len() > 1 {
            steps.push(Work::Conditional(-1));
        }
        if site.piped {
            steps.push(Work::Op(Op::Pop));
            steps.push(Work::Op(Op::Jump(end)));
            steps.push(Work::Label(short));
            steps.push(Work::Op(Op::Drop));
        } else {
            steps.push(Work::Label(short));
        }
        steps.push(Work::Label(end));
        self.work.extend(steps.into_iter().rev());
    }
}

fn arity_fault(site: &Site<'_>) -> Option<String> {
    let signature = site.function.signature();
    let name = site.function.name();
    let given = site.arguments.len() + usize::from(site.piped);
    if signature.variadic {
        let wrong = given < signature.fixed;
        let got = site.arguments.len();
        return wrong.then(|| {
            format!(
                "wrong number of args for {name}: want at least {} got {got}",
                signature.fixed
            )
        });
    }
    let wrong = given != signature.fixed;
    wrong.then(|| {
        format!(
            "wrong number of args for {name}: want {} got {given}",
            signature.fixed
        )
    })
}
