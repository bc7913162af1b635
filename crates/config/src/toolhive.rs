//! A ToolHive configuration file: backends, aggregation, authentication, composite tools.

mod aggregation;
mod auth;
mod operational;

use crate::backend::Reader;
use crate::keys;
use crate::settings::{Aggregation, Backend, Transport};
use onecall_dialects::toolhive as dialect;
use onecall_source::{Diagnostics, Fields, Node};
use onecall_workflow::expression::GoOptions;
use onecall_workflow::workflow::Workflow;

/// What one configuration file says.
#[derive(Debug, Default)]
pub(crate) struct Toolhive {
    pub(crate) name: Option<String>,
    pub(crate) backends: Vec<Backend>,
    pub(crate) workflows: Vec<Workflow>,
    pub(crate) aggregation: Option<Aggregation>,
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

pub(crate) fn read(
    root: &Node,
    reader: &Reader<'_>,
    templates: GoOptions,
    diagnostics: &mut Diagnostics,
) -> Toolhive {
    let mut read = Toolhive::default();
    let Some(mut fields) = Fields::read(root, "a ToolHive configuration", diagnostics) else {
        return read;
    };
    let name = fields.required_string("name", diagnostics);
    read.name = name.map(ToString::to_string);
    fields.optional_string("groupRef", diagnostics);
    fields.mapping("metadata", diagnostics);
    for node in fields.sequence("backends", diagnostics) {
        read.backends.extend(read_backend(node, reader, diagnostics));
    }
    if let Some(own) = fields.optional_fields("incomingAuth", diagnostics) {
        auth::incoming(own, diagnostics);
    }
    if let Some(own) = fields.optional_fields("outgoingAuth", diagnostics) {
        auth::outgoing(own, &mut read.backends, reader, diagnostics);
    }
    if let Some(own) = fields.optional_fields("aggregation", diagnostics) {
        read.aggregation = Some(aggregation::read(own, diagnostics));
    }
    if let Some(own) = fields.optional_fields("operational", diagnostics) {
        operational::read(own, &mut read.backends, diagnostics);
    }
    if let Some(entry) = fields.entry("rateLimiting")
        && !entry.value.is_null()
    {
        let why = "calls would not be limited";
        diagnostics.push(keys::refused(entry, "rateLimiting", why));
    }
    keys::warn_inert(&mut fields, "", &INERT, diagnostics);
    let options = dialect::Options {
        go: templates,
        ..dialect::Options::default()
    };
    for node in fields.sequence("compositeTools", diagnostics) {
        read.workflows.extend(dialect::read(node, &options, diagnostics));
    }
    fields.finish(diagnostics);
    read
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
    let backend = match name {
        Some(name) => reader.backend(name, &mut fields, "transport", diagnostics),
        None => {
            reader.transport(&mut fields, "transport", diagnostics);
            None
        }
    };
    fields.finish(diagnostics);
    backend
}

/// Adds a header to a backend that is reached over HTTP.
fn add_header(backend: &mut Backend, name: &str, value: &str) {
    match &mut backend.transport {
        Transport::Stdio { .. } => {}
        Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. } => {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
}
