//! Members of groups: entries, proxies and servers that run in a cluster, as backends.

use super::{Context, Resource, ResourceKind, ToolConfigs, not_found};
use crate::keys;
use crate::settings::{Backend, Session, ToolRule, Transport};
use crate::substitute::{Environment, substitute};
use crate::toolhive::{add_header, read_reference};
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Text, codes};
use onecall_workflow::name::BackendName;

/// A backend that belongs to a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) group: Option<Text>,
    pub(crate) namespace: String,
    pub(crate) backend: Backend,
    /// The tools it lists, where its resource says so.
    pub(crate) rule: Option<ToolRule>,
}

pub(super) fn read(
    resources: &[Resource<'_>],
    context: Context<'_>,
    tool_configs: &ToolConfigs,
    diagnostics: &mut Diagnostics,
) -> Vec<Member> {
    let subject = Subject {
        resources,
        environment: context.environment,
        loose: context.loose,
        tool_configs,
    };
    let mut members = Vec::new();
    for resource in resources {
        let member = match resource.kind {
            ResourceKind::Entry => subject.entry(resource, diagnostics),
            ResourceKind::RemoteProxy => subject.proxy(resource, diagnostics),
            ResourceKind::McpServer => subject.server(resource, diagnostics),
            ResourceKind::Server
            | ResourceKind::Definition
            | ResourceKind::Group
            | ResourceKind::ToolConfig
            | ResourceKind::ExternalAuth
            | ResourceKind::Other(_) => None,
        };
        members.extend(member);
    }
    members
}

struct Subject<'a> {
    resources: &'a [Resource<'a>],
    environment: &'a Environment<'a>,
    loose: &'a [Backend],
    tool_configs: &'a ToolConfigs,
}

/// What a proxy or server has for the cluster that runs it.
const CLUSTER_KEYS: [&str; 31] = [
    "image",
    "proxyPort",
    "mcpPort",
    "port",
    "targetPort",
    "args",
    "env",
    "volumes",
    "resources",
    "secrets",
    "serviceAccount",
    "permissionProfile",
    "podTemplateSpec",
    "resourceOverrides",
    "oidcConfigRef",
    "authzConfig",
    "authzConfigRef",
    "audit",
    "webhookConfigRef",
    "authServerRef",
    "telemetryConfigRef",
    "trustProxyHeaders",
    "endpointPrefix",
    "sessionAffinity",
    "replicas",
    "backendReplicas",
    "sessionStorage",
    "rateLimiting",
    "allowPrivateEndpoint",
    "oidcConfig",
    "telemetry",
];

impl Subject<'_> {
    fn entry(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPServerEntry", diagnostics)?;
        let url = fields.required_string("remoteUrl", diagnostics);
        fields.required("transport", diagnostics);
        let choices = ["sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        fields.optional_bool("allowPrivateEndpoint", diagnostics);
        keys::warn_inert(&mut fields, "spec.", &["caBundleRef"], diagnostics);
        let url = url.map(|url| substitute(url, self.environment, diagnostics));
        let transport = transport.map(|transport| transport.value);
        self.finish(resource, fields, url, transport, diagnostics)
    }

    fn proxy(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPRemoteProxy", diagnostics)?;
        let remote = fields.required_string("remoteUrl", diagnostics);
        let choices = ["sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        fields.optional_string("proxyMode", diagnostics);
        for key in CLUSTER_KEYS {
            fields.entry(key);
        }
        let remote = remote.map(|url| substitute(url, self.environment, diagnostics));
        let url = status_url(resource).or(remote);
        let transport = transport.map(|transport| transport.value);
        self.finish(resource, fields, url, transport, diagnostics)
    }

    fn server(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPServer", diagnostics)?;
        let choices = ["stdio", "sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        let mode = fields.optional_choice("proxyMode", &choices, diagnostics);
        for key in CLUSTER_KEYS {
            fields.entry(key);
        }
        let url = status_url(resource);
        if let (None, Some(name)) = (&url, resource.name)
            && !self.loose.iter().any(|own| own.name == name.as_str())
        {
            diagnostics.push(no_url(name));
        }
        let transport = mode.or(transport).map(|transport| transport.value);
        self.finish(resource, fields, url, transport, diagnostics)
    }

    fn finish(
        &self,
        resource: &Resource<'_>,
        mut fields: Fields<'_>,
        url: Option<String>,
        transport: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Member> {
        let group = read_reference(fields.optional("groupRef"), "groupRef", diagnostics);
        let auth = fields.optional("externalAuthConfigRef");
        let auth = read_reference(auth, "externalAuthConfigRef", diagnostics);
        let tool_config = fields.optional("toolConfigRef");
        let tool_config = read_reference(tool_config, "toolConfigRef", diagnostics);
        let forward = fields.optional_fields("headerForward", diagnostics);
        let headers = forward.map(|own| self.forwarded(own, diagnostics));
        fields.finish(diagnostics);
        let name = resource.name?;
        // Another file or flag may say how what runs in the cluster is reached from here.
        let loose = self.loose.iter().find(|own| own.name == name.as_str());
        let mut backend = match loose {
            Some(loose) => loose.clone(),
            None => reached(name, url?, transport, headers.unwrap_or_default()),
        };
        if let Some(auth) = auth {
            self.authenticate(&auth, resource, &mut backend, diagnostics);
        }
        let rule = tool_config.map(|tool_config| {
            let mut rule = ToolRule {
                backend: backend.name.clone(),
                filter: None,
                overrides: std::collections::BTreeMap::new(),
                exclude_all: false,
            };
            let namespace = &resource.namespace;
            self.tool_configs
                .apply(&tool_config, namespace, &mut rule, diagnostics);
            rule
        });
        Some(Member {
            group,
            namespace: resource.namespace.clone(),
            backend,
            rule,
        })
    }

    fn forwarded(
        &self,
        mut fields: Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        for Entry { key, value } in fields.mapping("addPlaintextHeaders", diagnostics) {
            if let Some(text) = value.expect_string(key, diagnostics) {
                headers.push((
                    key.to_string(),
                    substitute(text, self.environment, diagnostics),
                ));
            }
        }
        if let Some(entry) = fields.entry("addHeadersFromSecret")
            && !entry.value.is_null()
        {
            let why = "secrets of a cluster cannot be read from files";
            diagnostics.push(keys::refused(
                entry,
                "headerForward.addHeadersFromSecret",
                why,
            ));
        }
        fields.finish(diagnostics);
        headers
    }

    /// Applies an `MCPExternalAuthConfig`; what needs a secret of the cluster is refused.
    fn authenticate(
        &self,
        reference: &Text,
        resource: &Resource<'_>,
        backend: &mut Backend,
        diagnostics: &mut Diagnostics,
    ) {
        let mut all = self.resources.iter().filter(|own| {
            own.kind == ResourceKind::ExternalAuth && own.namespace == resource.namespace
        });
        let found = all.find(|own| own.name.is_some_and(|name| **name == **reference));
        let Some(found) = found else {
            let names: Vec<&str> = self
                .resources
                .iter()
                .filter(|own| own.kind == ResourceKind::ExternalAuth)
                .filter_map(|own| Some(own.name?.as_str()))
                .collect();
            let namespace = &resource.namespace;
            diagnostics.push(not_found(
                reference,
                "MCPExternalAuthConfig",
                namespace,
                &names,
            ));
            return;
        };
        let Some(spec) = found.spec.and_then(Node::as_mapping) else {
            return;
        };
        let kind = spec.iter().find(|entry| *entry.key == *"type");
        let Some(entry) = kind else { return };
        let text = entry.value.as_text().map_or("", |text| text.as_str());
        if text == "unauthenticated" {
            return;
        }
        let block = found.spec.and_then(|spec| spec.get("headerInjection"));
        if let ("headerInjection", Some(block)) = (text, block)
            && let (Some(name), Some(value)) =
                (text_of(block, "headerName"), text_of(block, "headerValue"))
        {
            let value = substitute(value, self.environment, diagnostics);
            add_header(backend, name, &value);
            return;
        }
        let why = "the backend would be called without these credentials";
        diagnostics.push(keys::refused(entry, &format!("spec.type: {text}"), why));
    }
}

fn reached(
    name: &Text,
    url: String,
    transport: Option<&str>,
    headers: Vec<(String, String)>,
) -> Backend {
    Backend {
        name: BackendName::from(name.as_str()),
        transport: match transport {
            Some("sse") => Transport::Sse { url, headers },
            _ => Transport::StreamableHttp { url, headers },
        },
        timeout: None,
        max_in_flight: None,
        eager: false,
        session: Session::Shared,
        place: name.place().clone(),
    }
}

fn text_of<'n>(node: &'n Node, key: &str) -> Option<&'n Text> {
    node.get(key)?.as_text()
}

fn status_url(resource: &Resource<'_>) -> Option<String> {
    let url = resource.status?.get("url")?.as_text()?;
    (!url.is_empty()).then(|| url.to_string())
}

fn no_url(name: &Text) -> Diagnostic {
    Diagnostic::warning(
        codes::NO_BACKENDS,
        format!("MCPServer `{name}` runs in a cluster, and its file has no `status.url`"),
    )
    .label(name.place(), "cannot be reached from here")
    .help(format!(
        "give its file as the cluster shows it, or `--backend {name}=URL`"
    ))
}
