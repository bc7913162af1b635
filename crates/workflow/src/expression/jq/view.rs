//! The value that a jq program starts from: only what the program can read of a run is converted, and a
//! step's output once, however often it is read.

use super::View;
use super::reads::Read;
use super::value::Val;
use crate::expression::path::{run_field, step_facet};
use crate::expression::{Facet, RunField, Target};
use crate::scope::Scope;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What of a run a program reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    everything: bool,
    inputs: bool,
    run: bool,
    /// Outputs by step.
    steps: BTreeSet<String>,
    /// Parts by step; an empty set is all of them.
    results: BTreeMap<String, BTreeSet<Facet>>,
}

impl Wanted {
    pub(super) fn of(view: &View, reads: &[Read]) -> Self {
        let mut wanted = Self::default();
        for read in reads {
            let names: Vec<&str> = read.path.iter().map(|name| name.text.as_str()).collect();
            match (view, names.as_slice()) {
                (View::Run, ["inputs", ..]) => wanted.inputs = true,
                (View::Run, ["run", ..]) => wanted.run = true,
                (View::Run, ["results", name, rest @ ..]) => {
                    let part = rest.first().and_then(|part| Facet::parse(part));
                    wanted.result(name, part);
                }
                (View::Run, []) => wanted.everything = true,
                (View::Run | View::Parents(_) | View::Nodes, _) => match read.target(view).0 {
                    Target::Step { name, .. } => {
                        wanted.steps.insert(name);
                    }
                    Target::AllSteps | Target::Ambient => wanted.everything = true,
                    Target::Input { .. }
                    | Target::Item { .. }
                    | Target::Named { .. }
                    | Target::Unknown { .. }
                    | Target::UnknownField { .. } => {}
                },
                (View::Result, _) => {}
            }
        }
        wanted
    }

    fn result(&mut self, name: &str, part: Option<Facet>) {
        let known = self.results.get(name);
        let is_all = known.is_some_and(BTreeSet::is_empty);
        let parts = self.results.entry(name.to_owned()).or_default();
        match part {
            Some(part) if !is_all => {
                parts.insert(part);
            }
            Some(_) => {}
            None => parts.clear(),
        }
    }

    pub(super) fn root(&self, view: &View, scope: &dyn Scope) -> Val {
        match view {
            View::Run => self.run_root(scope),
            View::Parents(names) => {
                let names = names.iter().map(String::as_str);
                single("parents", self.outputs(names, scope))
            }
            View::Nodes => single("nodes", self.outputs(scope.step_names().into_iter(), scope)),
            View::Result => Val::Null,
        }
    }

    fn run_root(&self, scope: &dyn Scope) -> Val {
        let mut root = Vec::new();
        if self.everything || self.inputs {
            root.push(("inputs", Val::from_json(scope.input())));
        }
        let names = scope.step_names();
        root.push(("steps", self.outputs(names.iter().copied(), scope)));
        let results = names.into_iter().filter_map(|name| {
            let parts = match self.results.get(name) {
                None if self.everything => &BTreeSet::new(),
                found => found?,
            };
            Some((name, parts_of(scope, name, parts)))
        });
        root.push(("results", Val::object(results)));
        if self.everything || self.run {
            let fields = RunField::ALL.into_iter();
            let fields =
                fields.map(|field| (field.as_str(), Val::from_json(&run_field(scope, field))));
            root.push(("run", Val::object(fields)));
        }
        if let Some(item) = scope.item() {
            root.push((item.name, Val::from_json(item.value)));
            root.push(("index", Val::from_json(&Value::from(item.index))));
        }
        Val::object(root)
    }

    fn outputs<'a>(&self, names: impl Iterator<Item = &'a str>, scope: &dyn Scope) -> Val {
        let wanted = names.filter(|name| self.everything || self.steps.contains(*name));
        Val::object(wanted.map(|name| {
            let output = scope.step(name).and_then(|step| step.output);
            (name, output.map_or(Val::Null, Val::from_json))
        }))
    }
}

fn parts_of(scope: &dyn Scope, name: &str, parts: &BTreeSet<Facet>) -> Val {
    let wanted = Facet::ALL
        .into_iter()
        .filter(|part| parts.is_empty() || parts.contains(part));
    Val::object(wanted.filter_map(|part| {
        let value = step_facet(scope, name, part)?;
        Some((part.as_str(), Val::from_json(&value)))
    }))
}

fn single(key: &'static str, value: Val) -> Val {
    Val::object([(key, value)])
}

/// A tool result with its payload beside it. A result that is no object is its own payload.
pub(super) fn result_root(result: &Value, payload: &Value) -> Val {
    let Value::Object(fields) = result else {
        return single("result", Val::from_json(payload));
    };
    let fields = fields
        .iter()
        .filter(|(key, _)| *key != "result")
        .map(|(key, value)| (key.as_str(), Val::from_json(value)));
    Val::object(fields.chain([("result", Val::from_json(payload))]))
}
