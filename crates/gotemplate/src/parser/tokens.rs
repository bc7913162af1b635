//! The parser's look-ahead: up to three items, and the words for an item that does not fit.

use super::Parser;
use crate::error::ParseError;
use crate::lexer::{Item, Token};
use crate::quote::quoted;

/// Items read ahead. The first slot holds the item read last; faults are reported on its line.
pub(super) struct Tokens {
    slots: [Item; 3],
    pending: usize,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            slots: [Item {
                token: Token::Eof,
                start: 0,
                end: 0,
            }; 3],
            pending: 0,
        }
    }
}

impl Tokens {
    pub(super) fn backup(&mut self) {
        self.pending += 1;
    }

    pub(super) fn backup2(&mut self, first: Item) {
        self.slots[1] = first;
        self.pending = 2;
    }

    pub(super) fn backup3(&mut self, first: Item, second: Item) {
        self.slots[1] = second;
        self.slots[2] = first;
        self.pending = 3;
    }

    pub(super) fn current(&self) -> Item {
        self.slots[0]
    }
}

impl Parser<'_> {
    pub(super) fn next(&mut self) -> Item {
        let tokens = &mut self.scope.tokens;
        if tokens.pending > 0 {
            tokens.pending -= 1;
        } else {
            tokens.slots[0] = self.lexer.next();
        }
        tokens.slots[tokens.pending]
    }

    pub(super) fn peek(&mut self) -> Item {
        let tokens = &mut self.scope.tokens;
        if tokens.pending > 0 {
            return tokens.slots[tokens.pending - 1];
        }
        tokens.pending = 1;
        tokens.slots[0] = self.lexer.next();
        tokens.slots[0]
    }

    pub(super) fn next_non_space(&mut self) -> Item {
        loop {
            let item = self.next();
            if item.token != Token::Space {
                return item;
            }
        }
    }

    pub(super) fn peek_non_space(&mut self) -> Item {
        let item = self.next_non_space();
        self.scope.tokens.backup();
        item
    }

    pub(super) fn expect(&mut self, token: Token, context: &str) -> Result<Item, ParseError> {
        let item = self.next_non_space();
        if item.token == token {
            Ok(item)
        } else {
            Err(self.unexpected(item, context))
        }
    }

    pub(super) fn unexpected(&self, item: Item, context: &str) -> ParseError {
        let text = self.lexer.text(item);
        if item.token != Token::Error {
            return self.fault(format!(
                "unexpected {} in {context}",
                describe(item.token, text)
            ));
        }
        let mut message = text.to_owned();
        if let Some(action) = self.scope.action {
            let line = self.line(action);
            if line != self.line(item.start) {
                let word = if text.ends_with(" action") {
                    ""
                } else {
                    " in action"
                };
                message = format!("{message}{word} started at {}:{line}", self.name);
            }
        }
        self.fault(message)
    }
}

/// An item as Go names it in a fault.
fn describe(token: Token, text: &str) -> String {
    if token == Token::Eof {
        return "EOF".to_owned();
    }
    if token >= Token::Block {
        return format!("<{text}>");
    }
    if text.len() > 10 {
        let cut = text.char_indices().nth(10).map_or(text.len(), |(at, _)| at);
        return format!("{}...", quoted(&text.as_bytes()[..cut]));
    }
    quoted(text.as_bytes())
}
