//! Typed reading of mappings for dialects: faults are collected, and what can be read is read.
//! Which keys exist and what they mean is left to the dialect.

use std::ops::RangeInclusive;

use serde_json::Number;

use crate::limits::QUOTED_CHARACTERS_MAX;
use crate::{Diagnostic, Diagnostics, Entry, Node, NodeKind, Place, Text, codes, suggest};

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub place: Place,
}

impl<T> Spanned<T> {
    pub fn new(value: T, place: impl Into<Place>) -> Self {
        Self {
            value,
            place: place.into(),
        }
    }
}

/// The entries of one mapping. Each key asked for becomes a known key; [`Fields::finish`] reports the others.
///
/// An optional key that is written as null counts as absent.
#[derive(Debug)]
pub struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    taken: Vec<bool>,
    known: Vec<&'static str>,
    what: &'static str,
}

impl<'n> Fields<'n> {
    /// Reads a mapping; anything else is reported. `what` names it in messages: `a step`.
    pub fn read(node: &'n Node, what: &'static str, diagnostics: &mut Diagnostics) -> Option<Self> {
        let NodeKind::Mapping(entries) = &node.kind else {
            diagnostics.push(wrong_type(node, what, "a mapping"));
            return None;
        };
        Some(Self {
            node,
            entries,
            taken: vec![false; entries.len()],
            known: Vec::new(),
            what,
        })
    }

    /// The place of the whole mapping.
    pub fn place(&self) -> &'n Place {
        &self.node.place
    }

    pub fn node(&self) -> &'n Node {
        self.node
    }

    /// Whether the key is written, null or not. Does not make it known.
    pub fn has(&self, key: &str) -> bool {
        self.node.get(key).is_some()
    }

    /// Key and value as written, null included.
    pub fn entry(&mut self, key: &'static str) -> Option<&'n Entry> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let index = self.entries.iter().position(|entry| entry.key == *key)?;
        self.taken[index] = true;
        Some(&self.entries[index])
    }

    /// The value of a key; absent and null alike are `None`.
    pub fn optional(&mut self, key: &'static str) -> Option<&'n Node> {
        let node = &self.entry(key)?.value;
        (!node.is_null()).then_some(node)
    }

    /// The value of a key; absent and null are reported.
    pub fn required(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<&'n Node> {
        match self.entry(key) {
            Some(entry) if entry.value.is_null() => {
                if self.node.is_complete() {
                    diagnostics.push(missing_value(entry));
                }
                None
            }
            Some(entry) => Some(&entry.value),
            None => {
                if self.node.is_complete() {
                    diagnostics.push(missing_key(self.node, self.what, key));
                }
                None
            }
        }
    }

    pub fn required_string(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<&'n Text> {
        self.required(key, diagnostics)?
            .expect_string(key, diagnostics)
    }

    pub fn optional_string(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<&'n Text> {
        self.optional(key)?.expect_string(key, diagnostics)
    }

    pub fn optional_bool(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Spanned<bool>> {
        let node = self.optional(key)?;
        let value = node.expect_bool(key, diagnostics)?;
        Some(Spanned::new(value, &node.place))
    }

    /// A whole number within the range.
    pub fn optional_integer(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Spanned<i64>> {
        let node = self.optional(key)?;
        let value = node.expect_integer(key, range, diagnostics)?;
        Some(Spanned::new(value, &node.place))
    }

    /// A number that is not below zero.
    pub fn optional_amount(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Spanned<f64>> {
        let node = self.optional(key)?;
        let number = node.expect_number(key, diagnostics)?;
        let value = number.as_f64()?;
        if value < 0.0 {
            diagnostics.push(out_of_range(node, key, number, &(0..=i64::MAX)));
            return None;
        }
        Some(Spanned::new(value, &node.place))
    }

    /// A string that is one of `choices`.
    pub fn optional_choice(
        &mut self,
        key: &'static str,
        choices: &[&'static str],
        diagnostics: &mut Diagnostics,
    ) -> Option<Spanned<&'static str>> {
        let node = self.optional(key)?;
        let choice = node.expect_choice(key, choices, diagnostics)?;
        Some(Spanned::new(choice, &node.place))
    }

    /// The items of a sequence; none when absent.
    pub fn sequence(&mut self, key: &'static str, diagnostics: &mut Diagnostics) -> &'n [Node] {
        self.optional(key)
            .and_then(|node| node.expect_sequence(key, diagnostics))
            .unwrap_or_default()
    }

    pub fn required_sequence(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<&'n [Node]> {
        self.required(key, diagnostics)?
            .expect_sequence(key, diagnostics)
    }

    /// The strings of a sequence; items that are none are reported and left out.
    pub fn string_sequence(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Vec<&'n Text> {
        self.sequence(key, diagnostics)
            .iter()
            .filter_map(|item| item.expect_string(key, diagnostics))
            .collect()
    }

    /// The entries of a mapping with free keys; none when absent.
    pub fn mapping(&mut self, key: &'static str, diagnostics: &mut Diagnostics) -> &'n [Entry] {
        self.optional(key)
            .and_then(|node| node.expect_mapping(key, diagnostics))
            .unwrap_or_default()
    }

    /// A mapping with known keys.
    pub fn optional_fields(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Fields<'n>> {
        Fields::read(self.optional(key)?, key, diagnostics)
    }

    /// A mapping with known keys.
    pub fn required_fields(
        &mut self,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Fields<'n>> {
        Fields::read(self.required(key, diagnostics)?, key, diagnostics)
    }

    /// Entries whose keys were not asked for. They count as read afterwards.
    pub fn rest(&mut self) -> Vec<&'n Entry> {
        let rest = self.untaken().collect();
        self.taken.fill(true);
        rest
    }

    /// Reports every key that was not asked for as an error.
    pub fn finish(self, diagnostics: &mut Diagnostics) {
        for entry in self.untaken() {
            diagnostics.push(unknown_key(entry, self.what, &self.known));
        }
    }

    fn untaken(&self) -> impl Iterator<Item = &'n Entry> {
        self.entries
            .iter()
            .zip(&self.taken)
            .filter(|(_, taken)| !**taken)
            .map(|(entry, _)| entry)
    }
}

impl Node {
    /// This string; anything else is reported. `what` names the value in the message.
    pub fn expect_string(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<&Text> {
        self.expect(self.as_text(), what, "a string", diagnostics)
    }

    /// A string that is one of `choices`.
    pub fn expect_choice(
        &self,
        what: &str,
        choices: &[&'static str],
        diagnostics: &mut Diagnostics,
    ) -> Option<&'static str> {
        let text = self.expect_string(what, diagnostics)?;
        let choice = choices.iter().find(|choice| *text == **choice).copied();
        if choice.is_none() {
            diagnostics.push(unknown_value(text, what, choices));
        }
        choice
    }

    pub fn expect_bool(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<bool> {
        self.expect(self.as_bool(), what, "a boolean", diagnostics)
    }

    pub fn expect_number(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<&Number> {
        self.expect(self.as_number(), what, "a number", diagnostics)
    }

    /// A whole number within the range; `2.0` is one.
    pub fn expect_integer(
        &self,
        what: &str,
        range: RangeInclusive<i64>,
        diagnostics: &mut Diagnostics,
    ) -> Option<i64> {
        let number = self.expect(self.as_number(), what, "a whole number", diagnostics)?;
        if has_fraction(number) {
            diagnostics.push(fraction(self, what, number));
            return None;
        }
        let value = whole(number).filter(|value| range.contains(value));
        if value.is_none() {
            diagnostics.push(out_of_range(self, what, number, &range));
        }
        value
    }

    pub fn expect_sequence(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<&[Node]> {
        self.expect(self.as_sequence(), what, "a sequence", diagnostics)
    }

    pub fn expect_mapping(&self, what: &str, diagnostics: &mut Diagnostics) -> Option<&[Entry]> {
        self.expect(self.as_mapping(), what, "a mapping", diagnostics)
    }

    fn expect<T>(
        &self,
        found: Option<T>,
        what: &str,
        wanted: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<T> {
        if found.is_none() {
            diagnostics.push(wrong_type(self, what, wanted));
        }
        found
    }
}

fn has_fraction(number: &Number) -> bool {
    number.as_f64().is_some_and(|value| value.fract() != 0.0)
}

fn whole(number: &Number) -> Option<i64> {
    if let Some(value) = number.as_i64() {
        return Some(value);
    }
    let value = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole and within 2^53, so exact"
    )]
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

/// A description such as `a step` as it is, a key in backticks.
fn named(what: &str) -> String {
    if what.contains(' ') {
        what.to_owned()
    } else {
        format!("`{what}`")
    }
}

/// The value is of another type than the one needed.
pub(crate) fn wrong_type(node: &Node, what: &str, wanted: &str) -> Diagnostic {
    let found = node.kind_name();
    let named = named(what);
    let diagnostic = Diagnostic::error(
        codes::WRONG_TYPE,
        format!("{named} must be {wanted}, but is {found}"),
    )
    .label(&node.place, format!("expected {wanted}"));
    match (&node.kind, wanted) {
        (NodeKind::Number(number), "a string") => {
            diagnostic.help(format!("write it in quotes: `\"{number}\"`"))
        }
        (NodeKind::Bool(value), "a string") => {
            diagnostic.help(format!("write it in quotes: `\"{value}\"`"))
        }
        (NodeKind::String(text), "a number" | "a whole number") if text.parse::<f64>().is_ok() => {
            diagnostic.help("remove the quotes")
        }
        (NodeKind::String(text), "a boolean") => match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" => diagnostic.help("write `true`, without quotes"),
            "no" | "off" | "false" => diagnostic.help("write `false`, without quotes"),
            _ => diagnostic.help("write `true` or `false`"),
        },
        (_, "a sequence") => diagnostic.help("write it as a list, each item after `- `"),
        (NodeKind::Sequence(_), "a mapping") => {
            diagnostic.help("write it without `- `, each entry as `name: value`")
        }
        _ => diagnostic,
    }
}

fn fraction(node: &Node, what: &str, number: &Number) -> Diagnostic {
    let named = named(what);
    Diagnostic::error(
        codes::WRONG_TYPE,
        format!("{named} must be a whole number, but is {number}"),
    )
    .label(&node.place, "expected a whole number")
}

fn missing_key(node: &Node, what: &str, key: &str) -> Diagnostic {
    let named = named(what);
    Diagnostic::error(codes::MISSING_KEY, format!("{named} has no `{key}`"))
        .label(head(node), format!("`{key}` is missing here"))
        .help(format!("add `{key}:`"))
}

/// The first key of a mapping, so that a missing key does not underline the whole of it.
fn head(node: &Node) -> &Place {
    match node.as_mapping() {
        Some([first, ..]) if first.key.place().span().is_some() => first.key.place(),
        _ => &node.place,
    }
}

fn missing_value(entry: &Entry) -> Diagnostic {
    Diagnostic::error(
        codes::MISSING_VALUE,
        format!("`{}` has no value", entry.key),
    )
    .label(entry.key.place(), "a value is needed")
}

fn unknown_key(entry: &Entry, what: &str, known: &[&'static str]) -> Diagnostic {
    let key = shorten(&entry.key);
    let named = named(what);
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_KEY,
        format!("{named} has no key named `{key}`"),
    )
    .label(entry.key.place(), "unknown key");
    match suggest(&entry.key, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("a key named `{near}` exists")),
        None if known.is_empty() => diagnostic,
        None => diagnostic.help(format!("known keys: {}", list(known))),
    }
}

fn unknown_value(text: &Text, key: &str, choices: &[&'static str]) -> Diagnostic {
    let value = shorten(text);
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_VALUE, format!("`{key}` cannot be `{value}`"))
            .label(text.place(), "unknown value");
    match suggest(text, choices.iter().copied()) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
    .help(format!("use one of {}", list(choices)))
}

fn out_of_range(
    node: &Node,
    what: &str,
    number: &Number,
    range: &RangeInclusive<i64>,
) -> Diagnostic {
    let (least, most) = (range.start(), range.end());
    let help = match (*least, *most) {
        (least, i64::MAX) => format!("use {least} or more"),
        (i64::MIN, most) => format!("use {most} or less"),
        (least, most) => format!("use a number from {least} to {most}"),
    };
    Diagnostic::error(
        codes::OUT_OF_RANGE,
        format!("{} cannot be {number}", named(what)),
    )
    .label(&node.place, "out of range")
    .help(help)
}

fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// A user's text, short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
