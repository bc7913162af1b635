//! What a composition means: its written form becomes the representation, every default spelled out.
//! Checks that hold for every dialect are made by `Builder::finish`.

mod output;
mod step;

use super::expressions::{Names, Reader};
use super::syntax::{self, Output as WrittenOutput, Suite};
use super::{Compat, Composition, Options, TestVariable, Tests, evaluation, policy, programs};
use crate::name::{self, UNNAMED};
use crate::schema_places;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Text, codes};
use onecall_workflow::builder::{Builder, Rules, Undeclared};
use onecall_workflow::draft::Built;
use onecall_workflow::name::{StepName, WorkflowName};
use onecall_workflow::policy::{AnyFailed, Budget, Run};
use onecall_workflow::workflow::Output;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) fn suite(
    suite: &Suite<'_>,
    options: &Options<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Composition> {
    let variables = variables(suite, options.environment);
    let servers = step::Servers::of(suite, options);
    let context = Context {
        servers: &servers,
        variables: &variables,
        environment: options.environment,
        compat: options.compat,
    };
    let mut compositions = Vec::new();
    let mut seen = BTreeSet::new();
    for written in &suite.compositions {
        let is_published = written
            .publish
            .as_ref()
            .map_or(suite.publish, |publish| publish.value);
        if let Some(name) = written.name {
            if is_published {
                diagnostics.extend(name::fault(name, name::TOOL));
            }
            if !seen.insert(name.as_str()) {
                diagnostics.push(same_name(name));
            }
        }
        let (built, variables) = context.composition(written, is_published, diagnostics);
        compositions.push(Composition {
            built,
            is_published,
            tests: tests(suite, written, variables),
        });
    }
    compositions
}

fn tests(
    suite: &Suite<'_>,
    written: &syntax::Composition<'_>,
    variables: Vec<TestVariable>,
) -> Tests {
    let node = |entry: Option<&Entry>| entry.map(|entry| entry.value.clone());
    let name = written.name;
    Tests {
        name: name.map_or(UNNAMED, |name| name.as_str()).to_owned(),
        place: name
            .map_or(&written.node.place, |name| name.place())
            .clone(),
        description: written.description.map(ToString::to_string),
        tags: written.tags.cloned(),
        expect: node(written.expect),
        cases: node(written.cases),
        eval: node(written.eval),
        freeze: written
            .steps
            .iter()
            .filter_map(|step| Some((step.id?.to_string(), step.freeze?)))
            .collect(),
        // Filled in by who reads the servers.
        cassettes: BTreeMap::new(),
        providers: suite.providers.cloned(),
        judge: suite.judge.cloned(),
        variables,
    }
}

/// The values of `variables`, where they have one.
pub(super) fn variables(
    suite: &Suite<'_>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let valued = suite.variables.iter().filter_map(|variable| {
        let from_env = variable.from_env.and_then(|name| environment(name));
        let value = variable.value.or(variable.default).map(scalar);
        Some((variable.name.to_string(), from_env.or(value)?))
    });
    valued.collect()
}

fn scalar(node: &Node) -> String {
    match &node.kind {
        NodeKind::String(text) => text.to_string(),
        NodeKind::Null
        | NodeKind::Bool(_)
        | NodeKind::Number(_)
        | NodeKind::Sequence(_)
        | NodeKind::Mapping(_) => node.to_json().to_string(),
    }
}

/// What holds for every composition of a suite.
#[derive(Clone, Copy)]
struct Context<'a> {
    servers: &'a step::Servers<'a>,
    variables: &'a BTreeMap<String, String>,
    environment: &'a dyn Fn(&str) -> Option<String>,
    compat: Compat,
}

impl Context<'_> {
    fn composition(
        self,
        written: &syntax::Composition<'_>,
        is_published: bool,
        diagnostics: &mut Diagnostics,
    ) -> (Built, Vec<TestVariable>) {
        let before = diagnostics.error_count();
        if let Some(eval) = written.eval {
            evaluation::check(&eval.value, diagnostics);
        }
        let ids: BTreeSet<&str> = written
            .steps
            .iter()
            .filter_map(|step| step.id.map(Text::as_str))
            .collect();
        let mut reader = Reader::new(Names {
            ids: &ids,
            variables: self.variables,
            environment: self.environment,
            compat: self.compat,
            has_inputs: written.inputs.is_some(),
        });
        let place = written
            .name
            .map_or(&written.node.place, |name| name.place());
        let name = written.name.map_or(UNNAMED, |name| name.as_str());
        let mut builder = Builder::new(WorkflowName::from(name), place.clone());
        for written in &written.steps {
            builder
                .steps
                .extend(step::lower(written, &mut reader, self.servers, diagnostics));
        }
        builder.description = written.description.map(ToString::to_string);
        builder.output = match &written.output {
            None => Output::LastInOrder,
            Some(WrittenOutput::Of(id)) => Output::Value(Reader::output_of(id)),
            Some(WrittenOutput::Assemble(program)) => {
                Output::Value(programs::assemble(program, diagnostics))
            }
            Some(WrittenOutput::Properties {
                properties,
                required,
            }) => output::typed(properties, required, &mut reader, diagnostics),
        };
        builder.inputs = match written.inputs {
            Some(schema) => schema.to_json(),
            None => reader.inputs(is_published),
        };
        builder.policy = Run {
            budget: written.budget.as_ref().map(budget),
            any_failed: AnyFailed::IsError,
            steps_parallel_max: (self.compat == Compat::Program).then_some(1),
            ..Run::default()
        };
        builder.rules = Rules {
            undeclared: Undeclared::IsRefused,
            inputs_place: written.inputs.map(|node| node.place.clone()),
            ..Rules::default()
        };
        note_default_timeouts(written, &mut builder.rules);
        if let Some(node) = written.inputs {
            schema_places::defaults(node, "", &mut builder.rules.default_places);
        }
        let policies = written
            .policy
            .and_then(|node| Fields::read(node, "policy", diagnostics));
        if let Some(fields) = policies {
            policy::of_run(fields, &mut builder, diagnostics);
        }
        let variables = reader.variables();
        let built = builder.finish(diagnostics);
        let built = built.only_if(diagnostics.error_count() == before);
        (built, variables)
    }
}

/// The nodes whose file sets no timeout.
fn note_default_timeouts(written: &syntax::Composition<'_>, rules: &mut Rules) {
    let states_none = written.steps.iter().filter(|step| {
        let timeout = step.policy.and_then(|policy| policy.get("timeout"));
        timeout.is_none()
    });
    for id in states_none.filter_map(|step| step.id) {
        let name = StepName::from(id.as_str());
        rules.timeouts_by_default.insert(name.clone());
        rules.item_timeouts_by_default.insert(name);
    }
}

fn budget(written: &syntax::Budget<'_>) -> Budget {
    Budget {
        calls: None,
        cost_usd: written.cost_usd,
        tokens: written.tokens,
        time: written.duration_ms.map(Duration::from_millis),
    }
}

fn same_name(name: &Text) -> Diagnostic {
    Diagnostic::warning(
        codes::DUPLICATE_COMPOSITION,
        format!("two compositions are named `{name}`"),
    )
    .label(name.place(), "only the first can be called by its name")
    .help("give one of them another name")
}
