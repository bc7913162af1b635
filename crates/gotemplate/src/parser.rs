//! Turns a source text into a [`Tree`], or says in Go's words why it is none. Blocks are kept on a stack of our
//! own, so no nesting can exhaust the thread's.

mod expression;
mod tokens;

use crate::error::ParseError;
use crate::lexer::{Lexer, Token};
use crate::limits::ParseLimits;
use crate::literal::unquote;
use crate::options::ParseOptions;
use crate::quote::quoted;
use crate::span::Span;
use crate::tree::{
    Branch, BranchKind, Definition, Kind, NodeId, Place, Run, Syntax, TemplateCall, Tree,
};
use tokens::Tokens;

/// Parses a whole source.
pub(crate) fn parse_tree(source: &str, options: &ParseOptions<'_>) -> Result<Tree, ParseError> {
    let mut parser = Parser::new(source, options.name, &options.limits);
    if source.len() > options.limits.source_bytes_max {
        let limit = options.limits.source_bytes_max;
        return Err(parser.fault(format!(
            "source of {} bytes exceeds the limit of {limit}",
            source.len()
        )));
    }
    parser.run()?;
    Ok(parser.tree)
}

/// What an action or text turned out to be.
enum Step {
    Node(NodeId),
    Opened,
    End,
    Else,
}

/// A block that is not closed yet.
struct Frame {
    kind: FrameKind,
    /// Where this block's children begin in `children`.
    mark: usize,
}

enum FrameKind {
    Define {
        name: Vec<u8>,
    },
    Block {
        name: Vec<u8>,
        name_at: Place,
        pipe: NodeId,
    },
    Branch {
        kind: BranchKind,
        pipe: NodeId,
        variables: usize,
        list: Option<Run>,
        implied: bool,
        start: u32,
    },
}

/// The state Go keeps for each template it parses: the root, and one more for each open `define` or `block`.
struct Scope<'s> {
    tokens: Tokens,
    variables: Vec<&'s str>,
    range_depth: usize,
    /// Start of the open action, if any.
    action: Option<usize>,
}

impl Scope<'_> {
    fn new() -> Self {
        Self {
            tokens: Tokens::default(),
            variables: Vec::new(),
            range_depth: 0,
            action: None,
        }
    }
}

struct Parser<'s> {
    source: &'s str,
    name: &'s str,
    limits: &'s ParseLimits,
    lexer: Lexer<'s>,
    tree: Tree,
    scope: Scope<'s>,
    outer: Vec<Scope<'s>>,
    frames: Vec<Frame>,
    children: Vec<NodeId>,
    arguments: Vec<NodeId>,
    commands: Vec<NodeId>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, name: &'s str, limits: &'s ParseLimits) -> Self {
        Self {
            source,
            name,
            limits,
            lexer: Lexer::new(source),
            tree: Tree::for_source(source.len()),
            scope: Scope::new(),
            outer: Vec::new(),
            frames: Vec::new(),
            children: Vec::new(),
            arguments: Vec::new(),
            commands: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), ParseError> {
        loop {
            let at_root = self.frames.is_empty();
            let token = if at_root {
                self.peek().token
            } else {
                self.peek_non_space().token
            };
            if token == Token::Eof {
                if at_root {
                    break;
                }
                return Err(self.fault("unexpected EOF".to_owned()));
            }
            if at_root && token == Token::LeftDelim && self.define()? {
                continue;
            }
            match self.text_or_action()? {
                Step::Node(node) => self.children.push(node),
                Step::Opened => {}
                Step::End => self.end()?,
                Step::Else => self.otherwise()?,
            }
        }
        let list = self.close_list(0);
        self.add(self.name.as_bytes().to_vec(), list)
    }

    /// Opens a definition if one stands here.
    fn define(&mut self) -> Result<bool, ParseError> {
        let delim = self.next();
        if self.next_non_space().token != Token::Define {
            self.scope.tokens.backup2(delim);
            return Ok(false);
        }
        self.enter_scope();
        let item = self.next_non_space();
        let name = self.template_name(item, "define clause")?;
        self.expect(Token::RightDelim, "define clause")?;
        self.tree.has_definitions = true;
        self.push_frame(FrameKind::Define { name })?;
        Ok(true)
    }

    fn enter_scope(&mut self) {
        let outer = std::mem::replace(&mut self.scope, Scope::new());
        self.outer.push(outer);
    }

    fn leave_scope(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.scope = outer;
        }
    }

    fn push_frame(&mut self, kind: FrameKind) -> Result<(), ParseError> {
        if self.frames.len() >= self.limits.block_depth_max {
            let limit = self.limits.block_depth_max;
            return Err(self.fault(format!("blocks nested deeper than the limit of {limit}")));
        }
        self.frames.push(Frame {
            kind,
            mark: self.children.len(),
        });
        Ok(())
    }

    fn text_or_action(&mut self) -> Result<Step, ParseError> {
        let item = self.next_non_space();
        match item.token {
            Token::Text => Ok(Step::Node(self.node(
                Kind::Text,
                item.start,
                item.start,
                item.end,
            ))),
            Token::LeftDelim => {
                self.scope.action = Some(item.start);
                let step = self.action()?;
                if !matches!(step, Step::Opened) {
                    self.scope.action = None;
                }
                Ok(step)
            }
            _ => Err(self.unexpected(item, "input")),
        }
    }

    fn action(&mut self) -> Result<Step, ParseError> {
        let item = self.next_non_space();
        match item.token {
            Token::Block => self.block(),
            Token::Break => self.jump(item.start, Kind::Break, "{{break}}"),
            Token::Continue => self.jump(item.start, Kind::Continue, "{{continue}}"),
            Token::Else => {
                let next = self.peek_non_space();
                if !matches!(next.token, Token::If | Token::With) {
                    self.expect(Token::RightDelim, "else")?;
                }
                Ok(Step::Else)
            }
            Token::End => self.expect(Token::RightDelim, "end").map(|_| Step::End),
            Token::If => self.open_branch(BranchKind::If, false),
            Token::Range => self.open_branch(BranchKind::Range, false),
            Token::With => self.open_branch(BranchKind::With, false),
            Token::Template => self.template(),
            _ => {
                self.scope.tokens.backup();
                let start = self.peek().start;
                let pipe = self.pipeline("command", Token::RightDelim)?;
                let end = self.tree.node(pipe).place.end as usize;
                Ok(Step::Node(self.node(Kind::Action(pipe), start, start, end)))
            }
        }
    }

    fn jump(&mut self, start: usize, kind: Kind, word: &str) -> Result<Step, ParseError> {
        let item = self.next_non_space();
        if item.token != Token::RightDelim {
            return Err(self.unexpected(item, word));
        }
        if self.scope.range_depth == 0 {
            return Err(self.fault(format!("{word} outside {{{{range}}}}")));
        }
        Ok(Step::Node(self.node(kind, start, start, item.start)))
    }

    fn open_branch(&mut self, kind: BranchKind, implied: bool) -> Result<Step, ParseError> {
        let variables = self.scope.variables.len();
        let context = match kind {
            BranchKind::If => "if",
            BranchKind::With => "with",
            BranchKind::Range => "range",
        };
        let start = self.scope.action.unwrap_or_default();
        let pipe = self.pipeline(context, Token::RightDelim)?;
        self.scope.range_depth += usize::from(kind == BranchKind::Range);
        let start = to_u32(start);
        self.push_frame(FrameKind::Branch {
            kind,
            pipe,
            variables,
            list: None,
            implied,
            start,
        })?;
        Ok(Step::Opened)
    }

    fn block(&mut self) -> Result<Step, ParseError> {
        let item = self.next_non_space();
        let name = self.template_name(item, "block clause")?;
        let pipe = self.pipeline("block clause", Token::RightDelim)?;
        self.enter_scope();
        self.tree.has_definitions = true;
        let name_at = Place {
            start: to_u32(item.start),
            end: to_u32(item.end),
        };
        self.push_frame(FrameKind::Block {
            name,
            name_at,
            pipe,
        })?;
        Ok(Step::Opened)
    }

    fn template(&mut self) -> Result<Step, ParseError> {
        let item = self.next_non_space();
        let name = self.template_name(item, "template clause")?;
        let mut pipe = None;
        if self.next_non_space().token != Token::RightDelim {
            self.scope.tokens.backup();
            pipe = Some(self.pipeline("template clause", Token::RightDelim)?);
        }
        let place = Place {
            start: to_u32(item.start),
            end: to_u32(item.end),
        };
        Ok(Step::Node(self.template_node(name, place, pipe)))
    }

    fn template_node(&mut self, name: Vec<u8>, place: Place, pipe: Option<NodeId>) -> NodeId {
        let name = push(&mut self.tree.strings, name);
        let call = push(&mut self.tree.calls, TemplateCall { name, pipe });
        self.node(
            Kind::Template(call),
            place.start as usize,
            place.start as usize,
            place.end as usize,
        )
    }

    fn template_name(
        &mut self,
        item: crate::lexer::Item,
        context: &str,
    ) -> Result<Vec<u8>, ParseError> {
        if !matches!(item.token, Token::String | Token::RawString) {
            return Err(self.unexpected(item, context));
        }
        unquote(self.lexer.text(item)).ok_or_else(|| self.fault("invalid syntax".to_owned()))
    }

    fn otherwise(&mut self) -> Result<(), ParseError> {
        let Some(frame) = self.frames.last() else {
            return Err(self.fault("unexpected {{else}}".to_owned()));
        };
        let mark = frame.mark;
        let kind = match &frame.kind {
            FrameKind::Define { .. } => {
                return Err(self.fault("unexpected {{else}} in define clause".to_owned()));
            }
            FrameKind::Block { .. } => {
                self.leave_scope();
                return Err(self.fault("unexpected {{else}} in block clause".to_owned()));
            }
            FrameKind::Branch { list: Some(_), .. } => {
                return Err(self.fault("expected end; found {{else}}".to_owned()));
            }
            FrameKind::Branch { kind, .. } => *kind,
        };
        self.scope.range_depth -= usize::from(kind == BranchKind::Range);
        let done = self.close_list(mark);
        if let Some(Frame {
            kind: FrameKind::Branch { list, .. },
            ..
        }) = self.frames.last_mut()
        {
            *list = Some(done);
        }
        let next = self.peek().token;
        if kind == BranchKind::If && next == Token::If
            || kind == BranchKind::With && next == Token::With
        {
            self.next();
            self.open_branch(kind, true)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ParseError> {
        loop {
            let Some(frame) = self.frames.pop() else {
                return Err(self.fault("unexpected {{end}}".to_owned()));
            };
            let run = self.close_list(frame.mark);
            match frame.kind {
                FrameKind::Define { name } => {
                    self.add(name, run)?;
                    self.leave_scope();
                    return Ok(());
                }
                FrameKind::Block {
                    name,
                    name_at,
                    pipe,
                } => {
                    self.add(name.clone(), run)?;
                    self.leave_scope();
                    let node = self.template_node(name, name_at, Some(pipe));
                    self.children.push(node);
                    return Ok(());
                }
                FrameKind::Branch {
                    kind,
                    pipe,
                    variables,
                    list,
                    implied,
                    start,
                } => {
                    self.scope.variables.truncate(variables);
                    let (list, otherwise) = match list {
                        Some(list) => (list, Some(run)),
                        None => (run, None),
                    };
                    if kind == BranchKind::Range && otherwise.is_none() {
                        self.scope.range_depth -= 1;
                    }
                    let branch = push(
                        &mut self.tree.branches,
                        Branch {
                            kind,
                            pipe,
                            list,
                            otherwise,
                        },
                    );
                    let position = self.tree.node(pipe).position as usize;
                    let end = self.tree.node(pipe).place.end as usize;
                    let node = self.node(Kind::Branch(branch), position, start as usize, end);
                    self.children.push(node);
                    if !implied {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn close_list(&mut self, mark: usize) -> Run {
        move_tail(&mut self.children, mark, &mut self.tree.links)
    }

    /// Installs a template: an empty one never replaces, a second one that is not empty is a fault.
    fn add(&mut self, name: Vec<u8>, list: Run) -> Result<(), ParseError> {
        let is_empty = self
            .tree
            .children(list)
            .iter()
            .all(|&node| self.is_blank(node));
        let new = Definition {
            name,
            list,
            is_empty,
        };
        match self
            .tree
            .definitions
            .iter_mut()
            .find(|old| old.name == new.name)
        {
            None => self.tree.definitions.push(new),
            Some(old) if old.is_empty => *old = new,
            Some(_) if new.is_empty => {}
            Some(_) => {
                let name = quoted(&new.name);
                return Err(self.fault(format!("template: multiple definition of template {name}")));
            }
        }
        Ok(())
    }

    fn is_blank(&self, node: NodeId) -> bool {
        let node = self.tree.node(node);
        matches!(node.kind, Kind::Text) && self.source[node.place.range()].trim().is_empty()
    }

    fn node(&mut self, kind: Kind, position: usize, start: usize, end: usize) -> NodeId {
        let place = Place {
            start: to_u32(start),
            end: to_u32(end),
        };
        push(
            &mut self.tree.nodes,
            Syntax {
                kind,
                position: to_u32(position),
                place,
            },
        )
    }

    /// A fault at the current item.
    fn fault(&self, message: String) -> ParseError {
        let item = self.scope.tokens.current();
        let start = item.start.min(self.source.len());
        let end = item.end.clamp(start, self.source.len());
        ParseError {
            name: self.name.to_owned(),
            line: self.line(start),
            message,
            span: Span::new(start, end),
        }
    }

    fn line(&self, at: usize) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.source.as_bytes()[..at]).count()
    }
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn push<T>(pool: &mut Vec<T>, value: T) -> u32 {
    pool.push(value);
    to_u32(pool.len() - 1)
}

fn move_tail(from: &mut Vec<NodeId>, mark: usize, to: &mut Vec<NodeId>) -> Run {
    let run = Run {
        start: to_u32(to.len()),
        len: to_u32(from.len() - mark),
    };
    to.extend(from.drain(mark..));
    run
}
