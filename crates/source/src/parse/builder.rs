//! From YAML events to nodes: scalars resolved, aliases and merge keys expanded within limits, keys checked.
//! Which events come, and what happens after a syntax fault, is left to `yaml`.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{ScalarStyle, Tag};

use super::align::align;
use super::entries::{merged, without_duplicates};
use super::scalar::{Scalar, resolve};
use super::written::{ScalarEvent, Written, word_len, written};
use super::{faults, span_of};
use crate::limits::{DEPTH_MAX, NODES_MAX};
use crate::{Diagnostics, Entry, Node, NodeKind, SourceId, Span, Text};

/// Builds the tree of one document.
pub(super) struct Builder<'t> {
    source: SourceId,
    text: &'t str,
    open: Vec<Collection>,
    root: Option<Node>,
    anchors: HashMap<usize, Anchored>,
    /// Nodes of the source so far, over all its documents.
    node_count: usize,
    pub(super) diagnostics: Diagnostics,
}

/// The document cannot be built further: a limit is reached, and reported.
pub(super) struct LimitReached;

struct Anchored {
    node: Node,
    node_count: usize,
    depth: usize,
}

/// A mapping or sequence whose end has not come yet.
struct Collection {
    start: usize,
    /// Where the text read so far ends; a block has no end mark of its own.
    end: usize,
    anchor: usize,
    node_count_before: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping {
        entries: Vec<Entry>,
        key: Option<Key>,
        /// Mappings to merge, each with the number of entries before it.
        merges: Vec<(usize, Node)>,
        /// A template without quotes, which YAML takes for a mapping in a mapping.
        is_template: bool,
    },
}

enum Key {
    Text(Text),
    Merge,
    Refused,
}

impl<'t> Builder<'t> {
    pub(super) fn new(source: SourceId, text: &'t str, node_count: usize) -> Self {
        Self {
            source,
            text,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            node_count,
            diagnostics: Diagnostics::new(),
        }
    }

    pub(super) fn node_count(&self) -> usize {
        self.node_count
    }

    /// The innermost `[` or `{` still open.
    pub(super) fn open_bracket(&self) -> Option<usize> {
        let starts = self.open.iter().rev().map(|collection| collection.start);
        starts
            .into_iter()
            .find(|start| self.text[*start..].starts_with(['[', '{']))
    }

    /// Ends the document. Collections still open, after a syntax fault, are closed where they are.
    pub(super) fn finish(mut self) -> (Option<Node>, Diagnostics) {
        while let Some(collection) = self.open.last_mut() {
            collection.drop_key(self.source);
            if self.close(None).is_err() {
                break;
            }
        }
        (self.root, self.diagnostics)
    }

    pub(super) fn scalar(&mut self, event: &ScalarEvent<'_>) -> Result<(), LimitReached> {
        let written = written(self.text, event);
        let span = self.span(written.base, written.base + written.raw.trim_end().len());
        self.count(1, span)?;
        if self.expects_key() {
            let key = self.key(event, written, span)?;
            self.set_key(key, span.end as usize);
            return Ok(());
        }
        let node = self.scalar_node(event, written, span);
        self.anchor(event.anchor, &node, 1)?;
        self.deliver(node, span.end as usize);
        Ok(())
    }

    pub(super) fn start_sequence(
        &mut self,
        start: usize,
        anchor: usize,
    ) -> Result<(), LimitReached> {
        self.start(start, anchor, Content::Sequence(Vec::new()))
    }

    pub(super) fn start_mapping(
        &mut self,
        start: usize,
        anchor: usize,
    ) -> Result<(), LimitReached> {
        let content = Content::Mapping {
            entries: Vec::new(),
            key: None,
            merges: Vec::new(),
            is_template: false,
        };
        self.start(start, anchor, content)
    }

    /// Ends the innermost collection. The mark is empty for blocks; for flow style it is the bracket and space after it.
    pub(super) fn end_collection(&mut self, start: usize, end: usize) -> Result<(), LimitReached> {
        self.close((end > start).then_some(start + 1))
    }

    pub(super) fn alias(
        &mut self,
        anchor: usize,
        start: usize,
        end: usize,
    ) -> Result<(), LimitReached> {
        let span = self.span(start, end);
        let Some(anchored) = self.anchors.get(&anchor) else {
            self.diagnostics.push(faults::recursive_alias(span));
            self.deliver(Node::new(NodeKind::Null, span), end);
            return Ok(());
        };
        if self.open.len() + anchored.depth > DEPTH_MAX {
            self.diagnostics.push(faults::too_deep(span));
            return Err(LimitReached);
        }
        let node = anchored.node.clone();
        let node_count = anchored.node_count;
        self.count(node_count, span)?;
        self.deliver(node, end);
        Ok(())
    }

    pub(super) fn tag_on_collection(&mut self, tag: &Tag, start: usize) {
        if !(tag.is_yaml_core_schema() && matches!(tag.suffix.as_str(), "map" | "seq")) {
            let span = self.span(start, start + word_len(self.text, start));
            self.diagnostics
                .push(faults::unknown_tag(&tag.to_string(), span));
        }
    }

    fn start(&mut self, start: usize, anchor: usize, content: Content) -> Result<(), LimitReached> {
        let span = self.span(start, start);
        let node_count_before = self.node_count;
        self.count(1, span)?;
        if self.open.len() >= DEPTH_MAX {
            self.diagnostics.push(faults::too_deep(span));
            return Err(LimitReached);
        }
        self.open.push(Collection {
            start,
            end: start,
            anchor,
            node_count_before,
            content,
        });
        Ok(())
    }

    fn close(&mut self, end_mark: Option<usize>) -> Result<(), LimitReached> {
        let Some(collection) = self.open.pop() else {
            return Ok(());
        };
        let end = end_mark.unwrap_or(collection.end);
        let span = self.span(collection.start, end);
        let kind = match collection.content {
            Content::Sequence(items) => NodeKind::Sequence(items),
            Content::Mapping {
                is_template: true, ..
            } => self.template(span),
            Content::Mapping {
                entries, merges, ..
            } => {
                let entries = without_duplicates(entries, &mut self.diagnostics);
                NodeKind::Mapping(merged(entries, merges, &mut self.diagnostics))
            }
        };
        let node = Node::new(kind, span);
        let node_count = self.node_count - collection.node_count_before;
        self.anchor(collection.anchor, &node, node_count)?;
        self.deliver(node, end);
        Ok(())
    }

    /// Hands a finished node, written up to `end`, to the collection around it.
    fn deliver(&mut self, node: Node, end: usize) {
        if self.expects_key() {
            let key = self.node_as_key(node);
            self.set_key(key, end);
            return;
        }
        let Some(collection) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        collection.end = collection.end.max(end);
        match &mut collection.content {
            Content::Sequence(items) => items.push(node),
            Content::Mapping {
                entries,
                key,
                merges,
                ..
            } => match key.take() {
                Some(Key::Text(key)) => entries.push(Entry { key, value: node }),
                Some(Key::Merge) => merges.push((entries.len(), node)),
                Some(Key::Refused) | None => {}
            },
        }
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.open.last().map(|collection| &collection.content),
            Some(Content::Mapping { key: None, .. })
        )
    }

    fn set_key(&mut self, new: Key, end: usize) {
        if let Some(collection) = self.open.last_mut()
            && let Content::Mapping { key, .. } = &mut collection.content
        {
            *key = Some(new);
            collection.end = collection.end.max(end);
        }
    }

    fn key(
        &mut self,
        event: &ScalarEvent<'_>,
        written: Written<'_>,
        span: Span,
    ) -> Result<Key, LimitReached> {
        if event.style == ScalarStyle::Plain && event.tag.is_none() {
            if event.value == "<<" {
                return Ok(Key::Merge);
            }
            let kind = match resolve(event.value) {
                Scalar::Text | Scalar::LegacyBool | Scalar::NoNumber => None,
                Scalar::Null => Some("null"),
                Scalar::Bool(_) => Some("a boolean"),
                Scalar::Number(_) | Scalar::Rounded(_) | Scalar::LeadingZero(_) => Some("a number"),
            };
            if let Some(kind) = kind {
                self.diagnostics
                    .push(faults::key_not_text(event.value, kind, span));
            }
        }
        let text = text_of(event, written, span);
        let node = Node::new(NodeKind::String(text.clone()), span);
        self.anchor(event.anchor, &node, 1)?;
        Ok(Key::Text(text))
    }

    /// A collection, or what an alias stands for, where a key is due.
    fn node_as_key(&mut self, node: Node) -> Key {
        if let NodeKind::String(text) = node.kind {
            return Key::Text(text);
        }
        if self.starts_template(&node) {
            if let Some(Content::Mapping { is_template, .. }) = self
                .open
                .last_mut()
                .map(|collection| &mut collection.content)
            {
                *is_template = true;
            }
            return Key::Refused;
        }
        self.diagnostics
            .push(faults::complex_key(&node.place, node.kind_name()));
        Key::Refused
    }

    /// Whether this key and the mapping around it are a template without quotes: `{{ … }}`.
    fn starts_template(&self, key: &Node) -> bool {
        let (Some(collection), Some(span)) = (self.open.last(), span_of(key)) else {
            return false;
        };
        let is_first = matches!(
            &collection.content,
            Content::Mapping { entries, .. } if entries.is_empty()
        );
        is_first
            && span.start as usize == collection.start + 1
            && self.text[collection.start..].starts_with("{{")
    }

    /// Reports it and takes it for the text it was meant as, so that the template itself is checked too.
    fn template(&mut self, span: Span) -> NodeKind {
        let raw = &self.text[span.range()];
        self.diagnostics.push(faults::unquoted_template(span, raw));
        let written = Written {
            raw,
            base: span.start as usize,
            indent: 0,
        };
        let offsets = align(written, raw, ScalarStyle::Plain);
        NodeKind::String(Text::with_offsets(Arc::from(raw), span, offsets))
    }

    fn scalar_node(&mut self, event: &ScalarEvent<'_>, written: Written<'_>, span: Span) -> Node {
        let meaning = match event.tag {
            Some(tag) => self.tagged(tag, event, span),
            None if event.style == ScalarStyle::Plain => resolve(event.value),
            None => Scalar::Text,
        };
        let raw = event.value;
        let kind = match meaning {
            Scalar::Null => NodeKind::Null,
            Scalar::Bool(value) => NodeKind::Bool(value),
            Scalar::Number(number) => NodeKind::Number(number),
            Scalar::Rounded(number) => {
                self.diagnostics.push(faults::inexact_number(raw, span));
                NodeKind::Number(number)
            }
            Scalar::LeadingZero(number) => {
                self.diagnostics
                    .push(faults::legacy_number(raw, &number.to_string(), span));
                NodeKind::Number(number)
            }
            Scalar::NoNumber => {
                self.diagnostics.push(faults::not_a_json_number(raw, span));
                NodeKind::String(text_of(event, written, span))
            }
            Scalar::LegacyBool => {
                self.diagnostics.push(faults::legacy_boolean(raw, span));
                NodeKind::String(text_of(event, written, span))
            }
            Scalar::Text => NodeKind::String(text_of(event, written, span)),
        };
        Node::new(kind, span)
    }

    /// What a scalar means by its tag; a tag unknown here is reported and left out of account.
    fn tagged(&mut self, tag: &Tag, event: &ScalarEvent<'_>, span: Span) -> Scalar {
        let untagged = if event.style == ScalarStyle::Plain {
            resolve(event.value)
        } else {
            Scalar::Text
        };
        let name = tag.to_string();
        if matches!(name.as_str(), "!" | "!!") || (tag.handle.is_empty() && tag.suffix == "!") {
            return Scalar::Text;
        }
        if !tag.is_yaml_core_schema() {
            self.diagnostics.push(faults::unknown_tag(&name, span));
            return untagged;
        }
        let meaning = resolve(event.value);
        let fits = match (tag.suffix.as_str(), &meaning) {
            ("str", _) => return Scalar::Text,
            ("null", Scalar::Null)
            | ("bool", Scalar::Bool(_))
            | ("float", Scalar::Number(_) | Scalar::Rounded(_) | Scalar::NoNumber) => true,
            (
                "int",
                Scalar::Number(number) | Scalar::Rounded(number) | Scalar::LeadingZero(number),
            ) => !number.is_f64() || matches!(meaning, Scalar::Rounded(_)),
            ("null" | "bool" | "int" | "float" | "map" | "seq", _) => false,
            _ => {
                self.diagnostics
                    .push(faults::unknown_tag(&format!("!!{}", tag.suffix), span));
                return untagged;
            }
        };
        if !fits {
            self.diagnostics
                .push(faults::tag_does_not_fit(&format!("!!{}", tag.suffix), span));
        }
        meaning
    }

    /// Keeps a copy for aliases. Copies count as nodes, since anchors within anchors multiply them.
    fn anchor(
        &mut self,
        anchor: usize,
        node: &Node,
        node_count: usize,
    ) -> Result<(), LimitReached> {
        if anchor == 0 {
            return Ok(());
        }
        if let Some(span) = span_of(node) {
            self.count(node_count, span)?;
        }
        let anchored = Anchored {
            node: node.clone(),
            node_count,
            depth: depth(node),
        };
        self.anchors.insert(anchor, anchored);
        Ok(())
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), LimitReached> {
        self.node_count += nodes;
        if self.node_count > NODES_MAX {
            self.diagnostics.push(faults::too_many_nodes(span));
            return Err(LimitReached);
        }
        Ok(())
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.source, start, end)
    }
}

impl Collection {
    /// Gives a key that is still without a value, after a syntax fault, the value null.
    fn drop_key(&mut self, source: SourceId) {
        if let Content::Mapping { entries, key, .. } = &mut self.content
            && let Some(Key::Text(key)) = key.take()
        {
            let value = Node::new(NodeKind::Null, Span::new(source, self.end, self.end));
            entries.push(Entry { key, value });
        }
    }
}

fn text_of(event: &ScalarEvent<'_>, written: Written<'_>, span: Span) -> Text {
    let offsets = align(written, event.value, event.style);
    Text::with_offsets(Arc::from(event.value), span, offsets)
}

/// How many collections lie inside each other.
fn depth(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Sequence(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        NodeKind::Mapping(entries) => {
            1 + entries
                .iter()
                .map(|entry| depth(&entry.value))
                .max()
                .unwrap_or(0)
        }
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => 0,
    }
}
