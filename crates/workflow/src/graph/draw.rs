//! Pictures of a workflow's graph: plain text, Mermaid, Graphviz. Inferred edges are marked in each.

use crate::graph::Graph;
use crate::step::{Action, NeedOrigin, Step};
use crate::workflow::Workflow;
use std::fmt::Write;

/// One line a step in running order, with what it waits for. `branch` stands before a step that waits: nothing, or
/// a drawn branch.
pub fn text(workflow: &Workflow, branch: &str) -> String {
    let graph = Graph::of(&workflow.steps);
    let depths = graph.depths();
    let mut out = format!("{}\n", workflow.name);
    for index in graph.order() {
        let step = &workflow.steps[index];
        let indent = "  ".repeat(depths[index] + 1);
        let branch = if depths[index] == 0 { "" } else { branch };
        let _ = write!(out, "{indent}{branch}{} ({})", step.name, what(step));
        if step.when.is_some() {
            out.push_str(" if its condition holds");
        }
        let needs: Vec<String> = step
            .needs
            .iter()
            .map(|need| match need.origin {
                NeedOrigin::Declared => need.step.to_string(),
                NeedOrigin::Inferred => format!("{} (read)", need.step),
            })
            .collect();
        if !needs.is_empty() {
            let _ = write!(out, " after {}", needs.join(", "));
        }
        out.push('\n');
    }
    out
}

/// A Mermaid flowchart; inferred edges are dotted.
pub fn mermaid(workflow: &Workflow) -> String {
    let graph = Graph::of(&workflow.steps);
    let mut out = "flowchart TD\n".to_owned();
    for (index, step) in workflow.steps.iter().enumerate() {
        let label = format!(
            "{}<br/>{}",
            escaped(step.name.as_str()),
            escaped(&what(step))
        );
        let (open, close) = match &step.action {
            Action::Call(_) => ("[", "]"),
            Action::Ask(_) => ("{{", "}}"),
            Action::Each(_) => ("[[", "]]"),
        };
        let _ = writeln!(out, "  s{index}{open}\"{label}\"{close}");
    }
    for (index, step) in workflow.steps.iter().enumerate() {
        for edge in graph.needs(index) {
            let arrow = match step.needs[edge.need].origin {
                NeedOrigin::Declared => "-->",
                NeedOrigin::Inferred => "-.->",
            };
            let _ = writeln!(out, "  s{} {arrow} s{index}", edge.to);
        }
    }
    out
}

/// A Graphviz digraph; inferred edges are dashed.
pub fn dot(workflow: &Workflow) -> String {
    let graph = Graph::of(&workflow.steps);
    let mut out = format!("digraph {:?} {{\n  rankdir=TB;\n", workflow.name.as_str());
    for (index, step) in workflow.steps.iter().enumerate() {
        let shape = match &step.action {
            Action::Call(_) => "box",
            Action::Ask(_) => "hexagon",
            Action::Each(_) => "box3d",
        };
        let label = format!("{}\n{}", step.name, what(step));
        let _ = writeln!(out, "  s{index} [shape={shape}, label={label:?}];");
    }
    for (index, step) in workflow.steps.iter().enumerate() {
        for edge in graph.needs(index) {
            let style = match step.needs[edge.need].origin {
                NeedOrigin::Declared => "",
                NeedOrigin::Inferred => " [style=dashed, label=\"read\"]",
            };
            let _ = writeln!(out, "  s{} -> s{index}{style};", edge.to);
        }
    }
    out.push_str("}\n");
    out
}

fn what(step: &Step) -> String {
    match &step.action {
        Action::Call(call) => call.tool.to_string(),
        Action::Ask(_) => "question".to_owned(),
        Action::Each(each) => match each.body.call() {
            Some(call) => format!("for each {}: {}", each.item_name, call.tool),
            None => format!("for each {}", each.item_name),
        },
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
