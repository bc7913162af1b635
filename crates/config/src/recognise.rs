//! What a document is to us. One of a file that is named is what its first telling key says, so that its faults are
//! told; one found in a directory may be anybody's, and a word such as `limits` alone does not make it ours.

use crate::key_table::{Key, Part, Shape, part};
use onecall_dialects::dialect::{Kind, detect, kind_of_name};
use onecall_source::{Document, Entry, Node, NodeKind, SourceId, SourceMap, parse, suggest};

/// What a document is, or `None` when nothing reads it. `is_named`: its file was given by name.
pub(crate) fn kind_of(document: &Document, name: &str, is_named: bool) -> Option<Kind> {
    let kind = detect(document, name)?;
    let is_ours = is_named || kind_of_name(name) == Some(kind) || is_telling(&document.root, kind);
    is_ours.then_some(kind)
}

/// Whether a file found in a directory would be read.
pub fn is_recognised(sources: &SourceMap, source: SourceId) -> bool {
    let (documents, _) = parse(sources, source);
    let name = sources.get(source).name();
    let mut documents = documents.iter();
    documents.any(|document| kind_of(document, name, false).is_some())
}

/// Keys of a ToolHive configuration that no other file has.
const TOOLHIVE_ALONE: [&str; 7] = [
    "compositeTools",
    "compositeToolRefs",
    "groupRef",
    "incomingAuth",
    "outgoingAuth",
    "codeMode",
    "passthroughHeaders",
];

/// One of these says what a workflow does.
const DOES: [&str; 5] = ["steps", "tool", "inputs", "outputs", "returns"];

fn is_telling(root: &Node, kind: Kind) -> bool {
    let entries = root.as_mapping().unwrap_or_default();
    match kind {
        Kind::Resource | Kind::Suite => true,
        Kind::McpServers => has(root, "mcpServers", |node| node.as_mapping().is_some()),
        Kind::Workflow => {
            let does = |entry: &Entry| is_or_near(entry.key.as_str(), &DOES);
            has(root, "workflow", |node| node.as_text().is_some()) && entries.iter().any(does)
        }
        Kind::ToolhiveConfig => {
            let is_alone = |entry: &Entry| TOOLHIVE_ALONE.contains(&entry.key.as_str());
            entries.iter().any(is_alone) || prevails(entries, "ToolHive configuration")
        }
        Kind::Onecall => prevails(entries, "onecall.yaml"),
    }
}

fn has(root: &Node, key: &str, fits: impl Fn(&Node) -> bool) -> bool {
    root.get(key).is_some_and(fits)
}

/// Whether what fits a file of ours is at least as much as what no such file holds. A slip of the pen is neither.
fn prevails(entries: &[Entry], file: &str) -> bool {
    let Some(part) = part(file) else {
        return false;
    };
    let (mut fitting, mut strange) = (0, 0);
    for entry in entries {
        let name = entry.key.as_str();
        match key_of(part, name) {
            // Every other file has a name.
            Some(key) if key.name != "name" && fits(key.shape, &entry.value) => fitting += 1,
            Some(_) => {}
            None => {
                let known = part.keys.iter().map(|key| key.name);
                strange += usize::from(suggest(name, known).is_none());
            }
        }
    }
    fitting > 0 && strange <= fitting
}

/// The key of this name in a part, or in one that it includes.
fn key_of(own: &'static Part, name: &str) -> Option<&'static Key> {
    let included = own.includes.iter().filter_map(|name| part(name));
    let mut parts = std::iter::once(own).chain(included);
    parts.find_map(|part| part.keys.iter().find(|key| key.name == name))
}

/// Whether a value looks as the key wants it; of a mapping, one key that is known is enough.
fn fits(shape: Shape, value: &Node) -> bool {
    let is_text = |node: &Node| node.as_text().is_some();
    match shape {
        Shape::Text | Shape::Duration => is_text(value),
        Shape::Flag => value.as_bool().is_some(),
        Shape::Whole(..) => matches!(value.kind, NodeKind::Number(_)),
        Shape::Choice(words) => value
            .as_text()
            .is_some_and(|text| words.contains(&text.as_str())),
        Shape::Texts => value
            .as_sequence()
            .is_some_and(|own| own.iter().all(is_text)),
        Shape::One(part) => is_part(part, value),
        Shape::Many(part) => {
            let items = value.as_sequence().unwrap_or_default();
            items.iter().any(|item| is_part(part, item))
        }
        Shape::Named(part) => {
            let entries = value.as_mapping().unwrap_or_default();
            entries.iter().any(|entry| is_part(part, &entry.value))
        }
        Shape::Pairs | Shape::Mapping | Shape::Any | Shape::Reference | Shape::References => {
            value.as_mapping().is_some()
        }
    }
}

fn is_part(name: &str, value: &Node) -> bool {
    let entries = value.as_mapping().unwrap_or_default();
    let part = part(name);
    let is_known = |entry: &Entry| part.is_some_and(|own| key_of(own, &entry.key).is_some());
    entries.iter().any(is_known)
}

fn is_or_near(name: &str, words: &[&'static str]) -> bool {
    words.contains(&name) || suggest(name, words.iter().copied()).is_some()
}
