//! Kubernetes resources from files: indexed by kind, namespace and name, then turned into servers.
//! What a cluster would find by itself has to be among the files.

mod backends;
mod envelope;
mod external_auth;
mod groups;
mod outgoing;
mod server;
mod tool_config;

pub(crate) use envelope::{Resource, ResourceKind, resources_of};
pub(crate) use server::no_backends;
pub(crate) use tool_config::ToolConfigs;

use crate::settings::{Backend, Server};
use crate::substitute::Environment;
use crate::taken::Taken;
use crate::workloads::{Header, add_header};
use backends::Member;
use external_auth::ExternalAuths;
use onecall_dialects::toolhive as dialect;
use onecall_source::{Diagnostic, Diagnostics, Text, codes, suggest};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::GoOptions;
use outgoing::Outgoing;
use std::collections::BTreeMap;

/// A definition resource and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: Text,
    pub(crate) namespace: String,
    /// The name of its tool, whether the rest could be read or not.
    pub(crate) tool_name: Option<Text>,
    pub(crate) built: Option<Built>,
    pub(crate) referenced_by: Vec<String>,
}

/// What is needed to read resources.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) environment: &'a Environment<'a>,
    pub(crate) templates: GoOptions,
    pub(crate) steps_max: Option<usize>,
    /// Backends that other files give; every server may use them.
    pub(crate) loose: &'a [Backend],
    /// The groups that configuration files take their backends from.
    pub(crate) groups: &'a [Text],
}

/// The namespace of what states none.
pub(crate) const NAMESPACE: &str = "default";

/// Everything resources gave.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) servers: Vec<Server>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) tool_configs: ToolConfigs,
    members: Vec<Member>,
}

impl Loaded {
    /// Gives a server the members of a group, unless it has a backend of that name.
    pub(crate) fn join(&self, group: &Text, namespace: &str, server: &mut Server) {
        join(
            &self.members,
            group,
            namespace,
            &Outgoing::default(),
            server,
        );
    }
}

/// `own` is what the resource of the backend says.
fn authenticate(backend: &mut Backend, outgoing: &Outgoing, own: Option<&Header>) {
    if let Some(header) = outgoing.header(backend.name.as_str(), own) {
        add_header(backend, header);
    }
}

fn join(
    members: &[Member],
    group: &Text,
    namespace: &str,
    outgoing: &Outgoing,
    server: &mut Server,
) {
    for member in members {
        let is_in = member.group.as_ref().is_some_and(|own| **own == **group);
        let is_known = |own: &Backend| own.name == member.backend.name;
        if !is_in || member.namespace != namespace || server.backends.iter().any(is_known) {
            continue;
        }
        let mut backend = member.backend.clone();
        authenticate(&mut backend, outgoing, member.header.as_ref());
        server.backends.push(backend);
        let rules = &mut server.aggregation.rules;
        let is_ruled = rules.iter().any(|rule| rule.backend == member.backend.name);
        rules.extend(member.rule.clone().filter(|_| !is_ruled));
    }
}

pub(crate) fn load(
    resources: &[Resource<'_>],
    context: Context<'_>,
    diagnostics: &mut Diagnostics,
) -> Loaded {
    check_unique(resources, diagnostics);
    check_mounts(resources, diagnostics);
    let tool_configs = ToolConfigs::read(resources, diagnostics);
    let mut definitions: Vec<Definition> = resources
        .iter()
        .filter(|resource| resource.kind == ResourceKind::Definition)
        .filter_map(|resource| definition(resource, context, diagnostics))
        .collect();
    let auths = ExternalAuths::read(resources, context.environment, diagnostics);
    let members = backends::read(resources, context, &tool_configs, &auths, diagnostics);
    groups::read(resources, diagnostics);
    groups::check(resources, context, diagnostics);
    let mut servers = Vec::new();
    for resource in resources {
        if resource.kind == ResourceKind::Server {
            let subject = server::Subject {
                resource,
                context,
                members: &members,
                tool_configs: &tool_configs,
                auths: &auths,
                resources,
            };
            servers.extend(subject.read(&mut definitions, diagnostics));
        }
    }
    auths.note_unused(diagnostics);
    for definition in &definitions {
        if definition.referenced_by.is_empty() {
            diagnostics.push(unreferenced(definition));
        }
    }
    Loaded {
        servers,
        definitions,
        tool_configs,
        members,
    }
}

fn definition(
    resource: &Resource<'_>,
    context: Context<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Definition> {
    let version = ["app.kubernetes.io/version", "version"]
        .iter()
        .find_map(|key| resource.labels.get(*key).cloned());
    let options = dialect::Options {
        go: context.templates,
        home: dialect::Home::Resource,
        steps_max: context.steps_max,
        labels: resource.labels.clone(),
        version,
    };
    let name = resource.name?.clone();
    let spec = resource.spec(diagnostics);
    let tool_name = spec.and_then(|spec| spec.get("name")?.as_text());
    let built = spec.and_then(|spec| dialect::read(spec, &options, diagnostics));
    Some(Definition {
        tool_name: tool_name.cloned(),
        name,
        namespace: resource.namespace.clone(),
        built,
        referenced_by: Vec::new(),
    })
}

/// A server that definitions are added to.
pub(crate) struct Publication<'a> {
    pub(crate) server: &'a mut Server,
    pub(crate) namespace: &'a str,
    pub(crate) taken: &'a mut Taken,
}

/// Publishes the definitions that a server refers to.
pub(crate) fn publish(
    references: &[Text],
    server: &mut Publication<'_>,
    definitions: &mut [Definition],
    diagnostics: &mut Diagnostics,
) {
    let namespace = server.namespace;
    for reference in references {
        let found = definitions.iter_mut().find(|definition| {
            definition.namespace == namespace && *definition.name == **reference
        });
        if let Some(definition) = found {
            if let Some(name) = &definition.tool_name {
                server.taken.add(name, name.place(), diagnostics);
            }
            definition.referenced_by.push(server.server.name.clone());
            if let Some(built) = &definition.built {
                server.server.add(built.clone());
            }
            continue;
        }
        let all = definitions
            .iter()
            .map(|own| (own.namespace.as_str(), own.name.as_str()));
        let kind = ResourceKind::Definition.as_str();
        diagnostics.push(not_found(reference, kind, namespace, all));
    }
}

fn check_unique(resources: &[Resource<'_>], diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<(ResourceKind, &str, &str), &Text> = BTreeMap::new();
    for resource in resources {
        let Some(name) = resource.name else { continue };
        let key = (resource.kind, resource.namespace.as_str(), name.as_str());
        match first.get(&key) {
            None => {
                first.insert(key, name);
            }
            Some(earlier) => diagnostics.push(
                Diagnostic::error(
                    codes::DUPLICATE_RESOURCE,
                    format!(
                        "two resources are {} `{}/{name}`",
                        resource.kind.as_str(),
                        resource.namespace
                    ),
                )
                .label(name.place(), "this name is taken")
                .secondary(earlier.place(), "first used here")
                .help("remove or rename one of them"),
            ),
        }
    }
}

/// Servers of one name in two namespaces would stand under one path.
fn check_mounts(resources: &[Resource<'_>], diagnostics: &mut Diagnostics) {
    let servers = resources
        .iter()
        .filter(|own| own.kind == ResourceKind::Server);
    let mut first: BTreeMap<&str, (&str, &Text)> = BTreeMap::new();
    for server in servers {
        let Some(name) = server.name else { continue };
        let own = (server.namespace.as_str(), name);
        let (namespace, earlier) = *first.entry(name.as_str()).or_insert(own);
        if namespace != own.0 {
            diagnostics.push(
                Diagnostic::error(
                    codes::DUPLICATE_RESOURCE,
                    format!("servers of two namespaces are named `{name}`"),
                )
                .label(name.place(), format!("in namespace `{}`", own.0))
                .secondary(earlier.place(), format!("in namespace `{namespace}`"))
                .help("rename one of them, or give the files of one namespace"),
            );
        }
    }
}

/// A reference that leads nowhere. `all`: the resources of its kind, by namespace and name.
pub(crate) fn not_found<'r>(
    reference: &Text,
    kind: &str,
    namespace: &str,
    all: impl Iterator<Item = (&'r str, &'r str)> + Clone,
) -> Diagnostic {
    let mut elsewhere = all.clone().filter(|(_, name)| *name == reference.as_str());
    let message = format!("no {kind} is named `{reference}` in namespace `{namespace}`");
    if let Some((other, _)) = elsewhere.next() {
        let message = format!("{message}; one is in namespace `{other}`");
        return Diagnostic::error(codes::UNKNOWN_RESOURCE, message)
            .label(reference.place(), "not of this namespace")
            .help("give both resources the same `metadata.namespace`");
    }
    let diagnostic = Diagnostic::error(codes::UNKNOWN_RESOURCE, message)
        .label(reference.place(), "no such resource among the files");
    let own = all.filter(|(own, _)| *own == namespace);
    match suggest(reference, own.map(|(_, name)| name)) {
        Some(near) => diagnostic.help(format!("one named `{near}` exists")),
        None => diagnostic.help("give the file of the resource too"),
    }
}

fn unreferenced(definition: &Definition) -> Diagnostic {
    Diagnostic::remark(
        codes::UNREFERENCED,
        format!(
            "no server refers to `{}`, so it is not published",
            definition.name
        ),
    )
    .label(definition.name.place(), "defined here")
    .help(format!(
        "add `compositeToolRefs: [{{name: {}}}]` to a VirtualMCPServer of namespace `{}`",
        definition.name, definition.namespace
    ))
}
