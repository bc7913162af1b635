//! Cuts a source text into the items of Go's template grammar. Trim markers and comments end here; what
//! the items mean together is the parser's business.

use memchr::memchr;
use memchr::memmem;

use crate::quote::{quoted, unicode_point};
use crate::unicode::is_word;

/// Kinds of items. Keywords come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

/// One item: its kind and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Cuts the source as the parser asks for items.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    pos: usize,
    start: usize,
    parens: usize,
    inside: bool,
    /// Bytes from here on are treated as absent: after an error nothing more is read.
    end: usize,
    /// The text of the error item, once there is one.
    pub(crate) error: String,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self {
            source,
            pos: 0,
            start: 0,
            parens: 0,
            inside: false,
            end: source.len(),
            error: String::new(),
        }
    }

    /// The text of an item.
    pub(crate) fn text(&self, item: Item) -> &str {
        match item.token {
            Token::Error => &self.error,
            Token::Eof => "EOF",
            _ => &self.source[item.start..item.end],
        }
    }

    pub(crate) fn next(&mut self) -> Item {
        if self.inside {
            self.inside_action()
        } else {
            self.text_item()
        }
    }

    fn bytes(&self) -> &'s [u8] {
        &self.source.as_bytes()[..self.end]
    }

    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    fn emit(&mut self, token: Token) -> Item {
        let item = Item {
            token,
            start: self.start,
            end: self.pos,
        };
        self.start = self.pos;
        item
    }

    fn fail(&mut self, message: String) -> Item {
        let item = Item {
            token: Token::Error,
            start: self.start,
            end: self.pos,
        };
        self.error = message;
        (self.start, self.pos, self.end) = (0, 0, 0);
        item
    }

    fn text_item(&mut self) -> Item {
        loop {
            let bytes = self.bytes();
            let Some(open) = find_open(bytes, self.pos) else {
                self.pos = bytes.len();
                let token = if self.pos > self.start {
                    Token::Text
                } else {
                    Token::Eof
                };
                return self.emit(token);
            };
            let trims = has_left_trim(&bytes[open + 2..]);
            let text_end = if trims {
                trim_end(bytes, self.start, open)
            } else {
                open
            };
            if text_end > self.start {
                self.pos = text_end;
                let item = self.emit(Token::Text);
                (self.pos, self.start) = (open, open);
                return item;
            }
            (self.pos, self.start) = (open + 2, open);
            let marker = if trims { 2 } else { 0 };
            if bytes[self.pos + marker..].starts_with(b"/*") {
                self.pos += marker;
                self.start = self.pos;
                if let Some(error) = self.comment() {
                    return error;
                }
                continue;
            }
            let item = self.emit(Token::LeftDelim);
            self.inside = true;
            self.parens = 0;
            self.pos += marker;
            self.start = self.pos;
            return item;
        }
    }

    fn comment(&mut self) -> Option<Item> {
        let bytes = self.bytes();
        let Some(close) = memmem::find(&bytes[self.pos + 2..], b"*/") else {
            return Some(self.fail("unclosed comment".to_owned()));
        };
        self.pos += 2 + close + 2;
        let Some(trims) = self.right_delim() else {
            return Some(self.fail("comment ends before closing delimiter".to_owned()));
        };
        self.skip_right_delim(trims);
        self.start = self.pos;
        None
    }

    /// Whether a right delimiter stands here, and whether it trims.
    fn right_delim(&self) -> Option<bool> {
        let rest = &self.bytes()[self.pos..];
        if rest.starts_with(b"}}") {
            return Some(false);
        }
        let marked = rest.len() >= 4 && is_space(rest[0]) && rest[1..].starts_with(b"-}}");
        marked.then_some(true)
    }

    fn skip_right_delim(&mut self, trims: bool) {
        self.pos += if trims { 4 } else { 2 };
        if trims {
            while self.byte().is_some_and(is_space) {
                self.pos += 1;
            }
        }
    }

    fn close_action(&mut self, trims: bool) -> Item {
        if trims {
            self.start = self.pos + 2;
        }
        let item = Item {
            token: Token::RightDelim,
            start: self.start,
            end: self.start + 2,
        };
        self.skip_right_delim(trims);
        self.start = self.pos;
        self.inside = false;
        item
    }

    fn inside_action(&mut self) -> Item {
        if let Some(trims) = self.right_delim() {
            if self.parens == 0 {
                return self.close_action(trims);
            }
            return self.fail("unclosed left paren".to_owned());
        }
        let Some(byte) = self.byte() else {
            return self.fail("unclosed action".to_owned());
        };
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => self.space(),
            b'"' => self.quoted(b'"', Token::String, "unterminated quoted string"),
            b'\'' => self.quoted(
                b'\'',
                Token::CharConstant,
                "unterminated character constant",
            ),
            b'`' => self.raw_quoted(),
            b'$' => {
                self.pos += 1;
                self.field_or_variable(Token::Variable)
            }
            b'.' if self
                .bytes()
                .get(self.pos + 1)
                .is_some_and(|next| !next.is_ascii_digit()) =>
            {
                self.pos += 1;
                self.field_or_variable(Token::Field)
            }
            b'.' | b'+' | b'-' | b'0'..=b'9' => self.number(),
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.identifier(),
            _ => self.punctuation(byte),
        }
    }

    fn punctuation(&mut self, byte: u8) -> Item {
        let c = self.peek_char().unwrap_or_default();
        if !byte.is_ascii() && is_word(c) {
            return self.identifier();
        }
        self.pos += c.len_utf8();
        match byte {
            b'=' => self.emit(Token::Assign),
            b':' => {
                if self.byte() != Some(b'=') {
                    return self.fail("expected :=".to_owned());
                }
                self.pos += 1;
                self.emit(Token::Declare)
            }
            b'|' => self.emit(Token::Pipe),
            b'(' => {
                self.parens += 1;
                self.emit(Token::LeftParen)
            }
            b')' => {
                if self.parens == 0 {
                    return self.fail("unexpected right paren".to_owned());
                }
                self.parens -= 1;
                self.emit(Token::RightParen)
            }
            0x20..0x7F => self.emit(Token::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                unicode_point(c)
            )),
        }
    }

    fn space(&mut self) -> Item {
        let first = self.pos;
        while self.byte().is_some_and(is_space) {
            self.pos += 1;
        }
        // The last blank may belong to a closing delimiter that trims.
        if self.bytes()[self.pos..].starts_with(b"-}}") {
            self.pos -= 1;
            if self.pos == first {
                return self.close_action(true);
            }
        }
        self.emit(Token::Space)
    }

    fn peek_char(&self) -> Option<char> {
        self.source[..self.end]
            .get(self.pos..)
            .and_then(|rest| rest.chars().next())
    }

    fn skip_word(&mut self) {
        while let Some(byte) = self.byte() {
            if byte.is_ascii() {
                if !byte.is_ascii_alphanumeric() && byte != b'_' {
                    return;
                }
                self.pos += 1;
            } else {
                match self.peek_char() {
                    Some(c) if is_word(c) => self.pos += c.len_utf8(),
                    _ => return,
                }
            }
        }
    }

    /// Whether what stands here may follow a name.
    fn at_terminator(&self) -> bool {
        match self.byte() {
            None | Some(b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(byte) => is_space(byte) || self.bytes()[self.pos..].starts_with(b"}}"),
        }
    }

    fn bad_character(&mut self) -> Item {
        let c = self.peek_char().unwrap_or_default();
        self.fail(format!("bad character {}", unicode_point(c)))
    }

    fn identifier(&mut self) -> Item {
        self.skip_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        let token = match &self.source[self.start..self.pos] {
            "block" => Token::Block,
            "break" => Token::Break,
            "continue" => Token::Continue,
            "define" => Token::Define,
            "else" => Token::Else,
            "end" => Token::End,
            "if" => Token::If,
            "range" => Token::Range,
            "nil" => Token::Nil,
            "template" => Token::Template,
            "with" => Token::With,
            "true" | "false" => Token::Bool,
            _ => Token::Identifier,
        };
        self.emit(token)
    }

    fn field_or_variable(&mut self, token: Token) -> Item {
        if self.at_terminator() {
            return self.emit(if token == Token::Variable {
                token
            } else {
                Token::Dot
            });
        }
        self.skip_word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(token)
    }

    fn quoted(&mut self, quote: u8, token: Token, unterminated: &str) -> Item {
        self.pos += 1;
        loop {
            let Some(byte) = self.byte() else {
                return self.fail(unterminated.to_owned());
            };
            self.pos += 1;
            match byte {
                b'\\' if self.byte().is_some_and(|next| next != b'\n') => {
                    self.pos += self.peek_char().map_or(1, char::len_utf8);
                }
                b'\\' | b'\n' => return self.fail(unterminated.to_owned()),
                _ if byte == quote => return self.emit(token),
                _ => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Item {
        match memchr(b'`', &self.bytes()[self.pos + 1..]) {
            Some(close) => {
                self.pos += close + 2;
                self.emit(Token::RawString)
            }
            None => self.fail("unterminated raw quoted string".to_owned()),
        }
    }

    fn number(&mut self) -> Item {
        let mut token = Token::Number;
        let mut good = self.scan_number();
        if good && matches!(self.byte(), Some(b'+' | b'-')) {
            token = Token::Complex;
            good = self.scan_number() && self.bytes()[self.pos - 1] == b'i';
        }
        if good {
            return self.emit(token);
        }
        let text = quoted(&self.bytes()[self.start..self.pos]);
        self.fail(format!("bad number syntax: {text}"))
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.byte().is_some_and(|byte| set.contains(&byte));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, set: &[u8]) {
        while self.accept(set) {}
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEX: &[u8] = b"0123456789abcdefABCDEF_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEX;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        let exponent: &[u8] = match digits.len() {
            11 => b"eE",
            23 => b"pP",
            _ => b"",
        };
        if self.accept(exponent) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        match self.peek_char() {
            Some(c) if is_word(c) => {
                self.pos += c.len_utf8();
                false
            }
            _ => true,
        }
    }
}

fn find_open(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr(b'{', &bytes[at..])?;
        if bytes.get(at + 1) == Some(&b'{') {
            return Some(at);
        }
        at += 1;
    }
}

fn has_left_trim(rest: &[u8]) -> bool {
    rest.len() >= 2 && rest[0] == b'-' && is_space(rest[1])
}

fn trim_end(bytes: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && is_space(bytes[end - 1]) {
        end -= 1;
    }
    end
}
