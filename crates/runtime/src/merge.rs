//! The tools of all backends under one set of names.

use onecall_backends::{BackendName, ToolLists};
use onecall_config::settings::{Aggregation, Strategy};
use onecall_workflow::catalog::{Catalog, CatalogTool, Knowledge};
use onecall_workflow::name;

pub(crate) fn merge(
    names: &[BackendName],
    lists: &ToolLists,
    aggregation: &Aggregation,
) -> Catalog {
    let format = match &aggregation.strategy {
        Strategy::Prefix { format } => format.as_str(),
        Strategy::Priority { .. } | Strategy::Manual => "",
    };
    let mut catalog = Catalog::default();
    for backend in names {
        let own = name::BackendName::new(backend.as_str());
        let known = lists.lists.iter().find(|(name, _)| name == backend);
        let knowledge = if known.is_some() {
            Knowledge::Live
        } else {
            Knowledge::Unknown
        };
        catalog.backends.insert(own.clone(), knowledge);
        for tool in known.into_iter().flat_map(|(_, tools)| tools.iter()) {
            let prefix = format.replace("{workload}", backend.as_str());
            catalog.tools.push(CatalogTool {
                name: Some(name::ToolName::new(format!("{prefix}{}", tool.name()))),
                backend: own.clone(),
                original: tool.name().to_owned(),
                listed: !aggregation.exclude_all,
                tool: tool.clone(),
            });
        }
    }
    catalog
}
