//! The envelope that every resource has: what it is, and what it is called.

use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Text, codes, suggest};
use std::collections::BTreeMap;

/// The API group of the resources that are read.
const GROUP: &str = "toolhive.stacklok.dev";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ResourceKind {
    Server,
    Definition,
    Group,
    McpServer,
    RemoteProxy,
    Entry,
    ToolConfig,
    ExternalAuth,
    /// Known, and without effect outside of a cluster.
    Other(&'static str),
}

const KINDS: [(&str, ResourceKind); 8] = [
    ("VirtualMCPServer", ResourceKind::Server),
    (
        "VirtualMCPCompositeToolDefinition",
        ResourceKind::Definition,
    ),
    ("MCPGroup", ResourceKind::Group),
    ("MCPServer", ResourceKind::McpServer),
    ("MCPRemoteProxy", ResourceKind::RemoteProxy),
    ("MCPServerEntry", ResourceKind::Entry),
    ("MCPToolConfig", ResourceKind::ToolConfig),
    ("MCPExternalAuthConfig", ResourceKind::ExternalAuth),
];

const OTHERS: [&str; 6] = [
    "MCPOIDCConfig",
    "MCPAuthzConfig",
    "MCPTelemetryConfig",
    "EmbeddingServer",
    "MCPRegistry",
    "MCPWebhookConfig",
];

impl ResourceKind {
    pub(crate) fn as_str(self) -> &'static str {
        if let Self::Other(name) = self {
            return name;
        }
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == text) {
            return Some(*kind);
        }
        OTHERS
            .iter()
            .find(|name| **name == text)
            .map(|name| Self::Other(name))
    }
}

/// One resource of a file.
#[derive(Debug)]
pub(crate) struct Resource<'n> {
    pub(crate) kind: ResourceKind,
    pub(crate) node: &'n Node,
    pub(crate) name: Option<&'n Text>,
    pub(crate) namespace: String,
    /// Labels and annotations together; labels win.
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) generation: Option<i64>,
    pub(crate) spec: Option<&'n Node>,
    pub(crate) status: Option<&'n Node>,
}

impl<'n> Resource<'n> {
    /// The spec, which this kind needs.
    pub(crate) fn spec(&self, diagnostics: &mut Diagnostics) -> Option<&'n Node> {
        if self.spec.is_none() {
            let place = self.name.map_or(&self.node.place, |name| name.place());
            diagnostics.push(
                Diagnostic::error(
                    codes::MISSING_KEY,
                    format!("a {} has no `spec`", self.kind.as_str()),
                )
                .label(place, "`spec` is missing")
                .help("add `spec:`"),
            );
        }
        self.spec
    }
}

/// The resources of one document: itself, or the items of a `List`.
pub(crate) fn resources_of<'n>(root: &'n Node, diagnostics: &mut Diagnostics) -> Vec<Resource<'n>> {
    let kind = root.get("kind").and_then(Node::as_text);
    if kind.is_some_and(|kind| kind.as_str() == "List" || kind.ends_with("List")) {
        let items = root.get("items").and_then(Node::as_sequence);
        return items
            .unwrap_or_default()
            .iter()
            .filter_map(|item| resource(item, diagnostics))
            .collect();
    }
    resource(root, diagnostics).into_iter().collect()
}

fn resource<'n>(node: &'n Node, diagnostics: &mut Diagnostics) -> Option<Resource<'n>> {
    let mut fields = Fields::read(node, "a resource", diagnostics)?;
    let api = fields.required_string("apiVersion", diagnostics)?;
    let kind_text = fields.required_string("kind", diagnostics)?;
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    if group != GROUP {
        diagnostics.push(foreign(kind_text, api));
        return None;
    }
    if !matches!(version, "v1alpha1" | "v1beta1") {
        diagnostics.push(unknown_version(api));
    }
    let Some(kind) = ResourceKind::parse(kind_text) else {
        diagnostics.push(unknown_kind(kind_text));
        return None;
    };
    if let ResourceKind::Other(_) = kind {
        diagnostics.push(inert_kind(kind_text));
    }
    let metadata = fields.required("metadata", diagnostics);
    let spec = fields.optional("spec");
    let status = fields.optional("status");
    fields.finish(diagnostics);
    let mut resource = Resource {
        kind,
        node,
        name: None,
        namespace: super::NAMESPACE.to_owned(),
        labels: BTreeMap::new(),
        generation: None,
        spec,
        status,
    };
    if let Some(metadata) = metadata {
        read_metadata(metadata, &mut resource, diagnostics);
    }
    Some(resource)
}

fn read_metadata<'n>(node: &'n Node, resource: &mut Resource<'n>, diagnostics: &mut Diagnostics) {
    let Some(mut fields) = Fields::read(node, "metadata", diagnostics) else {
        return;
    };
    resource.name = fields.required_string("name", diagnostics);
    if let Some(namespace) = fields.optional_string("namespace", diagnostics) {
        resource.namespace = namespace.to_string();
    }
    for key in ["annotations", "labels"] {
        for entry in fields.mapping(key, diagnostics) {
            if let Some(text) = entry.value.expect_string(&entry.key, diagnostics) {
                resource
                    .labels
                    .insert(entry.key.to_string(), text.to_string());
            }
        }
    }
    let generation = fields.optional_integer("generation", 0..=i64::MAX, diagnostics);
    resource.generation = generation.map(|generation| generation.value);
    // What the API server writes is not for us.
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "ownerReferences",
        "finalizers",
        "generateName",
        "selfLink",
    ] {
        fields.entry(key);
    }
    fields.finish(diagnostics);
}

fn foreign(kind: &Text, api: &Text) -> Diagnostic {
    Diagnostic::remark(
        codes::UNKNOWN_KIND,
        format!("`{kind}` of `{api}` is left out"),
    )
    .label(kind.place(), "not a resource of this system")
    .help(format!("resources of `{GROUP}` are read"))
}

fn unknown_version(api: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_KIND,
        format!("the version `{api}` is not known"),
    )
    .label(api.place(), "unknown version")
    .help(format!("use `{GROUP}/v1beta1`"))
}

fn unknown_kind(kind: &Text) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_KIND,
        format!("there is no kind of resource named `{kind}`"),
    )
    .label(kind.place(), "unknown kind");
    let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
    match suggest(kind, names.iter().copied()) {
        Some(near) => diagnostic.help(format!("a kind named `{near}` exists")),
        None => diagnostic.help(format!("the kinds are {}", names.join(", "))),
    }
}

fn inert_kind(kind: &Text) -> Diagnostic {
    Diagnostic::warning(codes::KEY_INERT, format!("`{kind}` has no effect yet"))
        .label(kind.place(), "read over")
        .help("leave the resource out if you can do without")
}
