//! Recognises expressions that lead along constant keys from a dot or variable to a value.

use super::{Analyser, Rooted, extended};
use crate::analysis::{Base, FunctionUse, Key, Segment};
use crate::function::Function;
use crate::span::Span;
use crate::tree::{Kind, NodeId, Number, Place, Run};

/// A path in the source.
pub(super) struct Found {
    pub(super) base: Base,
    /// The path its base stands for.
    base_path: Rooted,
    pub(super) segments: Vec<Segment>,
    pub(super) dynamic: bool,
    /// The expression that covers all of it.
    pub(super) node: NodeId,
    /// Expressions inside that are read for themselves: keys that are not constant.
    pub(super) others: Vec<NodeId>,
    pub(super) functions: Vec<FunctionUse>,
}

impl Found {
    pub(super) fn rooted(&self) -> Rooted {
        self.base_path
            .as_ref()
            .and_then(|path| extended(path, &self.segments))
    }
}

impl Analyser<'_> {
    /// The path from the root that the value of an expression is known by.
    pub(super) fn rooted_value(&self, node: NodeId) -> Rooted {
        let found = self.path(node)?;
        if found.dynamic {
            return None;
        }
        found.rooted()
    }

    /// Follows an expression from its outside to the dot or variable it begins with.
    pub(super) fn path(&self, node: NodeId) -> Option<Found> {
        // Groups of segments, the last ones first.
        let mut groups: Vec<Vec<Segment>> = Vec::new();
        let mut found = Found {
            base: Base::Computed,
            base_path: None,
            segments: Vec::new(),
            dynamic: false,
            node,
            others: Vec::new(),
            functions: Vec::new(),
        };
        let mut at = node;
        loop {
            match self.tree.node(at).kind {
                Kind::Dot => {
                    found.base = Base::Dot(self.dot.0);
                    found.base_path.clone_from(&self.dot.1);
                    break;
                }
                Kind::Field(run) => {
                    found.base = Base::Dot(self.dot.0);
                    found.base_path.clone_from(&self.dot.1);
                    groups.push(self.segments(run));
                    break;
                }
                Kind::Variable(run) => {
                    let name = self.tree.names(run)[0];
                    groups.push(self.segments(Run {
                        start: run.start + 1,
                        len: run.len - 1,
                    }));
                    (found.base, found.base_path) = self.variable(name);
                    break;
                }
                Kind::Chain(base, run) => {
                    groups.push(self.segments(run));
                    at = base;
                }
                Kind::Pipe(index) => {
                    let pipe = self.tree.pipes[index as usize];
                    let &[command] = self.tree.children(pipe.commands) else {
                        return None;
                    };
                    if pipe.variables.len > 0 {
                        if at != node {
                            return None;
                        }
                        found.node = command;
                    }
                    at = command;
                }
                Kind::Command(run) => at = self.command(run, &mut groups, &mut found)?,
                _ => return None,
            }
        }
        found.segments = groups.into_iter().rev().flatten().collect();
        Some(found)
    }

    /// What a command leads on from: its only operand, or what `index` looks into.
    fn command(
        &self,
        run: Run,
        groups: &mut Vec<Vec<Segment>>,
        found: &mut Found,
    ) -> Option<NodeId> {
        let arguments = self.tree.children(run);
        if let &[only] = arguments {
            return Some(only);
        }
        let Kind::Identifier(Function::Index) = self.tree.node(arguments[0]).kind else {
            return None;
        };
        let name = Function::Index.name().to_owned();
        found.functions.push(FunctionUse {
            name,
            span: self.span(arguments[0]),
        });
        let mut keys = Vec::new();
        for (place, &argument) in arguments.iter().enumerate().skip(2) {
            if let Some(key) = self.constant_key(argument) {
                keys.push(Segment {
                    key,
                    span: self.span(argument),
                });
            } else {
                // What comes after a key that is not constant is not known.
                groups.clear();
                found.dynamic = true;
                found.others.extend(&arguments[place..]);
                break;
            }
        }
        groups.push(keys);
        Some(arguments[1])
    }

    fn constant_key(&self, node: NodeId) -> Option<Key> {
        match self.tree.node(node).kind {
            Kind::String(index) => {
                let text = &self.tree.strings[index as usize];
                Some(Key::Name(String::from_utf8_lossy(text).into_owned()))
            }
            Kind::Number(index) => match self.tree.numbers[index as usize] {
                Number::Int(value) => Some(Key::Index(value)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn segments(&self, run: Run) -> Vec<Segment> {
        let segment = |&place: &Place| Segment {
            key: Key::Name(self.name(place).to_owned()),
            span: Span::new(place.start as usize, place.end as usize),
        };
        self.tree.names(run).iter().map(segment).collect()
    }

    fn variable(&self, name: Place) -> (Base, Rooted) {
        let text = self.name(name);
        let declared = self
            .scope
            .iter()
            .rev()
            .find(|variable| self.name(variable.name) == text);
        match declared {
            Some(variable) => (Base::Variable(text.to_owned()), variable.path.clone()),
            None if text == "$" => {
                let known = !self.assigned.contains(&"$");
                (
                    Base::Dollar {
                        in_define: self.in_define,
                    },
                    self.dollar.clone().filter(|_| known),
                )
            }
            None => (Base::Variable(text.to_owned()), None),
        }
    }
}
