//! The tests of a composition, read from its suite: assertions, cases, and which rows they make.

use crate::eval::{Evaluation, Metric};
use crate::matchers::Matcher;
use crate::target::{ParseTargetError, Target};
use onecall_dialects::mcptest::{Freeze, Tests};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Place, Text, codes};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A composition and what is expected of it.
#[derive(Debug)]
pub struct Composition {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) place: Place,
    pub(crate) tags: Vec<String>,
    pub(crate) expect: Vec<Assertion>,
    /// Empty if the composition runs once.
    pub(crate) cases: Vec<Case>,
    pub(crate) evaluation: Evaluation,
    /// Nodes whose results come from tapes.
    pub(crate) freeze: BTreeMap<String, Freeze>,
}

/// One row of a dataset.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) vars: Map<String, Value>,
    pub(crate) golden: Option<Value>,
    pub(crate) expect: Vec<Assertion>,
}

#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) target: Target,
    pub(crate) matcher: Matcher,
    pub(crate) place: Place,
}

impl Composition {
    /// Reads the tests of one composition. All mistakes are reported.
    pub fn read(tests: &Tests, diagnostics: &mut Diagnostics) -> Self {
        let cases: Vec<Case> = match &tests.cases {
            Some(node) => cases(node, diagnostics),
            None => Vec::new(),
        };
        if !cases.is_empty() {
            check_variables(tests, &cases, diagnostics);
        }
        let tags = tests.tags.as_ref();
        let tags = tags.and_then(|node| node.expect_sequence("tags", diagnostics));
        let tags = tags.unwrap_or_default().iter();
        Self {
            name: tests.name.clone(),
            description: tests.description.clone(),
            place: tests.place.clone(),
            tags: tags
                .filter_map(|node| node.expect_string("tags", diagnostics))
                .map(ToString::to_string)
                .collect(),
            expect: tests
                .expect
                .as_ref()
                .map_or_else(Vec::new, |node| assertions(node, diagnostics)),
            cases,
            evaluation: Evaluation::read(tests, diagnostics),
            freeze: tests.freeze.clone(),
        }
    }

    /// Whether the results of a node are frozen, and how.
    pub fn freeze(&self, node: &str) -> Option<Freeze> {
        self.freeze.get(node).copied()
    }

    /// The environment variables that may hold keys of its judges.
    pub fn key_variables(&self) -> Vec<String> {
        if self.evaluation.metrics.is_empty() {
            return Vec::new();
        }
        self.evaluation.key_variables()
    }

    pub(crate) fn metrics(&self) -> &[Metric] {
        &self.evaluation.metrics
    }

    /// Answers that one question asks for: samples of each juror.
    pub(crate) fn judge_answers(&self) -> u64 {
        self.evaluation.answers_per_question()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The names of its cases; none if it runs once.
    pub fn case_names(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.name.as_str())
    }

    /// What is expected of a row. An assertion of a case replaces those of the composition with the same target.
    pub(crate) fn assertions<'a>(&'a self, case: Option<&'a Case>) -> Vec<&'a Assertion> {
        let of_case = case.map_or(&[][..], |case| &case.expect);
        let is_replaced = |own: &&Assertion| {
            let mut of_case = of_case.iter();
            !of_case.any(|other| other.target.is_same(&own.target))
        };
        let own = self.expect.iter().filter(is_replaced);
        own.chain(of_case).collect()
    }
}

fn cases(node: &Node, diagnostics: &mut Diagnostics) -> Vec<Case> {
    let nodes = node
        .expect_sequence("cases", diagnostics)
        .unwrap_or_default();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut cases = Vec::new();
    for node in nodes {
        let Some(mut fields) = Fields::read(node, "a case", diagnostics) else {
            continue;
        };
        let name = fields.required_string("name", diagnostics);
        let vars = fields.optional("vars");
        let vars = vars.filter(|node| node.expect_mapping("vars", diagnostics).is_some());
        let golden = fields.entry("golden").map(|entry| entry.value.to_json());
        let expect = fields.optional("expect");
        fields.finish(diagnostics);
        if let Some(name) = name
            && !names.insert(name.as_str())
        {
            diagnostics.push(same_name(name));
        }
        cases.push(Case {
            name: name.map_or_else(String::new, ToString::to_string),
            vars: match vars.map(Node::to_json) {
                Some(Value::Object(vars)) => vars,
                _ => Map::new(),
            },
            golden,
            expect: expect.map_or_else(Vec::new, |node| assertions(node, diagnostics)),
        });
    }
    cases
}

fn assertions(node: &Node, diagnostics: &mut Diagnostics) -> Vec<Assertion> {
    let nodes = node
        .expect_sequence("expect", diagnostics)
        .unwrap_or_default();
    let read = nodes
        .iter()
        .filter_map(|node| Assertion::read(node, diagnostics));
    read.collect()
}

impl Assertion {
    fn read(node: &Node, diagnostics: &mut Diagnostics) -> Option<Self> {
        let mut fields = Fields::read(node, "an assertion", diagnostics)?;
        let target = fields.required_string("target", diagnostics);
        let matcher = fields.required("matcher", diagnostics);
        // The program accepts these and does nothing with them.
        for key in ["message", "weight", "name", "transform"] {
            fields.entry(key);
        }
        fields.finish(diagnostics);
        let target = target.and_then(|text| match Target::parse(text) {
            Ok(target) => Some(target),
            Err(error) => {
                diagnostics.push(not_a_target(text, &error));
                None
            }
        });
        let matcher = matcher.and_then(|node| Matcher::read(node, diagnostics));
        Some(Self {
            target: target?,
            matcher: matcher?,
            place: node.place.clone(),
        })
    }
}

/// Every variable that the nodes read has a value in every case, and every value is read.
fn check_variables(tests: &Tests, cases: &[Case], diagnostics: &mut Diagnostics) {
    let nodes = tests.cases.as_ref().and_then(Node::as_sequence);
    for (case, node) in cases.iter().zip(nodes.unwrap_or_default()) {
        for name in &tests.variables {
            if !case.vars.contains_key(&name.name) && !name.has_default {
                diagnostics.push(lacks_variable(case, &name.name, &node.place));
            }
        }
        let vars = node.get("vars").and_then(Node::as_mapping);
        for entry in vars.unwrap_or_default() {
            if !tests.variables.iter().any(|own| entry.key == *own.name) {
                diagnostics.push(unused_variable(case, &entry.key));
            }
        }
    }
}

fn same_name(name: &Text) -> Diagnostic {
    Diagnostic::warning(
        codes::DUPLICATE_CASE,
        format!("two cases are named `{name}`"),
    )
    .label(name.place(), "the second one")
    .help("give one of them another name, so that `--case` and reports can tell them apart")
}

fn not_a_target(text: &Text, error: &ParseTargetError) -> Diagnostic {
    Diagnostic::error(
        codes::TARGET_INVALID,
        format!("the target cannot be read: {error}"),
    )
    .label(text.place(), "this target")
    .help("write a path such as `nodes.search.output.hits[0].name`, `output` or `composition.ran`")
}

fn lacks_variable(case: &Case, name: &str, place: &Place) -> Diagnostic {
    Diagnostic::error(
        codes::CASE_VARIABLE,
        format!("case `{}` has no value for `${{var.{name}}}`", case.name),
    )
    .label(place, "this case")
    .help(format!("add `{name}` to its `vars`"))
}

fn unused_variable(case: &Case, key: &Text) -> Diagnostic {
    Diagnostic::warning(
        codes::CASE_VARIABLE,
        format!("no node reads `{key}` of case `{}`", case.name),
    )
    .label(key.place(), "this value is not used")
    .help(format!(
        "read it as `${{var.{key}}}` in `args`, or remove it"
    ))
}
