//! The functions a template can call: names and parameter lists.

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    And,
    Call,
    Eq,
    FromJson,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Json,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Quote,
    Slice,
    Urlquery,
}

/// What a function takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    /// Parameters before a variable rest.
    pub(crate) fixed: usize,
    pub(crate) variadic: bool,
    /// The first parameter must be a string.
    pub(crate) string_first: bool,
}

const ALL: [(&str, Function); 22] = [
    ("and", Function::And),
    ("call", Function::Call),
    ("eq", Function::Eq),
    ("fromJson", Function::FromJson),
    ("ge", Function::Ge),
    ("gt", Function::Gt),
    ("html", Function::Html),
    ("index", Function::Index),
    ("js", Function::Js),
    ("json", Function::Json),
    ("le", Function::Le),
    ("len", Function::Len),
    ("lt", Function::Lt),
    ("ne", Function::Ne),
    ("not", Function::Not),
    ("or", Function::Or),
    ("print", Function::Print),
    ("printf", Function::Printf),
    ("println", Function::Println),
    ("quote", Function::Quote),
    ("slice", Function::Slice),
    ("urlquery", Function::Urlquery),
];

impl Function {
    pub(crate) fn find(name: &str) -> Option<Self> {
        ALL.iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, function)| function)
    }

    pub(crate) fn name(self) -> &'static str {
        ALL[self as usize].0
    }

    pub(crate) fn signature(self) -> Signature {
        let (fixed, variadic) = match self {
            Function::And
            | Function::Or
            | Function::Call
            | Function::Index
            | Function::Slice
            | Function::Eq
            | Function::Printf => (1, true),
            Function::Html
            | Function::Js
            | Function::Urlquery
            | Function::Print
            | Function::Println => (0, true),
            Function::Len
            | Function::Not
            | Function::Json
            | Function::FromJson
            | Function::Quote => (1, false),
            Function::Ge | Function::Gt | Function::Le | Function::Lt | Function::Ne => (2, false),
        };
        let string_first = matches!(
            self,
            Function::Printf | Function::FromJson | Function::Quote
        );
        Signature {
            fixed,
            variadic,
            string_first,
        }
    }
}
