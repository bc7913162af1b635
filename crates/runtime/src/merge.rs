//! The configuration's aggregation as options of the backends' catalog.

use onecall_backends::{
    BackendName, CatalogOptions, Listed, Notice, Strategy, ToolLists, ToolOverride, ToolRule,
    Visibility,
};
use onecall_config::settings;
use onecall_workflow::catalog::{Catalog, Knowledge};
use std::sync::Arc;

/// The tools of all backends under one set of names.
pub(crate) fn merge(
    names: &[BackendName],
    lists: &ToolLists,
    options: &CatalogOptions,
) -> (Catalog, Vec<Notice>) {
    let listed: Vec<Listed> = names
        .iter()
        .map(|backend| {
            let known = lists.lists.iter().find(|(name, _)| name == backend);
            Listed {
                backend: backend.clone(),
                knowledge: if known.is_some() {
                    Knowledge::Live
                } else {
                    Knowledge::Unknown
                },
                tools: known
                    .map_or_else(|| Arc::new([]) as Arc<[_]>, |(_, tools)| Arc::clone(tools)),
            }
        })
        .collect();
    onecall_backends::merge(&listed, options)
}

pub(crate) fn options(server: &settings::Server) -> CatalogOptions {
    let aggregation = &server.aggregation;
    let backends = server.backends.iter();
    let accepting = backends.filter(|backend| backend.accepts_unusable_schemas);
    let strategy = match &aggregation.strategy {
        settings::Strategy::Prefix { format } => Strategy::Prefix {
            format: format.clone(),
        },
        settings::Strategy::Priority { order } => Strategy::Priority {
            order: order.clone(),
        },
        settings::Strategy::Manual => Strategy::Manual,
    };
    let rules = aggregation.rules.iter().map(|rule| ToolRule {
        backend: rule.backend.clone(),
        filter: rule.filter.clone(),
        overrides: rule
            .overrides
            .iter()
            .map(|(name, own)| {
                let own = ToolOverride {
                    name: own.name.clone(),
                    description: own.description.clone(),
                    annotations: own.annotations.clone(),
                };
                (name.clone(), own)
            })
            .collect(),
        exclude_all: rule.exclude_all,
    });
    CatalogOptions {
        strategy,
        rules: rules.collect(),
        exclude_all: aggregation.exclude_all,
        default_visibility: match aggregation.default_visibility {
            settings::Visibility::Allow => Visibility::Allow,
            settings::Visibility::Deny => Visibility::Deny,
        },
        unusable_accepted: accepting.map(|backend| backend.name.clone()).collect(),
    }
}
