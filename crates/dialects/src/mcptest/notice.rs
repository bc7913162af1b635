//! Where a suite touches a point on which the mcptest page and mcptest 1.3.0 differ. The page is followed; one
//! notice a suite names the points, so that nobody wonders why two programs say different things.

use super::syntax::{Composition, Step, Suite};
use super::template::{self, Part};
use crate::limits::NOTICE_PLACES_MAX;
use onecall_source::{Diagnostic, Entry, Node, NodeKind, Place, Text, codes, counted};

/// A point of difference: what the suite has, and what 1.3.0 makes of it.
type Point = (&'static str, &'static str);

const BARE_LOOP: Point = ("`for_each` over a bare name", "cannot load it");
const BARE_READ: Point = (
    "a whole output or element as `${name}`",
    "puts an empty text there",
);
const LIVE_PARENT: Point = (
    "nodes that need a live one",
    "runs them after it failed, with its error text as data",
);
const CASES_CONTROL: Point = (
    "`cases` with `when` or `for_each`",
    "ignores both in a run with cases",
);
const GOLDEN: Point = ("`golden`", "never compares it");
const TOTALS: Point = (
    "targets `tokens.total`, `composition.budget_tripped`, `composition.cost_total`",
    "gives null for them",
);
const COMPARISONS: Point = ("matchers `lt lte gt gte`", "refuses them");
const CALL_CAPS: Point = (
    "`max_duration_ms` and caps on single calls",
    "never looks at them",
);
const SPEND_CAPS: Point = (
    "`max_cost_usd`, `max_tokens`",
    "compares them with totals that are always 0",
);
const EVAL: Point = ("`eval`", "always defers it");
const CRITERIA: Point = ("rubric criteria without `description`", "refuses them");
const WIDTH: Point = ("`max_concurrency`", "runs one element after another");
const SIDE_BY_SIDE: Point = ("independent nodes", "runs one after another");
const NO_EXPECT: Point = (
    "a composition without `expect`",
    "passes it whatever its nodes did",
);

/// The notice of a suite that touches any point.
pub(super) fn differences(suite: &Suite<'_>) -> Option<Diagnostic> {
    let mut points = Points {
        publishes_all: suite.publish,
        found: Vec::new(),
    };
    for composition in &suite.compositions {
        points.composition(composition);
    }
    let (_, first) = points.found.first()?;
    let touched = counted(points.found.len(), "point");
    let message = format!(
        "this suite touches {touched} where mcptest 1.3.0 differs from its page; the page is followed"
    );
    let mut notice =
        Diagnostic::remark(codes::SUITE_DIFFERS, message).label(first, points.found[0].0.0);
    for (point, place) in points.found.iter().skip(1).take(NOTICE_PLACES_MAX - 1) {
        notice = notice.secondary(place, point.0);
    }
    for ((what, other), _) in &points.found {
        notice = notice.note(format!("{what}: 1.3.0 {other}"));
    }
    Some(notice.help(
        "nothing has to be done; `--compat mcptest-1.3` follows 1.3.0 in bare names, the order of calls and the form of the report",
    ))
}

/// The notice of a suite that has tests which `onecall test` does not run.
pub(super) fn not_run(suite: &Suite<'_>) -> Option<Diagnostic> {
    let mut keys: Vec<&Text> = Vec::new();
    for key in suite.tests.iter().copied() {
        if !keys.iter().any(|known| **known == *key.as_str()) {
            keys.push(key);
        }
    }
    let names: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    let message = format!("tests are not run yet: {}", names.join(", "));
    let mut notice = Diagnostic::remark(codes::NOT_RUN_YET, message);
    for key in keys.iter().take(NOTICE_PLACES_MAX) {
        notice = notice.label(key.place(), "not run");
    }
    let notice = notice.help("`onecall test` runs `compositions`");
    (!keys.is_empty()).then_some(notice)
}

/// Points found, each once, with the first place of it.
struct Points {
    /// Compositions are tools, unless they say otherwise.
    publishes_all: bool,
    found: Vec<(Point, Place)>,
}

impl Points {
    fn add(&mut self, point: Point, place: &Place) {
        if !self.found.iter().any(|(known, _)| *known == point) {
            self.found.push((point, place.clone()));
        }
    }

    fn composition(&mut self, composition: &Composition<'_>) {
        for step in &composition.steps {
            self.step(step, composition);
        }
        self.side_by_side(composition);
        self.budget(composition);
        match composition.expect {
            Some(expect) => self.assertions(&expect.value),
            // What is published is no test.
            None if self.publishes_all || composition.publish.is_some() => {}
            None => {
                let place = composition
                    .name
                    .map_or(&composition.node.place, |name| name.place());
                self.add(NO_EXPECT, place);
            }
        }
        if let Some(cases) = composition.cases {
            self.cases(cases, composition);
        }
        if let Some(eval) = composition.eval {
            self.add(EVAL, eval.key.place());
            self.criteria(&eval.value);
        }
    }

    fn step(&mut self, step: &Step<'_>, composition: &Composition<'_>) {
        if let Some(for_each) = step.for_each
            && let [Part::Read(read)] = template::parse(for_each)
                .unwrap_or_default()
                .parts
                .as_slice()
            && read.is_bare()
        {
            self.add(BARE_LOOP, for_each.place());
        }
        if let Some(args) = step.args {
            self.bare_reads(args);
        }
        if let Some(width) = step
            .max_concurrency
            .as_ref()
            .filter(|width| width.value > 1)
        {
            self.add(WIDTH, &width.place);
        }
        if let Some(place) = &step.call_caps_place {
            self.add(CALL_CAPS, place);
        }
        let is_live = |id: &str| {
            let mut steps = composition.steps.iter();
            steps.any(|other| other.id.is_some_and(|own| *own == *id) && other.mock.is_none())
        };
        if let Some(need) = step.needs.iter().find(|need| is_live(need.id.as_str())) {
            self.add(LIVE_PARENT, need.id.place());
        }
    }

    fn bare_reads(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::String(text) => {
                for part in template::parse(text).unwrap_or_default().parts {
                    if let Part::Read(read) = part
                        && read.is_bare()
                    {
                        self.add(BARE_READ, &text.place_of(read.range));
                    }
                }
            }
            NodeKind::Sequence(items) => {
                for item in items {
                    self.bare_reads(item);
                }
            }
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    self.bare_reads(&entry.value);
                }
            }
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {}
        }
    }

    /// Two live nodes of which neither waits for anything can run together.
    fn side_by_side(&mut self, composition: &Composition<'_>) {
        let free = |step: &&Step<'_>| step.needs.is_empty() && step.mock.is_none();
        if let Some(second) = composition.steps.iter().filter(free).nth(1)
            && let Some(id) = second.id
        {
            self.add(SIDE_BY_SIDE, id.place());
        }
    }

    fn budget(&mut self, composition: &Composition<'_>) {
        let Some(budget) = &composition.budget else {
            return;
        };
        if budget.duration_ms.is_some() {
            self.add(CALL_CAPS, &budget.node.place);
        }
        if budget.cost_usd.is_some() || budget.tokens.is_some() {
            self.add(SPEND_CAPS, &budget.node.place);
        }
    }

    fn cases(&mut self, cases: &Entry, composition: &Composition<'_>) {
        let controlled = |step: &Step<'_>| step.when.is_some() || step.for_each.is_some();
        if composition.steps.iter().any(controlled) {
            self.add(CASES_CONTROL, cases.key.place());
        }
        for case in cases.value.as_sequence().unwrap_or_default() {
            if let Some(golden) = case.get("golden") {
                self.add(GOLDEN, &golden.place);
            }
            if let Some(expect) = case.get("expect") {
                self.assertions(expect);
            }
        }
    }

    fn assertions(&mut self, list: &Node) {
        for assertion in list.as_sequence().unwrap_or_default() {
            let target = assertion.get("target").and_then(Node::as_text);
            if let Some(target) = target {
                let totals = [
                    "tokens.total",
                    "composition.budget_tripped",
                    "composition.cost_total",
                ];
                if totals.contains(&target.as_str()) {
                    self.add(TOTALS, target.place());
                }
            }
            let matcher = assertion.get("matcher").and_then(Node::as_mapping);
            for entry in matcher.unwrap_or_default() {
                if ["lt", "lte", "gt", "gte"].contains(&entry.key.as_str()) {
                    self.add(COMPARISONS, entry.key.place());
                }
            }
        }
    }

    fn criteria(&mut self, eval: &Node) {
        let criteria = eval.get("rubric").and_then(|rubric| rubric.get("criteria"));
        let criteria = criteria.and_then(Node::as_sequence).unwrap_or_default();
        if let Some(bare) = criteria.iter().find(|one| one.get("description").is_none()) {
            self.add(CRITERIA, &bare.place);
        }
    }
}
