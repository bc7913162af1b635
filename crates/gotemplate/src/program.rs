//! The compiled form: a flat list of operations over an accumulator, a small stack, numbered variables and a dot.

use crate::function::Function;
use crate::tree::{NodeId, Run};

/// A place in the program. While compiling it is a label, afterwards an index of `ops`.
pub(crate) type Target = u32;

/// A value that one step can fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) kind: OperandKind,
    /// The expression itself.
    pub(crate) node: NodeId,
    /// The node an error about its value is reported at.
    pub(crate) at: NodeId,
    /// Its dot or variable is an element of a list or map.
    pub(crate) from_container: bool,
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandKind {
    /// Index into `constants`.
    Constant(u32),
    /// The untyped `nil`.
    Nil,
    /// Fields of the dot; none for the dot itself.
    Dot(Run),
    /// Fields of `$`.
    Dollar(Run),
    /// Fields of a variable.
    Variable(u32, Run),
    /// It was pushed on the stack.
    Stack,
    /// Fetching it always fails; index into `messages`.
    Fail(u32),
}

/// Where the value that a pipeline hands on is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piped {
    No,
    Accumulator,
    Stack,
}

/// A call of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) function: Function,
    /// Operands; either none or all of them are on the stack.
    pub(crate) arguments: Run,
    pub(crate) on_stack: bool,
    pub(crate) piped: Piped,
    /// The text goes straight to the output.
    pub(crate) emits: bool,
    /// The result may stay unread JSON text.
    pub(crate) lazy: bool,
    /// Bit n: argument n is taken out of a list or map by a path.
    pub(crate) from_container: u64,
}

/// Which variables a loop sets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LoopVariables {
    None,
    Element(u32),
    Both(u32, u32),
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Writes source bytes.
    Text(u32, u32),
    /// Sets the accumulator.
    Load(u32),
    /// Fetches an operand and writes it.
    EmitOperand(u32),
    /// Writes the accumulator.
    Emit(NodeId),
    /// Takes fields of the accumulator.
    Fields {
        names: Run,
        lazy: bool,
    },
    /// Fields with arguments, which only a method could take; reads the operand's path.
    Method(u32),
    /// The same on the accumulator.
    MethodFields(Run),
    /// Index into `calls`.
    Call(u32),
    /// The end of a command: a nil interface becomes no value.
    Unwrap,
    Push,
    /// Takes the accumulator from the stack.
    Pop,
    /// Takes away what lies on the stack.
    Drop,
    Jump(Target),
    /// Jumps if the accumulator is false.
    JumpUnless(Target),
    /// Jumps if the accumulator is as false or as true as said; it stays.
    Decide {
        stop_on: bool,
        to: Target,
    },
    Store(u32),
    /// Sets a variable that may not exist.
    Assign(u32),
    /// Forgets the variables from this one on.
    Forget(u32),
    /// Makes the accumulator the dot, or jumps if it is false.
    EnterWith(Target),
    LeaveWith,
    /// Begins a loop over the accumulator, or jumps if there is nothing.
    EnterRange {
        variables: LoopVariables,
        otherwise: Target,
    },
    /// The next round, or on past the loop.
    NextRound {
        body: Target,
    },
    LeaveRange,
    /// Index into `entries`; the accumulator becomes its dot.
    CallTemplate(u32),
    /// Sets the accumulator to no value.
    LoadNothing,
    Return,
    /// Index into `messages`.
    Fail(u32),
}

/// A literal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Constant {
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(u32),
    /// Index into the tree's strings.
    String(u32),
}

/// Where a template begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) start: Target,
    pub(crate) variables: u32,
    /// Index into the tree's definitions.
    pub(crate) definition: u32,
}

/// A compiled source.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// For each operation the node an error is reported at.
    pub(crate) at: Vec<NodeId>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) calls: Vec<Call>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) complexes: Vec<(f64, f64)>,
    pub(crate) messages: Vec<String>,
    pub(crate) entries: Vec<Entry>,
    /// The entry that is rendered.
    pub(crate) root: u32,
    /// Variables that may never be set although they are in scope.
    pub(crate) fallbacks: Vec<Fallback>,
    /// Bytes of text that is written as it stands, for the first size of the output.
    pub(crate) text_bytes: usize,
}

/// A variable that is declared in an argument of `and` or `or`, and the one of the same name behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fallback {
    pub(crate) entry: u32,
    pub(crate) slot: u32,
    pub(crate) behind: u32,
}

/// No numbered variable: `$`.
pub(crate) const NO_VARIABLE: u32 = u32::MAX;
