//! Names that could never be listed: a prefix that no name of a tool can have, from `prefixFormat` or from the name of
//! a backend. What each tool is called is decided in `backends`.

use crate::settings::{Backend, Expose, Server, Strategy};
use onecall_mcp::is_tool_name;
use onecall_mcp::limits::TOOL_NAME_MAX;
use onecall_source::{Diagnostic, Diagnostics, Text, codes};

const WORKLOAD: &str = "{workload}";

/// Whether any name can begin so.
fn is_fit(prefix: &str) -> bool {
    is_tool_name(&format!("{prefix}x"))
}

/// What the format says itself, whatever the backends are named.
pub(crate) fn check_format(format: &Text, diagnostics: &mut Diagnostics) {
    if is_fit(&format.replace(WORKLOAD, "")) {
        return;
    }
    let message = format!(
        "no tool can be listed with the prefix `{}`",
        format.as_str()
    );
    diagnostics.push(
        Diagnostic::warning(codes::UNFIT_PREFIX, message)
            .label(format.place(), "clients refuse such names")
            .help(format!(
                "a name has letters, digits and `_-.`, at most {TOOL_NAME_MAX}: write `{WORKLOAD}_`"
            )),
    );
}

/// The names of backends, where they stand in those of their tools.
pub(crate) fn check_backends(server: &Server, diagnostics: &mut Diagnostics) {
    let Strategy::Prefix { format } = &server.aggregation.strategy else {
        return;
    };
    let is_hidden = server.aggregation.exclude_all || server.expose == Expose::Workflows;
    if is_hidden || !is_fit(&format.replace(WORKLOAD, "")) {
        return;
    }
    let is_excluded = |backend: &Backend| {
        let mut rules = server.aggregation.rules.iter();
        rules.any(|rule| rule.backend == backend.name && rule.exclude_all)
    };
    for backend in server.backends.iter().filter(|own| !is_excluded(own)) {
        let prefix = format.replace(WORKLOAD, backend.name.as_str());
        if !is_fit(&prefix) {
            diagnostics.push(unfit_name(backend, &prefix));
        }
    }
}

fn unfit_name(backend: &Backend, prefix: &str) -> Diagnostic {
    let name = backend.name.as_str();
    let message =
        format!("no tool of backend `{name}` can be listed: its name would begin with `{prefix}`");
    let fitting = |c: char| {
        if is_tool_name(c.encode_utf8(&mut [0; 4])) {
            c
        } else {
            '-'
        }
    };
    let other: String = name.chars().map(fitting).collect();
    let fault = Diagnostic::warning(codes::UNFIT_PREFIX, message)
        .label(&backend.place, "clients refuse such names");
    if other == name {
        return fault.help(format!(
            "a name has at most {TOOL_NAME_MAX} characters: give the backend a shorter one"
        ));
    }
    fault.help(format!(
        "a name has letters, digits and `_-.`: name the backend `{other}`"
    ))
}
