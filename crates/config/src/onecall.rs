//! `onecall.yaml`: backends, paths of workflows, and what holds for all of them.

use crate::backend::{self, Reader};
use crate::limits::{PREFIX_CHARACTERS_MAX, REQUESTS_MAX, RESULT_BYTES_MAX};
use crate::reach::{self, Reach};
use crate::settings::{Access, Backend, Compositions, Expose, Limits, Links, Questions};
use crate::store;
use onecall_dialects::toolhive::read_duration;
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Place, Text, codes};
use onecall_workflow::expression::GoOptions;
use onecall_workflow::policy::Durability;

/// What one `onecall.yaml` says.
#[derive(Debug, Default)]
pub(crate) struct Onecall {
    pub(crate) backends: Vec<Backend>,
    pub(crate) expose: Option<Expose>,
    pub(crate) compositions: Compositions,
    /// Environment variables that workflows may read.
    pub(crate) environment: Vec<String>,
    /// The path of the store, and where it is stated.
    pub(crate) store: Option<(String, Place)>,
    pub(crate) durability: Option<Durability>,
    pub(crate) templates: Option<GoOptions>,
    pub(crate) limits: Limits,
    pub(crate) questions: Questions,
    pub(crate) prefix: Option<String>,
    /// Who may call.
    pub(crate) access: Option<Access>,
    pub(crate) reach: Reach,
}

pub(crate) fn read(root: &Node, reader: &Reader<'_>, diagnostics: &mut Diagnostics) -> Onecall {
    let mut read = Onecall::default();
    let Some(mut fields) = Fields::read(root, "an onecall configuration", diagnostics) else {
        return read;
    };
    for entry in fields.mapping("backends", diagnostics) {
        if let NodeKind::String(text) = &entry.value.kind {
            diagnostics.push(backend::in_one_text(text));
            read.backends.push(Backend::unreadable(&entry.key));
            continue;
        }
        let Some(mut own) = Fields::read(&entry.value, "a backend", diagnostics) else {
            read.backends.push(Backend::unreadable(&entry.key));
            continue;
        };
        let mut backend = reader.backend(&entry.key, &mut own, "transport", diagnostics);
        if let Some(auth) = own.optional_fields("auth", diagnostics) {
            reader.auth(auth, &mut backend, diagnostics);
        }
        own.finish(diagnostics);
        read.backends.push(backend);
    }
    // The caller follows these paths; here they only have to be texts.
    fields.string_sequence("workflows", diagnostics);
    if let Some(node) = fields.optional("expose") {
        (read.expose, read.compositions) = read_expose(node, diagnostics);
    }
    let environment = fields.string_sequence("environment", diagnostics);
    read.environment = environment.iter().map(ToString::to_string).collect();
    let store = fields.optional_string("store", diagnostics);
    let unsupported = store.and_then(store::fault);
    read.store = store
        .filter(|_| unsupported.is_none())
        .map(|store| (reader.path(store), store.place().clone()));
    diagnostics.extend(unsupported);
    let choices = ["none", "async", "sync"];
    let durability = fields.optional_choice("durability", &choices, diagnostics);
    read.durability = durability.map(|durability| match durability.value {
        "none" => Durability::None,
        "sync" => Durability::Sync,
        _ => Durability::Async,
    });
    if let Some(templates) = fields.optional_fields("templates", diagnostics) {
        read.templates = Some(read_templates(templates, diagnostics));
    }
    if let Some(own) = fields.optional_fields("auth", diagnostics) {
        read.access = Some(reader.access(own, diagnostics));
    }
    if let Some(own) = fields.optional_fields("server", diagnostics) {
        read.reach = reach::read(own, diagnostics);
    }
    if let Some(own) = fields.optional_fields("names", diagnostics) {
        read.prefix = read_names(own, diagnostics);
    }
    if let Some(own) = fields.optional_fields("limits", diagnostics) {
        read.limits = read_limits(own, diagnostics);
    }
    if let Some(own) = fields.optional_fields("questions", diagnostics) {
        read.questions = read_questions(own, diagnostics);
    }
    fields.finish(diagnostics);
    read
}

/// Whether results of tools have links to answer pages.
pub(crate) const LINKS: &[&str] = &["shown", "hidden"];

/// Workflows of workflow files take the prefix.
fn read_names(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Option<String> {
    let prefix = fields.optional_string("prefix", diagnostics);
    fields.finish(diagnostics);
    if let Some(prefix) = prefix {
        diagnostics.extend(prefix_fault(prefix));
    }
    prefix.map(ToString::to_string)
}

/// A prefix becomes part of the names of tools, so it is held to what those may have.
fn prefix_fault(prefix: &Text) -> Option<Diagnostic> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let length = prefix.chars().count();
    let reason = match prefix.chars().find(|c| !allowed(*c)) {
        Some(bad) => format!("has {bad:?} in it"),
        None if length > PREFIX_CHARACTERS_MAX => format!("has {length} characters"),
        None => return None,
    };
    let message = format!("no tool can have a name that starts with this prefix: it {reason}");
    let fault = Diagnostic::error(codes::INVALID_NAME, message)
        .label(prefix.place(), "not the start of a name")
        .help("use at most 64 letters, digits, `_`, `-`, `.` and `:`, such as `flow_`");
    Some(fault)
}

fn read_limits(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Limits {
    let mut time = |key| {
        let stated = read_duration(&mut fields, key, diagnostics)?.value;
        // As everywhere, nothing means the usual.
        (!stated.is_zero()).then_some(stated)
    };
    let (session_idle, patience) = (time("session_idle"), time("patience"));
    let mut read = |key, most| {
        let stated = fields.optional_integer(key, 1..=most, diagnostics)?;
        usize::try_from(stated.value).ok()
    };
    let limits = Limits {
        steps: read("steps", 1_000),
        in_flight: read("in_flight", 10_000),
        argument_bytes: read("argument_bytes", i64::MAX),
        body_bytes: read("body_bytes", i64::MAX),
        sessions: read("sessions", i64::MAX),
        requests: read("requests", REQUESTS_MAX),
        connections: read("connections", REQUESTS_MAX),
        session_idle,
        patience,
        result_bytes: read("result_bytes", RESULT_BYTES_MAX),
        text_bytes: read("text_bytes", i64::MAX),
        run_bytes: read("run_bytes", i64::MAX),
        events: read("events", i64::MAX),
        operations: read("operations", i64::MAX),
        shown_bytes: read("shown_bytes", i64::MAX),
        open_runs: read("open_runs", i64::MAX),
        open_runs_per_caller: read("open_runs_per_caller", i64::MAX),
        open_bytes: read("open_bytes", i64::MAX),
        open_bytes_per_caller: read("open_bytes_per_caller", i64::MAX),
        ephemeral_bytes: read("ephemeral_bytes", i64::MAX),
    };
    fields.finish(diagnostics);
    limits
}

/// How people are asked.
fn read_questions(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Questions {
    let timeout = read_duration(&mut fields, "timeout", diagnostics).map(|stated| stated.value);
    let links = fields.optional_choice("links", LINKS, diagnostics);
    fields.finish(diagnostics);
    Questions {
        // Zero means the default, as everywhere.
        timeout: timeout.filter(|timeout| !timeout.is_zero()),
        links: links.map(|links| match links.value {
            "hidden" => Links::Hidden,
            _ => Links::Shown,
        }),
    }
}

/// `all` or `workflows`, or what exactly: `{tools: false, compositions: [NAME]}`.
fn read_expose(node: &Node, diagnostics: &mut Diagnostics) -> (Option<Expose>, Compositions) {
    let NodeKind::Mapping(_) = &node.kind else {
        let expose = node.expect_choice("expose", &["all", "workflows"], diagnostics);
        let expose = expose.map(|expose| match expose {
            "workflows" => Expose::Workflows,
            _ => Expose::All,
        });
        return (expose, Compositions::Stated);
    };
    let Some(mut fields) = Fields::read(node, "expose", diagnostics) else {
        return (None, Compositions::Stated);
    };
    let tools = fields.optional_bool("tools", diagnostics);
    let compositions = match fields.optional("compositions") {
        None => Compositions::Stated,
        Some(node) => match &node.kind {
            NodeKind::String(text) if *text == *"all" => Compositions::All,
            _ => {
                let names = node.expect_sequence("compositions", diagnostics);
                let names = names.unwrap_or_default().iter();
                let names =
                    names.filter_map(|name| name.expect_string("compositions", diagnostics));
                Compositions::Named(names.map(ToString::to_string).collect())
            }
        },
    };
    fields.finish(diagnostics);
    let expose = tools.map(|tools| {
        if tools.value {
            Expose::All
        } else {
            Expose::Workflows
        }
    });
    (expose, compositions)
}

fn read_templates(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> GoOptions {
    let mode = fields.optional_choice("mode", &["workflow", "go"], diagnostics);
    let missing = fields.optional_choice("missing", &["error", "go"], diagnostics);
    fields.finish(diagnostics);
    GoOptions {
        go_mode: mode.is_some_and(|mode| mode.value == "go"),
        go_missing: missing.is_some_and(|missing| missing.value == "go"),
    }
}

/// The paths of workflow files, for the caller to add.
pub(crate) fn paths(root: &Node) -> Vec<Text> {
    let Some(node) = root.get("workflows") else {
        return Vec::new();
    };
    let NodeKind::Sequence(items) = &node.kind else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| item.as_text().cloned())
        .collect()
}
