//! Groups: what an `MCPGroup` holds, and references to groups that no file defines.

use super::{Context, NAMESPACE, Resource, ResourceKind};
use onecall_source::{Diagnostic, Diagnostics, Fields, Severity, Text, codes, suggest};
use std::collections::BTreeSet;

/// A group has no settings but its name; what else it holds must be known all the same.
pub(super) fn read(resources: &[Resource<'_>], diagnostics: &mut Diagnostics) {
    for group in resources
        .iter()
        .filter(|own| own.kind == ResourceKind::Group)
    {
        let spec = group.spec.filter(|spec| !spec.is_null());
        if let Some(mut fields) =
            spec.and_then(|spec| Fields::read(spec, "an MCPGroup", diagnostics))
        {
            fields.optional_string("description", diagnostics);
            fields.finish(diagnostics);
        }
    }
}

/// A reference to a group.
struct Reference<'a> {
    group: &'a Text,
    namespace: &'a str,
    /// It takes the members of the group, and is not one.
    is_server: bool,
}

/// Reports each group that is referred to and that no file defines. Files without any `MCPGroup` define a group by
/// referring to it from both sides, from a server and from a member.
pub(super) fn check(
    resources: &[Resource<'_>],
    context: Context<'_>,
    diagnostics: &mut Diagnostics,
) {
    let of_files = context.groups.iter().map(|group| Reference {
        group,
        namespace: NAMESPACE,
        is_server: true,
    });
    let references: Vec<Reference<'_>> = resources
        .iter()
        .filter_map(reference)
        .chain(of_files)
        .collect();
    let has_server = |namespace: &str| {
        references
            .iter()
            .any(|own| own.is_server && own.namespace == namespace)
    };
    let mut told = BTreeSet::new();
    for own in &references {
        let defined = names(resources, own.namespace);
        let from_other_side = references.iter().any(|other| {
            other.is_server != own.is_server
                && other.namespace == own.namespace
                && **other.group == **own.group
        });
        let is_told_elsewhere = if own.is_server {
            // A server without any backend is reported as such.
            defined.is_empty() && context.loose.is_empty()
        } else {
            // A member that is given without its server.
            defined.is_empty() && !has_server(own.namespace)
        };
        let is_defined =
            defined.contains(&own.group.as_str()) || defined.is_empty() && from_other_side;
        let elsewhere = elsewhere(resources, ResourceKind::Group, own.group, own.namespace);
        // Once for a group: that a server names one of another namespace is an error of its own.
        if !is_defined && !is_told_elsewhere && told.insert((own.namespace, own.group.as_str())) {
            if own.is_server && elsewhere.is_some() {
                continue;
            }
            diagnostics.push(undefined(own, &defined, elsewhere));
        }
    }
}

/// The namespace that has a resource of this kind and name, if it is another one.
pub(super) fn elsewhere<'r>(
    resources: &'r [Resource<'_>],
    kind: ResourceKind,
    name: &str,
    namespace: &str,
) -> Option<&'r str> {
    let mut named = resources
        .iter()
        .filter(|own| own.kind == kind && own.name.is_some_and(|own| own.as_str() == name))
        .map(|own| own.namespace.as_str())
        .peekable();
    let first = *named.peek()?;
    (!named.any(|own| own == namespace)).then_some(first)
}

fn names<'r>(resources: &'r [Resource<'_>], namespace: &str) -> Vec<&'r str> {
    let groups = resources
        .iter()
        .filter(|own| own.kind == ResourceKind::Group && own.namespace == namespace);
    groups.filter_map(|own| Some(own.name?.as_str())).collect()
}

fn reference<'a>(resource: &'a Resource<'_>) -> Option<Reference<'a>> {
    let is_server = match resource.kind {
        ResourceKind::Server => true,
        ResourceKind::Entry | ResourceKind::RemoteProxy | ResourceKind::McpServer => false,
        ResourceKind::Definition
        | ResourceKind::Group
        | ResourceKind::ToolConfig
        | ResourceKind::ExternalAuth
        | ResourceKind::Other(_) => return None,
    };
    let spec = resource.spec?;
    let config = spec.get("config").filter(|_| is_server);
    let has_own = config.and_then(|own| own.get("backends")?.as_sequence());
    if has_own.is_some_and(|own| !own.is_empty()) {
        return None;
    }
    let node = spec
        .get("groupRef")
        .or_else(|| config.and_then(|own| own.get("groupRef")))?;
    Some(Reference {
        group: node.get("name").unwrap_or(node).as_text()?,
        namespace: &resource.namespace,
        is_server,
    })
}

fn undefined(own: &Reference<'_>, defined: &[&str], elsewhere: Option<&str>) -> Diagnostic {
    let (group, namespace) = (own.group, own.namespace);
    let message = format!("no file defines MCPGroup `{group}` of namespace `{namespace}`");
    let message = match elsewhere {
        Some(other) => format!("{message}; one is in namespace `{other}`"),
        None => message,
    };
    let label = if own.is_server {
        "the backends are those of other files and flags"
    } else {
        "no server takes its members"
    };
    let mut diagnostic =
        Diagnostic::warning(codes::UNDEFINED_GROUP, message).label(group.place(), label);
    if defined.is_empty() && own.is_server {
        // The backends that are given otherwise may be all that are meant.
        diagnostic.severity = Severity::Note;
    }
    match suggest(group, defined.iter().copied()) {
        Some(near) => diagnostic.help(format!("a group named `{near}` exists")),
        None => diagnostic.help(format!(
            "give the file of the group, or name one that a file defines: `kind: MCPGroup`, `metadata: {{name: {group}, namespace: {namespace}}}`"
        )),
    }
}
