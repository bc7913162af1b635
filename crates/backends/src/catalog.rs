//! The tools of all backends merged into one catalog: overrides, then names, then what clients
//! see. Pure: lists in, catalog out. Names are decided in `conflict`, resources and prompts merged in `offers`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use onecall_mcp::limits::TOOL_NAME_MAX;
use onecall_mcp::{Tool, is_tool_name};
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::name::{BackendName, ToolName};
use onecall_workflow::workflow::Annotations;
use serde_json::{Map, json};

use crate::conflict::{self, Candidate};
use crate::tool_list::shown;

mod offers;

pub use offers::{Offer, merge_offers};

/// How the tools of several backends become one list.
#[derive(Clone, Debug, Default)]
pub struct CatalogOptions {
    pub strategy: Strategy,
    pub rules: Vec<ToolRule>,
    /// List no backend tool at all; workflows can still use them.
    pub exclude_all: bool,
    /// Whether tools of a backend without a filter are listed.
    pub default_visibility: Visibility,
    /// Backends whose tools may be called although their input schemas cannot be used.
    pub unusable_accepted: BTreeSet<BackendName>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// `{workload}` stands for the backend's name.
    Prefix { format: String },
    /// Names stay bare; of those that clash, the earliest backend here keeps its own.
    Priority { order: Vec<BackendName> },
    /// Names stay bare; every clash must be removed by an override.
    Manual,
}

impl Default for Strategy {
    fn default() -> Self {
        Self::Prefix {
            format: "{workload}_".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    #[default]
    Allow,
    Deny,
}

/// What is special about the tools of one backend.
#[derive(Clone, Debug)]
pub struct ToolRule {
    pub backend: BackendName,
    /// Only these are listed; names after override, before prefix.
    pub filter: Option<Vec<String>>,
    /// By the backend's own name of the tool.
    pub overrides: BTreeMap<String, ToolOverride>,
    pub exclude_all: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ToolOverride {
    pub name: Option<String>,
    pub description: Option<String>,
    pub annotations: Annotations,
}

/// The list of one backend and where it comes from.
#[derive(Clone, Debug)]
pub struct Listed {
    pub backend: BackendName,
    pub knowledge: Knowledge,
    pub tools: Arc<[Tool]>,
}

/// What names and URIs belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Tool,
    Prompt,
    Resource,
    ResourceTemplate,
}

impl Thing {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::ResourceTemplate => "resource template",
        }
    }

    /// A URI is known to others as it is, so it is never changed.
    pub(crate) fn takes_prefix(self) -> bool {
        match self {
            Self::Tool | Self::Prompt => true,
            Self::Resource | Self::ResourceTemplate => false,
        }
    }

    fn after_loss(self, backend: &BackendName, original: &str) -> String {
        match self {
            Self::Tool => format!("call it as `{backend}.{original}`"),
            Self::Prompt => format!("get it as `{backend}.{original}`"),
            Self::Resource | Self::ResourceTemplate => "it is not listed".to_owned(),
        }
    }

    fn way_out(self) -> &'static str {
        match self {
            Self::Tool => "give all but one another name by an override",
            Self::Prompt | Self::Resource | Self::ResourceTemplate => {
                "none is listed; the strategies `prefix` and `priority` choose"
            }
        }
    }
}

/// Something in the merge that its owner should know. None of it stops the other tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Notice {
    #[error(
        "{} `{original}` of backend `{backend}` has lost its name `{name}` to backend `{winner}`; {}",
        thing.as_str(),
        thing.after_loss(backend, original)
    )]
    LostName {
        thing: Thing,
        backend: BackendName,
        original: String,
        name: String,
        winner: BackendName,
    },
    #[error(
        "backends {} all have a {} `{name}`; {}",
        quoted(backends),
        thing.as_str(),
        thing.way_out()
    )]
    Unresolved {
        thing: Thing,
        name: String,
        backends: Vec<BackendName>,
    },
    #[error("backend `{backend}` has no tool `{tool}`, which an override names")]
    NoSuchTool { backend: BackendName, tool: String },
    #[error("backend `{backend}` has no tool `{tool}`, which its filter names")]
    FilterMatchesNothing { backend: BackendName, tool: String },
    #[error(
        "tool `{}` of backend `{backend}` is not listed: `{}` is no name of a tool, which has letters, digits and `_-.`, at most {TOOL_NAME_MAX}; workflows call it as `{backend}.{}`",
        shown(original),
        shown(name),
        shown(original)
    )]
    UnfitName {
        backend: BackendName,
        original: String,
        /// With its prefix.
        name: String,
    },
}

impl Notice {
    /// The set of names is not what the configuration asked for.
    pub fn is_error(&self) -> bool {
        match self {
            Self::Unresolved { .. } => true,
            Self::LostName { .. }
            | Self::NoSuchTool { .. }
            | Self::FilterMatchesNothing { .. }
            | Self::UnfitName { .. } => false,
        }
    }

    /// Told with the list of the backend already: the name is unfit as the backend gives it.
    pub fn is_remarked(&self) -> bool {
        match self {
            Self::UnfitName { original, .. } => !is_tool_name(original),
            Self::LostName { .. }
            | Self::Unresolved { .. }
            | Self::NoSuchTool { .. }
            | Self::FilterMatchesNothing { .. } => false,
        }
    }
}

/// Merges lists into a catalog. The order is that of the lists, then by the backends' own names.
pub fn merge(lists: &[Listed], options: &CatalogOptions) -> (Catalog, Vec<Notice>) {
    let mut notices = Vec::new();
    let mut candidates = Vec::new();
    for list in lists {
        let rule = options
            .rules
            .iter()
            .find(|rule| rule.backend == list.backend);
        candidates.extend(overridden(list, rule));
        if let Some(rule) = rule.filter(|_| list.knowledge != Knowledge::Unknown) {
            notices.extend(dangling(list, rule));
        }
    }
    let (candidates, tools): (Vec<Candidate>, Vec<Tool>) = candidates.into_iter().unzip();
    let (names, conflicts) = conflict::resolve(&candidates, &options.strategy, Thing::Tool);
    notices.extend(conflicts);
    notices.extend(unfit(&candidates, &names, options));
    let named = candidates.into_iter().zip(tools).zip(names);
    let tools = named.map(|((candidate, tool), name)| {
        let fits = is_tool_name(name.as_ref().unwrap_or(&candidate.name));
        let name = name.filter(|_| fits);
        let tool = match &name {
            Some(name) => tool.renamed(name),
            None => tool,
        };
        CatalogTool {
            name: name.map(|name| ToolName::from(name.as_str())),
            listed: fits && is_listed(&candidate, options),
            backend: candidate.backend,
            original: candidate.original,
            tool,
        }
    });
    let catalog = Catalog {
        tools: tools.collect(),
        backends: lists
            .iter()
            .map(|list| (list.backend.clone(), list.knowledge))
            .collect(),
        prefixes: lists
            .iter()
            .filter_map(|list| {
                let prefix = conflict::prefix(&options.strategy, &list.backend)?;
                Some((list.backend.clone(), prefix))
            })
            .collect(),
        unusable_accepted: options.unusable_accepted.clone(),
    };
    (catalog, notices)
}

/// Names that would be listed if clients took them.
fn unfit(
    candidates: &[Candidate],
    names: &[Option<String>],
    options: &CatalogOptions,
) -> Vec<Notice> {
    let named = candidates.iter().zip(names);
    let unfit = named.filter_map(|(candidate, name)| {
        let name = name.as_ref().filter(|name| !is_tool_name(name))?;
        is_listed(candidate, options).then(|| Notice::UnfitName {
            backend: candidate.backend.clone(),
            original: candidate.original.clone(),
            name: name.clone(),
        })
    });
    unfit.collect()
}

fn overridden(list: &Listed, rule: Option<&ToolRule>) -> Vec<(Candidate, Tool)> {
    let mut tools: Vec<&Tool> = list.tools.iter().collect();
    tools.sort_by_key(|tool| tool.name());
    let candidates = tools.into_iter().map(|tool| {
        let change = rule.and_then(|rule| rule.overrides.get(tool.name()));
        let name = change
            .and_then(|change| change.name.as_deref())
            .unwrap_or(tool.name());
        let candidate = Candidate {
            backend: list.backend.clone(),
            original: tool.name().to_owned(),
            name: name.to_owned(),
            is_overridden: change.is_some(),
        };
        let tool = change.map_or_else(|| tool.clone(), |change| apply(tool, change));
        (candidate, tool)
    });
    candidates.collect()
}

fn apply(tool: &Tool, change: &ToolOverride) -> Tool {
    let mut tool = tool.clone();
    if let Some(description) = &change.description {
        tool = tool.with("description", json!(description));
    }
    let Annotations {
        title,
        read_only,
        destructive,
        idempotent,
        open_world,
    } = &change.annotations;
    let hints = [
        ("readOnlyHint", read_only),
        ("destructiveHint", destructive),
        ("idempotentHint", idempotent),
        ("openWorldHint", open_world),
    ];
    let mut set = Map::new();
    set.extend(
        title
            .as_ref()
            .map(|title| ("title".to_owned(), json!(title))),
    );
    for (key, hint) in hints {
        set.extend(hint.map(|hint| (key.to_owned(), json!(hint))));
    }
    if set.is_empty() {
        return tool;
    }
    tool.annotated(&set)
}

fn is_listed(candidate: &Candidate, options: &CatalogOptions) -> bool {
    if options.exclude_all {
        return false;
    }
    match options
        .rules
        .iter()
        .find(|rule| rule.backend == candidate.backend)
    {
        Some(rule) if rule.exclude_all => false,
        Some(ToolRule {
            filter: Some(filter),
            ..
        }) => filter.contains(&candidate.name),
        Some(_) | None => options.default_visibility == Visibility::Allow,
    }
}

/// Overrides and filter entries that name no tool.
fn dangling(list: &Listed, rule: &ToolRule) -> Vec<Notice> {
    let own: HashSet<&str> = list.tools.iter().map(Tool::name).collect();
    let backend = &list.backend;
    let mut notices = Vec::new();
    for tool in rule
        .overrides
        .keys()
        .filter(|tool| !own.contains(tool.as_str()))
    {
        notices.push(Notice::NoSuchTool {
            backend: backend.clone(),
            tool: tool.clone(),
        });
    }
    let renamed = |tool: &str| {
        let change = rule.overrides.get(tool);
        change
            .and_then(|change| change.name.clone())
            .unwrap_or_else(|| tool.to_owned())
    };
    let after: HashSet<String> = own.iter().map(|tool| renamed(tool)).collect();
    for tool in rule
        .filter
        .iter()
        .flatten()
        .filter(|tool| !after.contains(*tool))
    {
        let (backend, tool) = (backend.clone(), tool.clone());
        notices.push(Notice::FilterMatchesNothing { backend, tool });
    }
    notices
}

fn quoted(backends: &[BackendName]) -> String {
    backends
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests;
