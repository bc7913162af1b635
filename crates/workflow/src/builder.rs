//! The only way to a `Workflow`: step names unique, references resolve, graph acyclic, limits kept.
//! What is special to a dialect is checked by its lowering; what needs the tool catalog is in `check`.

mod defaults;
mod edges;
mod fields;
mod input_defaults;
mod needs;
mod questions;
mod references;
mod schemas;
mod times;

pub(crate) use references::{Declared, undeclared_parameter};
pub(crate) use times::shown as shown_duration;

use crate::derive::Derives;
use crate::draft::Built;
use crate::limits::STEPS_MAX;
use crate::name::{StepName, WorkflowName};
use crate::policy;
use crate::reads;
use crate::step::Step;
use crate::workflow::{Annotations, Output, Workflow};
use onecall_source::{Diagnostic, Diagnostics, Place, codes};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A workflow in the making. Steps hold their declared needs only.
#[derive(Clone, Debug)]
pub struct Builder {
    pub name: WorkflowName,
    pub version: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: Annotations,
    pub inputs: Value,
    pub steps: Vec<Step>,
    pub output: Output,
    pub policy: policy::Run,
    pub derives: Option<Derives>,
    pub place: Place,
    pub rules: Rules,
}

/// What the dialect decides about the checks.
#[derive(Clone, Debug)]
pub struct Rules {
    pub steps_max: usize,
    pub undeclared: Undeclared,
    /// How the dialect spells things, for messages.
    pub words: Words,
    /// Where parameters were declared, for messages.
    pub inputs_place: Option<Place>,
    /// Where the defaults of parameters were written, by their JSON pointer in the schema.
    pub default_places: BTreeMap<String, Place>,
    /// The values that expressions start from, for messages.
    pub roots: Roots,
    /// Steps that continue after a failure only because the run's failure mode says so.
    pub continued_by_mode: BTreeSet<StepName>,
    /// Steps whose timeout is the default of the dialect.
    pub timeouts_by_default: BTreeSet<StepName>,
    /// Loops whose items have the default timeout of the dialect.
    pub item_timeouts_by_default: BTreeSet<StepName>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            steps_max: STEPS_MAX,
            undeclared: Undeclared::Infers,
            words: Words::NATIVE,
            inputs_place: None,
            default_places: BTreeMap::new(),
            roots: Roots::GO,
            continued_by_mode: BTreeSet::new(),
            timeouts_by_default: BTreeSet::new(),
            item_timeouts_by_default: BTreeSet::new(),
        }
    }
}

/// The names that expressions of a dialect start from.
#[derive(Clone, Copy, Debug)]
pub struct Roots {
    pub all: &'static [&'static str],
    /// The one that holds the parameters.
    pub parameters: &'static str,
}

impl Roots {
    /// Of Go templates.
    pub const GO: Self = Self {
        all: &["params", "steps", "workflow", "vars", "forEach"],
        parameters: "params",
    };
    /// Of jq programs over a run.
    pub const JQ: Self = Self {
        all: &["inputs", "steps", "results", "run", "index"],
        parameters: "inputs",
    };
}

/// How a dialect spells what messages and helps name.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The default output of a step.
    pub default: &'static str,
    /// The answer of a question that nobody answers.
    pub response: &'static str,
    /// The key that parameters are declared under.
    pub parameters: &'static str,
    /// What stands between a step and a field of its output.
    pub output: &'static str,
}

impl Words {
    pub const NATIVE: Self = Self {
        default: "default",
        response: "default_answer",
        parameters: "inputs",
        output: "",
    };
    pub const TOOLHIVE: Self = Self {
        default: "defaultResults",
        response: "defaultResponse",
        parameters: "parameters.properties",
        output: ".output",
    };
}

/// What a read of a step does that is not among the declared needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undeclared {
    /// It makes an edge.
    Infers,
    /// It is a fault.
    IsRefused,
}

impl Builder {
    pub fn new(name: WorkflowName, place: Place) -> Self {
        Self {
            name,
            version: None,
            title: None,
            description: None,
            labels: BTreeMap::new(),
            annotations: Annotations::default(),
            inputs: serde_json::json!({ "type": "object" }),
            steps: Vec::new(),
            output: Output::LastCompleted,
            policy: policy::Run::default(),
            derives: None,
            place,
            rules: Rules::default(),
        }
    }

    /// Checks everything at once. Any error means no workflow, only a draft of one.
    pub fn finish(mut self, diagnostics: &mut Diagnostics) -> Built {
        let mut own = Diagnostics::new();
        self.check_count(&mut own);
        check_names(&self.steps, &mut own);
        schemas::check(&self, &mut own);
        let reads = reads::of(&self.steps, &self.output);
        references::check(&self, &reads, &mut own);
        fields::check(&self, &reads, &mut own);
        defaults::check(&self, &reads, &mut own);
        needs::check(&self, &reads, &mut own);
        let inferred = edges::infer(&self, &reads, &mut own);
        drop(reads);
        for (index, need) in inferred {
            self.steps[index].needs.push(need);
        }
        edges::check(&self.steps, &mut own);
        times::check(&self, &mut own);
        questions::check(&self, &mut own);
        let sound = !own.has_errors() && self.steps.iter().all(Step::is_readable);
        diagnostics.append(own);
        edges::sort(&mut self.steps);
        Built::new(self.into_workflow(), sound)
    }

    /// Needs stand in the order of the steps, so that a workflow is the same whatever made its edges.
    fn into_workflow(mut self) -> Workflow {
        let order: BTreeMap<StepName, usize> = self
            .steps
            .iter()
            .enumerate()
            .map(|(index, step)| (step.name.clone(), index))
            .collect();
        for step in &mut self.steps {
            step.needs
                .sort_by_key(|need| order.get(&need.step).copied());
        }
        self.steps.shrink_to_fit();
        Workflow {
            name: self.name,
            version: self.version,
            title: self.title,
            description: self.description,
            labels: self.labels,
            annotations: self.annotations,
            inputs: self.inputs,
            steps: self.steps,
            output: self.output,
            policy: self.policy,
            derives: self.derives,
            place: self.place,
        }
    }

    fn check_count(&self, diagnostics: &mut Diagnostics) {
        let (count, most) = (self.steps.len(), self.rules.steps_max.min(STEPS_MAX));
        if count > most {
            diagnostics.push(too_many_steps(self, count, most));
        }
    }
}

fn too_many_steps(builder: &Builder, count: usize, most: usize) -> Diagnostic {
    let message = format!(
        "workflow `{}` has {count} steps, more than {most}",
        builder.name
    );
    Diagnostic::error(codes::TOO_MANY_STEPS, message)
        .label(
            &builder.steps[most].place,
            format!("step {} of {count}", most + 1),
        )
        .help("split it into several workflows, or put repeated calls into a loop")
}

fn check_names(steps: &[Step], diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<&str, &Step> = BTreeMap::new();
    for step in steps {
        match first.get(step.name.as_str()) {
            None => {
                first.insert(step.name.as_str(), step);
            }
            Some(earlier) => diagnostics.push(duplicate_step(step, earlier)),
        }
    }
}

fn duplicate_step(step: &Step, earlier: &Step) -> Diagnostic {
    Diagnostic::error(
        codes::DUPLICATE_STEP,
        format!("two steps are named `{}`", step.name),
    )
    .label(&step.place, "this name is taken")
    .secondary(&earlier.place, "first used here")
    .help("give one of them another name")
}
