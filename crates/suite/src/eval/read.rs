//! Reading `eval`, `judge` and `providers` of a suite. Mistakes are diagnostics.

use super::provider::Kind;
use super::{
    Criterion, Evaluation, Judge, Member, Metric, Rubric, Stated, Test, Tree, When, prompt,
};
use crate::limits::{JURY_MAX, SAMPLES_MAX, TREE_DEPTH_MAX};
use onecall_dialects::mcptest::Tests;
use onecall_source::{
    Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Place, codes, suggest,
};
use regex::Regex;
use std::collections::BTreeMap;

/// The thresholds of metrics that state none.
const THRESHOLD: f64 = 0.5;
const RUBRIC_THRESHOLD: f64 = 0.7;

impl Evaluation {
    pub(crate) fn read(tests: &Tests, diagnostics: &mut Diagnostics) -> Self {
        let providers = providers(tests.providers.as_ref(), diagnostics);
        let eval = tests.eval.as_ref();
        let entries = eval.and_then(Node::as_mapping).unwrap_or_default();
        let own = eval.and_then(|node| node.get("judge"));
        let judge = own.or(tests.judge.as_ref());
        let judge = judge.and_then(|node| judge_of(node, &providers, diagnostics));
        let metrics = entries.iter().filter(|entry| entry.key != *"judge");
        Self {
            metrics: metrics
                .filter_map(|entry| metric(entry, diagnostics))
                .collect(),
            judge,
            providers,
        }
    }
}

fn providers(node: Option<&Node>, diagnostics: &mut Diagnostics) -> BTreeMap<String, Stated> {
    let entries = node.and_then(|node| node.expect_mapping("providers", diagnostics));
    let entries = entries.unwrap_or_default();
    let mut found = BTreeMap::new();
    for entry in entries {
        let Some(mut fields) = Fields::read(&entry.value, "a provider", diagnostics) else {
            continue;
        };
        let kind = fields.optional_choice("type", &["openai", "anthropic"], diagnostics);
        if !fields.has("type") {
            fields.required("type", diagnostics);
        }
        let base_url = fields.optional_string("base_url", diagnostics);
        let key = fields.optional_string("api_key_env", diagnostics);
        fields.finish(diagnostics);
        let Some(kind) = kind else { continue };
        if let Some(url) = base_url
            && !(url.starts_with("http://") || url.starts_with("https://"))
        {
            diagnostics.push(unfit(
                url.place(),
                "the URL of a provider begins with `http://` or `https://`",
                "write the URL that requests are sent below, such as `http://127.0.0.1:8080/v1`",
            ));
        }
        let stated = Stated {
            kind: Kind::of(kind.value),
            base_url: base_url.map(|url| url.trim_end_matches('/').to_owned()),
            key_variable: key.map(ToString::to_string),
        };
        found.insert(entry.key.to_string(), stated);
    }
    found
}

fn judge_of(
    node: &Node,
    providers: &BTreeMap<String, Stated>,
    diagnostics: &mut Diagnostics,
) -> Option<Judge> {
    let mut fields = Fields::read(node, "judge", diagnostics)?;
    let provider = fields.optional_string("provider", diagnostics);
    if let Some(name) = provider {
        known_provider(name, name.place(), providers, diagnostics);
    }
    let model = fields.optional_string("model", diagnostics);
    let samples = fields.optional_integer("samples", 1..=i64::from(SAMPLES_MAX), diagnostics);
    let members = fields.sequence("jury", diagnostics);
    if members.len() > JURY_MAX {
        let message = format!("a jury has at most {JURY_MAX} members");
        diagnostics.push(unfit(&members[JURY_MAX].place, &message, "remove some"));
    }
    let members = members.iter().take(JURY_MAX);
    let jury = members.filter_map(|node| member(node, providers, diagnostics));
    let jury = jury.collect();
    let cache = fields.optional_bool("cache", diagnostics);
    fields.finish(diagnostics);
    Some(Judge {
        provider: provider.map(ToString::to_string),
        model: model.map(ToString::to_string),
        samples: samples.map_or(1, |stated| u32::try_from(stated.value).unwrap_or(1)),
        jury,
        is_cached: cache.is_some_and(|cache| cache.value),
    })
}

/// A model by its name, or `{provider, model, weight}`.
fn member(
    node: &Node,
    providers: &BTreeMap<String, Stated>,
    diagnostics: &mut Diagnostics,
) -> Option<Member> {
    if let NodeKind::String(model) = &node.kind {
        return Some(Member {
            provider: None,
            model: model.to_string(),
            weight: 1.0,
        });
    }
    let mut fields = Fields::read(node, "a member of a jury", diagnostics)?;
    let provider = fields.optional_string("provider", diagnostics);
    if let Some(name) = provider {
        known_provider(name, name.place(), providers, diagnostics);
    }
    let model = fields.required_string("model", diagnostics);
    let weight = fields.optional_amount("weight", diagnostics);
    fields.finish(diagnostics);
    Some(Member {
        provider: provider.map(ToString::to_string),
        model: model?.to_string(),
        weight: weight.map_or(1.0, |weight| weight.value),
    })
}

fn known_provider(
    name: &str,
    place: &Place,
    providers: &BTreeMap<String, Stated>,
    diagnostics: &mut Diagnostics,
) {
    if providers.contains_key(name) || Kind::is_built_in(name) {
        return;
    }
    let message = format!("no provider is named `{name}`");
    let near = suggest(name, providers.keys().map(String::as_str));
    let help = match near {
        Some(near) => format!("a provider named `{near}` exists"),
        None => format!("declare `{name}` under `providers` at the root of the suite"),
    };
    diagnostics.push(unfit(place, &message, &help));
}

fn metric(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<Metric> {
    let name = entry.key.as_str();
    if name == "rubric" {
        return rubric(&entry.value, diagnostics);
    }
    // An unknown name was reported by the dialect.
    let question = prompt::question_of(name)?;
    let threshold = if entry.value.is_null() {
        None
    } else {
        let mut fields = Fields::read(&entry.value, "a metric", diagnostics)?;
        let threshold = share(&mut fields, "threshold", diagnostics);
        fields.finish(diagnostics);
        threshold
    };
    Some(Metric {
        name: name.to_owned(),
        threshold: threshold.unwrap_or(THRESHOLD),
        test: Test::Question(question),
    })
}

fn rubric(node: &Node, diagnostics: &mut Diagnostics) -> Option<Metric> {
    // Its shape was checked by the dialect.
    let mut unreported = Diagnostics::new();
    let mut fields = Fields::read(node, "rubric", &mut unreported)?;
    let threshold = share(&mut fields, "threshold", diagnostics).unwrap_or(RUBRIC_THRESHOLD);
    let strict = fields.optional_bool("strict", diagnostics);
    let aggregation = fields.optional_string("aggregation", &mut unreported);
    let test = match fields.optional("tree") {
        Some(node) => Test::Tree(tree(node, 0, diagnostics)?),
        None => Test::Criteria(Rubric {
            criteria: fields
                .sequence("criteria", &mut unreported)
                .iter()
                .filter_map(|node| criterion(node, diagnostics))
                .collect(),
            takes_minimum: aggregation.is_some_and(|text| *text == *"min"),
        }),
    };
    let is_strict = strict.is_some_and(|strict| strict.value);
    Some(Metric {
        name: "rubric".to_owned(),
        threshold: if is_strict { 1.0 } else { threshold },
        test,
    })
}

fn criterion(node: &Node, diagnostics: &mut Diagnostics) -> Option<Criterion> {
    let mut unreported = Diagnostics::new();
    let mut fields = Fields::read(node, "a criterion", &mut unreported)?;
    let name = fields.required_string("name", &mut unreported);
    let description = fields.optional_string("description", &mut unreported);
    let weight = fields.optional_amount("weight", &mut unreported);
    let when = fields.optional_fields("when", &mut unreported);
    let flag = |fields: &mut Fields<'_>, key, diagnostics: &mut Diagnostics| {
        let stated = fields.optional_bool(key, diagnostics);
        stated.is_some_and(|stated| stated.value)
    };
    Some(Criterion {
        name: name?.to_string(),
        description: description.map(ToString::to_string),
        weight: weight.map_or(1.0, |weight| weight.value),
        threshold: share(&mut fields, "threshold", diagnostics),
        required: flag(&mut fields, "required", diagnostics),
        guard: flag(&mut fields, "guard", diagnostics),
        when: when.and_then(when_of),
    })
}

fn when_of(mut fields: Fields<'_>) -> Option<When> {
    let mut unreported = Diagnostics::new();
    if let Some(text) = fields.optional_string("contains", &mut unreported) {
        return Some(When::Contains(text.to_string()));
    }
    let pattern = fields.optional_string("regex", &mut unreported)?;
    Regex::new(pattern).ok().map(When::Regex)
}

fn tree(node: &Node, depth: usize, diagnostics: &mut Diagnostics) -> Option<Tree> {
    if depth > TREE_DEPTH_MAX {
        let message = format!("a tree has more than {TREE_DEPTH_MAX} levels");
        diagnostics.push(unfit(&node.place, &message, "ask fewer questions in a row"));
        return None;
    }
    let mut fields = Fields::read(node, "a tree", diagnostics)?;
    if !fields.has("ask") {
        let score = share(&mut fields, "score", diagnostics);
        let reason = fields.optional_string("reason", diagnostics);
        if score.is_none() && !fields.has("score") {
            let help = "write `{ask: QUESTION, yes: …, no: …}` or `{score: 0.5, reason: …}`";
            diagnostics.push(unfit(&node.place, "a tree asks or has a score", help));
        }
        fields.finish(diagnostics);
        return Some(Tree::Leaf {
            score: score?,
            reason: reason.map(ToString::to_string),
        });
    }
    let question = fields.required_string("ask", diagnostics);
    let yes = fields.required("yes", diagnostics);
    let no = fields.required("no", diagnostics);
    fields.finish(diagnostics);
    let yes = yes.and_then(|node| tree(node, depth + 1, diagnostics));
    let no = no.and_then(|node| tree(node, depth + 1, diagnostics));
    Some(Tree::Ask {
        question: question?.to_string(),
        yes: Box::new(yes?),
        no: Box::new(no?),
    })
}

/// A number between 0 and 1.
fn share(fields: &mut Fields<'_>, key: &'static str, diagnostics: &mut Diagnostics) -> Option<f64> {
    let stated = fields.optional_amount(key, diagnostics)?;
    if stated.value <= 1.0 {
        return Some(stated.value);
    }
    let message = format!("`{key}` is between 0 and 1");
    diagnostics.push(unfit(&stated.place, &message, "write a share such as 0.7"));
    None
}

fn unfit(place: &Place, message: &str, help: &str) -> Diagnostic {
    Diagnostic::error(codes::EVALUATION, message)
        .label(place, "cannot be judged so")
        .help(help)
}
