//! Reading matchers: an object with exactly one key, which names the matcher.

use super::{Cel, Matcher, Operator, Test};
use crate::limits::{MATCHER_DEPTH_MAX, PATTERN_BYTES_MAX};
use cel::Program;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, codes, suggest};
use onecall_workflow::coerce::Coercer;
use regex::RegexBuilder;

const NAMES: [&str; 23] = [
    "exact",
    "contains",
    "subset",
    "regex",
    "schema",
    "contains-all",
    "contains-any",
    "icontains",
    "starts-with",
    "is-json",
    "is-xml",
    "is-sql",
    "is-valid-tools-call",
    "levenshtein",
    "cel",
    "not",
    "oneOf",
    "anyOf",
    "allOf",
    "lt",
    "lte",
    "gt",
    "gte",
];

/// Matchers that mcptest has elsewhere and that judge nothing in a composition.
const ELSEWHERE: [&str; 8] = [
    "snapshot",
    "llm-judge",
    "llm-jury",
    "similar",
    "citation",
    "factuality",
    "answer-relevance",
    "context-faithfulness",
];

impl Matcher {
    pub(crate) fn read(node: &Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        read(node, 0, diagnostics)
    }
}

fn read(node: &Node, depth: usize, diagnostics: &mut Diagnostics) -> Option<Matcher> {
    let entries = node.expect_mapping("matcher", diagnostics)?;
    let [entry] = entries else {
        diagnostics.push(not_one(node, entries.len()));
        return None;
    };
    if depth > MATCHER_DEPTH_MAX {
        diagnostics.push(invalid(
            entry,
            &format!("matchers are nested more than {MATCHER_DEPTH_MAX} deep"),
            "write fewer levels",
        ));
        return None;
    }
    let name = NAMES.iter().find(|own| entry.key == **own);
    let Some(name) = name.copied() else {
        diagnostics.push(unknown(entry));
        return None;
    };
    let test = test(name, entry, depth, diagnostics)?;
    Some(Matcher {
        name,
        expected: entry.value.to_json(),
        test,
    })
}

fn test(
    name: &'static str,
    entry: &Entry,
    depth: usize,
    diagnostics: &mut Diagnostics,
) -> Option<Test> {
    let value = &entry.value;
    let operator = |operator, diagnostics: &mut Diagnostics| {
        value.expect_number(name, diagnostics)?;
        Some(Test::Order(operator))
    };
    Some(match name {
        "exact" => Test::Exact,
        "contains" => Test::Contains,
        "subset" => Test::Subset,
        "contains-all" => value
            .expect_sequence(name, diagnostics)
            .map(|_| Test::ContainsAll)?,
        "contains-any" => value
            .expect_sequence(name, diagnostics)
            .map(|_| Test::ContainsAny)?,
        "icontains" => value
            .expect_string(name, diagnostics)
            .map(|_| Test::ContainsIgnoringCase)?,
        "starts-with" => value
            .expect_string(name, diagnostics)
            .map(|_| Test::StartsWith)?,
        "lt" => operator(Operator::Less, diagnostics)?,
        "lte" => operator(Operator::LessOrEqual, diagnostics)?,
        "gt" => operator(Operator::Greater, diagnostics)?,
        "gte" => operator(Operator::GreaterOrEqual, diagnostics)?,
        "regex" => pattern(entry, diagnostics)?,
        "schema" => Test::Schema(schema(value, diagnostics)?),
        "is-json" => Test::IsJson(optional_schema(value, name, diagnostics)?),
        "is-valid-tools-call" => Test::IsToolCall(optional_schema(value, name, diagnostics)?),
        "is-xml" => xml(value, diagnostics)?,
        "is-sql" => Test::IsSql,
        "levenshtein" => levenshtein(value, diagnostics)?,
        "cel" => program(entry, diagnostics)?,
        "not" => Test::Not(Box::new(read(value, depth + 1, diagnostics)?)),
        "oneOf" => Test::OneOf(several(entry, depth, diagnostics)?),
        "anyOf" => Test::AnyOf(several(entry, depth, diagnostics)?),
        _ => Test::AllOf(several(entry, depth, diagnostics)?),
    })
}

fn several(entry: &Entry, depth: usize, diagnostics: &mut Diagnostics) -> Option<Vec<Matcher>> {
    let nodes = entry
        .value
        .expect_sequence(entry.key.as_str(), diagnostics)?;
    if nodes.is_empty() {
        diagnostics.push(invalid(entry, "the list is empty", "add a matcher"));
        return None;
    }
    // Every matcher is read, so that all mistakes are reported.
    let read: Vec<Option<Matcher>> = nodes
        .iter()
        .map(|node| self::read(node, depth + 1, diagnostics))
        .collect();
    read.into_iter().collect()
}

fn pattern(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<Test> {
    let text = entry.value.expect_string("regex", diagnostics)?;
    let built = RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES_MAX)
        .build();
    match built {
        Ok(pattern) => Some(Test::Regex(pattern)),
        Err(error) => {
            let text = error.to_string();
            let last = text.lines().next_back().unwrap_or_default().trim();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            let help = "write a pattern of Rust's `regex`, which has no look-around";
            diagnostics.push(invalid(entry, reason, help));
            None
        }
    }
}

fn schema(node: &Node, diagnostics: &mut Diagnostics) -> Option<Coercer> {
    let schema = Coercer::new(node.to_json());
    let Some(problem) = schema.faults().first() else {
        return Some(schema);
    };
    diagnostics.push(
        Diagnostic::error(
            codes::INVALID_SCHEMA,
            format!("the schema of this matcher cannot be used: {problem}"),
        )
        .label(&node.place, "this schema")
        .help("correct the schema; references must stay inside of it"),
    );
    None
}

/// Null, or `{schema: …}`.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether the matcher could be read"
)]
fn optional_schema(
    node: &Node,
    what: &'static str,
    diagnostics: &mut Diagnostics,
) -> Option<Option<Coercer>> {
    if node.is_null() {
        return Some(None);
    }
    let mut fields = Fields::read(node, what, diagnostics)?;
    let own = fields.optional("schema");
    fields.finish(diagnostics);
    match own {
        Some(node) => schema(node, diagnostics).map(Some),
        None => Some(None),
    }
}

fn xml(node: &Node, diagnostics: &mut Diagnostics) -> Option<Test> {
    if node.is_null() {
        return Some(Test::IsXml { root: None });
    }
    let mut fields = Fields::read(node, "is-xml", diagnostics)?;
    let root = fields.optional_string("root", diagnostics);
    fields.finish(diagnostics);
    Some(Test::IsXml {
        root: root.map(ToString::to_string),
    })
}

fn levenshtein(node: &Node, diagnostics: &mut Diagnostics) -> Option<Test> {
    let mut fields = Fields::read(node, "levenshtein", diagnostics)?;
    let value = fields.required_string("value", diagnostics);
    fields.required("max", diagnostics);
    let max = fields.optional_integer("max", 0..=i64::from(u32::MAX), diagnostics);
    fields.finish(diagnostics);
    Some(Test::Levenshtein {
        value: value?.to_string(),
        max: usize::try_from(max?.value).ok()?,
    })
}

fn program(entry: &Entry, diagnostics: &mut Diagnostics) -> Option<Test> {
    let text = entry.value.expect_string("cel", diagnostics)?;
    match Program::compile(text) {
        Ok(program) => Some(Test::Cel(Box::new(Cel(program)))),
        Err(errors) => {
            let text = errors.to_string();
            let first = text.lines().next().unwrap_or_default().trim();
            let help = "write a CEL expression over `value` that gives a boolean";
            diagnostics.push(invalid(entry, first, help));
            None
        }
    }
}

fn not_one(node: &Node, count: usize) -> Diagnostic {
    Diagnostic::error(
        codes::MATCHER_INVALID,
        format!("a matcher has exactly one key, and this one has {count}"),
    )
    .label(&node.place, "this matcher")
    .help("write one assertion for each matcher, or combine them: `allOf: [{…}, {…}]`")
}

fn unknown(entry: &Entry) -> Diagnostic {
    let key = &entry.key;
    if ELSEWHERE.contains(&key.as_str()) {
        return Diagnostic::error(
            codes::UNKNOWN_MATCHER,
            format!("the matcher `{key}` cannot judge a composition"),
        )
        .label(key.place(), "this matcher")
        .help("use `eval` for metrics that a model judges, and `golden` for a recorded output");
    }
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_MATCHER,
        format!("there is no matcher `{key}`"),
    )
    .label(key.place(), "unknown matcher");
    let names = NAMES.iter().copied();
    if let Some(near) = suggest(key, names.clone()) {
        return diagnostic.help(format!("a matcher `{near}` exists"));
    }
    let names: Vec<&str> = names.collect();
    diagnostic.help(format!("the matchers are {}", names.join(", ")))
}

fn invalid(entry: &Entry, reason: &str, help: &str) -> Diagnostic {
    let key = &entry.key;
    Diagnostic::error(
        codes::MATCHER_INVALID,
        format!("the matcher `{key}` cannot be used: {reason}"),
    )
    .label(&entry.value.place, "this argument")
    .help(help)
}
