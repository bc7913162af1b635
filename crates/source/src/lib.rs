//! Text with places: source files, YAML and JSON documents, diagnostics and their renderers.
//!
//! Faults in what a user wrote are [`Diagnostic`] values, collected and never thrown; only [`render`] draws them.
//! This crate knows no dialect and no workflow, and does no I/O: callers read files and print what is rendered.
#![deny(clippy::disallowed_methods)]

pub mod limits;
mod place;
mod source_file;
mod text;

pub mod codes;
mod diagnostic;
mod diagnostics;

mod counted;
mod document;
mod fields;
pub mod hidden;
mod node;
mod parse;
mod suggest;

pub mod render;

pub use codes::Code;
pub use counted::counted;
pub use diagnostic::{Diagnostic, Label, Severity};
pub use diagnostics::Diagnostics;
pub use document::Document;
pub use fields::{Fields, Spanned};
pub use limits::{DEPTH_MAX, DIAGNOSTICS_MAX, NODES_MAX, SOURCE_BYTES_MAX};
pub use node::{Entry, Node, NodeKind};
pub use parse::parse;
pub use place::{PathPlace, Place, Span};
pub use source_file::{Position, SourceFile, SourceId, SourceMap};
pub use suggest::suggest;
pub use text::Text;
