//! What a document is, told by its keys. How it is read is left to the dialect or to `config`.

use onecall_source::{Document, NodeKind};

/// The kinds of documents that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ToolHive configuration file with `compositeTools`.
    ToolhiveConfig,
    /// A Kubernetes resource.
    Resource,
    /// `onecall.yaml`.
    Onecall,
    /// A workflow file.
    Workflow,
    /// `mcp.json`: `mcpServers` as desktop clients write them.
    McpServers,
    /// A suite with `compositions`.
    Suite,
}

impl Kind {
    /// How a message names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolhiveConfig => "a ToolHive configuration",
            Self::Resource => "a Kubernetes resource",
            Self::Onecall => "an onecall configuration",
            Self::Workflow => "a workflow file",
            Self::McpServers => "a list of MCP servers",
            Self::Suite => "a suite of compositions",
        }
    }
}

/// The keys only a ToolHive configuration has at its root.
const TOOLHIVE_KEYS: [&str; 11] = [
    "compositeTools",
    "compositeToolRefs",
    "groupRef",
    "incomingAuth",
    "outgoingAuth",
    "aggregation",
    "operational",
    "optimizer",
    "codeMode",
    "sessionStorage",
    "passthroughHeaders",
];

/// The keys only `onecall.yaml` has at its root.
const ONECALL_KEYS: [&str; 9] = [
    "workflows",
    "names",
    "expose",
    "store",
    "durability",
    "limits",
    "auth",
    "templates",
    "environment",
];

/// The names of the configuration of a folder.
pub const CONFIGURATIONS: [&str; 3] = ["onecall.yaml", "onecall.yml", "onecall.json"];

/// The keys by which documents are told in the first place.
pub const MAIN_KEYS: [&str; 6] = [
    "backends",
    "workflows",
    "workflow",
    "mcpServers",
    "compositions",
    "compositeTools",
];

/// What the name of a file alone says.
pub fn kind_of_name(name: &str) -> Option<Kind> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if CONFIGURATIONS.contains(&file) {
        return Some(Kind::Onecall);
    }
    let is_workflow = [".workflow.yaml", ".workflow.yml", ".workflow.json"];
    let is_workflow = is_workflow.iter().any(|end| file.ends_with(end));
    is_workflow.then_some(Kind::Workflow)
}

/// What a document is, or `None` when nothing reads it. `name` is the name of its file.
pub fn detect(document: &Document, name: &str) -> Option<Kind> {
    let root = &document.root;
    root.as_mapping()?;
    let has = |key: &str| root.get(key).is_some();
    if let Some(kind) = kind_of_name(name) {
        return Some(kind);
    }
    if has("workflow") {
        return Some(Kind::Workflow);
    }
    if has("apiVersion") && has("kind") {
        return Some(Kind::Resource);
    }
    if has("mcpServers") {
        return Some(Kind::McpServers);
    }
    if has("compositions") {
        return Some(Kind::Suite);
    }
    if TOOLHIVE_KEYS.iter().any(|key| has(key)) {
        return Some(Kind::ToolhiveConfig);
    }
    match root.get("backends").map(|node| &node.kind) {
        Some(NodeKind::Sequence(_)) => return Some(Kind::ToolhiveConfig),
        Some(NodeKind::Mapping(_)) => return Some(Kind::Onecall),
        _ => {}
    }
    ONECALL_KEYS
        .iter()
        .any(|key| has(key))
        .then_some(Kind::Onecall)
}
