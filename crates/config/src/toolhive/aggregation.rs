//! How the tools of several backends become one list.

use super::{Context, read_reference};
use crate::prefix;
use crate::settings::{Aggregation, Strategy, ToolOverride, ToolRule, Visibility};
use onecall_dialects::toolhive::read_annotations;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, Place, Text, codes};
use onecall_workflow::name::BackendName;
use onecall_workflow::workflow::Annotations;
use std::collections::BTreeMap;

pub(super) fn read(
    mut fields: Fields<'_>,
    context: Context<'_>,
    names: &mut Vec<Text>,
    diagnostics: &mut Diagnostics,
) -> Aggregation {
    let place = fields.place();
    let choices = ["prefix", "priority", "manual"];
    let strategy = fields.optional_choice("conflictResolution", &choices, diagnostics);
    let (format, order) = match fields.optional_fields("conflictResolutionConfig", diagnostics) {
        Some(own) => read_config(own, names, diagnostics),
        None => (None, Vec::new()),
    };
    let mut rules: Vec<ToolRule> = Vec::new();
    for node in fields.sequence("tools", diagnostics) {
        names.extend(node.get("workload").and_then(Node::as_text).cloned());
        if let Some(rule) = read_rule(node, context, diagnostics) {
            if rules.iter().any(|earlier| earlier.backend == rule.backend) {
                diagnostics.push(duplicate_rule(node, &rule));
            }
            rules.push(rule);
        }
    }
    let exclude_all = fields.optional_bool("excludeAllTools", diagnostics);
    let visibility =
        fields.optional_choice("defaultToolVisibility", &["allow", "deny"], diagnostics);
    fields.finish(diagnostics);
    let strategy = match strategy.as_ref().map(|strategy| strategy.value) {
        Some("priority") => {
            if order.is_empty() {
                diagnostics.push(lacking(
                    place,
                    "priorityOrder is required for priority strategy",
                ));
            }
            Strategy::Priority { order }
        }
        Some("manual") => {
            if rules.iter().all(|rule| rule.overrides.is_empty()) {
                diagnostics.push(lacking(
                    place,
                    "tool overrides are required for manual strategy",
                ));
            }
            Strategy::Manual
        }
        _ => format.map_or_else(Strategy::default, |format| {
            prefix::check_format(format, diagnostics);
            Strategy::Prefix {
                format: format.to_string(),
            }
        }),
    };
    Aggregation {
        strategy,
        rules,
        exclude_all: exclude_all.is_some_and(|stated| stated.value),
        default_visibility: match visibility.map(|stated| stated.value) {
            Some("deny") => Visibility::Deny,
            _ => Visibility::Allow,
        },
    }
}

fn read_config<'n>(
    mut fields: Fields<'n>,
    names: &mut Vec<Text>,
    diagnostics: &mut Diagnostics,
) -> (Option<&'n Text>, Vec<BackendName>) {
    let format = fields.optional_string("prefixFormat", diagnostics);
    let order = fields.string_sequence("priorityOrder", diagnostics);
    fields.finish(diagnostics);
    names.extend(order.iter().copied().cloned());
    let order = order.iter().map(|name| BackendName::from(name.as_str()));
    (format, order.collect())
}

fn read_rule(node: &Node, context: Context<'_>, diagnostics: &mut Diagnostics) -> Option<ToolRule> {
    let mut fields = Fields::read(node, "an entry of `tools`", diagnostics)?;
    let workload = fields.required_string("workload", diagnostics);
    let has_filter = fields.has("filter");
    let filter = fields.string_sequence("filter", diagnostics);
    let mut overrides = BTreeMap::new();
    for entry in fields.mapping("overrides", diagnostics) {
        if let Some(own) = read_override(entry, diagnostics) {
            overrides.insert(entry.key.to_string(), own);
        }
    }
    let exclude_all = fields.optional_bool("excludeAll", diagnostics);
    let reference = fields.optional("toolConfigRef");
    let reference = read_reference(reference, "toolConfigRef", diagnostics);
    fields.finish(diagnostics);
    let mut rule = ToolRule {
        backend: BackendName::from(workload?.as_str()),
        filter: has_filter.then(|| filter.iter().map(ToString::to_string).collect()),
        overrides,
        exclude_all: exclude_all.is_some_and(|stated| stated.value),
    };
    if let Some(name) = reference {
        let namespace = context.namespace;
        context
            .tool_configs
            .apply(&name, namespace, &mut rule, diagnostics);
    }
    Some(rule)
}

pub(crate) fn read_override(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<ToolOverride> {
    let mut fields = Fields::read(&entry.value, "an override", diagnostics)?;
    let name = fields.optional_string("name", diagnostics);
    let description = fields.optional_string("description", diagnostics);
    let annotations = fields.optional_fields("annotations", diagnostics);
    let annotations = annotations.map(|own| read_annotations(own, diagnostics));
    fields.finish(diagnostics);
    let annotations = annotations.unwrap_or_default();
    if name.is_none() && description.is_none() && annotations == Annotations::default() {
        diagnostics.push(changes_nothing(&entry.key));
    }
    Some(ToolOverride {
        name: name.map(ToString::to_string),
        description: description.map(ToString::to_string),
        annotations,
    })
}

fn changes_nothing(tool: &Text) -> Diagnostic {
    let message = format!("the override of `{tool}` changes nothing");
    Diagnostic::warning(codes::EMPTY_OVERRIDE, message)
        .label(tool.place(), "an empty override")
        .help("give it a `name`, a `description` or `annotations`, or remove it")
}

fn lacking(place: &Place, message: &str) -> Diagnostic {
    Diagnostic::error(codes::AGGREGATION, message)
        .label(place, "incomplete")
        .help("add what is missing, or use `conflictResolution: prefix`")
}

fn duplicate_rule(node: &Node, rule: &ToolRule) -> Diagnostic {
    Diagnostic::error(
        codes::AGGREGATION,
        format!("duplicate workload configuration: {}", rule.backend),
    )
    .label(&node.place, "a second entry for the same backend")
    .help("make one entry of both")
}
