//! A workflow written as a workflow file, whatever dialect it came from: reading the text gives the same
//! workflow again. What is implied by workflow files is left out.

mod expressions;
mod yaml;

use expressions::{expression, jq, values};
use onecall_workflow::policy::{
    AllFailed, AnyFailed, Budget, Durability, OnDisconnect, OnError, Refusal, Retry, RetryOn, Run,
    SkippedNeed, Then, WhileAsking,
};
use onecall_workflow::step::{
    Action, Ask, Call, Condition, Each, Reading, Shape, Step, Truth, Unfound,
};
use onecall_workflow::workflow::{
    Annotations, Output, OutputKind, OutputProperty, OutputSource, Unset, Workflow,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The text of a workflow file.
pub fn write(workflow: &Workflow) -> String {
    let mut file = Keys::default();
    file.put("workflow", workflow.name.as_str());
    file.optional("version", workflow.version.as_deref());
    file.optional("title", workflow.title.as_deref());
    file.optional("description", workflow.description.as_deref());
    if !workflow.labels.is_empty() {
        file.put("labels", json!(workflow.labels));
    }
    file.mapping("annotations", annotations(&workflow.annotations));
    if workflow.derives.is_none() && workflow.inputs != json!({ "type": "object" }) {
        file.put("parameters", workflow.inputs.clone());
    }
    run(&mut file, &workflow.policy);
    if let (Some(derives), Some(call)) = (&workflow.derives, derived_call(workflow)) {
        file.put("tool", call.tool.as_str());
        let bound = values(&call.arguments, true);
        file.unless("bind", bound == json!({}), bound);
        file.unless("hide", derives.hidden.is_empty(), json!(derives.hidden));
        output(&mut file, &workflow.output);
        return yaml::document(&file.0);
    }
    let steps = workflow.steps.iter();
    let steps = steps.map(|step| {
        (
            step.name.as_str().to_owned(),
            Value::Object(step_keys(step)),
        )
    });
    file.put("steps", Value::Object(steps.collect()));
    output(&mut file, &workflow.output);
    yaml::document(&file.0)
}

/// The call of a tool that is derived from another.
fn derived_call(workflow: &Workflow) -> Option<&Call> {
    workflow.steps.first()?.written_call()
}

/// The keys of a mapping, in the order they are written.
#[derive(Default)]
struct Keys(Map<String, Value>);

impl Keys {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// A mapping, unless nothing is in it.
    fn mapping(&mut self, key: &str, keys: Keys) {
        if !keys.0.is_empty() {
            self.put(key, keys.0);
        }
    }

    /// A word, where it is not what goes without saying.
    fn unless(&mut self, key: &str, is_implied: bool, value: impl Into<Value>) {
        if !is_implied {
            self.put(key, value);
        }
    }
}

fn annotations(stated: &Annotations) -> Keys {
    let mut keys = Keys::default();
    keys.optional("title", stated.title.as_deref());
    keys.optional("read_only", stated.read_only);
    keys.optional("destructive", stated.destructive);
    keys.optional("idempotent", stated.idempotent);
    keys.optional("open_world", stated.open_world);
    keys
}

fn run(file: &mut Keys, policy: &Run) {
    if let Some(timeout) = policy.timeout {
        let limit = duration_text(timeout.limit);
        file.put(
            "timeout",
            match timeout.while_asking {
                WhileAsking::Ticks => Value::from(limit),
                WhileAsking::Stands => json!({ "limit": limit, "while_asking": "stands" }),
            },
        );
    }
    file.optional("parallel", policy.steps_parallel_max);
    file.unless(
        "all_failed",
        policy.all_failed == AllFailed::Completes,
        "fails",
    );
    file.unless(
        "any_failed",
        policy.any_failed == AnyFailed::Completes,
        "is_error",
    );
    let durability = policy.durability.map(|durability| match durability {
        Durability::None => "none",
        Durability::Async => "async",
        Durability::Sync => "sync",
    });
    file.optional("durability", durability);
    file.unless(
        "on_disconnect",
        policy.on_disconnect == OnDisconnect::Cancel,
        "continue",
    );
    if let Some(budget) = &policy.budget {
        file.put("budget", budget_keys(budget).0);
    }
}

fn budget_keys(budget: &Budget) -> Keys {
    let mut keys = Keys::default();
    keys.optional("calls", budget.calls);
    keys.optional("cost_usd", budget.cost_usd);
    keys.optional("tokens", budget.tokens);
    keys.optional("time", budget.time.map(duration_text));
    keys
}

fn step_keys(step: &Step) -> Map<String, Value> {
    let mut keys = Keys::default();
    about(&mut keys, step);
    let needs = step.needs.iter().map(|need| {
        let step = need.step.as_str();
        match &need.default {
            Some(default) => json!({ "step": step, "default": default }),
            None if need.optional => Value::from(format!("{step}?")),
            None => Value::from(step),
        }
    });
    let needs: Vec<Value> = needs.collect();
    keys.unless("needs", needs.is_empty(), needs);
    condition(&mut keys, step.when.as_ref());
    match &step.action {
        Action::Call(own) => call(&mut keys, own),
        Action::Ask(own) => ask(&mut keys, own),
        Action::Each(own) => each(&mut keys, step, own),
    }
    policies(&mut keys, step);
    keys.optional("mock", step.mock.clone());
    keys.0
}

fn about(keys: &mut Keys, step: &Step) {
    keys.optional("title", step.title.as_deref());
    keys.optional("description", step.description.as_deref());
}

fn condition(keys: &mut Keys, condition: Option<&Condition>) {
    if let Some(condition) = condition {
        keys.put("if", expression(&condition.test));
        keys.unless("truth", condition.truth == Truth::Jq, "words");
    }
}

/// What a step and the step inside of a loop have in common, after what they do.
fn policies(keys: &mut Keys, step: &Step) {
    keys.optional("timeout", step.timeout.map(duration_text));
    on_error(keys, &step.on_error);
    match step.skipped_need {
        SkippedNeed::Skips => {}
        SkippedNeed::Runs => keys.put("after_skip", "run"),
        SkippedNeed::SkipsAfterFailure => keys.put("after_skip", "skip_after_failure"),
    }
    keys.optional("default", step.default.clone());
}

fn on_error(keys: &mut Keys, policy: &OnError) {
    if let Some(retry) = &policy.retry {
        keys.put("retry", retry_keys(retry).0);
    }
    keys.unless("on_error", policy.then == Then::Abort, "continue");
}

fn retry_keys(retry: &Retry) -> Keys {
    let mut keys = Keys::default();
    keys.put("times", retry.times);
    keys.put("delay", duration_text(retry.delay));
    if let RetryOn::Listed(listed) = &retry.on {
        keys.put("on", json!(listed));
    }
    keys
}

fn call(keys: &mut Keys, call: &Call) {
    keys.put("tool", call.tool.as_str());
    let with = values(&call.arguments, true);
    keys.unless("with", with == json!({}), with);
    keys.unless("read", call.reading == Reading::Payload, "content_map");
    keys.unless("missing", call.missing == Unfound::LeftOut, "fail");
    keys.unless("idempotent", !call.idempotent, true);
    keys.optional("transform", call.transform.as_ref().map(jq));
    if let Some(budget) = &call.budget {
        let mut own = Keys::default();
        own.optional("cost_usd", budget.cost_usd);
        own.optional("tokens", budget.tokens);
        keys.put("call_budget", own.0);
    }
}

fn ask(keys: &mut Keys, ask: &Ask) {
    keys.put("ask", expression(&ask.message));
    let inside = |value: &Value, path: &str| value.pointer(path).cloned().unwrap_or_default();
    if let Some(schema) = &ask.schema {
        let own = if ask.bare {
            inside(schema, "/properties/value")
        } else {
            schema.clone()
        };
        keys.put("answer_schema", own);
    }
    if let Some(response) = &ask.default_response {
        let own = if ask.bare {
            inside(response, "/value")
        } else {
            response.clone()
        };
        keys.put("default_answer", own);
    }
    refusal(keys, "on_decline", ask.on_decline);
    refusal(keys, "on_cancel", ask.on_cancel);
    keys.unless("report", ask.output == Shape::Plain, true);
}

fn refusal(keys: &mut Keys, key: &str, refusal: Refusal) {
    match refusal {
        Refusal::Fails => {}
        Refusal::Continues => keys.put(key, "continue"),
        Refusal::SkipsRemaining => keys.put(key, "skip_remaining"),
    }
}

fn each(keys: &mut Keys, step: &Step, each: &Each) {
    keys.put("each", expression(&each.items));
    keys.put("as", each.item_name.as_str());
    keys.put("parallel", each.parallel_max);
    keys.put("max_items", each.iterations_max);
    keys.unless("report", each.output == Shape::Plain, true);
    keys.unless("failed_item", !each.ends_at_failure, "ends_loop");
    let mut body = Keys::default();
    let is_implied = each.body.name == step.name;
    body.unless("name", is_implied, each.body.name.as_str());
    about(&mut body, &each.body);
    condition(&mut body, each.body.when.as_ref());
    if let Action::Call(own) = &each.body.action {
        call(&mut body, own);
    }
    policies(&mut body, &each.body);
    keys.put("do", body.0);
}

fn output(file: &mut Keys, output: &Output) {
    match output {
        Output::LastCompleted => {}
        Output::LastInOrder => file.put("returns", json!({ "$last": "in_order" })),
        Output::Value(template) => file.put("returns", values(template, true)),
        Output::Properties(block) => {
            let required = |name: &String| block.required.contains(name);
            file.put("outputs", properties(&block.properties, &required));
            file.unless("unset_outputs", block.unset == Unset::LeftOut, "fail");
        }
    }
}

fn properties(list: &[OutputProperty], required: &dyn Fn(&String) -> bool) -> Value {
    let entries = list.iter().map(|property| {
        let own = property_value(property, required(&property.name));
        (property.name.clone(), own)
    });
    Value::Object(entries.collect())
}

fn property_value(property: &OutputProperty, is_required: bool) -> Value {
    let says_more = property.description.is_some()
        || property.default.is_some()
        || property.schema.is_some()
        || property.kind != OutputKind::Any
        || is_required;
    if let (OutputSource::Value(value), false) = (&property.source, says_more) {
        return expression(value);
    }
    let mut keys = Keys::default();
    keys.put("type", property.kind.as_str());
    keys.optional("description", property.description.as_deref());
    match &property.source {
        OutputSource::Value(value) => keys.put("value", expression(value)),
        OutputSource::Properties(below) => keys.put("properties", properties(below, &|_| false)),
    }
    keys.optional("default", property.default.clone());
    keys.unless("required", !is_required, true);
    if let Some(Value::Object(schema)) = &property.schema {
        keys.0.extend(schema.clone());
    }
    Value::Object(keys.0)
}

/// The largest unit in which the time is a whole number.
fn duration_text(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (unit, length) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if millis.is_multiple_of(length) {
            return format!("{}{unit}", millis / length);
        }
    }
    format!("{millis}ms")
}
