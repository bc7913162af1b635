//! What is odd about the names of a server's tools, as diagnostics: at the places of the backends, with what to do.

use onecall_backends::{BackendName, Notice, ToolLists};
use onecall_config::settings::Server;
use onecall_mcp::Tool;
use onecall_source::{Diagnostic, Place, Severity, codes, suggest};

pub(crate) fn diagnostic(notice: &Notice, server: &Server, lists: &ToolLists) -> Diagnostic {
    let mut fault = Diagnostic::error(codes::NAMES_UNSETTLED, notice.to_string());
    fault.severity = severity(notice);
    let places = backends(notice).into_iter();
    let mut places = places.filter_map(|backend| place(backend, server));
    if let Some(first) = places.next() {
        fault = fault.label(first, "this backend");
    }
    for other in places {
        fault = fault.secondary(other, "and this one");
    }
    fault.help(help(notice, lists))
}

fn severity(notice: &Notice) -> Severity {
    match notice {
        notice if notice.is_error() => Severity::Error,
        // Whoever sets an order has said who is to have the name.
        Notice::LostName { .. } => Severity::Note,
        Notice::Unresolved { .. }
        | Notice::NoSuchTool { .. }
        | Notice::FilterMatchesNothing { .. }
        | Notice::UnfitName { .. } => Severity::Warning,
    }
}

fn backends(notice: &Notice) -> Vec<&BackendName> {
    match notice {
        Notice::LostName {
            backend, winner, ..
        } => vec![backend, winner],
        Notice::Unresolved { backends, .. } => backends.iter().collect(),
        Notice::NoSuchTool { backend, .. }
        | Notice::FilterMatchesNothing { backend, .. }
        | Notice::UnfitName { backend, .. } => vec![backend],
    }
}

fn place(backend: &BackendName, server: &Server) -> Option<Place> {
    let own = server.backends.iter().find(|own| own.name == *backend)?;
    Some(own.place.clone())
}

fn help(notice: &Notice, lists: &ToolLists) -> String {
    match notice {
        Notice::LostName { .. } => {
            "an override gives it a name of its own: `overrides` in `aggregation.tools`".to_owned()
        }
        Notice::Unresolved { name, .. } => format!(
            "write `overrides: {{{name}: {{name: OTHER}}}}` for them in `aggregation.tools`"
        ),
        Notice::NoSuchTool { backend, tool } | Notice::FilterMatchesNothing { backend, tool } => {
            let own = lists.lists.iter().filter(|(name, _)| name == backend);
            let names = own.flat_map(|(_, tools)| tools.iter().map(Tool::name));
            match suggest(tool, names) {
                Some(near) => format!("it has a tool `{near}`"),
                None => "remove it, or write the name of one of its tools".to_owned(),
            }
        }
        Notice::UnfitName { .. } => {
            "give the backend, or by an override the tool, another name".to_owned()
        }
    }
}
