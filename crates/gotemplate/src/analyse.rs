//! Finds what a template reads and calls: walks the tree with the dot and the variables each expression sees. Works
//! off a list of its own, so nesting costs no stack.

mod path;

use crate::limits::{PATH_SEGMENTS_MAX, VISITS_MAX};
use std::rc::Rc;

use crate::analysis::{Analysis, Base, Dot, FunctionUse, Key, Read, Segment};
use crate::span::Span;
use crate::tree::{BranchKind, Kind, NodeId, Place, Run, Tree};

/// A path from the root of the data, where it is known.
type Rooted = Option<Rc<Vec<Segment>>>;

/// Analyses a whole source.
pub(crate) fn analyse(source: &str, tree: &Tree, name: &str) -> Analysis {
    let mut analyser = Analyser {
        source,
        tree,
        analysis: Analysis::default(),
        work: Vec::new(),
        scope: Vec::new(),
        assigned: Vec::new(),
        dot: (Dot::Root, None),
        dollar: None,
        in_define: false,
        pending: Vec::new(),
        visited: Vec::new(),
    };
    analyser.assigned = analyser.assigned_names();
    if let Some(root) = tree
        .definitions
        .iter()
        .position(|definition| definition.name == name.as_bytes())
    {
        analyser.pending.push((root, Some(Rc::new(Vec::new()))));
        analyser.visit_pending(false);
    }
    for index in 0..tree.definitions.len() {
        if !analyser.visited.iter().any(|(seen, _)| *seen == index) {
            analyser.pending.push((index, None));
            analyser.visit_pending(true);
        }
    }
    let mut analysis = analyser.analysis;
    analysis
        .reads
        .sort_by_key(|read| (read.span.start, read.span.end));
    analysis.reads.dedup();
    analysis.functions.sort_by_key(|function| function.span);
    analysis.functions.dedup();
    analysis
}

/// A variable in scope and the path it stands for.
struct Variable {
    name: Place,
    path: Rooted,
}

/// Something still to be looked at. The list is worked off from its end.
enum Work {
    Node(NodeId),
    List(Run),
    /// An expression; whether its value becomes a dot, a variable or an argument.
    Expression(NodeId, bool),
    /// A pipeline with its declarations.
    Pipe(NodeId, bool),
    Declare(NodeId, Rooted),
    EnterBranch(NodeId, BranchKind, Rooted),
    Dot(Dot, Rooted),
    EndScope(usize),
}

struct Analyser<'t> {
    source: &'t str,
    tree: &'t Tree,
    analysis: Analysis,
    work: Vec<Work>,
    scope: Vec<Variable>,
    /// Names that are assigned somewhere, whose paths are unknown therefore.
    assigned: Vec<&'t str>,
    dot: (Dot, Rooted),
    dollar: Rooted,
    in_define: bool,
    pending: Vec<(usize, Rooted)>,
    visited: Vec<(usize, Rooted)>,
}

impl<'t> Analyser<'t> {
    fn assigned_names(&self) -> Vec<&'t str> {
        let assigning = self.tree.pipes.iter().filter(|pipe| pipe.assigns);
        assigning
            .flat_map(|pipe| self.tree.names(pipe.variables))
            .map(|&place| self.name(place))
            .collect()
    }

    fn name(&self, place: Place) -> &'t str {
        &self.source[place.range()]
    }

    fn visit_pending(&mut self, uncalled: bool) {
        while let Some((index, path)) = self.pending.pop() {
            let visits = self
                .visited
                .iter()
                .filter(|(seen, _)| *seen == index)
                .count();
            let is_known = self
                .visited
                .iter()
                .any(|(seen, known)| *seen == index && same_keys(known, &path));
            if is_known || visits >= VISITS_MAX {
                continue;
            }
            self.in_define = uncalled || !self.visited.is_empty();
            self.visited.push((index, path.clone()));
            self.scope.clear();
            self.dot = (
                if self.in_define {
                    Dot::Template
                } else {
                    Dot::Root
                },
                path.clone(),
            );
            self.dollar = path;
            self.work
                .push(Work::List(self.tree.definitions[index].list));
            while let Some(work) = self.work.pop() {
                self.step(work);
            }
        }
    }

    fn step(&mut self, work: Work) {
        match work {
            Work::Node(node) => self.statement(node),
            Work::List(run) => {
                let tree = self.tree;
                self.work.extend(
                    tree.children(run)
                        .iter()
                        .rev()
                        .map(|&node| Work::Node(node)),
                );
            }
            Work::Expression(node, rebinds) => self.expression(node, rebinds),
            Work::Pipe(node, rebinds) => self.pipe(node, rebinds),
            Work::Declare(pipe, path) => self.declare(pipe, &path),
            Work::EnterBranch(pipe, kind, path) => self.enter_branch(pipe, kind, path),
            Work::Dot(dot, path) => self.dot = (dot, path),
            Work::EndScope(variables) => self.scope.truncate(variables),
        }
    }

    fn statement(&mut self, node: NodeId) {
        match self.tree.node(node).kind {
            Kind::Action(pipe) => self.work.push(Work::Pipe(pipe, false)),
            Kind::Branch(index) => {
                let branch = self.tree.branches[index as usize];
                let path = self.rooted_value(branch.pipe);
                let restore = Work::Dot(self.dot.0, self.dot.1.clone());
                self.work.push(Work::EndScope(self.scope.len()));
                if let Some(list) = branch.otherwise {
                    self.work.push(Work::List(list));
                }
                self.work.push(restore);
                self.work.push(Work::List(branch.list));
                self.work
                    .push(Work::EnterBranch(branch.pipe, branch.kind, path));
                self.work
                    .push(Work::Pipe(branch.pipe, branch.kind != BranchKind::If));
            }
            Kind::Template(index) => {
                let call = self.tree.calls[index as usize];
                let name = &self.tree.strings[call.name as usize];
                let path = call.pipe.and_then(|pipe| self.rooted_value(pipe));
                if let Some(index) = self
                    .tree
                    .definitions
                    .iter()
                    .position(|definition| definition.name == *name)
                {
                    self.pending.push((index, path));
                }
                if let Some(pipe) = call.pipe {
                    self.work.push(Work::Pipe(pipe, true));
                }
            }
            _ => {}
        }
    }

    fn pipe(&mut self, node: NodeId, rebinds: bool) {
        let pipe = self.tree.pipe(node);
        if pipe.variables.len > 0 {
            let path = self.rooted_value(node);
            self.work.push(Work::Declare(node, path));
        }
        self.expression(node, rebinds || pipe.variables.len > 0);
    }

    fn declare(&mut self, node: NodeId, path: &Rooted) {
        let pipe = self.tree.pipe(node);
        if pipe.assigns {
            return;
        }
        for &name in self.tree.names(pipe.variables) {
            let known = !self.assigned.contains(&self.name(name));
            self.scope.push(Variable {
                name,
                path: path.clone().filter(|_| known),
            });
        }
    }

    fn enter_branch(&mut self, node: NodeId, kind: BranchKind, path: Rooted) {
        match kind {
            BranchKind::If => {}
            BranchKind::With => self.dot = (Dot::With, path),
            BranchKind::Range => {
                let span = self.span(node);
                let element = path.and_then(|path| {
                    extended(
                        &path,
                        &[Segment {
                            key: Key::Any,
                            span,
                        }],
                    )
                });
                let pipe = self.tree.pipe(node);
                let count = pipe.variables.len as usize;
                if !pipe.assigns && count > 0 && self.scope.len() >= count {
                    let first = self.scope.len() - count;
                    self.scope[first].path = None;
                    if let Some(last) = self.scope.last_mut() {
                        let known = !self.assigned.contains(&&self.source[last.name.range()]);
                        last.path = element.clone().filter(|_| known);
                    }
                }
                self.dot = (Dot::Range, element);
            }
        }
    }

    /// Records what an expression reads and calls.
    fn expression(&mut self, node: NodeId, rebinds: bool) {
        if let Some(found) = self.path(node) {
            let rooted = found.rooted();
            let read = Read {
                base: found.base,
                rooted: rooted.map(|path| (*path).clone()),
                segments: found.segments,
                span: self.span(found.node),
                dynamic: found.dynamic,
                rebinds,
            };
            self.analysis.reads.push(read);
            self.analysis.functions.extend(found.functions);
            self.work.extend(
                found
                    .others
                    .into_iter()
                    .map(|node| Work::Expression(node, false)),
            );
            return;
        }
        match self.tree.node(node).kind {
            Kind::Identifier(function) => {
                let (name, span) = (function.name().to_owned(), self.span(node));
                self.analysis.functions.push(FunctionUse { name, span });
            }
            Kind::Chain(base, run) => {
                let (segments, span) = (self.segments(run), self.span(node));
                let base_read = Read {
                    base: Base::Computed,
                    segments,
                    rooted: None,
                    span,
                    dynamic: false,
                    rebinds,
                };
                self.analysis.reads.push(base_read);
                self.work.push(Work::Expression(base, false));
            }
            Kind::Pipe(index) => {
                let pipe = self.tree.pipes[index as usize];
                for &command in self.tree.children(pipe.commands).iter().rev() {
                    self.work.push(Work::Expression(command, false));
                }
                if pipe.variables.len > 0 && !self.is_block_pipe(node) {
                    self.declare(node, &None);
                }
            }
            Kind::Command(run) => {
                let tree = self.tree;
                self.work.extend(
                    tree.children(run)
                        .iter()
                        .rev()
                        .map(|&node| Work::Expression(node, false)),
                );
            }
            _ => {}
        }
    }

    /// Whether the declarations of a pipeline are made by the statement it belongs to.
    fn is_block_pipe(&self, node: NodeId) -> bool {
        // A pipeline in parentheses covers them.
        !self.source[self.tree.node(node).place.range()].starts_with('(')
    }

    fn span(&self, node: NodeId) -> Span {
        let place = self.tree.node(node).place;
        Span::new(place.start as usize, place.end as usize)
    }
}

/// A path with more segments at its end; unknown if it gets too long.
fn extended(path: &Rc<Vec<Segment>>, segments: &[Segment]) -> Rooted {
    if path.len() + segments.len() > PATH_SEGMENTS_MAX {
        return None;
    }
    if segments.is_empty() {
        return Some(Rc::clone(path));
    }
    let mut longer = (**path).clone();
    longer.extend_from_slice(segments);
    Some(Rc::new(longer))
}

fn same_keys(left: &Rooted, right: &Rooted) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right.iter())
                    .all(|(left, right)| left.key == right.key)
        }
        _ => false,
    }
}
