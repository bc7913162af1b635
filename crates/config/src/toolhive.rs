//! A ToolHive configuration file: backends, aggregation, authentication, composite tools.

pub(crate) mod aggregation;
pub(crate) mod auth;
mod operational;

use crate::backend::Reader;
use crate::keys;
use crate::resources::ToolConfigs;
use crate::settings::{Access, Aggregation, Backend};
use crate::workloads::Workloads;
use onecall_dialects::toolhive as dialect;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Text, codes};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::GoOptions;

/// What one configuration file says.
#[derive(Debug, Default)]
pub(crate) struct Toolhive {
    pub(crate) name: Option<String>,
    pub(crate) backends: Vec<Backend>,
    pub(crate) workflows: Vec<Built>,
    /// The names of its composite tools, whether they could be read or not.
    pub(crate) names: Vec<Text>,
    pub(crate) workloads: Workloads,
    pub(crate) aggregation: Option<Aggregation>,
    /// Who may call.
    pub(crate) access: Option<Access>,
    /// The group whose members are the backends.
    pub(crate) group: Option<Text>,
    /// Definitions to publish, by the name of their resource.
    pub(crate) tool_refs: Vec<Text>,
}

/// How the model is read: as a file of its own, or inside of a resource.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) reader: &'a Reader<'a>,
    pub(crate) templates: GoOptions,
    pub(crate) steps_max: Option<usize>,
    pub(crate) home: dialect::Home,
    pub(crate) namespace: &'a str,
    pub(crate) tool_configs: &'a ToolConfigs,
}

/// Keys that have no effect yet and protect nothing.
const INERT: [&str; 6] = [
    "telemetry",
    "audit",
    "optimizer",
    "codeMode",
    "sessionStorage",
    "passthroughHeaders",
];

pub(crate) fn read(root: &Node, context: Context<'_>, diagnostics: &mut Diagnostics) -> Toolhive {
    let mut read = Toolhive::default();
    let Some(mut fields) = Fields::read(root, "a ToolHive configuration", diagnostics) else {
        return read;
    };
    let name = match context.home {
        dialect::Home::Config => fields.required_string("name", diagnostics),
        dialect::Home::Resource => fields.optional_string("name", diagnostics),
    };
    read.name = name.map(ToString::to_string);
    read.group = read_reference(fields.optional("groupRef"), "groupRef", diagnostics);
    fields.mapping("metadata", diagnostics);
    for node in fields.sequence("backends", diagnostics) {
        let backend = read_backend(node, context.reader, diagnostics);
        read.backends.extend(backend);
    }
    if let Some(own) = fields.optional_fields("incomingAuth", diagnostics) {
        read.access = context.reader.incoming(own, diagnostics);
    }
    if let Some(own) = fields.optional_fields("outgoingAuth", diagnostics) {
        auth::outgoing(own, &mut read.workloads, context.reader, diagnostics);
    }
    if let Some(own) = fields.optional_fields("aggregation", diagnostics) {
        let names = &mut read.workloads.names;
        read.aggregation = Some(aggregation::read(own, context, names, diagnostics));
    }
    if let Some(own) = fields.optional_fields("operational", diagnostics) {
        operational::read(own, &mut read.workloads, diagnostics);
    }
    refuse(
        &mut fields,
        "rateLimiting",
        "calls would not be limited",
        diagnostics,
    );
    keys::warn_inert(&mut fields, "", &INERT, diagnostics);
    let options = dialect::Options {
        go: context.templates,
        home: context.home,
        steps_max: context.steps_max,
        ..dialect::Options::default()
    };
    for node in fields.sequence("compositeTools", diagnostics) {
        let name = node.get("name").and_then(Node::as_text);
        read.names.extend(name.cloned());
        let workflow = dialect::read(node, &options, diagnostics);
        read.workflows.extend(workflow);
    }
    read.tool_refs = read_references(&mut fields, "compositeToolRefs", diagnostics);
    fields.finish(diagnostics);
    read
}

/// The group that a configuration takes its backends from, if it has none of its own.
pub(crate) fn group(root: &Node) -> Option<Text> {
    let backends = root.get("backends").and_then(Node::as_sequence);
    if backends.is_some_and(|own| !own.is_empty()) {
        return None;
    }
    let node = root.get("groupRef")?;
    node.get("name").unwrap_or(node).as_text().cloned()
}

/// Refuses a key that protects and cannot be enforced.
pub(crate) fn refuse(
    fields: &mut Fields<'_>,
    key: &'static str,
    why: &str,
    diagnostics: &mut Diagnostics,
) {
    if let Some(entry) = fields.entry(key)
        && !entry.value.is_null()
    {
        diagnostics.push(keys::refused(entry, key, why));
    }
}

/// A reference by name: a text, or a mapping with `name`.
pub(crate) fn read_reference(
    node: Option<&Node>,
    what: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<Text> {
    let node = node?;
    if let Some(text) = node.as_text() {
        return Some(text.clone());
    }
    let mut fields = Fields::read(node, what, diagnostics)?;
    let name = fields.required_string("name", diagnostics).cloned();
    fields.finish(diagnostics);
    name
}

/// A list of references by name; one that is named twice is reported.
pub(crate) fn read_references(
    fields: &mut Fields<'_>,
    key: &'static str,
    diagnostics: &mut Diagnostics,
) -> Vec<Text> {
    let mut all: Vec<Text> = Vec::new();
    for node in fields.sequence(key, diagnostics) {
        let Some(name) = read_reference(Some(node), key, diagnostics) else {
            continue;
        };
        if let Some(earlier) = all.iter().find(|earlier| ***earlier == *name) {
            diagnostics.push(
                Diagnostic::error(
                    codes::DUPLICATE_WORKFLOW,
                    format!("duplicate composite tool reference: {name}"),
                )
                .label(name.place(), "named before")
                .secondary(earlier.place(), "first named here")
                .help("remove one of them"),
            );
        } else {
            all.push(name);
        }
    }
    all
}

fn read_backend(
    node: &Node,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Backend> {
    let mut fields = Fields::read(node, "a backend", diagnostics)?;
    let name = fields.required_string("name", diagnostics);
    fields.optional_choice("type", &["", "entry"], diagnostics);
    fields.mapping("metadata", diagnostics);
    keys::warn_inert(&mut fields, "backends[].", &["caBundlePath"], diagnostics);
    let backend = if let Some(name) = name {
        Some(reader.backend(name, &mut fields, "transport", diagnostics))
    } else {
        reader.transport(&mut fields, "transport", diagnostics);
        None
    };
    fields.finish(diagnostics);
    backend
}
