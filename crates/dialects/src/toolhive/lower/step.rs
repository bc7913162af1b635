//! Steps: tool calls and loops. Questions and policies have files of their own.

use super::super::expressions::Reader;
use super::super::syntax::{Call as WrittenCall, Kind, Loop, Step as Written};
use super::{policy, question};
use crate::arguments;
use crate::limits::{
    TOOLHIVE_LOOP_ITEMS, TOOLHIVE_LOOP_PARALLEL, TOOLHIVE_LOOP_PARALLEL_MAX, TOOLHIVE_STEP_TIMEOUT,
};
use crate::name::{self, StepNamed};
use onecall_source::{Diagnostic, Diagnostics, Node, NodeKind, Spanned, Text, codes};
use onecall_workflow::evaluate::boolean_word;
use onecall_workflow::expression::{Expression, ValueTemplate, nowhere};
use onecall_workflow::name::{StepName, ToolName};
use onecall_workflow::policy::SkippedNeed;
use onecall_workflow::step::{
    Action, Call, Condition, Each, Need, NeedOrigin, Reading, Shape, Step, Truth, UNREADABLE_ITEM,
    Unfound,
};

const STEP_ID: StepNamed = StepNamed {
    name: "id",
    of: "a step",
    help: "use letters, digits and `_`, so that templates can read the step",
    refuses: |_| None,
};

/// What holds for every step of one composite tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) reader: Reader,
    /// `failureMode: continue`.
    pub(super) continues: bool,
}

impl Context {
    pub(super) fn step(self, written: &Written<'_>, diagnostics: &mut Diagnostics) -> Option<Step> {
        let id = written.id?;
        diagnostics.extend(name::step_fault(id, STEP_ID));
        let what = format!("step `{id}`");
        let needs = written.depends_on.iter().map(|name| Need {
            step: StepName::from(name.as_str()),
            origin: NeedOrigin::Declared,
            optional: false,
            default: None,
            place: name.place().clone(),
        });
        let needs: Vec<Need> = needs.collect();
        let mut step = self.common(written, StepName::from(id.as_str()), &what, diagnostics);
        step.needs = without_repeats(needs, diagnostics);
        step.place = id.place().clone();
        step.timeout = Some(
            written
                .timeout
                .as_ref()
                .map_or(TOOLHIVE_STEP_TIMEOUT, |timeout| timeout.value),
        );
        if let (Action::Each(_), Some(on_error)) = (&step.action, &written.on_error)
            && step.on_error.retry.is_some()
        {
            diagnostics.push(loop_retry(on_error.action.as_ref(), on_error.node));
        }
        Some(step)
    }

    /// What a step and the step inside of a loop have in common. What cannot be read has a stand-in, so that the
    /// rest of the step is seen.
    fn common(
        self,
        written: &Written<'_>,
        name: StepName,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Step {
        let on_error = policy::on_error(written.on_error.as_ref(), self.continues, diagnostics);
        let when = written
            .condition
            .and_then(|node| self.condition(node, what, diagnostics));
        let action = match &written.kind {
            None => Action::Call(Call::unreadable(ValueTemplate::empty_object())),
            Some(Kind::Tool(call)) => Action::Call(self.call(call, what, diagnostics)),
            Some(Kind::Elicitation(asked)) => {
                Action::Ask(question::ask(asked, self.reader, what, diagnostics))
            }
            Some(Kind::ForEach(each)) => Action::Each(self.each(each, &name, what, diagnostics)),
        };
        Step {
            name,
            title: written.title.map(ToString::to_string),
            description: written.description.map(ToString::to_string),
            needs: Vec::new(),
            when,
            action,
            timeout: written.timeout.as_ref().map(|timeout| timeout.value),
            on_error,
            skipped_need: SkippedNeed::Runs,
            default: written.default_results.map(Node::to_json),
            mock: None,
            place: written.node.place.clone(),
        }
    }

    fn call(self, written: &WrittenCall<'_>, what: &str, diagnostics: &mut Diagnostics) -> Call {
        let arguments = written
            .arguments
            .map_or_else(ValueTemplate::empty_object, |node| {
                self.reader.values(node, "", what, diagnostics)
            });
        let Some(tool) = written.tool else {
            return Call::unreadable(arguments);
        };
        let fault = name::tool_fault(tool, |shown| {
            format!("tool `{shown}` of {what} must be in format 'workload.tool_name'")
        });
        if let Some(fault) = fault {
            diagnostics.push(fault);
            return Call::unreadable(arguments);
        }
        Call {
            tool: ToolName::from(tool.as_str()),
            arguments,
            reading: Reading::ContentMap,
            missing: Unfound::LeftOut,
            idempotent: written.idempotent,
            transform: None,
            budget: None,
            tool_place: tool.place().clone(),
            argument_places: written.arguments.map(arguments::places).unwrap_or_default(),
        }
    }

    fn each(
        self,
        each: &Loop<'_>,
        outer: &StepName,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Each {
        let mut item_name = each.item_var.map_or("item", |name| name.as_str());
        if let Some(fault) = each
            .item_var
            .and_then(|name| name::item_fault(name, "itemVar"))
        {
            diagnostics.push(fault);
            item_name = UNREADABLE_ITEM;
        }
        let body = match &each.step {
            Some(inner) => self.body(inner, outer, what, diagnostics),
            None => Step::unreadable(outer.clone(), nowhere()),
        };
        let items = match each.collection {
            Some(collection) => {
                let what = format!("the collection of {what}");
                let items = self.reader.value(collection, &what, diagnostics);
                check_collection(collection, &items, diagnostics);
                items
            }
            None => Expression::text("[]"),
        };
        let iterations = each
            .max_iterations
            .as_ref()
            .map_or(0, |stated| stated.value);
        Each {
            items,
            item_name: item_name.to_owned(),
            parallel_max: parallel_max(each.max_parallel.as_ref(), diagnostics),
            iterations_max: match u32::try_from(iterations) {
                Ok(0) | Err(_) => TOOLHIVE_LOOP_ITEMS,
                Ok(stated) => stated,
            },
            output: Shape::Report,
            ends_at_failure: false,
            body: Box::new(body),
        }
    }

    fn body(
        self,
        inner: &Written<'_>,
        outer: &StepName,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Step {
        let name = inner
            .id
            .map_or_else(|| outer.clone(), |id| StepName::from(id.as_str()));
        // The loop continues as a whole; its items abort it unless they say otherwise.
        let context = Self {
            continues: false,
            ..self
        };
        let what = format!("the inner step of {what}");
        let mut body = context.common(inner, name, &what, diagnostics);
        if let Some(id) = inner.id {
            body.place = id.place().clone();
        }
        body
    }

    fn condition(
        self,
        node: &Node,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Condition> {
        let text = match &node.kind {
            NodeKind::Bool(value) => &Text::new(value.to_string(), &node.place),
            _ => node.expect_string("condition", diagnostics)?,
        };
        // An empty condition is none, as in the resource it may have been read back from.
        if text.is_empty() {
            return None;
        }
        let test = self
            .reader
            .value(text, &format!("the condition of {what}"), diagnostics);
        if test.is_constant() && !text.contains("{{") {
            diagnostics.push(constant_condition(text, what));
        }
        Some(Condition {
            test,
            truth: Truth::Words,
        })
    }
}

fn without_repeats(needs: Vec<Need>, diagnostics: &mut Diagnostics) -> Vec<Need> {
    let mut kept: Vec<Need> = Vec::with_capacity(needs.len());
    for need in needs {
        if kept.iter().any(|earlier| earlier.step == need.step) {
            diagnostics.push(repeated_need(&need));
        } else {
            kept.push(need);
        }
    }
    kept
}

fn parallel_max(stated: Option<&Spanned<i64>>, diagnostics: &mut Diagnostics) -> u32 {
    let Some(stated) = stated.filter(|stated| stated.value != 0) else {
        return TOOLHIVE_LOOP_PARALLEL;
    };
    let value = u32::try_from(stated.value).unwrap_or(u32::MAX);
    if value > TOOLHIVE_LOOP_PARALLEL_MAX {
        diagnostics.push(policy::clamped(
            "maxParallel",
            stated,
            TOOLHIVE_LOOP_PARALLEL_MAX,
        ));
    }
    value.min(TOOLHIVE_LOOP_PARALLEL_MAX)
}

fn check_collection(text: &Text, items: &Expression, diagnostics: &mut Diagnostics) {
    if !items.is_constant() || text.contains("{{") {
        return;
    }
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(text);
    if parsed.is_ok_and(|value| value.is_array() || value.is_null()) {
        return;
    }
    diagnostics.push(
        Diagnostic::error(
            codes::CONSTANT_COLLECTION,
            "the collection is a fixed text that is no JSON list",
        )
        .label(text.place(), "not a list")
        .help("write a template that gives a list, such as `{{json .steps.list.output.items}}`"),
    );
}

fn repeated_need(need: &Need) -> Diagnostic {
    Diagnostic::warning(
        codes::DUPLICATE_STEP,
        format!("`dependsOn` names `{}` twice", need.step),
    )
    .label(&need.place, "named before")
    .help("remove one of them")
}

fn loop_retry(action: Option<&Spanned<&'static str>>, node: &Node) -> Diagnostic {
    let place = action.map_or(&node.place, |action| &action.place);
    debug_assert!(action.is_none_or(|action| action.value == "retry"));
    Diagnostic::error(codes::LOOP_RETRY, "a loop cannot be retried as a whole")
        .label(place, "not for a loop")
        .help("move `onError` into `step`, so that each item is retried by itself")
}

fn constant_condition(text: &Text, what: &str) -> Diagnostic {
    let shown: String = text.chars().take(60).collect();
    match boolean_word(text.trim()) {
        Some(_) => Diagnostic::warning(
            codes::CONSTANT_CONDITION,
            format!("the condition of {what} is always `{}`", shown.trim()),
        )
        .label(text.place(), "does not depend on anything")
        .help("write a template such as `{{.params.enabled}}`, or remove the condition"),
        None => Diagnostic::error(
            codes::CONSTANT_CONDITION,
            format!("the condition of {what} is the text `{shown}`, neither true nor false"),
        )
        .label(text.place(), "not a template")
        .help("write it as a template: `{{ … }}` around an expression that gives true or false"),
    }
}
