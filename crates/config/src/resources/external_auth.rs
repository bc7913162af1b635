//! `MCPExternalAuthConfig`: the header that backends are called with.
//! What needs a secret of the cluster is refused where a backend would use it.

use super::{Resource, ResourceKind, not_found};
use crate::substitute::{Environment, substitute};
use crate::workloads::Header;
use crate::{headers, keys, literal};
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Text, codes};
use std::cell::Cell;
use std::collections::BTreeMap;

/// All configurations among the files, by namespace and name.
pub(crate) struct ExternalAuths<'n> {
    all: BTreeMap<(String, String), Config<'n>>,
}

struct Config<'n> {
    name: &'n Text,
    way: Way<'n>,
    is_used: Cell<bool>,
}

enum Way<'n> {
    /// Backends are called as they are.
    Open,
    Header(Header),
    /// Needs something that files do not have.
    Lacking(&'n Entry),
    /// Could not be read, which was reported.
    Unread,
}

const TYPES: [&str; 9] = [
    "unauthenticated",
    "headerInjection",
    "tokenExchange",
    "bearerToken",
    "embeddedAuthServer",
    "awsSts",
    "upstreamInject",
    "obo",
    "xaa",
];

impl<'n> ExternalAuths<'n> {
    pub(super) fn read(
        resources: &[Resource<'n>],
        environment: &Environment<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut all = BTreeMap::new();
        let own = |own: &&Resource<'n>| own.kind == ResourceKind::ExternalAuth;
        for resource in resources.iter().filter(own) {
            let spec = resource.spec(diagnostics);
            let way = spec.and_then(|spec| way(spec, environment, diagnostics));
            if let Some(name) = resource.name {
                let config = Config {
                    name,
                    way: way.unwrap_or(Way::Unread),
                    is_used: Cell::new(false),
                };
                all.insert((resource.namespace.clone(), name.to_string()), config);
            }
        }
        Self { all }
    }

    /// The header that a reference gives; what cannot be given is refused.
    pub(super) fn header(
        &self,
        reference: &Text,
        namespace: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Header> {
        let key = (namespace.to_owned(), reference.to_string());
        let Some(config) = self.all.get(&key) else {
            let all = self.all.keys();
            let all = all.map(|(namespace, name)| (namespace.as_str(), name.as_str()));
            let kind = ResourceKind::ExternalAuth.as_str();
            diagnostics.push(not_found(reference, kind, namespace, all));
            return None;
        };
        let is_first = !config.is_used.replace(true);
        match &config.way {
            Way::Header(header) => Some(header.clone()),
            Way::Lacking(entry) => {
                if is_first {
                    let why = "the backend would be called without these credentials";
                    diagnostics.push(keys::refused(entry, &format!("spec.{}", entry.key), why));
                }
                None
            }
            Way::Open | Way::Unread => None,
        }
    }

    /// Notes those that nothing refers to.
    pub(super) fn note_unused(&self, diagnostics: &mut Diagnostics) {
        for config in self.all.values().filter(|config| !config.is_used.get()) {
            let name = config.name;
            let message =
                format!("nothing refers to MCPExternalAuthConfig `{name}`, so it has no effect");
            diagnostics.push(
                Diagnostic::remark(codes::KEY_INERT, message)
                    .label(name.place(), "read over")
                    .help("name it in `externalAuthConfigRef` of a backend, or leave it out"),
            );
        }
    }
}

fn way<'n>(
    spec: &'n Node,
    environment: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Way<'n>> {
    let mut fields = Fields::read(spec, "an MCPExternalAuthConfig", diagnostics)?;
    fields.required("type", diagnostics);
    let kind = fields.optional_choice("type", &TYPES, diagnostics);
    let blocks: Vec<Option<&'n Entry>> = TYPES[1..].iter().map(|key| fields.entry(key)).collect();
    let stated = fields.entry("type");
    fields.finish(diagnostics);
    let (kind, stated) = (kind?.value, stated?);
    if kind == "unauthenticated" {
        return Some(Way::Open);
    }
    let block = blocks.into_iter().flatten().find(|own| own.key == *kind);
    match (kind, block) {
        ("headerInjection", Some(block)) => injection(block, environment, diagnostics),
        _ => Some(Way::Lacking(block.unwrap_or(stated))),
    }
}

fn injection<'n>(
    block: &'n Entry,
    environment: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Way<'n>> {
    let mut fields = Fields::read(&block.value, "headerInjection", diagnostics)?;
    let name = fields.required_string("headerName", diagnostics);
    let value = fields.optional_string("headerValue", diagnostics);
    let secret = fields.entry("valueSecretRef");
    fields.finish(diagnostics);
    match (name, value, secret) {
        (Some(name), Some(written), None) => {
            headers::check_name(name, diagnostics);
            if literal::is_secret(name, written) {
                literal::check("headerValue", written, diagnostics);
            }
            let value = substitute(written, environment, diagnostics);
            headers::check_value(written, &value, diagnostics);
            Some(Way::Header(Header {
                name: name.to_string(),
                value,
            }))
        }
        (_, _, Some(secret)) => Some(Way::Lacking(secret)),
        (_, None, None) => Some(Way::Lacking(block)),
        (None, Some(_), None) => None,
    }
}
