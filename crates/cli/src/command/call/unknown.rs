//! A call of a tool that nobody has: what may have been meant, and where to look for more.

use crate::exit::Exit;
use crate::limits::{NEAR_MAX, WORKFLOWS_SHOWN_MAX};
use crate::{print, wire};
use onecall_backends::BackendState;
use onecall_runtime::publish::{Published, Target};
use onecall_runtime::runtime::Runtime;
use onecall_source::suggest;

/// `place`: the paths or the URL, as `onecall tools` takes them.
pub(super) fn tell(runtime: &Runtime, published: &Published, tool: &str, place: &str) -> Exit {
    let mut is_down = false;
    for status in runtime.backends() {
        if let BackendState::Down { reason, .. } | BackendState::Invalid { reason } = status.state {
            print::err(format!("error: backend `{}`: {reason}", status.name));
            is_down = true;
        }
    }
    if is_down {
        return Exit::Unreachable;
    }
    if published.tools.is_empty() && published.withheld.is_empty() {
        return wire::nothing_there();
    }
    print::err(format!("error: no tool is named `{tool}`"));
    let (workflows, tools) = names(published);
    for line in advice(tool, &workflows, &tools, place) {
        print::err(format!("  = help: {line}"));
    }
    Exit::NothingSelected
}

/// Workflows by their bare names, and the tools of backends.
fn names(published: &Published) -> (Vec<&str>, Vec<&str>) {
    let (mut workflows, mut tools) = (Vec::new(), Vec::new());
    for tool in &published.tools {
        match &tool.target {
            Target::Workflow(own) => workflows.push(own.workflow.name.as_str()),
            Target::Backend { .. } => tools.push(tool.name.as_str()),
        }
    }
    (workflows, tools)
}

fn advice(tool: &str, workflows: &[&str], tools: &[&str], place: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let near = nearest(tool, workflows.iter().chain(tools).copied().collect());
    match &near[..] {
        [] => {}
        [one] => lines.push(format!("a tool named `{one}` exists")),
        [first, others @ ..] => {
            let others = others.join("`, `");
            lines.push(format!("a tool named `{first}` exists; also `{others}`"));
        }
    }
    if !workflows.is_empty() {
        let shown = &workflows[..workflows.len().min(WORKFLOWS_SHOWN_MAX)];
        let more = match workflows.len() - shown.len() {
            0 => String::new(),
            more => format!(" … and {more} more"),
        };
        lines.push(format!("workflows: {}{more}", shown.join(", ")));
    }
    let and = if lines.is_empty() { "" } else { "… and " };
    // A backend that the call did not need may not have told its tools.
    let rest = match tools.len() {
        0 => "the tools of the backends".to_owned(),
        count => print::counted(count, "tool"),
    };
    let line = format!("{and}{rest}: onecall tools {place}");
    lines.push(line.trim_end().to_owned());
    lines
}

/// The names most like the one that was written, the nearest first.
fn nearest<'a>(tool: &str, mut names: Vec<&'a str>) -> Vec<&'a str> {
    let mut near = Vec::new();
    while near.len() < NEAR_MAX {
        let Some(next) = suggest(tool, names.iter().copied()) else {
            break;
        };
        names.retain(|name| *name != next);
        near.push(next);
    }
    near
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn the_nearest_come_first_and_the_many_are_counted() {
        let tools: Vec<String> = (0..29).map(|at| format!("demo_tool_{at}")).collect();
        let mut tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let told = advice("gret", &["greet", "other"], &tools, "here.yaml");
        let expected = [
            "a tool named `greet` exists",
            "workflows: greet, other",
            "… and 29 tools: onecall tools here.yaml",
        ];
        assert_eq!(told, expected);
        tools.push("greet_all");
        let told = advice("xyz", &[], &tools, "");
        assert_eq!(told, ["30 tools: onecall tools"]);
    }
}
