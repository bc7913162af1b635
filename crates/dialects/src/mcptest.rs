//! The mcptest dialect: each composition of a suite becomes one workflow.
//! Servers are read by `config`; assertions, cases and judged metrics are for the test runner.

mod assertions;
mod evaluation;
mod expressions;
mod lower;
mod notice;
mod policy;
mod programs;
mod syntax;
mod template;

#[cfg(test)]
mod tests;

use onecall_source::{Diagnostics, Node, Place};
use onecall_workflow::draft::Built;
use std::collections::BTreeMap;

/// What a suite is read with.
pub struct Options<'e> {
    /// Backends that other files give, for nodes of suites that declare none.
    pub backends: &'e [String],
    /// The environment variables that the configuration names.
    pub environment: &'e dyn Fn(&str) -> Option<String>,
    pub compat: Compat,
}

/// Where the page of mcptest and its program differ: which of them is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    #[default]
    Page,
    /// Version 1.3.0 of the program, as far as that is a matter of reading.
    Program,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("backends", &self.backends)
            .finish_non_exhaustive()
    }
}

/// A composition as a workflow.
#[derive(Clone, Debug)]
pub struct Composition {
    pub built: Built,
    /// `publish: true`: it is a tool, not only something to call and test.
    pub is_published: bool,
    pub tests: Tests,
}

/// What a suite says about testing one composition, for the test runner to read.
#[derive(Clone, Debug)]
pub struct Tests {
    /// The name of the composition.
    pub name: String,
    pub place: Place,
    pub description: Option<String>,
    pub tags: Option<Node>,
    pub expect: Option<Node>,
    pub cases: Option<Node>,
    pub eval: Option<Node>,
    /// Nodes whose results are recorded or replayed, by id.
    pub freeze: BTreeMap<String, Freeze>,
    /// The tapes of servers: `servers.NAME.cassette`, by name.
    pub cassettes: BTreeMap<String, Cassette>,
    /// The model providers of the suite.
    pub providers: Option<Node>,
    /// How the suite judges where `eval` does not say.
    pub judge: Option<Node>,
    /// What its nodes read as `${var.…}`.
    pub variables: Vec<TestVariable>,
}

/// The tape of a server, as the suite names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cassette {
    /// Relative to the suite.
    pub path: String,
    pub place: Place,
}

/// What happens to the results of a frozen node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// A recorded result is used; a missing one is recorded.
    Record,
    /// Only recorded results are used.
    Golden,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestVariable {
    pub name: String,
    /// Every read of it gives a default.
    pub has_default: bool,
}

/// All compositions of a suite.
pub fn read(root: &Node, options: &Options<'_>, diagnostics: &mut Diagnostics) -> Vec<Composition> {
    let Some(suite) = syntax::Suite::read(root, diagnostics) else {
        return Vec::new();
    };
    let compositions = lower::suite(&suite, options, diagnostics);
    assertions::lint(&suite, diagnostics);
    diagnostics.extend(notice::not_run(&suite));
    if options.compat == Compat::Page {
        diagnostics.extend(notice::differences(&suite));
    }
    compositions
}

/// The variables of a suite, by name: what it says itself, then the environment.
pub fn variables(
    root: &Node,
    environment: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    // Faults of shape are reported where the suite is read as a whole.
    let mut unreported = Diagnostics::new();
    let Some(suite) = syntax::Suite::read(root, &mut unreported) else {
        return BTreeMap::new();
    };
    lower::variables(&suite, environment)
}
