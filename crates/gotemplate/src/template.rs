//! A parsed and compiled template: what callers hold.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::analysis::Analysis;
use crate::context::Node;
use crate::error::{ParseError, RenderError};
use crate::options::{ParseOptions, RenderOptions};
use crate::span::Span;

/// A parsed and compiled template. Cheap to clone, `Send + Sync`.
#[derive(Clone, Debug)]
pub struct Template {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    source: String,
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
pub fn parse(source: &str, _options: &ParseOptions<'_>) -> Result<Template, ParseError> {
    Ok(Template {
        inner: Arc::new(Inner {
            source: source.to_owned(),
        }),
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
        false
    }

    /// Whether the text holds no action at all, so that rendering always gives the same text.
    pub fn is_constant(&self) -> bool {
        true
    }

    /// What the template reads and calls.
    pub fn analysis(&self) -> Analysis {
        Analysis::default()
    }

    /// Renders to text.
    pub fn render<'a>(
        &self,
        root: impl Into<Node<'a>>,
        options: &RenderOptions,
    ) -> Result<Rendered, RenderError> {
        let (_, _) = (root.into(), options);
        Ok(Rendered {
            bytes: self.inner.source.clone().into_bytes(),
            missing: Vec::new(),
        })
    }

    /// Evaluates to a value. For a template that is no whole value this is the rendered text as a string,
    /// or missing if an expression in it printed no value.
    pub fn value<'a>(
        &self,
        root: impl Into<Node<'a>>,
        options: &RenderOptions,
    ) -> Result<Evaluated<'a>, RenderError> {
        let rendered = self.render(root, options)?;
        Ok(match rendered.missing.first() {
            Some(&span) => Evaluated::Missing(span),
            None => Evaluated::Value(Cow::Owned(Value::String(rendered.into_string()))),
        })
    }
}
