//! The merged tool catalog as plain data: what backends offer, under which names.
//! `backends` fills it; `bind` and the checks read it; nothing after `bind` looks at it again.

use crate::name::{BackendName, ToolName};
use onecall_mcp::{Hints, Tool};
use onecall_source::suggest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Catalog {
    /// In deterministic order: by backend as configured, then by original name.
    pub tools: Vec<CatalogTool>,
    /// Every configured backend, whether its tools are known yet or not.
    pub backends: BTreeMap<BackendName, Knowledge>,
    /// What the name of every tool of a backend starts with, where names are made so.
    #[serde(default)]
    pub prefixes: BTreeMap<BackendName, String>,
    /// Backends whose tools may be called although their input schemas cannot be used.
    #[serde(default)]
    pub unusable_accepted: BTreeSet<BackendName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// The list is that of the live backend.
    Live,
    /// The list was kept from an earlier connection.
    Kept,
    /// Never connected; its tools are unknown, which is not the same as absent.
    Unknown,
}

/// One tool of one backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogTool {
    /// The name after conflict resolution, by which clients and workflows call it.
    /// `None` for a tool that lost a name conflict; `backend.original` still reaches it.
    pub name: Option<ToolName>,
    pub backend: BackendName,
    /// The name the backend gave it.
    pub original: String,
    /// Clients are offered it: in the list under its name, or as `backend.original` where it has none. Others are
    /// hidden: usable in workflows, unknown to clients.
    pub listed: bool,
    /// The definition to list, with overrides applied.
    #[serde(with = "definition")]
    pub tool: Tool,
}

impl CatalogTool {
    pub fn input_schema(&self) -> Option<&Value> {
        self.tool.input_schema().filter(|schema| schema.is_object())
    }

    pub fn output_schema(&self) -> Option<&Value> {
        self.tool
            .output_schema()
            .filter(|schema| schema.is_object())
    }

    pub fn hints(&self) -> Hints {
        self.tool.hints()
    }
}

/// What a tool reference leads to.
#[derive(Clone, Copy, Debug)]
pub enum Resolution<'a> {
    Found(&'a CatalogTool),
    /// The backend it names, or some backend, has not told its tools yet.
    NotYetKnown,
    /// No backend has it.
    Absent,
}

impl Catalog {
    /// The same where lists that were kept are not known.
    #[must_use]
    pub fn live(&self) -> Self {
        let is_live = |backend| self.backends.get(backend) == Some(&Knowledge::Live);
        let tools = self.tools.iter().filter(|tool| is_live(&tool.backend));
        let backends = self.backends.keys().map(|backend| {
            let knowledge = if is_live(backend) {
                Knowledge::Live
            } else {
                Knowledge::Unknown
            };
            (backend.clone(), knowledge)
        });
        Self {
            tools: tools.cloned().collect(),
            backends: backends.collect(),
            prefixes: self.prefixes.clone(),
            unusable_accepted: self.unusable_accepted.clone(),
        }
    }

    /// Exact published name first, then `backend.original_name`; hidden tools too.
    pub fn resolve(&self, reference: &str) -> Resolution<'_> {
        if let Some(tool) = self.by_name(reference) {
            return Resolution::Found(tool);
        }
        if let Some((backend, knowledge)) = self.named(reference) {
            let original = &reference[backend.as_str().len() + 1..];
            if let Some(tool) = self.by_original(backend, original) {
                return Resolution::Found(tool);
            }
            return match knowledge {
                Knowledge::Live => Resolution::Absent,
                // The list of an earlier connection is not the last word.
                Knowledge::Kept | Knowledge::Unknown => Resolution::NotYetKnown,
            };
        }
        if self.backends.iter().any(|(backend, knowledge)| {
            *knowledge != Knowledge::Live && self.may_be_of(backend, reference)
        }) {
            return Resolution::NotYetKnown;
        }
        Resolution::Absent
    }

    /// The backend that a reference `backend.original_name` names. Backend names may hold dots: the longest configured
    /// name that fits wins.
    fn named(&self, reference: &str) -> Option<(&BackendName, Knowledge)> {
        let is_named = |backend: &BackendName| {
            let rest = reference.strip_prefix(backend.as_str());
            rest.is_some_and(|rest| rest.len() > 1 && rest.starts_with('.'))
        };
        let named = self
            .backends
            .iter()
            .filter(|(backend, _)| is_named(backend));
        let longest = named.max_by_key(|(backend, _)| backend.as_str().len());
        longest.map(|(backend, knowledge)| (backend, *knowledge))
    }

    /// Adds a tool that accepts any arguments where the reference leads to none, so that a workflow can be bound while
    /// a backend is down or replaced. Calls of it reach the backend that the reference names, if it is there.
    pub fn assume(&mut self, reference: &str) {
        if let Resolution::Found(_) = self.resolve(reference) {
            return;
        }
        let (backend, original) = match self.named(reference) {
            Some((backend, _)) => (backend.as_str(), &reference[backend.as_str().len() + 1..]),
            None => reference.split_once('.').unwrap_or(("", reference)),
        };
        let definition = json!({ "name": original, "inputSchema": { "type": "object" } });
        let Ok(tool) = Tool::from_value(definition) else {
            return;
        };
        self.tools.push(CatalogTool {
            name: Some(ToolName::from(reference)),
            backend: BackendName::from(backend),
            original: original.to_owned(),
            listed: false,
            tool,
        });
    }

    /// The backends that have not told their tools and may have this one: the one it names, or all whose tools can have
    /// this name.
    pub fn awaited(&self, reference: &str) -> Vec<&BackendName> {
        let Resolution::NotYetKnown = self.resolve(reference) else {
            return Vec::new();
        };
        if let Some((backend, _)) = self.named(reference) {
            return vec![backend];
        }
        let silent = self.backends.iter();
        let silent = silent.filter(|(_, knowledge)| **knowledge != Knowledge::Live);
        let names = silent.map(|(backend, _)| backend);
        names
            .filter(|backend| self.may_be_of(backend, reference))
            .collect()
    }

    /// The backend that has not told its tools and whose own name or prefix this reference begins with.
    pub fn silent_owner(&self, reference: &str) -> Option<&BackendName> {
        let begins = |start: &str| start.len() < reference.len() && reference.starts_with(start);
        let owns = |backend: &&BackendName| {
            let prefix = self.prefixes.get(*backend);
            begins(&format!("{backend}."))
                || prefix.is_some_and(|prefix| !prefix.is_empty() && begins(prefix))
        };
        let owners = self.awaited(reference).into_iter().filter(owns);
        owners.max_by_key(|backend| backend.as_str().len())
    }

    /// Whether a tool of this backend could be published under this name.
    fn may_be_of(&self, backend: &BackendName, name: &str) -> bool {
        let prefix = self.prefixes.get(backend);
        prefix.is_none_or(|prefix| name.starts_with(prefix.as_str()))
    }

    fn by_name(&self, name: &str) -> Option<&CatalogTool> {
        self.tools
            .iter()
            .find(|tool| tool.name.as_ref().is_some_and(|own| own.as_str() == name))
    }

    fn by_original(&self, backend: &BackendName, original: &str) -> Option<&CatalogTool> {
        self.tools
            .iter()
            .find(|tool| &tool.backend == backend && tool.original == original)
    }

    /// The backend that a reference `backend.original_name` names, and its own names of its tools.
    pub(crate) fn tools_of_named(&self, reference: &str) -> Option<(&BackendName, Vec<&str>)> {
        let (backend, _) = self.named(reference)?;
        let own = self.tools.iter().filter(|tool| tool.backend == *backend);
        Some((backend, own.map(|tool| tool.original.as_str()).collect()))
    }

    /// The tool that was most likely meant, written as its reference was: `backend.tool`, or as tools are listed. Where
    /// a backend is named that is there, its own tools come first.
    pub fn nearest(&self, reference: &str) -> Option<String> {
        if let Some((backend, own)) = self.tools_of_named(reference) {
            let original = &reference[backend.as_str().len() + 1..];
            if let Some(near) = suggest(original, own) {
                return Some(format!("{backend}.{near}"));
            }
        }
        let is_dotted = reference.contains('.');
        let all = self.spellings();
        let alike = all.iter().filter(|own| own.contains('.') == is_dotted);
        let near = suggest(reference, alike.map(String::as_str));
        let near = near.or_else(|| suggest(reference, all.iter().map(String::as_str)));
        near.map(str::to_owned)
    }

    /// Every way a workflow may write a tool, for suggestions.
    pub fn spellings(&self) -> Vec<String> {
        let mut all = Vec::with_capacity(self.tools.len() * 2);
        for tool in &self.tools {
            all.extend(tool.name.as_ref().map(|name| name.as_str().to_owned()));
            all.push(format!("{}.{}", tool.backend, tool.original));
        }
        all
    }
}

mod definition {
    //! A tool definition is stored as the JSON object the backend sent.
    use onecall_mcp::Tool;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(tool: &Tool, to: S) -> Result<S::Ok, S::Error> {
        tool.object().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Tool, D::Error> {
        Tool::from_value(Value::deserialize(from)?).map_err(D::Error::custom)
    }
}
