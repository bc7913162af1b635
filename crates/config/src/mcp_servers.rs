//! `mcp.json` as desktop clients write it: `mcpServers` by name.

use crate::backend::{Reader, warn_of_rest};
use crate::settings::Backend;
use onecall_source::{Diagnostics, Fields, Node};

pub(crate) fn read(
    root: &Node,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Backend> {
    let Some(mut fields) = Fields::read(root, "a list of MCP servers", diagnostics) else {
        return Vec::new();
    };
    let mut backends = Vec::new();
    for entry in fields.mapping("mcpServers", diagnostics) {
        let Some(mut own) = Fields::read(&entry.value, "an MCP server", diagnostics) else {
            backends.push(Backend::unreadable(&entry.key));
            continue;
        };
        let disabled = own.optional_bool("disabled", diagnostics);
        let backend = reader.backend(&entry.key, &mut own, "type", diagnostics);
        warn_of_rest(&mut own, "mcpServers.*.", diagnostics);
        if !disabled.is_some_and(|disabled| disabled.value) {
            backends.push(backend);
        }
    }
    warn_of_rest(&mut fields, "", diagnostics);
    backends
}
