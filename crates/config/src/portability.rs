//! `--portable toolhive`: remarks on what works here and would not work in ToolHive.

use crate::read::{Input, parse_all};
use onecall_dialects::dialect::Kind;
use onecall_dialects::toolhive::portability as of_tool;
use onecall_source::{Diagnostic, Diagnostics, Node, SourceMap, codes};

/// Keys of a backend that only we have.
const OWN_BACKEND_KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "inherit_env",
    "cwd",
    "headers",
    "session",
    "timeout",
    "connect_timeout",
    "max_in_flight",
    "eager",
    "unusable_schemas",
];

/// Keys without which a ToolHive configuration is refused there.
const REQUIRED: [&str; 4] = ["groupRef", "incomingAuth", "outgoingAuth", "aggregation"];

/// Remarks on every ToolHive file and resource given.
pub fn portability(sources: &SourceMap, inputs: &[Input]) -> Diagnostics {
    let mut ignored = Diagnostics::new();
    let mut diagnostics = Diagnostics::new();
    for found in parse_all(sources, inputs, &mut ignored) {
        let root = &found.document.root;
        match found.kind {
            Kind::ToolhiveConfig => of_config(root, &mut diagnostics),
            Kind::Resource => of_resource(root, &mut diagnostics),
            Kind::Onecall | Kind::McpServers | Kind::Suite | Kind::Workflow => {}
        }
    }
    diagnostics.sort();
    diagnostics
}

fn of_config(root: &Node, diagnostics: &mut Diagnostics) {
    for key in REQUIRED {
        if root.get(key).is_none() {
            let place = root.get("name").map_or(&root.place, |name| &name.place);
            diagnostics.push(
                Diagnostic::remark(codes::NOT_PORTABLE, format!("`{key}` is left out"))
                    .label(place, "works here only")
                    .help(format!("in ToolHive it does not work: `{key}` is required")),
            );
        }
    }
    for backend in items(root, "backends") {
        for key in OWN_BACKEND_KEYS {
            if let Some(entry) = backend.entry(key) {
                diagnostics.push(
                    Diagnostic::remark(codes::NOT_PORTABLE, format!("`{key}` works here only"))
                        .label(entry.key.place(), "works here only")
                        .help("in ToolHive it does not work: backends have `name`, `url` and `transport`"),
                );
            }
        }
    }
    for tool in items(root, "compositeTools") {
        of_tool(tool, diagnostics);
    }
}

fn of_resource(root: &Node, diagnostics: &mut Diagnostics) {
    let Some(spec) = root.get("spec") else { return };
    let kind = root.get("kind").and_then(Node::as_text);
    match kind.map_or("", |kind| kind.as_str()) {
        "VirtualMCPCompositeToolDefinition" => of_tool(spec, diagnostics),
        "VirtualMCPServer" => {
            if let Some(config) = spec.get("config") {
                for tool in items(config, "compositeTools") {
                    of_tool(tool, diagnostics);
                }
            }
        }
        _ => {}
    }
}

fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key)
        .and_then(Node::as_sequence)
        .unwrap_or_default()
}
