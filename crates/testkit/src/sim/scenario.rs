//! Random workflows with the world they run in, made from a seed and a number.

use super::dice::Dice;
use onecall_engine::event::AnswerAction;
use onecall_workflow::coerce::Coercer;
use onecall_workflow::expression::{
    Expression, Facet, JqProgram, Path, Program, Root, Segment, ValueTemplate, View, nowhere,
};
use onecall_workflow::name::{BackendName, StepName};
use onecall_workflow::plan::{BoundTool, Plan, Repeatable};
use onecall_workflow::policy::{
    AllFailed, Budget, OnError, Refusal, Retry, RetryOn, Run, RunTimeout, SkippedNeed, Then,
    WhileAsking,
};
use onecall_workflow::step::{
    Action, Ask, Call, Condition, Each, Need, Reading, Shape, Step, Truth,
};
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset, Workflow,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A workflow, its parameters and the world around it.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) number: u64,
    pub(super) seed: u64,
    pub(super) plan: Arc<Plan>,
    pub(super) input: Arc<Value>,
    /// Nothing depends on time: the end must be the same however the run is disturbed.
    pub(super) is_timely: bool,
    pub(super) tools: Vec<ToolModel>,
    pub(super) people: Vec<Vec<Person>>,
    pub(super) cancel_after: Option<Duration>,
}

/// How the tool of a step behaves.
#[derive(Clone, Debug)]
pub(super) struct ToolModel {
    /// Definite failures before the first success; each item of a loop adds its index modulo this.
    pub(super) fails: u64,
    pub(super) failure: FailureKind,
    pub(super) latency_ms_max: u64,
    /// Never answers, one time in this many calls. Zero: always answers.
    pub(super) silence: u64,
    /// Asks a person in the middle of each call.
    pub(super) asks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    IsError,
    Unavailable,
    Denied,
    Arguments,
}

/// What a person does when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Person {
    Answers(AnswerAction),
    AnswersWrongly,
    Sleeps,
}

/// All that a scenario's steps have in common.
struct Mood {
    is_timely: bool,
    skipped_need: SkippedNeed,
    skips_remaining: bool,
}

impl Scenario {
    pub(super) fn roll(seed: u64, number: u64) -> Self {
        let mut dice = Dice::of(&[seed, number]);
        let mood = Mood {
            is_timely: dice.chance(60),
            skipped_need: dice.pick(&[
                SkippedNeed::Runs,
                SkippedNeed::Skips,
                SkippedNeed::SkipsAfterFailure,
            ]),
            skips_remaining: dice.chance(30),
        };
        let count = 1 + dice.below(6);
        let steps: Vec<Step> = (0..count)
            .map(|index| step(&mut dice, index, &mood))
            .collect();
        let output = output(&mut dice, &steps);
        let policy = policy(&mut dice, &steps, &mood);
        let tools = steps.iter();
        let tools = tools
            .map(|step| tool_model(&mut dice, step, &mood))
            .collect();
        let people = steps
            .iter()
            .map(|step| people(&mut dice, step, &mood))
            .collect();
        let bound = steps.iter().map(|step| bound(&mut dice, step)).collect();
        let items: Vec<u64> = (0..dice.below(6)).collect();
        let input = json!({
            "yes": true, "no": dice.chance(50), "odd": "perhaps", "items": items,
        });
        let cancels = !mood.is_timely && dice.chance(12);
        let cancel_after = cancels.then(|| Duration::from_millis(dice.below(20_000)));
        Self {
            number,
            seed: dice.next(),
            plan: Arc::new(Plan::plain(workflow(steps, output, policy), bound)),
            input: Arc::new(input),
            is_timely: mood.is_timely,
            tools,
            people,
            cancel_after,
        }
    }
}

/// A plan of plain calls without limits, and the steps each needs.
pub(super) fn plain(dice: &mut Dice, count: u64) -> (Arc<Plan>, Vec<Vec<usize>>) {
    let mut all = Vec::new();
    let mut steps = Vec::new();
    for index in 0..count {
        let others: Vec<u64> = (0..index).filter(|_| dice.chance(15)).collect();
        let needs: Vec<Need> = others
            .iter()
            .map(|other| Need::plain(step_name(*other)))
            .collect();
        steps.push(Step {
            action: Action::Call(Call {
                transform: None,
                budget: None,
                ..call(dice, &needs)
            }),
            ..blank(step_name(index), needs)
        });
        all.push(
            others
                .iter()
                .filter_map(|other| usize::try_from(*other).ok())
                .collect(),
        );
    }
    let tools = steps.iter().map(|step| bound(dice, step)).collect();
    let workflow = workflow(steps, Output::LastCompleted, Run::default());
    (Arc::new(Plan::plain(workflow, tools)), all)
}

fn workflow(steps: Vec<Step>, output: Output, policy: Run) -> Workflow {
    Workflow {
        output,
        policy,
        ..Workflow::plain("simulated", steps)
    }
}

fn policy(dice: &mut Dice, steps: &[Step], mood: &Mood) -> Run {
    // What the items of a loop have cost when one of them ends it depends on time.
    let may_cap = !mood.is_timely || !steps.iter().any(cuts_items_short);
    let limit = if mood.is_timely {
        Duration::from_hours(24)
    } else {
        Duration::from_millis(2_000 + dice.below(60_000))
    };
    let while_asking = dice.pick(&[WhileAsking::Ticks, WhileAsking::Stands]);
    let timeout = dice.chance(60).then_some(RunTimeout {
        limit,
        while_asking,
    });
    Run {
        timeout,
        steps_parallel_max: dice.pick(&[None, Some(1), Some(2), Some(10)]),
        all_failed: dice.pick(&[AllFailed::Completes, AllFailed::Fails]),
        budget: (may_cap && dice.chance(15)).then(|| budget(dice, mood)),
        ..Run::default()
    }
}

/// A loop that a failed item ends, with others under way.
fn cuts_items_short(step: &Step) -> bool {
    match &step.action {
        Action::Each(each) => each.ends_at_failure || each.body.on_error.then == Then::Abort,
        Action::Call(_) | Action::Ask(_) => false,
    }
}

/// How often calls are made and how long they take depends on time; what their results cost does not.
fn budget(dice: &mut Dice, mood: &Mood) -> Budget {
    let none = Budget::default();
    match dice.below(if mood.is_timely { 2 } else { 4 }) {
        0 => Budget {
            cost_usd: Some(dice.pick(&[0.0, 0.1, 0.2, 0.3, 0.5])),
            ..none
        },
        1 => Budget {
            tokens: Some(dice.below(70)),
            ..none
        },
        2 => Budget {
            calls: Some(1 + dice.below(6)),
            ..none
        },
        _ => Budget {
            time: Some(Duration::from_millis(dice.below(20_000))),
            ..none
        },
    }
}

fn step(dice: &mut Dice, index: u64, mood: &Mood) -> Step {
    let others: Vec<u64> = (0..index).filter(|_| dice.chance(35)).collect();
    let needs: Vec<Need> = others
        .into_iter()
        .map(|other| Need {
            optional: dice.chance(20),
            ..Need::plain(step_name(other))
        })
        .collect();
    let action = match dice.below(100) {
        0..60 => Action::Call(call(dice, &needs)),
        60..78 => Action::Ask(ask(dice, mood)),
        _ => Action::Each(each(dice, &needs, mood)),
    };
    let is_ask = matches!(action, Action::Ask(_));
    let is_each = matches!(action, Action::Each(_));
    let mut on_error = on_error(dice, !is_ask && !is_each);
    let default = dice.chance(45).then(|| json!({ "value": 1_000 + index }));
    // What a failed loop has so far depends on time; a timely one shows its default instead.
    if is_each && mood.is_timely && default.is_none() {
        on_error.then = Then::Abort;
    }
    Step {
        when: condition(dice),
        action,
        timeout: step_timeout(dice, mood, is_ask),
        on_error,
        skipped_need: mood.skipped_need,
        default,
        mock: (!is_ask && dice.chance(6)).then(|| json!({ "value": 500 + index })),
        ..blank(step_name(index), needs)
    }
}

fn blank(name: StepName, needs: Vec<Need>) -> Step {
    Step {
        needs,
        ..Step::plain(name, Action::Ask(Ask::plain("")))
    }
}

fn step_name(index: u64) -> StepName {
    StepName::new(format!("s{index}"))
}

fn step_timeout(dice: &mut Dice, mood: &Mood, is_ask: bool) -> Option<Duration> {
    if mood.is_timely {
        return (is_ask || dice.chance(50)).then_some(Duration::from_hours(2));
    }
    // Somebody may stay silent, so every step of such a run has a limit.
    Some(Duration::from_millis(500 + dice.below(20_000)))
}

fn on_error(dice: &mut Dice, may_retry: bool) -> OnError {
    let retry = (may_retry && dice.chance(35)).then(|| Retry {
        times: 1 + u32::try_from(dice.below(3)).unwrap_or(0),
        delay: Duration::from_millis(50 + dice.below(2_000)),
        on: RetryOn::Retryable,
    });
    let then = dice.pick(&[Then::Abort, Then::Continue, Then::Continue]);
    OnError { retry, then }
}

fn condition(dice: &mut Dice) -> Option<Condition> {
    let name = match dice.below(100) {
        0..12 => "yes",
        12..24 => "no",
        24..28 => "odd",
        _ => return None,
    };
    Some(Condition {
        test: path(Root::Input, name),
        truth: Truth::Words,
    })
}

fn path(root: Root, key: &str) -> Expression {
    let segments = vec![Segment::Key(key.to_owned())];
    Expression::new(Program::Path(Path::new(root, segments)), None)
}

fn output_of(step: &StepName) -> Expression {
    let root = Root::Step {
        name: step.as_str().to_owned(),
        facet: Facet::Output,
    };
    path(root, "value")
}

fn call(dice: &mut Dice, needs: &[Need]) -> Call {
    let mut arguments = vec![("x".to_owned(), ValueTemplate::Literal(json!(1)))];
    for need in needs {
        let read = ValueTemplate::Expression(output_of(&need.step));
        arguments.push((need.step.as_str().to_owned(), read));
    }
    Call {
        arguments: ValueTemplate::Object(arguments),
        reading: dice.pick(&[Reading::ContentMap, Reading::Payload]),
        idempotent: dice.chance(15),
        transform: dice.chance(12).then(|| transform(dice)).flatten(),
        ..Call::plain("backend.tool")
    }
}

/// The last one fails whatever it is given.
fn transform(dice: &mut Dice) -> Option<JqProgram> {
    let programs = [
        "{value: (.result.value + 1)}",
        "{value: .result.value, of: .structuredContent.value}",
        "error(\"no\")",
    ];
    JqProgram::compile(dice.pick(&programs), View::Result).ok()
}

fn ask(dice: &mut Dice, mood: &Mood) -> Ask {
    let mut refusals = vec![Refusal::Fails, Refusal::Continues];
    if mood.skips_remaining && !mood.is_timely {
        refusals.push(Refusal::SkipsRemaining);
    }
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "boolean" } },
        "required": ["value"],
    });
    Ask {
        message: Expression::text("may it?"),
        schema: dice.chance(85).then_some(schema),
        bare: dice.chance(30),
        on_decline: dice.pick(&refusals),
        on_cancel: dice.pick(&refusals),
        default_response: dice.chance(25).then(|| json!({ "value": true })),
        output: Shape::Report,
    }
}

fn each(dice: &mut Dice, needs: &[Need], mood: &Mood) -> Each {
    let mut inner = call(dice, needs);
    if let ValueTemplate::Object(arguments) = &mut inner.arguments {
        let item = Root::Item {
            name: "item".to_owned(),
        };
        let program = Program::Path(Path::new(item, Vec::new()));
        arguments.push((
            "item".to_owned(),
            ValueTemplate::Expression(Expression::new(program, None)),
        ));
    }
    let body = Step {
        when: condition(dice).filter(|_| dice.chance(50)),
        action: Action::Call(inner),
        timeout: step_timeout(dice, mood, false),
        on_error: on_error(dice, true),
        default: dice.chance(40).then(|| json!({ "value": 77 })),
        ..blank(StepName::new("body"), Vec::new())
    };
    Each {
        items: path(Root::Input, "items"),
        item_name: "item".to_owned(),
        parallel_max: 1 + u32::try_from(dice.below(4)).unwrap_or(0),
        iterations_max: if dice.chance(10) { 2 } else { 100 },
        output: dice.pick(&[Shape::Report, Shape::Report, Shape::Plain]),
        ends_at_failure: dice.chance(20),
        body: Box::new(body),
    }
}

fn output(dice: &mut Dice, steps: &[Step]) -> Output {
    match dice.below(4) {
        0 => Output::LastCompleted,
        1 => Output::LastInOrder,
        _ => {
            let properties = steps.iter().map(|step| OutputProperty {
                name: step.name.as_str().to_owned(),
                kind: OutputKind::Integer,
                description: None,
                source: OutputSource::Value(output_of(&step.name)),
                default: dice.chance(85).then(|| json!(7)),
                schema: None,
                place: nowhere(),
            });
            let properties: Vec<OutputProperty> = properties.collect();
            let required = properties.iter().map(|property| property.name.clone());
            let required = required.filter(|_| dice.chance(50)).collect();
            Output::Properties(OutputProperties {
                properties,
                required,
                unset: Unset::Fails,
            })
        }
    }
}

fn tool_model(dice: &mut Dice, step: &Step, mood: &Mood) -> ToolModel {
    // Which item of a loop is asked for first depends on time.
    let may_ask = matches!(step.action, Action::Call(_)) || !mood.is_timely;
    let failure = dice.pick(&[
        FailureKind::IsError,
        FailureKind::IsError,
        FailureKind::Unavailable,
        FailureKind::Denied,
        FailureKind::Arguments,
    ]);
    ToolModel {
        fails: dice.pick(&[0, 0, 0, 1, 1, 2, 9]),
        // What is not told by the tool means one thing after a crash and another without one.
        failure: match failure {
            FailureKind::Unavailable | FailureKind::Denied if mood.is_timely => {
                FailureKind::IsError
            }
            other => other,
        },
        latency_ms_max: dice.pick(&[1, 100, 5_000]),
        silence: if mood.is_timely {
            0
        } else {
            dice.pick(&[0, 0, 0, 5])
        },
        asks: may_ask && dice.chance(12),
    }
}

fn people(dice: &mut Dice, step: &Step, mood: &Mood) -> Vec<Person> {
    let wrong = dice.pick(&[0, 0, 0, 1, 2, 5]);
    let mut all = vec![Person::AnswersWrongly; wrong];
    // How often a tool asks depends on crashes, and so would the time that is slept away.
    let is_ask = matches!(step.action, Action::Ask(_));
    let may_sleep = step.timeout.is_some() && (is_ask || !mood.is_timely);
    let last = match dice.below(10) {
        0..5 => Person::Answers(AnswerAction::Accept),
        5..7 => Person::Answers(AnswerAction::Decline),
        7..8 => Person::Answers(AnswerAction::Cancel),
        _ if may_sleep => Person::Sleeps,
        _ => Person::Answers(AnswerAction::Accept),
    };
    // In a timely run an answer to one round is never taken for the next.
    all.push(if mood.is_timely || wrong == 0 {
        last
    } else {
        Person::Answers(AnswerAction::Accept)
    });
    all
}

fn bound(dice: &mut Dice, step: &Step) -> Option<Arc<BoundTool>> {
    step.call()?;
    let repeatable = dice.pick(&[
        Repeatable::ReadOnly,
        Repeatable::Idempotent,
        Repeatable::No,
        Repeatable::No,
    ]);
    Some(Arc::new(BoundTool {
        backend: BackendName::new("backend"),
        original: "tool".to_owned(),
        input: Coercer::new(Value::Bool(true)),
        output_schema: None,
        repeatable,
    }))
}
