//! A parsed and compiled template: what callers hold.

use std::borrow::Cow;
use std::sync::Arc;

use bumpalo::Bump;
use serde_json::Value;

use crate::analyse::analyse;
use crate::analysis::Analysis;
use crate::compile::compile;
use crate::context::Node;
use crate::error::{ParseError, RenderError, RenderErrorKind};
use crate::halt::Halt;
use crate::json_value::to_json;
use crate::limits::RenderLimits;
use crate::options::{ParseOptions, RenderOptions};
use crate::parser::parse_tree;
use crate::program::{Op, OperandKind, Program};
use crate::render::{Code, Machine, Stop};
use crate::span::Span;
use crate::tree::{Kind, NodeId, Tree};
use crate::tree_text::node_text;
use crate::value::{Val, json_field};

/// A parsed and compiled template. Cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Template {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    source: String,
    tree: Tree,
    program: Program,
}

/// What a rendering gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text; UTF-8 unless the template itself made other bytes.
    pub bytes: Vec<u8>,
    /// The expressions that printed no value, in the order of the source, each once.
    pub missing: Vec<Span>,
}

impl Rendered {
    /// The text, with each byte that is not UTF-8 as one U+FFFD, as Go's JSON encoder does.
    pub fn into_string(self) -> String {
        match String::from_utf8(self.bytes) {
            Ok(text) => text,
            Err(error) => {
                let mut text = String::new();
                for chunk in error.as_bytes().utf8_chunks() {
                    text.push_str(chunk.valid());
                    text.extend(chunk.invalid().iter().map(|_| '\u{FFFD}'));
                }
                text
            }
        }
    }
}

/// The value of a whole-value template.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated<'a> {
    /// There is no value. The span is the expression that has none.
    Missing(Span),
    /// The value, borrowed from the data where it comes from there unchanged.
    Value(Cow<'a, Value>),
}

/// Reads a template.
pub fn parse(source: &str, options: &ParseOptions<'_>) -> Result<Template, ParseError> {
    let tree = parse_tree(source, options)?;
    let program = compile(source, &tree, options.name);
    let inner = Inner {
        name: options.name.to_owned(),
        source: source.to_owned(),
        tree,
        program,
    };
    Ok(Template {
        inner: Arc::new(inner),
    })
}

impl Template {
    /// The text the template was parsed from.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// Whether the text holds exactly one action, a pipeline without declaration, and otherwise only comments and
    /// trimmed blanks, so that [`Template::value`] keeps the type.
    pub fn is_whole_value(&self) -> bool {
        self.only_pipe().is_some()
    }

    /// Whether the text holds no action at all, so that rendering always gives the same text.
    pub fn is_constant(&self) -> bool {
        let tree = &self.inner.tree;
        !tree.has_definitions
            && tree
                .nodes
                .iter()
                .all(|node| matches!(node.kind, Kind::Text))
    }

    /// The pipeline of a whole-value template.
    fn only_pipe(&self) -> Option<NodeId> {
        let tree = &self.inner.tree;
        let [root] = tree.definitions.as_slice() else {
            return None;
        };
        let &[node] = tree.children(root.list) else {
            return None;
        };
        match tree.node(node).kind {
            Kind::Action(pipe) if !tree.has_definitions && tree.pipe(pipe).variables.len == 0 => {
                Some(pipe)
            }
            _ => None,
        }
    }

    /// What the template reads and calls.
    pub fn analysis(&self) -> Analysis {
        analyse(&self.inner.source, &self.inner.tree, &self.inner.name)
    }

    fn code(&self) -> Code<'_> {
        Code {
            source: &self.inner.source,
            tree: &self.inner.tree,
            program: &self.inner.program,
        }
    }

    /// Renders to text.
    pub fn render<'a>(
        &self,
        root: impl Into<Node<'a>>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let root = root.into();
        if let Some(text) = self.at_once(root, &options.limits) {
            return Ok(Rendered {
                bytes: text.to_vec(),
                missing: Vec::new(),
            });
        }
        let arena = Bump::new();
        let root = Val::from_node(root, options.mode);
        let mut machine = Machine::new(self.code(), root, options, &arena);
        machine.render().map_err(|stop| self.error(stop))?;
        let missing = self.spans(&machine.missing);
        Ok(Rendered {
            bytes: machine.out,
            missing,
        })
    }

    /// The text of a template that is one text, or one path to a string.
    fn at_once<'s>(&'s self, root: Node<'s>, limits: &RenderLimits) -> Option<&'s [u8]> {
        let text = match self.inner.program.ops.as_slice() {
            [Op::Text(start, end), Op::Return] => {
                &self.inner.source.as_bytes()[*start as usize..*end as usize]
            }
            [Op::EmitOperand(_), Op::Return] => match self.borrowed(root)? {
                Value::String(text) => text.as_bytes(),
                _ => return None,
            },
            _ => return None,
        };
        (text.len() <= limits.output_bytes_max && limits.operations_max > 1).then_some(text)
    }

    fn spans(&self, nodes: &[NodeId]) -> Vec<Span> {
        let mut spans: Vec<Span> = nodes.iter().map(|&node| self.span(node)).collect();
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    fn span(&self, node: NodeId) -> Span {
        let place = self.inner.tree.node(node).place;
        Span::new(place.start as usize, place.end as usize)
    }

    /// Evaluates to a value. For a template that is no whole value this is the rendered text as a string,
    /// or missing if an expression in it printed no value.
    pub fn value<'a>(
        &self,
        root: impl Into<Node<'a>>,
        options: &RenderOptions,
    ) -> Result<Evaluated<'a>, RenderError> {
        let root = root.into();
        let Some(pipe) = self.only_pipe() else {
            let rendered = self.render(root, options)?;
            return Ok(match rendered.missing.first() {
                Some(&span) => Evaluated::Missing(span),
                None => Evaluated::Value(Cow::Owned(Value::String(rendered.into_string()))),
            });
        };
        if let Some(value) = self.borrowed(root) {
            return Ok(Evaluated::Value(Cow::Borrowed(value)));
        }
        let arena = Bump::new();
        let mut machine = Machine::new(
            self.code(),
            Val::from_node(root, options.mode),
            options,
            &arena,
        );
        let value = machine.value().map_err(|stop| self.error(stop))?;
        if let Some(&node) = machine.missing.first() {
            return Ok(Evaluated::Missing(self.span(node)));
        }
        if value.is_missing() {
            return Ok(Evaluated::Missing(self.span(pipe)));
        }
        match to_json(value, options.mode, &arena) {
            Ok(value) => Ok(Evaluated::Value(Cow::Owned(value))),
            Err(halt) => Err(self.error(Stop {
                halt,
                at: pipe,
                definition: 0,
            })),
        }
    }

    /// The JSON value a bare path leads to, if it leads to one and nothing about it is special.
    fn borrowed<'a>(&self, root: Node<'a>) -> Option<&'a Value> {
        let program = &self.inner.program;
        let Some(&Op::EmitOperand(index)) = program.ops.first() else {
            return None;
        };
        let (OperandKind::Dot(names) | OperandKind::Dollar(names)) =
            program.operands[index as usize].kind
        else {
            return None;
        };
        let mut node = root;
        for place in self.inner.tree.names(names) {
            let name = &self.inner.source[place.range()];
            node = match node {
                Node::Json(Value::Object(map)) => Node::Json(json_field(map, name)?),
                Node::Object(object) => object.get(name)?,
                _ => return None,
            };
        }
        match node {
            Node::Json(value) => Some(value),
            _ => None,
        }
    }

    fn error(&self, stop: Stop) -> RenderError {
        let (tree, source) = (&self.inner.tree, &self.inner.source);
        let (kind, message) = match *stop.halt {
            Halt::Fail(message) => (RenderErrorKind::Execution, message),
            Halt::MissingKey(message) => (RenderErrorKind::MissingKey, message),
            Halt::Limit(message) => (RenderErrorKind::Limit, message),
        };
        let before = &source.as_bytes()[..tree.node(stop.at).position as usize];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let column = memchr::memrchr(b'\n', before)
            .map_or(before.len(), |newline| before.len() - newline - 1);
        let definition = &tree.definitions[stop.definition as usize];
        RenderError {
            kind,
            location: format!("{}:{line}:{column}", self.inner.name),
            template: String::from_utf8_lossy(&definition.name).into_owned(),
            context: node_text(tree, source, stop.at),
            message,
            span: self.span(stop.at),
        }
    }
}
