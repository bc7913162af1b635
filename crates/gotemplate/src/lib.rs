//! Go's `text/template` over JSON data: parse, analyse, compile, render.
//!
//! [`parse`] reads a template once and gives a [`Template`] that can be kept, shared and rendered any
//! number of times. Data is borrowed through [`Node`]; nothing is copied to build a context. [`Mode::Go`]
//! gives the bytes of Go 1.26; [`Mode::Workflow`] differs where JSON numbers are printed, compared and used
//! as indexes. The crate does no I/O, reads no clock, and bounds everything a template can ask for.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods)]

mod analyse;
mod analysis;
mod budget;
mod compare;
mod compile;
mod context;
mod error;
mod escape;
mod format;
mod function;
mod halt;
mod json_read;
mod json_value;
mod json_write;
mod lexer;
mod limits;
pub mod lines;
mod literal;
mod options;
mod parser;
mod program;
mod quote;
mod render;
mod select;
mod span;
mod template;
mod tree;
mod tree_text;
mod unicode;
mod unicode_tables;
mod value;

pub use analysis::{Analysis, Base, Dot, FunctionUse, Key, Read, Segment};
pub use context::{List, Node, Object};
pub use error::{ParseError, RenderError, RenderErrorKind};
pub use limits::{ParseLimits, RenderLimits};
pub use options::{MissingKey, Mode, ParseOptions, RenderOptions};
pub use span::Span;
pub use template::{Evaluated, Rendered, Template, parse};
