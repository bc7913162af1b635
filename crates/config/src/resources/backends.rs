//! Members of groups: entries, proxies and servers that run in a cluster, as backends.

use super::external_auth::ExternalAuths;
use super::{Context, Resource, ResourceKind, ToolConfigs};
use crate::backend::{substitute_url, url_fault};
use crate::settings::{Backend, ToolRule, Transport};
use crate::substitute::{Environment, substitute};
use crate::toolhive::read_reference;
use crate::workloads::Header;
use crate::{headers, keys};
use onecall_mcp::url;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Text, codes};
use std::net::IpAddr;

/// A backend that belongs to a group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) group: Option<Text>,
    pub(crate) namespace: String,
    pub(crate) backend: Backend,
    /// What it is called with, where its resource says so.
    pub(crate) header: Option<Header>,
    /// The tools it lists, where its resource says so.
    pub(crate) rule: Option<ToolRule>,
}

pub(super) fn read(
    resources: &[Resource<'_>],
    context: Context<'_>,
    tool_configs: &ToolConfigs,
    auths: &ExternalAuths<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Member> {
    let subject = Subject {
        auths,
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
    auths: &'a ExternalAuths<'a>,
    environment: &'a Environment<'a>,
    loose: &'a [Backend],
    tool_configs: &'a ToolConfigs,
}

/// What a proxy or server has for the cluster that runs it.
const CLUSTER_KEYS: [&str; 22] = [
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
    "podTemplateSpec",
    "resourceOverrides",
    "audit",
    "telemetryConfigRef",
    "telemetry",
    "trustProxyHeaders",
    "endpointPrefix",
    "sessionAffinity",
    "replicas",
    "backendReplicas",
    "sessionStorage",
];

/// What the cluster enforces for whoever calls at the address it gives; any other way leads past it.
const PROTECTION_KEYS: [&str; 8] = [
    "permissionProfile",
    "oidcConfig",
    "oidcConfigRef",
    "authzConfig",
    "authzConfigRef",
    "authServerRef",
    "webhookConfigRef",
    "rateLimiting",
];

impl Subject<'_> {
    fn entry(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPServerEntry", diagnostics)?;
        let url = fields.required_string("remoteUrl", diagnostics);
        fields.required("transport", diagnostics);
        let choices = ["sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        check_private(&mut fields, url, diagnostics);
        keys::warn_inert(&mut fields, "spec.", &["caBundleRef"], diagnostics);
        let url = url.map(|url| match self.loose(resource) {
            // Nothing is said of one that is not called.
            Some(_) => substitute(url, self.environment, diagnostics),
            None => substitute_url(url, self.environment, diagnostics),
        });
        // One that is missing was reported; others may refer to the backend all the same.
        let url = url.or_else(|| Some(String::new()));
        let transport = transport.map(|transport| transport.value);
        self.finish(resource, fields, url, transport, diagnostics)
    }

    fn proxy(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPRemoteProxy", diagnostics)?;
        let remote = fields.required_string("remoteUrl", diagnostics);
        let choices = ["sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        check_private(&mut fields, remote, diagnostics);
        let mode = fields.entry("proxyMode").filter(|own| !own.value.is_null());
        self.cluster_keys(resource, &mut fields, mode, diagnostics);
        let remote = remote.map(|url| match self.loose(resource) {
            None if status_url(resource).is_none() => {
                substitute_url(url, self.environment, diagnostics)
            }
            Some(_) | None => substitute(url, self.environment, diagnostics),
        });
        let url = self.status_url(resource, diagnostics).or(remote);
        let url = url.or_else(|| Some(String::new()));
        let transport = transport.map(|transport| transport.value);
        self.finish(resource, fields, url, transport, diagnostics)
    }

    fn server(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<Member> {
        let spec = resource.spec(diagnostics)?;
        let mut fields = Fields::read(spec, "an MCPServer", diagnostics)?;
        let choices = ["stdio", "sse", "streamable-http"];
        let transport = fields.optional_choice("transport", &choices, diagnostics);
        let mode = fields.optional_choice("proxyMode", &choices, diagnostics);
        self.cluster_keys(resource, &mut fields, None, diagnostics);
        let url = self.status_url(resource, diagnostics);
        if let (None, None, Some(name)) = (&url, self.loose(resource), resource.name) {
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
        let backend = match self.loose(resource) {
            Some(loose) => loose.clone(),
            None => reached(name, url?, transport, headers.unwrap_or_default()),
        };
        let namespace = &resource.namespace;
        let header = auth.and_then(|auth| self.auths.header(&auth, namespace, diagnostics));
        let rule = tool_config.map(|tool_config| {
            let mut rule = ToolRule {
                backend: backend.name.clone(),
                filter: None,
                overrides: std::collections::BTreeMap::new(),
                exclude_all: false,
            };
            self.tool_configs
                .apply(&tool_config, namespace, &mut rule, diagnostics);
            rule
        });
        Some(Member {
            group,
            namespace: resource.namespace.clone(),
            backend,
            header,
            rule,
        })
    }

    /// Where the cluster says that it is reached.
    fn status_url(&self, resource: &Resource<'_>, diagnostics: &mut Diagnostics) -> Option<String> {
        let url = status_url(resource)?;
        if self.loose(resource).is_none() {
            diagnostics.extend(url_fault(url, url));
        }
        Some(url.to_string())
    }

    /// Another file or a flag may say how what runs in the cluster is reached from here.
    fn loose(&self, resource: &Resource<'_>) -> Option<&Backend> {
        let name = resource.name?;
        self.loose.iter().find(|own| own.name == name.as_str())
    }

    /// Keys for the cluster. A protection that only the cluster gives is refused where it is passed by.
    fn cluster_keys<'n>(
        &self,
        resource: &Resource<'_>,
        fields: &mut Fields<'n>,
        more: Option<&'n Entry>,
        diagnostics: &mut Diagnostics,
    ) {
        let is_written = |own: &&'n Entry| !own.value.is_null();
        let mut noted: Vec<&Entry> = more.into_iter().collect();
        noted.extend(
            CLUSTER_KEYS
                .iter()
                .filter_map(|key| fields.entry(key))
                .filter(is_written),
        );
        let is_passed_by = status_url(resource).is_none() || self.loose(resource).is_some();
        let is_used = self.loose(resource).is_some() || resource.kind == ResourceKind::RemoteProxy;
        for entry in PROTECTION_KEYS
            .iter()
            .filter_map(|key| fields.entry(key))
            .filter(is_written)
        {
            if is_passed_by && is_used {
                let why = "the server is not called through the cluster";
                diagnostics.push(keys::refused(entry, &format!("spec.{}", entry.key), why));
            } else {
                noted.push(entry);
            }
        }
        noted.sort_by_key(|entry| entry.key.place().span().map(|span| span.start));
        let kind = resource.kind.as_str();
        let note = resource
            .name
            .and_then(|name| keys::in_cluster(kind, name, &noted));
        diagnostics.extend(note);
    }

    fn forwarded(
        &self,
        mut fields: Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        for Entry { key, value } in fields.mapping("addPlaintextHeaders", diagnostics) {
            headers::check_name(key, diagnostics);
            if let Some(text) = value.expect_string(key, diagnostics) {
                let value = substitute(text, self.environment, diagnostics);
                headers::check_value(text, &value, diagnostics);
                headers.push((key.to_string(), value));
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
}

fn reached(
    name: &Text,
    url: String,
    transport: Option<&str>,
    headers: Vec<(String, String)>,
) -> Backend {
    let transport = match transport {
        Some("sse") => Transport::Sse { url, headers },
        _ => Transport::StreamableHttp { url, headers },
    };
    Backend::plain(name.as_str(), transport, name.place().clone())
}

/// `allowPrivateEndpoint: false` keeps calls off this machine and its network.
fn check_private(fields: &mut Fields<'_>, url: Option<&Text>, diagnostics: &mut Diagnostics) {
    let stated = fields.optional_bool("allowPrivateEndpoint", diagnostics);
    let (Some(stated), Some(url)) = (stated, url) else {
        return;
    };
    if !stated.value && is_private(url) {
        diagnostics.push(
            Diagnostic::error(
                codes::BACKEND_TRANSPORT,
                "`remoteUrl` is a private address, and `allowPrivateEndpoint` is false",
            )
            .label(url.place(), "a private address")
            .secondary(&stated.place, "forbidden here")
            .help("set `allowPrivateEndpoint: true`, or name a public address"),
        );
    }
}

/// Names are not looked up: only an address, or `localhost`, is known to be private.
fn is_private(url: &str) -> bool {
    let host = url::host(url);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(own)) => own.is_private() || own.is_loopback() || own.is_link_local(),
        Ok(IpAddr::V6(own)) => {
            own.is_unique_local() || own.is_loopback() || own.is_unicast_link_local()
        }
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

fn status_url<'n>(resource: &Resource<'n>) -> Option<&'n Text> {
    let url = resource.status?.get("url")?.as_text()?;
    (!url.is_empty()).then_some(url)
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
