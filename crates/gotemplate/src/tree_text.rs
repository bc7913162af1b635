//! Prints a node as Go prints it in error texts, without recursion.

use crate::quote::quoted;
use crate::tree::{BranchKind, Kind, NodeId, Run, Tree};

/// What is still to be printed.
enum Part<'t> {
    Node(NodeId),
    /// A pipeline in parentheses, or any other node as it is.
    Argument(NodeId),
    List(Run),
    Text(&'t str),
}

/// The text of a node.
pub(crate) fn node_text(tree: &Tree, source: &str, node: NodeId) -> String {
    let mut out = String::new();
    let mut parts = vec![Part::Node(node)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Node(node) => print(tree, source, node, &mut out, &mut parts),
            Part::List(run) => parts.extend(
                tree.children(run)
                    .iter()
                    .rev()
                    .map(|&node| Part::Node(node)),
            ),
            Part::Argument(node) if matches!(tree.node(node).kind, Kind::Pipe(_)) => {
                out.push('(');
                parts.push(Part::Text(")"));
                parts.push(Part::Node(node));
            }
            Part::Argument(node) => parts.push(Part::Node(node)),
        }
    }
    out
}

fn print<'t>(
    tree: &'t Tree,
    source: &'t str,
    node: NodeId,
    out: &mut String,
    parts: &mut Vec<Part<'t>>,
) {
    let syntax = tree.node(node);
    let mut later: Vec<Part<'t>> = Vec::new();
    match syntax.kind {
        Kind::Dot => out.push('.'),
        Kind::Nil => out.push_str("nil"),
        Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Kind::Number(_) | Kind::String(_) | Kind::Text => {
            out.push_str(&source[syntax.place.range()]);
        }
        Kind::Identifier(function) => out.push_str(function.name()),
        Kind::Field(run) => push_names(tree, source, run, ".", out),
        Kind::Variable(run) => push_names(tree, source, run, "", out),
        Kind::Chain(base, run) => {
            later.push(Part::Argument(base));
            for place in tree.names(run) {
                later.push(Part::Text("."));
                later.push(Part::Text(&source[place.range()]));
            }
        }
        Kind::Pipe(index) => {
            let pipe = tree.pipes[index as usize];
            for (at, place) in tree.names(pipe.variables).iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.push_str(&source[place.range()]);
            }
            if pipe.variables.len > 0 {
                out.push_str(if pipe.assigns { " = " } else { " := " });
            }
            push_separated(&mut later, tree.children(pipe.commands), " | ");
        }
        Kind::Command(run) => push_separated(&mut later, tree.children(run), " "),
        Kind::Action(pipe) => later.extend([Part::Text("{{"), Part::Node(pipe), Part::Text("}}")]),
        Kind::Branch(index) => {
            let branch = tree.branches[index as usize];
            out.push_str(match branch.kind {
                BranchKind::If => "{{if ",
                BranchKind::With => "{{with ",
                BranchKind::Range => "{{range ",
            });
            later.extend([
                Part::Node(branch.pipe),
                Part::Text("}}"),
                Part::List(branch.list),
            ]);
            if let Some(list) = branch.otherwise {
                later.extend([Part::Text("{{else}}"), Part::List(list)]);
            }
            later.push(Part::Text("{{end}}"));
        }
        Kind::Template(index) => {
            let call = tree.calls[index as usize];
            out.push_str("{{template ");
            out.push_str(&quoted(&tree.strings[call.name as usize]));
            if let Some(pipe) = call.pipe {
                later.extend([Part::Text(" "), Part::Node(pipe)]);
            }
            later.push(Part::Text("}}"));
        }
        Kind::Break => out.push_str("{{break}}"),
        Kind::Continue => out.push_str("{{continue}}"),
    }
    parts.extend(later.into_iter().rev());
}

fn push_names(tree: &Tree, source: &str, run: Run, before: &str, out: &mut String) {
    for (at, place) in tree.names(run).iter().enumerate() {
        out.push_str(if at == 0 { before } else { "." });
        out.push_str(&source[place.range()]);
    }
}

fn push_separated(parts: &mut Vec<Part<'_>>, nodes: &[NodeId], separator: &'static str) {
    for (at, &node) in nodes.iter().enumerate() {
        if at > 0 {
            parts.push(Part::Text(separator));
        }
        parts.push(Part::Argument(node));
    }
}
