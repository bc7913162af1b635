//! What a jq program reads of its input, found without running it. What cannot be told is taken as a read
//! of everything it may reach.

use super::View;
use crate::expression::{Facet, Part, Target, run_field_target};
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::load::span;
use jaq_core::path;
use std::ops::Range;

/// One read: the names that lead to it from the root, as far as they are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) path: Vec<Name>,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) range: Range<usize>,
}

impl Read {
    /// What is read, and the name that says which.
    pub(super) fn target(&self, view: &View) -> (Target, Option<&Name>) {
        let names: Vec<&str> = self.path.iter().map(|name| name.text.as_str()).collect();
        let target = match view {
            View::Run => run_target(&names),
            View::Parents(_) => outputs_target("parents", &names),
            View::Nodes => outputs_target("nodes", &names),
            View::Result => Target::Ambient,
        };
        let which = match target {
            Target::Named { .. } | Target::Unknown { .. } => self.path.first(),
            Target::Input { .. } | Target::Step { .. } | Target::UnknownField { .. } => {
                self.path.get(1)
            }
            Target::Item { .. } | Target::AllSteps | Target::Ambient => None,
        };
        (target, which)
    }
}

fn run_target(names: &[&str]) -> Target {
    match names {
        [] | ["steps" | "results"] => Target::AllSteps,
        ["inputs", rest @ ..] => Target::Input {
            segments: owned(rest),
        },
        ["steps", name, rest @ ..] => output_target(name, rest),
        ["results", name] => Target::Step {
            name: (*name).to_owned(),
            part: None,
            segments: Vec::new(),
        },
        ["results", name, facet, rest @ ..] => Target::Step {
            name: (*name).to_owned(),
            part: Some(part(facet)),
            segments: owned(rest),
        },
        ["run", rest @ ..] => run_field_target("run", rest.first().copied()),
        ["index", ..] => Target::Item {
            name: "index".to_owned(),
        },
        [name, ..] => Target::Named {
            name: (*name).to_owned(),
        },
    }
}

fn outputs_target(root: &str, names: &[&str]) -> Target {
    match names {
        [first, name, rest @ ..] if *first == root => output_target(name, rest),
        [first, ..] if *first != root => Target::Unknown {
            name: (*first).to_owned(),
        },
        _ => Target::Ambient,
    }
}

fn output_target(name: &str, rest: &[&str]) -> Target {
    Target::Step {
        name: name.to_owned(),
        part: Some(Part::Known(Facet::Output)),
        segments: owned(rest),
    }
}

fn part(name: &str) -> Part {
    Facet::parse(name).map_or_else(
        || Part::Unknown {
            name: name.to_owned(),
            known: &Facet::ALL,
        },
        Part::Known,
    )
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// All reads of a program, each once.
pub(super) fn of(code: &str, term: &Term<&str>) -> Vec<Read> {
    let mut walk = Walk {
        code,
        variables: Vec::new(),
        functions: Vec::new(),
        reads: Vec::new(),
    };
    let root = At::Input {
        path: Vec::new(),
        range: 0..code.len(),
    };
    walk.consume(term, &root);
    walk.reads
}

/// Where a value comes from.
#[derive(Clone)]
enum At {
    Input {
        path: Vec<Name>,
        range: Range<usize>,
    },
    /// Computed, or part of what was recorded already.
    Elsewhere,
}

struct Walk<'c> {
    code: &'c str,
    variables: Vec<(&'c str, At)>,
    /// Functions of the program itself, and their arguments.
    functions: Vec<&'c str>,
    reads: Vec<Read>,
}

impl<'c> Walk<'c> {
    fn record(&mut self, at: At) {
        if let At::Input { path, range } = at {
            let read = Read { path, range };
            if !self.reads.contains(&read) {
                self.reads.push(read);
            }
        }
    }

    fn consume(&mut self, term: &Term<&'c str>, input: &At) {
        let at = self.value(term, input);
        self.record(at);
    }

    /// Where the value of a term comes from; reads inside of the term are recorded.
    fn value(&mut self, term: &Term<&'c str>, input: &At) -> At {
        match term {
            Term::Id => return input.clone(),
            Term::Var(name) => {
                let known = self.variables.iter().rev().find(|(own, _)| own == name);
                return known.map_or(At::Elsewhere, |(_, at)| at.clone());
            }
            Term::Path(from, path) => return self.path(from, &path.0, input),
            Term::Call(name, arguments) => return self.call(name, arguments, input),
            Term::BinOp(left, operator, right) => {
                return self.operation(left, operator, right, input);
            }
            Term::Label(_, body) => return self.value(body, input),
            Term::Def(definitions, body) => {
                let known = self.functions.len();
                for definition in definitions {
                    self.functions.push(definition.name);
                    self.functions.extend(&definition.args);
                }
                for definition in definitions {
                    self.consume(&definition.body, &At::Elsewhere);
                }
                let at = self.value(body, input);
                self.functions.truncate(known);
                return at;
            }
            Term::Recurse => self.record(input.clone()),
            Term::Num(_) | Term::Break(_) | Term::Arr(None) => {}
            Term::Str(_, parts) => {
                for part in parts {
                    if let StrPart::Term(term) = part {
                        self.consume(term, input);
                    }
                }
            }
            Term::Arr(Some(inner)) | Term::Neg(inner) => self.consume(inner, input),
            Term::Obj(entries) => {
                for (key, value) in entries {
                    self.entry(key, value.as_ref(), input);
                }
            }
            Term::Fold(_, items, pattern, rounds) => self.fold(items, pattern, rounds, input),
            Term::TryCatch(body, handler) => {
                self.consume(body, input);
                if let Some(handler) = handler {
                    self.consume(handler, &At::Elsewhere);
                }
            }
            Term::IfThenElse(branches, otherwise) => {
                for (condition, then) in branches {
                    self.consume(condition, input);
                    self.consume(then, input);
                }
                match otherwise {
                    Some(otherwise) => self.consume(otherwise, input),
                    None => self.record(input.clone()),
                }
            }
        }
        At::Elsewhere
    }

    fn path(
        &mut self,
        from: &Term<&'c str>,
        parts: &[(path::Part<Term<&'c str>>, path::Opt)],
        input: &At,
    ) -> At {
        let mut at = self.value(from, input);
        for (part, _) in parts {
            at = match (part, at) {
                (path::Part::Index(index), At::Input { path, range }) => {
                    if let Some(name) = self.name(index) {
                        extended(path, &range, name)
                    } else {
                        self.consume(index, input);
                        self.record(At::Input { path, range });
                        At::Elsewhere
                    }
                }
                (path::Part::Index(index), At::Elsewhere) => {
                    self.consume(index, input);
                    At::Elsewhere
                }
                (path::Part::Range(from, upto), at) => {
                    for bound in [from, upto].into_iter().flatten() {
                        self.consume(bound, input);
                    }
                    self.record(at);
                    At::Elsewhere
                }
            };
        }
        at
    }

    /// A key that is written down.
    fn name(&self, term: &Term<&'c str>) -> Option<Name> {
        let Term::Str(None, parts) = term else {
            return None;
        };
        let [StrPart::Str(text)] = parts.as_slice() else {
            return None;
        };
        Some(Name {
            text: (*text).to_owned(),
            range: span(self.code, text),
        })
    }

    fn entry(&mut self, key: &Term<&'c str>, value: Option<&Term<&'c str>>, input: &At) {
        match value {
            Some(value) => {
                self.consume(key, input);
                self.consume(value, input);
            }
            // `{a}` is `{a: .a}`, and `{$a}` is `{a: $a}`.
            None => match (self.name(key), input.clone()) {
                (Some(name), At::Input { path, range }) => {
                    let read = extended(path, &range, name);
                    self.record(read);
                }
                (Some(_), At::Elsewhere) => {}
                (None, input) => {
                    self.consume(key, &input);
                    if !matches!(key, Term::Var(_)) {
                        self.record(input);
                    }
                }
            },
        }
    }

    fn operation(
        &mut self,
        left: &Term<&'c str>,
        operator: &BinaryOp<&'c str>,
        right: &Term<&'c str>,
        input: &At,
    ) -> At {
        match operator {
            BinaryOp::Pipe(None) => {
                let between = self.value(left, input);
                self.value(right, &between)
            }
            BinaryOp::Pipe(Some(pattern)) => {
                let bound = self.value(left, input);
                let known = self.variables.len();
                self.bind(pattern, bound);
                let at = self.value(right, input);
                self.variables.truncate(known);
                at
            }
            BinaryOp::Comma
            | BinaryOp::Alt
            | BinaryOp::Or
            | BinaryOp::And
            | BinaryOp::Math(_)
            | BinaryOp::Cmp(_) => {
                self.consume(left, input);
                self.consume(right, input);
                At::Elsewhere
            }
            // The whole input is the result, with a change in it.
            BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => {
                self.record(input.clone());
                self.consume(left, &At::Elsewhere);
                self.consume(right, input);
                At::Elsewhere
            }
        }
    }

    fn bind(&mut self, pattern: &Pattern<&'c str>, at: At) {
        match pattern {
            Pattern::Var(name) => self.variables.push((name, at)),
            Pattern::Arr(items) => {
                self.record(at);
                for item in items {
                    self.bind(item, At::Elsewhere);
                }
            }
            Pattern::Obj(entries) => {
                self.record(at);
                for (_, value) in entries {
                    self.bind(value, At::Elsewhere);
                }
            }
        }
    }

    fn fold(
        &mut self,
        items: &Term<&'c str>,
        pattern: &Pattern<&'c str>,
        rounds: &[Term<&'c str>],
        input: &At,
    ) {
        self.consume(items, input);
        let known = self.variables.len();
        self.bind(pattern, At::Elsewhere);
        for (position, round) in rounds.iter().enumerate() {
            let input = if position == 0 { input } else { &At::Elsewhere };
            self.consume(round, input);
        }
        self.variables.truncate(known);
    }

    fn call(&mut self, name: &str, arguments: &[Term<&'c str>], input: &At) -> At {
        if self.functions.contains(&name) {
            self.record(input.clone());
            for argument in arguments {
                self.consume(argument, input);
            }
            return At::Elsewhere;
        }
        match (name, arguments) {
            ("empty" | "null" | "true" | "false" | "nan" | "infinite", []) => At::Elsewhere,
            ("select", [condition]) => {
                self.consume(condition, input);
                input.clone()
            }
            // The input is what the arguments are evaluated over, and nothing else.
            (
                "first" | "last" | "isempty" | "error" | "add" | "range" | "limit" | "skip",
                [_, ..],
            ) => {
                for argument in arguments {
                    self.consume(argument, input);
                }
                At::Elsewhere
            }
            ("any" | "all", [items, condition]) => {
                self.consume(items, input);
                self.consume(condition, &At::Elsewhere);
                At::Elsewhere
            }
            _ => {
                self.record(input.clone());
                for argument in arguments {
                    self.consume(argument, &At::Elsewhere);
                }
                At::Elsewhere
            }
        }
    }
}

/// The same path with one more name. Its range reaches from the dot before the first name to the last one.
fn extended(mut path: Vec<Name>, range: &Range<usize>, name: Name) -> At {
    let start = if path.is_empty() {
        name.range.start.saturating_sub(1)
    } else {
        range.start
    };
    let range = start..name.range.end.max(start);
    path.push(name);
    At::Input { path, range }
}
