//! Pipelines: declarations, commands, operands. Parentheses are kept on a stack of our own.

use super::{Parser, move_tail, push, to_u32};
use crate::error::ParseError;
use crate::function::Function;
use crate::lexer::{Item, Token};
use crate::limits::PAREN_DEPTH_MAX;
use crate::literal;
use crate::quote::quoted;
use crate::tree::{Kind, NodeId, Pipe, Place, Run};

/// A pipeline that is not complete yet.
struct Open {
    start: usize,
    position: usize,
    context: &'static str,
    end: Token,
    variables: Run,
    assigns: bool,
    /// Where its commands begin in the parser's stack.
    commands: usize,
    /// Where the current command's arguments begin, and its position.
    arguments: usize,
    command_at: usize,
}

/// What comes after an item of a command.
enum Next {
    Operand,
    Command,
}

impl Parser<'_> {
    /// Parses a pipeline up to `end`.
    pub(super) fn pipeline(
        &mut self,
        context: &'static str,
        end: Token,
    ) -> Result<NodeId, ParseError> {
        let start = self.peek_non_space().start;
        let mut stack: Vec<Open> = Vec::new();
        let mut open = self.open(context, end, start)?;
        let mut next = Next::Command;
        loop {
            if matches!(next, Next::Command) {
                let item = self.next_non_space();
                if item.token == open.end {
                    let node = self.close(&open, item)?;
                    let Some(outer) = stack.pop() else {
                        return Ok(node);
                    };
                    open = outer;
                    next = self.operand(&mut open, node)?;
                    continue;
                }
                if !starts_operand(item.token) {
                    return Err(self.unexpected(item, open.context));
                }
                self.scope.tokens.backup();
                open.command_at = self.peek_non_space().start;
                open.arguments = self.arguments.len();
            }
            self.peek_non_space();
            let item = self.next_non_space();
            if item.token == Token::LeftParen {
                if stack.len() >= PAREN_DEPTH_MAX {
                    return Err(self.fault("max expression depth exceeded".to_owned()));
                }
                let inner = self.open("parenthesized pipeline", Token::RightParen, item.start)?;
                stack.push(std::mem::replace(&mut open, inner));
                next = Next::Command;
                continue;
            }
            next = if let Some(node) = self.term(item)? {
                self.operand(&mut open, node)?
            } else {
                self.scope.tokens.backup();
                self.after_operand(&mut open)?
            };
        }
    }

    fn open(
        &mut self,
        context: &'static str,
        end: Token,
        start: usize,
    ) -> Result<Open, ParseError> {
        let position = self.peek_non_space().start;
        let first = to_u32(self.tree.names.len());
        let assigns = self.declarations(context, first)?;
        let variables = Run {
            start: first,
            len: to_u32(self.tree.names.len()) - first,
        };
        let (commands, arguments) = (self.commands.len(), self.arguments.len());
        Ok(Open {
            start,
            position,
            context,
            end,
            variables,
            assigns,
            commands,
            arguments,
            command_at: position,
        })
    }

    /// Variables before `:=` or `=`; says whether they are assigned.
    fn declarations(&mut self, context: &str, first: u32) -> Result<bool, ParseError> {
        loop {
            let variable = self.peek_non_space();
            if variable.token != Token::Variable {
                return Ok(false);
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            let is_comma = next.token == Token::Char && self.lexer.text(next) == ",";
            if matches!(next.token, Token::Assign | Token::Declare) {
                self.next_non_space();
                self.declare(variable);
                return Ok(next.token == Token::Assign);
            }
            if !is_comma {
                if after.token == Token::Space {
                    self.scope.tokens.backup3(variable, after);
                } else {
                    self.scope.tokens.backup2(variable);
                }
                return Ok(false);
            }
            self.next_non_space();
            self.declare(variable);
            if context != "range" || self.tree.names.len() - first as usize >= 2 {
                return Err(self.fault(format!("too many declarations in {context}")));
            }
            let token = self.peek_non_space().token;
            if !matches!(
                token,
                Token::Variable | Token::RightDelim | Token::RightParen
            ) {
                return Err(self.fault("range can only initialize variables".to_owned()));
            }
        }
    }

    fn declare(&mut self, variable: Item) {
        self.tree.names.push(place(variable.start, variable.end));
        self.scope
            .variables
            .push(&self.source[variable.start..variable.end]);
    }

    fn close(&mut self, open: &Open, end: Item) -> Result<NodeId, ParseError> {
        let commands = &self.commands[open.commands..];
        if commands.is_empty() {
            return Err(self.fault(format!("missing value for {}", open.context)));
        }
        for (stage, &command) in commands.iter().enumerate().skip(1) {
            let first = self
                .tree
                .arguments(command)
                .first()
                .map(|&node| self.tree.node(node).kind);
            if matches!(
                first,
                Some(Kind::Bool(_) | Kind::Dot | Kind::Nil | Kind::Number(_) | Kind::String(_))
            ) {
                let stage = stage + 1;
                return Err(self.fault(format!("non executable command in pipeline stage {stage}")));
            }
        }
        let last = commands
            .last()
            .map_or(open.start, |&node| self.tree.node(node).place.end as usize);
        let commands = move_tail(&mut self.commands, open.commands, &mut self.tree.links);
        let pipe = Pipe {
            variables: open.variables,
            assigns: open.assigns,
            commands,
        };
        self.tree.has_nested_declarations |=
            end.token == Token::RightParen && pipe.variables.len > 0;
        let pipe = push(&mut self.tree.pipes, pipe);
        let end = if end.token == Token::RightParen {
            end.end
        } else {
            last
        };
        Ok(self.node(Kind::Pipe(pipe), open.position, open.start, end))
    }

    /// A term has been read: its fields, then what follows it.
    fn operand(&mut self, open: &mut Open, term: NodeId) -> Result<Next, ParseError> {
        let node = if self.peek().token == Token::Field {
            self.fields(term)?
        } else {
            term
        };
        self.arguments.push(node);
        self.after_operand(open)
    }

    fn after_operand(&mut self, open: &mut Open) -> Result<Next, ParseError> {
        let item = self.next();
        match item.token {
            Token::Space => return Ok(Next::Operand),
            Token::RightDelim | Token::RightParen => self.scope.tokens.backup(),
            Token::Pipe => {}
            _ => return Err(self.unexpected(item, "operand")),
        }
        let Some(&last) = self.arguments[open.arguments..].last() else {
            return Err(self.fault("empty command".to_owned()));
        };
        let start = self.tree.node(self.arguments[open.arguments]).place.start as usize;
        let end = self.tree.node(last).place.end as usize;
        let run = move_tail(&mut self.arguments, open.arguments, &mut self.tree.links);
        let command = self.node(Kind::Command(run), open.command_at, start, end);
        self.commands.push(command);
        Ok(Next::Command)
    }

    /// Field accesses that touch a term.
    fn fields(&mut self, term: NodeId) -> Result<NodeId, ParseError> {
        let syntax = self.tree.node(term);
        let first = to_u32(self.tree.names.len());
        let position = self.peek().start;
        if let Kind::Field(run) | Kind::Variable(run) = syntax.kind {
            self.tree.names.extend_from_within(run.range());
        }
        let mut end = syntax.place.end as usize;
        while self.peek().token == Token::Field {
            let item = self.next();
            end = item.end;
            self.tree.names.push(place(item.start + 1, item.end));
        }
        let run = Run {
            start: first,
            len: to_u32(self.tree.names.len()) - first,
        };
        let kind = match syntax.kind {
            Kind::Field(_) => Kind::Field(run),
            Kind::Variable(_) => Kind::Variable(run),
            Kind::Bool(_) | Kind::String(_) | Kind::Number(_) | Kind::Nil | Kind::Dot => {
                let text = quoted(&self.source.as_bytes()[syntax.place.range()]);
                return Err(self.fault(format!("unexpected . after term {text}")));
            }
            _ => Kind::Chain(term, run),
        };
        Ok(self.node(kind, position, syntax.place.start as usize, end))
    }

    fn term(&mut self, item: Item) -> Result<Option<NodeId>, ParseError> {
        let kind = match item.token {
            Token::Identifier => {
                let name = self.lexer.text(item);
                let Some(function) = Function::find(name) else {
                    let name = quoted(name.as_bytes());
                    return Err(self.fault(format!("function {name} not defined")));
                };
                Kind::Identifier(function)
            }
            Token::Dot => Kind::Dot,
            Token::Nil => Kind::Nil,
            Token::Variable => Kind::Variable(self.variable(item)?),
            Token::Field => {
                let start = push(&mut self.tree.names, place(item.start + 1, item.end));
                Kind::Field(Run { start, len: 1 })
            }
            Token::Bool => Kind::Bool(self.lexer.text(item) == "true"),
            Token::CharConstant | Token::Complex | Token::Number => {
                let text = self.lexer.text(item);
                let number = match item.token {
                    Token::CharConstant => literal::character(text),
                    Token::Complex => literal::complex(text),
                    _ => literal::number(text),
                };
                let number = number.map_err(|message| self.fault(message))?;
                Kind::Number(push(&mut self.tree.numbers, number))
            }
            Token::String | Token::RawString => {
                let value = literal::unquote(self.lexer.text(item));
                let value = value.ok_or_else(|| self.fault("invalid syntax".to_owned()))?;
                Kind::String(push(&mut self.tree.strings, value))
            }
            _ => return Ok(None),
        };
        Ok(Some(self.node(kind, item.start, item.start, item.end)))
    }

    fn variable(&mut self, item: Item) -> Result<Run, ParseError> {
        let name = &self.source[item.start..item.end];
        if name != "$" && !self.scope.variables.contains(&name) {
            return Err(self.fault(format!("undefined variable {}", quoted(name.as_bytes()))));
        }
        let start = push(&mut self.tree.names, place(item.start, item.end));
        Ok(Run { start, len: 1 })
    }
}

fn place(start: usize, end: usize) -> Place {
    Place {
        start: to_u32(start),
        end: to_u32(end),
    }
}

fn starts_operand(token: Token) -> bool {
    matches!(
        token,
        Token::Bool
            | Token::CharConstant
            | Token::Complex
            | Token::Dot
            | Token::Field
            | Token::Identifier
            | Token::Number
            | Token::Nil
            | Token::RawString
            | Token::String
            | Token::Variable
            | Token::LeftParen
    )
}
