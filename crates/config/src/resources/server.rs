//! A `VirtualMCPServer`: its group, its configuration, the definitions it publishes.

use super::backends::Member;
use super::external_auth::ExternalAuths;
use super::groups::elsewhere;
use super::outgoing::Outgoing;
use super::{
    Context, Definition, Publication, Resource, ResourceKind, ToolConfigs, authenticate, join,
    publish,
};
use crate::backend::Reader;
use crate::keys;
use crate::settings::{Backend, Server};
use crate::taken::Taken;
use crate::toolhive::{self, Toolhive, read_reference, read_references, refuse};
use crate::workloads::Stated;
use onecall_dialects::toolhive::Home;
use onecall_source::{Diagnostic, Diagnostics, Fields, Place, Text, codes};
use std::collections::BTreeSet;

pub(super) struct Subject<'a> {
    pub(super) resource: &'a Resource<'a>,
    pub(super) context: Context<'a>,
    pub(super) members: &'a [Member],
    pub(super) tool_configs: &'a ToolConfigs,
    pub(super) auths: &'a ExternalAuths<'a>,
    pub(super) resources: &'a [Resource<'a>],
}

/// Keys that say how a cluster runs the server.
const INERT: [&str; 11] = [
    "passthroughHeaders",
    "serviceType",
    "sessionAffinity",
    "serviceAccount",
    "podTemplateSpec",
    "telemetryConfigRef",
    "embeddingServerRef",
    "replicas",
    "sessionStorage",
    "imagePullSecrets",
    "telemetry",
];

impl Subject<'_> {
    pub(super) fn read(
        &self,
        definitions: &mut [Definition],
        diagnostics: &mut Diagnostics,
    ) -> Option<Server> {
        let spec = self.resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "a VirtualMCPServer", diagnostics)?;
        let group = read_reference(fields.optional("groupRef"), "groupRef", diagnostics);
        let mut references = read_references(&mut fields, "compositeToolRefs", diagnostics);
        if let Some(own) = fields.optional_fields("incomingAuth", diagnostics) {
            incoming(own, diagnostics);
        }
        let outgoing = match fields.optional_fields("outgoingAuth", diagnostics) {
            Some(own) => {
                let namespace = &self.resource.namespace;
                Outgoing::read(own, self.auths, namespace, diagnostics)
            }
            None => Outgoing::default(),
        };
        let why = "callers would not be authenticated";
        refuse(&mut fields, "authServerConfig", why, diagnostics);
        keys::warn_inert(&mut fields, "spec.", &INERT, diagnostics);
        let config = fields.optional("config").map(|node| {
            let reader = Reader {
                environment: self.context.environment,
                process: self.context.environment,
                directory: "",
            };
            let context = toolhive::Context {
                reader: &reader,
                templates: self.context.templates,
                steps_max: self.context.steps_max,
                home: Home::Resource,
                namespace: &self.resource.namespace,
                tool_configs: self.tool_configs,
            };
            toolhive::read(node, context, diagnostics)
        });
        fields.finish(diagnostics);
        let config = config.unwrap_or_default();
        references.extend(config.tool_refs.iter().cloned());
        let group = group.or_else(|| config.group.clone());
        let mut taken = Taken::default();
        for name in &config.names {
            taken.add(name, name.place(), diagnostics);
        }
        let mut server = self.assemble(config, group.as_ref(), &outgoing, diagnostics)?;
        let mut publication = Publication {
            server: &mut server,
            namespace: &self.resource.namespace,
            taken: &mut taken,
        };
        publish(&references, &mut publication, definitions, diagnostics);
        if let (true, Some(name)) = (server.backends.is_empty(), self.resource.name) {
            diagnostics.push(no_backends(&server, name.place(), group.as_ref()));
        }
        Some(server)
    }

    fn assemble(
        &self,
        config: Toolhive,
        group: Option<&Text>,
        outgoing: &Outgoing,
        diagnostics: &mut Diagnostics,
    ) -> Option<Server> {
        let mut server = Server {
            name: self.resource.name?.to_string(),
            backends: config.backends,
            aggregation: config.aggregation.unwrap_or_default(),
            access: config.access,
            ..Server::default()
        };
        for built in config.workflows {
            server.add(built);
        }
        let is_explicit = !server.backends.is_empty();
        for backend in &mut server.backends {
            authenticate(backend, outgoing, None);
        }
        if let (Some(group), false) = (group, is_explicit) {
            self.check_group(group, diagnostics);
            let namespace = &self.resource.namespace;
            join(self.members, group, namespace, outgoing, &mut server);
        }
        let mut stated = Stated::default();
        stated.add(config.workloads, 0..server.backends.len());
        for loose in self.context.loose {
            let is_known = |own: &Backend| own.name == loose.name;
            if is_explicit || !server.backends.iter().any(is_known) {
                let mut backend = loose.clone();
                authenticate(&mut backend, outgoing, None);
                server.backends.push(backend);
            }
        }
        stated.apply(&mut server.backends, diagnostics);
        outgoing.check(&server.backends, diagnostics);
        Some(server)
    }

    /// A group may be left out of the files; one that is there in another namespace is a mistake.
    fn check_group(&self, group: &Text, diagnostics: &mut Diagnostics) {
        let namespace = &self.resource.namespace;
        if let Some(other) = elsewhere(self.resources, ResourceKind::Group, group, namespace) {
            let all = [(other, group.as_str())].into_iter();
            diagnostics.push(super::not_found(group, "MCPGroup", namespace, all));
        }
    }
}

fn incoming(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) {
    let kind = fields.entry("type");
    let choice = fields.optional_choice("type", &["anonymous", "oidc"], diagnostics);
    if let (Some(choice), Some(entry)) = (choice, kind)
        && choice.value == "oidc"
    {
        let why = "tokens of callers would not be checked";
        diagnostics.push(keys::refused(entry, "incomingAuth.type: oidc", why));
    }
    for key in ["oidcConfigRef", "oidcConfig"] {
        let why = "tokens of callers would not be checked";
        refuse(&mut fields, key, why, diagnostics);
    }
    for key in ["authzConfig", "authzConfigRef"] {
        let why = "callers would not be authorised";
        refuse(&mut fields, key, why, diagnostics);
    }
    fields.finish(diagnostics);
}

/// The flags to give are those of the backends that the steps name.
pub(crate) fn no_backends(server: &Server, place: &Place, group: Option<&Text>) -> Diagnostic {
    let name = &server.name;
    let message = match group {
        Some(group) => {
            format!("server `{name}` has no backends: no member of group `{group}` was given")
        }
        None => format!("server `{name}` has no group and no backends"),
    };
    let place = group.map_or(place, Text::place);
    Diagnostic::warning(codes::NO_BACKENDS, message)
        .label(place, "no backends")
        .help(format!("give {}, `--mcp-config mcp.json`, or the files of its members (MCPServerEntry, MCPRemoteProxy, MCPServer)", flags(server)))
}

fn flags(server: &Server) -> String {
    let tools = server
        .steps()
        .filter_map(|step| Some(step.call()?.tool.as_str()));
    let names: BTreeSet<&str> = tools
        .filter_map(|tool| Some(tool.split_once('.')?.0))
        .collect();
    if names.is_empty() {
        return "`--backend NAME=URL`".to_owned();
    }
    let flags: Vec<String> = names
        .iter()
        .map(|name| format!("`--backend {name}=URL`"))
        .collect();
    flags.join(" ")
}
