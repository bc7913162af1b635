//! The syntax tree: flat vectors, nodes named by index, so that no depth of nesting needs a deep stack.

/// Names a node of a [`Tree`].
pub(crate) type NodeId = u32;

/// A run of entries in one of the tree's pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Run {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Bytes of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Place {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One node: what it is, where Go says it is, and the bytes it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syntax {
    pub(crate) kind: Kind,
    /// Go's position, for error texts; of a chain of fields it is the second one.
    pub(crate) position: u32,
    pub(crate) place: Place,
}

/// What a node is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Dot,
    Nil,
    Bool(bool),
    /// Index into `numbers`.
    Number(u32),
    /// Index into `strings`.
    String(u32),
    /// `.a.b`: names.
    Field(Run),
    /// `$x.a.b`: names, the first with its `$`.
    Variable(Run),
    Identifier(crate::function::Function),
    /// `(pipe).a.b`.
    Chain(NodeId, Run),
    /// A pipeline: index into `pipes`.
    Pipe(u32),
    /// Arguments, the first being what is called.
    Command(Run),
    Text,
    Action(NodeId),
    /// Index into `branches`.
    Branch(u32),
    /// Index into `calls`.
    Template(u32),
    Break,
    Continue,
}

/// A pipeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// Names of the variables that are declared or assigned.
    pub(crate) variables: Run,
    pub(crate) assigns: bool,
    /// Command nodes.
    pub(crate) commands: Run,
}

/// Which block a branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    If,
    With,
    Range,
}

/// An `if`, `with` or `range`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) kind: BranchKind,
    pub(crate) pipe: NodeId,
    pub(crate) list: Run,
    pub(crate) otherwise: Option<Run>,
}

/// A `template` or `block` action.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateCall {
    /// Index into `strings`.
    pub(crate) name: u32,
    pub(crate) pipe: Option<NodeId>,
}

/// A number literal as an untyped place takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    /// Fits an unsigned integer only, which no place takes.
    Overflows,
}

/// A named template of the source.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Vec<u8>,
    pub(crate) list: Run,
    pub(crate) is_empty: bool,
}

/// A whole source, parsed.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Syntax>,
    /// Children, in runs.
    pub(crate) links: Vec<NodeId>,
    /// Names of fields and variables, in runs.
    pub(crate) names: Vec<Place>,
    pub(crate) numbers: Vec<Number>,
    pub(crate) strings: Vec<Vec<u8>>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) calls: Vec<TemplateCall>,
    /// The root first, then what `define` and `block` made, in the order they were closed.
    pub(crate) definitions: Vec<Definition>,
    pub(crate) has_definitions: bool,
    /// A variable is declared or assigned inside parentheses somewhere.
    pub(crate) has_nested_declarations: bool,
}

impl Tree {
    /// A tree with room for what a source of this length usually holds.
    pub(crate) fn for_source(bytes: usize) -> Self {
        let room = (bytes / 5 + 4).min(256);
        Self {
            nodes: Vec::with_capacity(room),
            links: Vec::with_capacity(room),
            ..Self::default()
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> Syntax {
        self.nodes[id as usize]
    }

    pub(crate) fn children(&self, run: Run) -> &[NodeId] {
        &self.links[run.range()]
    }

    pub(crate) fn names(&self, run: Run) -> &[Place] {
        &self.names[run.range()]
    }

    /// The pipeline of a node that is one.
    pub(crate) fn pipe(&self, id: NodeId) -> Pipe {
        match self.node(id).kind {
            Kind::Pipe(index) => self.pipes[index as usize],
            _ => Pipe {
                variables: Run::default(),
                assigns: false,
                commands: Run::default(),
            },
        }
    }

    /// The arguments of a command node.
    pub(crate) fn arguments(&self, id: NodeId) -> &[NodeId] {
        match self.node(id).kind {
            Kind::Command(run) => self.children(run),
            _ => &[],
        }
    }
}
