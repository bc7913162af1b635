//! A suite with compositions: its servers become backends, its compositions workflows.

use crate::backend::{Reader, warn_of_rest};
use crate::limits::NOTICE_PLACES_MAX;
use crate::settings::{Backend, Transport};
use crate::substitute::{Environment, substitute};
use onecall_dialects::mcptest::{self, Cassette, Composition};
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
    let (backends, cassettes) = servers(root, context.reader, diagnostics);
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
    let mut compositions = mcptest::read(root, &options, diagnostics);
    for composition in &mut compositions {
        composition.tests.cassettes.clone_from(&cassettes);
    }
    Suite {
        backends,
        compositions,
    }
}

/// The servers of a suite and their tapes, with its variables and those of the environment filled in.
fn servers(
    root: &Node,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> (Vec<Backend>, BTreeMap<String, Cassette>) {
    let Some(entries) = root.get("servers").and_then(Node::as_mapping) else {
        return (Vec::new(), BTreeMap::new());
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
    let mut cassettes = BTreeMap::new();
    for entry in entries {
        if entry.value.get("command").is_some() && entry.value.get("inherit_env").is_none() {
            short.push(&entry.key);
        }
        let Some(mut fields) = Fields::read(&entry.value, "a server", diagnostics) else {
            backends.push(Backend::unreadable(&entry.key));
            continue;
        };
        let cassette = fields.optional_string("cassette", diagnostics);
        if let Some(path) = cassette {
            let place = path.place().clone();
            let path = substitute(path, reader.environment, diagnostics);
            cassettes.insert(entry.key.to_string(), Cassette { path, place });
        }
        // A server with nothing but a tape is never connected.
        if cassette.is_none() || fields.has("command") || fields.has("url") {
            let mut backend = reader.backend(&entry.key, &mut fields, "transport", diagnostics);
            if let Transport::Stdio { command, .. } = &mut backend.transport
                && let Some(word) = program_word(&entry.value)
            {
                *command = substitute(word, reader.environment, diagnostics);
            }
            backends.push(backend);
        }
        warn_of_rest(&mut fields, "servers.*.", diagnostics);
        let mut names = unset.take();
        let without_default = without_default(&entry.value);
        names.retain(|name| without_default.contains(name));
        if !names.is_empty() {
            diagnostics.push(not_set(&entry.key, &names));
        }
    }
    diagnostics.extend(short_environment(&short));
    (backends, cassettes)
}

/// The word of a command that names its program.
fn program_word(server: &Node) -> Option<&Text> {
    let command = server.get("command")?;
    let words = command.as_sequence().unwrap_or_default();
    command.as_text().or_else(|| words.first()?.as_text())
}

/// The variables that the texts of a server read without a default.
fn without_default(node: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        open.extend(node.as_sequence().unwrap_or_default());
        let entries = node.as_mapping().unwrap_or_default();
        open.extend(entries.iter().map(|entry| &entry.value));
        let text = node.as_text().map_or("", |text| text.as_str());
        let reads = text.split("${").skip(1);
        let reads = reads.filter_map(|rest| Some(rest.split_once('}')?.0));
        let strict = reads.filter(|read| !read.contains(":-"));
        found.extend(strict.map(|read| read.strip_prefix("env:").unwrap_or(read).to_owned()));
    }
    found
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
