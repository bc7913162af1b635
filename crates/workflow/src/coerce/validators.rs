//! Validators of a schema and of its parts, each built when it is first asked for.
//! Nothing is ever fetched: `graph` has refused references that leave the document.

use super::graph::{Graph, NodeId};
use super::limits;
use super::patterns;
use jsonschema::{Draft, Registry, ValidationOptions, Validator};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const BASE: &str = "urn:onecall:schema";

pub(super) struct Validators {
    draft: Draft,
    root: Validator,
    registry: Registry<'static>,
    /// `None` for a part that cannot be built; it is then taken to accept nothing new.
    parts: Mutex<BTreeMap<NodeId, Option<Arc<Validator>>>>,
    patterns: Mutex<BTreeMap<String, Option<Arc<Validator>>>>,
}

impl Validators {
    pub(super) fn build(schema: &Value, draft: Draft) -> Result<Self, String> {
        let root = options(draft)
            .build(schema)
            .map_err(|error| format!("at `#{}`: {error}", error.instance_path()))?;
        let registry = Registry::new()
            .draft(draft)
            .add(BASE, draft.create_resource(schema.clone()))
            .and_then(jsonschema::RegistryBuilder::prepare)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            draft,
            root,
            registry,
            parts: Mutex::default(),
            patterns: Mutex::default(),
        })
    }

    pub(super) fn root(&self) -> &Validator {
        &self.root
    }

    pub(super) fn part(&self, graph: &Graph, id: NodeId) -> Option<Arc<Validator>> {
        if let Some(known) = locked(&self.parts).get(&id) {
            return known.clone();
        }
        let reference = format!("{BASE}#{}", percent_encoded(&graph.node(id).pointer));
        let built = options(self.draft)
            .with_registry(&self.registry)
            .build(&json!({ "$ref": reference }))
            .ok()
            .map(Arc::new);
        locked(&self.parts).insert(id, built.clone());
        built
    }

    /// Whether a property name matches a pattern of the schema.
    pub(super) fn matches(&self, pattern: &str, name: &str) -> bool {
        let known = locked(&self.patterns).get(pattern).cloned();
        let validator = known.unwrap_or_else(|| {
            let schema = json!({ "pattern": pattern });
            let built = options(self.draft).build(&schema).ok().map(Arc::new);
            locked(&self.patterns).insert(pattern.to_owned(), built.clone());
            built
        });
        validator.is_some_and(|validator| validator.is_valid(&Value::from(name)))
    }
}

/// What is cached is complete when it is put in, so a panic elsewhere leaves it usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options<'a>(draft: Draft) -> ValidationOptions<'a> {
    jsonschema::options()
        .with_draft(draft)
        .offline()
        // The current draft takes `format` as a note; older ones would refuse what it lets pass.
        .should_validate_formats(false)
        // For `patternProperties`; `pattern` is a keyword of ours.
        .with_pattern_options(patterns::backtracking(limits::PATTERN_NAME_STEPS))
        .with_keyword("pattern", move |_, pattern, _| {
            patterns::keyword(draft, pattern)
        })
}

fn percent_encoded(pointer: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
