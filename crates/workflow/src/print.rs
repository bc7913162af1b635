//! A workflow as stable text, every policy spelled out: what golden tests compare and `check --print` shows.
//! Whether an edge was declared or inferred is no part of the meaning, so it is not printed.

mod expressions;

use crate::builder::shown_duration;
use crate::policy::{
    AllFailed, AnyFailed, Durability, OnDisconnect, OnError, Refusal, RetryOn, Run, SkippedNeed,
    Then, WhileAsking,
};
use crate::step::{Action, Ask, Call, Each, Reading, Shape, Step, Truth, Unfound};
use crate::workflow::{Annotations, Output, OutputProperty, OutputSource, Unset, Workflow};
use expressions::{expression, jq, json, values};
use onecall_source::counted;
use std::fmt::Write;

/// The printed form.
pub fn print(workflow: &Workflow) -> String {
    let mut page = Page::default();
    page.line(format_args!("workflow {}", workflow.name));
    page.inside(|page| {
        page.optional("version", workflow.version.as_deref());
        page.optional("title", workflow.title.as_deref());
        page.optional("description", workflow.description.as_deref());
        for (key, value) in &workflow.labels {
            page.line(format_args!("label {key} = {}", json(value)));
        }
        annotations(page, &workflow.annotations);
        page.line(format_args!("input {}", json(&workflow.inputs)));
        if let Some(derives) = &workflow.derives {
            let hidden = derives.hidden.join(", ");
            page.line(format_args!("derived from its tool, hidden: [{hidden}]"));
        }
        run(page, &workflow.policy);
        for step in &workflow.steps {
            whole_step(page, step);
        }
        output(page, &workflow.output);
    });
    page.text
}

/// One step of the printed form.
pub fn step(step: &Step) -> String {
    let mut page = Page::default();
    whole_step(&mut page, step);
    page.text
}

fn whole_step(page: &mut Page, step: &Step) {
    page.line(format_args!("step {}", step.name));
    page.inside(|page| print_step(page, step));
}

/// Text with an indent.
#[derive(Default)]
struct Page {
    text: String,
    depth: usize,
}

impl Page {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    fn inside(&mut self, body: impl FnOnce(&mut Self)) {
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }

    fn optional(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(format_args!("{key} {}", json(&value)));
        }
    }
}

fn annotations(page: &mut Page, stated: &Annotations) {
    page.optional("annotation title", stated.title.as_deref());
    let hints = [
        ("read_only", stated.read_only),
        ("destructive", stated.destructive),
        ("idempotent", stated.idempotent),
        ("open_world", stated.open_world),
    ];
    for (key, value) in hints {
        if let Some(value) = value {
            page.line(format_args!("annotation {key} {value}"));
        }
    }
}

fn run(page: &mut Page, policy: &Run) {
    match policy.timeout {
        None => page.line(format_args!("timeout none")),
        Some(timeout) => {
            let asking = match timeout.while_asking {
                WhileAsking::Ticks => "ticks",
                WhileAsking::Stands => "stands",
            };
            let limit = shown_duration(timeout.limit);
            page.line(format_args!("timeout {limit}, {asking} while asking"));
        }
    }
    match policy.steps_parallel_max {
        None => page.line(format_args!("parallel unlimited")),
        Some(most) => page.line(format_args!("parallel {most}")),
    }
    let all_failed = match policy.all_failed {
        AllFailed::Completes => "completes",
        AllFailed::Fails => "fails",
    };
    page.line(format_args!("if every step failed: {all_failed}"));
    let any_failed = match policy.any_failed {
        AnyFailed::Completes => "completes",
        AnyFailed::IsError => "is an error",
    };
    page.line(format_args!("if any step failed: {any_failed}"));
    let durability = match policy.durability {
        None => "as configured",
        Some(Durability::None) => "none",
        Some(Durability::Async) => "async",
        Some(Durability::Sync) => "sync",
    };
    page.line(format_args!("durability {durability}"));
    let on_disconnect = match policy.on_disconnect {
        OnDisconnect::Cancel => "cancel",
        OnDisconnect::Continue => "continue",
    };
    page.line(format_args!("on disconnect {on_disconnect}"));
    if let Some(budget) = &policy.budget {
        page.line(format_args!("budget {}", json(budget)));
    }
}

fn print_step(page: &mut Page, step: &Step) {
    page.optional("title", step.title.as_deref());
    page.optional("description", step.description.as_deref());
    let needs = step.needs.iter().map(|need| {
        let step = &need.step;
        match &need.default {
            Some(default) => format!("{step} (optional, default {})", json(default)),
            None if need.optional => format!("{step} (optional)"),
            None => step.to_string(),
        }
    });
    let mut needs: Vec<String> = needs.collect();
    needs.sort_unstable();
    if !needs.is_empty() {
        page.line(format_args!("needs {}", needs.join(", ")));
    }
    if let Some(condition) = &step.when {
        let truth = match condition.truth {
            Truth::Words => "true or false",
            Truth::Jq => "jq truth",
        };
        page.line(format_args!(
            "when ({truth}) {}",
            expression(&condition.test)
        ));
    }
    match &step.action {
        Action::Call(own) => call(page, own),
        Action::Ask(own) => ask(page, own),
        Action::Each(own) => each(page, own),
    }
    match step.timeout {
        None => page.line(format_args!("timeout none")),
        Some(timeout) => page.line(format_args!("timeout {}", shown_duration(timeout))),
    }
    on_error(page, &step.on_error);
    let skipped = match step.skipped_need {
        SkippedNeed::Runs => "runs",
        SkippedNeed::Skips => "is skipped too",
        SkippedNeed::SkipsAfterFailure => "is skipped too, and after a failed one",
    };
    page.line(format_args!("after a skipped step: {skipped}"));
    if let Some(default) = &step.default {
        page.line(format_args!("default {}", json(default)));
    }
    if let Some(mock) = &step.mock {
        page.line(format_args!("mock {}", json(mock)));
    }
}

fn call(page: &mut Page, call: &Call) {
    let reading = match call.reading {
        Reading::ContentMap => "content map",
        Reading::Payload => "payload",
    };
    page.line(format_args!("call {} reading {reading}", call.tool));
    if call.missing == Unfound::Fails {
        page.line(format_args!("a read that finds nothing fails"));
    }
    if call.idempotent {
        page.line(format_args!("idempotent"));
    }
    if let Some(transform) = &call.transform {
        page.line(format_args!("transform {}", jq(transform)));
    }
    if let Some(budget) = &call.budget {
        page.line(format_args!("budget of a call {}", json(budget)));
    }
    page.inside(|page| {
        for line in values(&call.arguments) {
            page.line(format_args!("{line}"));
        }
    });
}

fn ask(page: &mut Page, ask: &Ask) {
    page.line(format_args!("ask {}", expression(&ask.message)));
    page.inside(|page| {
        match &ask.schema {
            None => page.line(format_args!("for confirmation")),
            Some(schema) if ask.bare => page.line(format_args!("for one value {}", json(schema))),
            Some(schema) => page.line(format_args!("for {}", json(schema))),
        }
        page.line(format_args!("on decline {}", refusal(ask.on_decline)));
        page.line(format_args!("on cancel {}", refusal(ask.on_cancel)));
        if let Some(response) = &ask.default_response {
            page.line(format_args!("without an answer {}", json(response)));
        }
        page.line(format_args!("output {}", shape(ask.output, "the answer")));
    });
}

fn shape(shape: Shape, plain: &'static str) -> &'static str {
    match shape {
        Shape::Report => "a report",
        Shape::Plain => plain,
    }
}

fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Fails => "fail",
        Refusal::Continues => "continue",
        Refusal::SkipsRemaining => "skip the remaining steps",
    }
}

fn each(page: &mut Page, each: &Each) {
    page.line(format_args!(
        "for each {} in {}",
        each.item_name,
        expression(&each.items)
    ));
    page.inside(|page| {
        page.line(format_args!("parallel {}", each.parallel_max));
        page.line(format_args!("items at most {}", each.iterations_max));
        page.line(format_args!("output {}", shape(each.output, "a list")));
        let failed = if each.ends_at_failure {
            "ends the loop"
        } else {
            "does what on error says"
        };
        page.line(format_args!("failed item {failed}"));
        print_step(page, &each.body);
    });
}

fn on_error(page: &mut Page, policy: &OnError) {
    let then = match policy.then {
        Then::Abort => "abort",
        Then::Continue => "continue",
    };
    let Some(retry) = &policy.retry else {
        page.line(format_args!("on error {then}"));
        return;
    };
    let on = match &retry.on {
        RetryOn::Retryable => "what is retryable".to_owned(),
        RetryOn::Listed(listed) => listed.join(", "),
    };
    let delay = shown_duration(retry.delay);
    page.line(format_args!(
        "on error retry {} after {delay} on {on}, then {then}",
        counted(retry.times, "time")
    ));
}

fn output(page: &mut Page, output: &Output) {
    match output {
        Output::LastCompleted => page.line(format_args!("output of the last completed step")),
        Output::LastInOrder => page.line(format_args!("output of the last step in order")),
        Output::Value(template) => {
            page.line(format_args!("output"));
            page.inside(|page| {
                for line in values(template) {
                    page.line(format_args!("{line}"));
                }
            });
        }
        Output::Properties(block) => {
            page.line(format_args!("output"));
            page.inside(|page| properties(page, &block.properties));
            if !block.required.is_empty() {
                page.line(format_args!(
                    "output requires {}",
                    block.required.join(", ")
                ));
            }
            let unset = match block.unset {
                Unset::Fails => "fails",
                Unset::LeftOut => "is left out",
            };
            page.line(format_args!("output without a value {unset}"));
        }
    }
}

fn properties(page: &mut Page, list: &[OutputProperty]) {
    for property in list {
        let kind = property.kind.as_str();
        match &property.source {
            OutputSource::Value(value) => {
                page.line(format_args!(
                    "{}: {kind} = {}",
                    property.name,
                    expression(value)
                ));
            }
            OutputSource::Properties(_) => page.line(format_args!("{}: {kind}", property.name)),
        }
        page.inside(|page| {
            page.optional("description", property.description.as_deref());
            if let Some(default) = &property.default {
                page.line(format_args!("default {}", json(default)));
            }
            if let Some(schema) = &property.schema {
                page.line(format_args!("schema {}", json(schema)));
            }
            if let OutputSource::Properties(below) = &property.source {
                properties(page, below);
            }
        });
    }
}
