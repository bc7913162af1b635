//! `MCPToolConfig`: which tools of a backend are listed, and under which names.

use super::{Resource, ResourceKind, not_found};
use crate::settings::{ToolOverride, ToolRule};
use crate::toolhive::aggregation::read_override;
use onecall_source::{Diagnostics, Fields, Text};
use std::collections::BTreeMap;

/// All tool configurations among the files, by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct ToolConfigs {
    all: BTreeMap<(String, String), ToolConfig>,
}

#[derive(Clone, Debug)]
struct ToolConfig {
    filter: Option<Vec<String>>,
    overrides: BTreeMap<String, ToolOverride>,
}

impl ToolConfigs {
    pub(super) fn read(resources: &[Resource<'_>], diagnostics: &mut Diagnostics) -> Self {
        let mut all = BTreeMap::new();
        for resource in resources {
            if resource.kind != ResourceKind::ToolConfig {
                continue;
            }
            let Some(spec) = resource.spec(diagnostics) else {
                continue;
            };
            let Some(mut fields) = Fields::read(spec, "a tool configuration", diagnostics) else {
                continue;
            };
            let has_filter = fields.has("toolsFilter");
            let filter = fields.string_sequence("toolsFilter", diagnostics);
            let mut overrides = BTreeMap::new();
            for entry in fields.mapping("toolsOverride", diagnostics) {
                if let Some(own) = read_override(entry, diagnostics) {
                    overrides.insert(entry.key.to_string(), own);
                }
            }
            fields.finish(diagnostics);
            if let Some(name) = resource.name {
                let filter = has_filter.then(|| filter.iter().map(ToString::to_string).collect());
                all.insert(
                    (resource.namespace.clone(), name.to_string()),
                    ToolConfig { filter, overrides },
                );
            }
        }
        Self { all }
    }

    /// Completes a rule from the configuration it refers to; what the rule says itself wins.
    pub(crate) fn apply(
        &self,
        name: &Text,
        namespace: &str,
        rule: &mut ToolRule,
        diagnostics: &mut Diagnostics,
    ) {
        let key = (namespace.to_owned(), name.to_string());
        let Some(config) = self.all.get(&key) else {
            let all = self.all.keys();
            let all = all.map(|(namespace, name)| (namespace.as_str(), name.as_str()));
            diagnostics.push(not_found(name, "MCPToolConfig", namespace, all));
            return;
        };
        if rule.filter.is_none() {
            rule.filter.clone_from(&config.filter);
        }
        for (tool, own) in &config.overrides {
            rule.overrides
                .entry(tool.clone())
                .or_insert_with(|| own.clone());
        }
    }
}
