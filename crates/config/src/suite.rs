//! A suite with compositions: its servers become backends, its compositions workflows.

use crate::backend::{Reader, warn_of_rest};
use crate::limits::NOTICE_PLACES_MAX;
use crate::settings::Backend;
use crate::substitute::Environment;
use onecall_dialects::mcptest::{self, Composition};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Text, codes};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What one suite gives.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    pub(crate) backends: Vec<Backend>,
    pub(crate) compositions: Vec<Composition>,
}

/// What a suite is read with, beside its file.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) reader: &'a Reader<'a>,
    /// Backends of other files.
    pub(crate) backends: &'a [String],
    /// Environment variables that compositions may read.
    pub(crate) readable: &'a BTreeSet<String>,
    pub(crate) compat: mcptest::Compat,
}

pub(crate) fn read(root: &Node, context: Context<'_>, diagnostics: &mut Diagnostics) -> Suite {
    let mut own = Diagnostics::new();
    let suite = read_in_our_words(root, context, &mut own);
    diagnostics.extend(own.into_iter().map(in_words_of_suites));
    suite
}

/// Suites call steps nodes, and what they wait for `needs`.
pub fn in_words_of_suites(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.reworded(|text| {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(at, part)| match (at % 2, part) {
            // What is in backticks is a name of the user or a key.
            (1, "dependsOn") => "needs".to_owned(),
            (1, name) => name.to_owned(),
            (_, words) => nodes(words),
        });
        parts.collect::<Vec<_>>().join("`")
    })
}

fn nodes(text: &str) -> String {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let inside = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        out.push_str(match &rest[..inside] {
            "step" => "node",
            "steps" => "nodes",
            other => other,
        });
        rest = &rest[inside..];
        let outside = rest.find(is_inside).unwrap_or(rest.len());
        out.push_str(&rest[..outside]);
        rest = &rest[outside..];
    }
    out
}

fn read_in_our_words(root: &Node, context: Context<'_>, diagnostics: &mut Diagnostics) -> Suite {
    let environment = context.reader.environment;
    let backends = servers(root, context.reader, diagnostics);
    let readable = |name: &str| {
        context
            .readable
            .contains(name)
            .then(|| environment(name))
            .flatten()
    };
    let options = mcptest::Options {
        backends: context.backends,
        environment: &readable,
        compat: context.compat,
    };
    Suite {
        backends,
        compositions: mcptest::read(root, &options, diagnostics),
    }
}

/// The servers of a suite, with its variables and those of the environment filled in.
fn servers(root: &Node, reader: &Reader<'_>, diagnostics: &mut Diagnostics) -> Vec<Backend> {
    let Some(entries) = root.get("servers").and_then(Node::as_mapping) else {
        return Vec::new();
    };
    let variables = mcptest::variables(root, reader.environment);
    let unset = RefCell::new(BTreeSet::new());
    let filled = |name: &str| {
        let found = lookup(name, reader, &variables);
        if found.is_none() {
            unset.borrow_mut().insert(name.to_owned());
        }
        // A suite whose nodes are all mocked needs none of its variables.
        Some(found.unwrap_or_default())
    };
    let reader = Reader {
        environment: &filled,
        process: reader.process,
        directory: reader.directory,
    };
    let mut backends = Vec::new();
    let mut short = Vec::new();
    for entry in entries {
        if entry.value.get("command").is_some() && entry.value.get("inherit_env").is_none() {
            short.push(&entry.key);
        }
        let Some(mut fields) = Fields::read(&entry.value, "a server", diagnostics) else {
            backends.push(Backend::unreadable(&entry.key));
            continue;
        };
        backends.push(reader.backend(&entry.key, &mut fields, "transport", diagnostics));
        warn_of_rest(&mut fields, "servers.*.", diagnostics);
        let names = unset.take();
        if !names.is_empty() {
            diagnostics.push(not_set(&entry.key, &names));
        }
    }
    diagnostics.extend(short_environment(&short));
    backends
}

/// mcptest starts servers with all of its variables, so a server that reads one of them works there and not here.
fn short_environment(servers: &[&Text]) -> Option<Diagnostic> {
    let (first, others) = servers.split_first()?;
    let message =
        "servers of this suite inherit few environment variables; in mcptest they inherit all";
    let mut notice = Diagnostic::remark(codes::SUITE_ENVIRONMENT, message).label(
        first.place(),
        "gets `PATH`, `HOME` and the like, and its own `env`",
    );
    for server in others.iter().take(NOTICE_PLACES_MAX) {
        notice = notice.secondary(server.place(), "this one too");
    }
    Some(notice.help("list what a server needs, such as `inherit_env: [GITHUB_TOKEN]`; an empty list accepts this"))
}

/// A variable as suites write it: the environment wins over `variables`; `env:` and `secret:` name it alone.
fn lookup(name: &str, reader: &Reader<'_>, variables: &BTreeMap<String, String>) -> Option<String> {
    let environment: &Environment<'_> = reader.environment;
    // `${NAME:?message}` says what to tell people when it is not set.
    let name = name.split_once(":?").map_or(name, |(name, _)| name).trim();
    if let Some(name) = name.strip_prefix("env:").or(name.strip_prefix("secret:")) {
        return environment(name);
    }
    if name == "CONFIG_DIR" {
        let here = if reader.directory.is_empty() {
            "."
        } else {
            reader.directory
        };
        return Some(here.to_owned());
    }
    environment(name).or_else(|| variables.get(name).cloned())
}

fn not_set(server: &Text, names: &BTreeSet<String>) -> Diagnostic {
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    Diagnostic::warning(
        codes::VARIABLE_NOT_SET,
        format!(
            "server `{server}` reads variables that are not set: {}",
            listed.join(", ")
        ),
    )
    .label(server.place(), "an empty text stands in")
    .help("set them, or give them a value under `variables`")
}
