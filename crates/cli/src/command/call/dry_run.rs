//! `onecall call --dry-run`: the plan, the first arguments, who would be asked, and the derived annotations.

use crate::exit::Exit;
use crate::print;
use onecall_engine::event::What;
use onecall_runtime::preview::{Preview, PreviewError};
use onecall_runtime::runtime::Runtime;
use onecall_workflow::step::{Action, Step};
use serde_json::Value;

pub(super) async fn run(runtime: &Runtime, tool: &str, arguments: Value) -> anyhow::Result<Exit> {
    let preview = match runtime.preview(tool, arguments).await {
        Ok(preview) => preview,
        Err(error) => {
            print::err(format!("error: {error}"));
            return Ok(match error {
                PreviewError::Unknown(_) => Exit::NothingSelected,
                PreviewError::Unreachable(_) => Exit::Unreachable,
                PreviewError::NotAWorkflow(_)
                | PreviewError::Withheld { .. }
                | PreviewError::Input(_) => Exit::Failed,
            });
        }
    };
    show(tool, &preview);
    Ok(Exit::Ok)
}

fn show(tool: &str, preview: &Preview) {
    let workflow = &preview.plan.workflow;
    let asking = workflow.steps.iter().filter(|step| asks(step)).count();
    let people = match asking {
        0 => "asks nobody".to_owned(),
        1 => "asks a person once".to_owned(),
        many => format!("asks a person {many} times"),
    };
    let steps = print::counted(workflow.steps.len(), "step");
    print::out(format!(
        "`{tool}` runs {steps} and {people}; nothing was called"
    ));
    for (hint, value) in preview.annotations.as_object().into_iter().flatten() {
        print::out(format!("  {hint}: {value}"));
    }
    for (index, step) in workflow.steps.iter().enumerate() {
        print::out(format!(
            "{:>3} {}",
            index + 1,
            headline(step, preview, index)
        ));
        for line in decided(preview, index) {
            print::out(format!("      {line}"));
        }
    }
}

fn asks(step: &Step) -> bool {
    matches!(step.action, Action::Ask(_)) && step.mock.is_none()
}

/// `letters   calls demo.count, after hello, if its condition holds`
fn headline(step: &Step, preview: &Preview, index: usize) -> String {
    let bound = preview.plan.tools.get(index).and_then(Option::as_ref);
    let tool = bound.map(|tool| format!("{}.{}", tool.backend, tool.original));
    let tool = tool.unwrap_or_default();
    let mut parts = vec![match &step.action {
        _ if step.mock.is_some() => "is mocked".to_owned(),
        Action::Call(_) => format!("calls {tool}"),
        Action::Each(each) => format!("calls {tool} for each {}", each.item_name),
        Action::Ask(_) => "asks a person".to_owned(),
    }];
    let needs: Vec<&str> = step.needs.iter().map(|need| need.step.as_str()).collect();
    if !needs.is_empty() {
        parts.push(format!("after {}", needs.join(", ")));
    }
    if step.when.is_some() {
        parts.push("if its condition holds".to_owned());
    }
    format!("{}  {}", step.name, parts.join(", "))
}

/// What the start of the run settles about a step.
fn decided(preview: &Preview, index: usize) -> Vec<String> {
    let is_own = |step: u32| step as usize == index;
    let lines = preview
        .decided
        .iter()
        .filter_map(|event| match &event.what {
            What::AttemptStarted {
                call, arguments, ..
            } if is_own(call.step) => {
                let item = call.item.map(|item| format!("[{item}]"));
                let item = item.unwrap_or_default();
                Some(format!("at once{item}: {arguments}"))
            }
            What::QuestionAsked { step, message, .. } if is_own(*step) => {
                Some(format!("at once: {message}"))
            }
            What::ItemsAre { step, items, .. } if is_own(*step) => {
                Some(format!("over {}", print::counted(items.len(), "item")))
            }
            What::StepEnded {
                step,
                status,
                failure,
                reason,
                ..
            } if is_own(*step) => {
                let why = failure.as_ref().map(|failure| failure.message.as_str());
                let why = why.or(reason.as_deref());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                Some(format!("at once {}{why}", status.as_str()))
            }
            _ => None,
        });
    lines.collect()
}
