//! All files of a command, in any mix, become one `Settings`. What each document is, is told by its keys.

use crate::access;
use crate::backend::Reader;
use crate::headers;
use crate::mcp_servers;
use crate::onecall::{self, Onecall};
use crate::prefix;
use crate::reach::Reach;
use crate::recognise::kind_of;
use crate::resources::{
    self, Definition, Loaded, NAMESPACE, Publication, Resource, no_backends, publish, resources_of,
};
use crate::settings::{Access, Backend, Compositions, Limits, Questions, Server, Settings};
use crate::substitute::Environment;
use crate::suite::{self, Suite};
use crate::taken::Taken;
use crate::toolhive::{self, Toolhive};
use crate::withhold;
use crate::workloads::Stated;
use onecall_dialects::dialect::{Kind, MAIN_KEYS};
use onecall_dialects::mcptest::{Compat, Tests};
use onecall_dialects::native;
use onecall_dialects::toolhive::Home;
use onecall_source::{
    Diagnostic, Diagnostics, Document, Node, Place, Severity, SourceId, SourceMap, Span, Text,
    codes, parse, suggest,
};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::GoOptions;
use onecall_workflow::policy::Durability;
use onecall_workflow::step::{Action, Step};
use std::collections::{BTreeMap, BTreeSet};

/// A file to read.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub source: SourceId,
    /// Given by name, so it must be recognised. One found in a directory is left out when it is not.
    pub named: bool,
}

/// What is needed beside the files.
pub struct Options<'e> {
    /// Values of environment variables, for `${VAR}` in backends.
    pub environment: &'e Environment<'e>,
    /// How suites are read where their page and their program differ.
    pub compat: Compat,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Options").finish_non_exhaustive()
    }
}

/// Reads and merges all files. `None` when something in them is an error; the diagnostics are always complete.
pub fn read(
    sources: &SourceMap,
    inputs: &[Input],
    options: &Options<'_>,
) -> (Option<Settings>, Diagnostics) {
    let (settings, diagnostics) = survey(sources, inputs, options);
    let sound = !diagnostics.has_errors();
    (sound.then_some(settings), diagnostics)
}

/// As `read`, for checks that go on: what could be read of the files, though nothing may be served or called from
/// it when something in them is an error.
pub fn survey(
    sources: &SourceMap,
    inputs: &[Input],
    options: &Options<'_>,
) -> (Settings, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let documents = parse_all(sources, inputs, &mut diagnostics);
    let lacks_backends = lacks_backends(&documents, &diagnostics);
    let parts = withhold::parts(sources, inputs, &documents);
    let read = documents.iter().map(|found| found.source).collect();
    let suites = documents.iter().filter(|found| found.kind == Kind::Suite);
    let suites = suites.map(|found| found.source).collect();
    let (mut settings, definitions) = assemble(documents, options, &mut diagnostics);
    settings.lacks_backends = lacks_backends;
    settings.parts = parts;
    settings.read = read;
    settings.suites = suites;
    for definition in definitions {
        match definition.built {
            Some(built) if definition.referenced_by.is_empty() => settings.add_unpublished(built),
            Some(_) | None => {}
        }
    }
    diagnostics.sort();
    (settings, diagnostics)
}

/// Everything but the decision whether it may be used. A document is dropped as soon as it has been read, since
/// the trees of many files take more memory than what they mean.
pub(crate) fn assemble(
    mut documents: Vec<Found>,
    options: &Options<'_>,
    diagnostics: &mut Diagnostics,
) -> (Settings, Vec<Definition>) {
    let mut merged = Merged::default();
    // What `onecall.yaml` says about templates holds for every file, so it is read first.
    for found in of_kind(&mut documents, Kind::Onecall) {
        let own = onecall::read(&found.document.root, &found.reader(options), diagnostics);
        merged.add_onecall(own, diagnostics);
    }
    for found in of_kind(&mut documents, Kind::McpServers) {
        let reader = found.reader(options);
        let backends = mcp_servers::read(&found.document.root, &reader, diagnostics);
        merged.server.backends.extend(backends);
    }
    let held: Vec<Found> = of_kind(&mut documents, Kind::Resource).collect();
    let resources: Vec<Resource<'_>> = held
        .iter()
        .flat_map(|found| resources_of(&found.document.root, diagnostics))
        .collect();
    let configs = documents.iter();
    let configs = configs.filter(|found| found.kind == Kind::ToolhiveConfig);
    let groups: Vec<Text> = configs
        .filter_map(|found| toolhive::group(&found.document.root))
        .collect();
    let context = resources::Context {
        environment: options.environment,
        templates: merged.templates,
        steps_max: merged.limits.steps,
        loose: &merged.server.backends.clone(),
        groups: &groups,
    };
    let mut loaded = resources::load(&resources, context, diagnostics);
    drop(resources);
    drop(held);
    for found in of_kind(&mut documents, Kind::ToolhiveConfig) {
        let reader = found.reader(options);
        let context = toolhive::Context {
            reader: &reader,
            templates: merged.templates,
            steps_max: merged.limits.steps,
            home: Home::Config,
            namespace: NAMESPACE,
            tool_configs: &loaded.tool_configs,
        };
        let own = toolhive::read(&found.document.root, context, diagnostics);
        merged.add_toolhive(own, &mut loaded, diagnostics);
    }
    for found in of_kind(&mut documents, Kind::Workflow) {
        merged.add_native(&found.document.root, diagnostics);
    }
    let backends: Vec<String> = merged.backend_names();
    for found in of_kind(&mut documents, Kind::Suite) {
        let reader = found.reader(options);
        let context = suite::Context {
            reader: &reader,
            backends: &backends,
            readable: &merged.readable.clone(),
            compat: options.compat,
        };
        let own = suite::read(&found.document.root, context, diagnostics);
        merged.add_suite(own, diagnostics);
    }
    let definitions = std::mem::take(&mut loaded.definitions);
    (merged.finish(loaded.servers, diagnostics), definitions)
}

/// Takes the documents of a kind.
fn of_kind(documents: &mut Vec<Found>, kind: Kind) -> impl Iterator<Item = Found> {
    documents.extract_if(.., move |found| found.kind == kind)
}

/// The paths of workflow files that an `onecall.yaml` names, relative to it.
pub fn references(sources: &SourceMap, input: Input) -> Vec<Text> {
    let (documents, _) = parse(sources, input.source);
    let name = sources.get(input.source).name();
    documents
        .iter()
        .filter(|document| kind_of(document, name, input.named) == Some(Kind::Onecall))
        .flat_map(|document| onecall::paths(&document.root))
        .collect()
}

/// A document that was recognised.
pub(crate) struct Found {
    pub(crate) document: Document,
    pub(crate) kind: Kind,
    pub(crate) source: SourceId,
    directory: String,
}

impl Found {
    fn reader<'a>(&'a self, options: &'a Options<'a>) -> Reader<'a> {
        Reader {
            environment: options.environment,
            process: options.environment,
            directory: &self.directory,
        }
    }
}

/// Words that only files of ours hold, whether they can be read or not.
const OURS: [&str; 3] = ["compositeTools", "toolhive.stacklok.dev/", "mcpServers"];

/// Words that only files of ours begin a line with.
pub(crate) const OURS_FIRST: [&str; 2] = ["workflow:", "compositions:"];

fn speaks_of_ours(text: &str) -> bool {
    let begins = |line: &str| OURS_FIRST.iter().any(|word| line.starts_with(word));
    OURS.iter().any(|word| text.contains(word)) || text.lines().any(begins)
}

/// Whether a file that could not be parsed to its end may have given backends.
fn lacks_backends(documents: &[Found], faults: &Diagnostics) -> bool {
    let is_cut = |found: &Found| found.kind != Kind::Workflow && !found.document.root.is_complete();
    let is_recognised = |fault: &Diagnostic| {
        let span = fault.place().and_then(Place::span);
        span.is_some_and(|span| documents.iter().any(|found| found.source == span.source))
    };
    let mut errors = faults.iter().filter(|fault| fault.is_error());
    documents.iter().any(is_cut) || errors.any(|fault| !is_recognised(fault))
}

fn as_warning(fault: Diagnostic) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        ..fault
    }
}

pub(crate) fn parse_all(
    sources: &SourceMap,
    inputs: &[Input],
    diagnostics: &mut Diagnostics,
) -> Vec<Found> {
    let mut all = Vec::new();
    for input in inputs {
        let name = sources.get(input.source).name();
        let (documents, faults) = parse(sources, input.source);
        let kind_of = |document: &Document| kind_of(document, name, input.named);
        let is_known = |document: &Document| kind_of(document).is_some();
        let recognised = documents.iter().any(is_known);
        if recognised || !faults.has_errors() {
            let what = if recognised { "a document of " } else { "" };
            let strangers = documents.iter().filter(|document| !is_known(document));
            let strangers = strangers.map(|document| unrecognised(document, what, name));
            let none = documents.is_empty().then(|| empty(input.source, name));
            if input.named {
                diagnostics.extend(strangers.chain(none));
            } else if recognised {
                // What stands beside a document of ours was meant for us.
                diagnostics.extend(strangers.map(as_warning));
            }
        }
        let text = sources.get(input.source).text();
        if input.named || recognised || speaks_of_ours(text) {
            diagnostics.append(faults);
        } else {
            // A broken file of a directory may be anybody's; silence would hide it if it is ours.
            diagnostics.extend(
                faults
                    .into_iter()
                    .filter(Diagnostic::is_error)
                    .map(as_warning),
            );
        }
        let directory = name.rsplit_once(['/', '\\']).map_or("", |(path, _)| path);
        for document in documents {
            if let Some(kind) = kind_of(&document) {
                all.push(Found {
                    document,
                    kind,
                    source: input.source,
                    directory: directory.to_owned(),
                });
            }
        }
    }
    all
}

/// Its first key, where it has one.
fn head(document: &Document) -> Place {
    let first = document.root.as_mapping().and_then(<[_]>::first);
    first
        .map_or(&document.root.place, |entry| entry.key.place())
        .clone()
}

/// `what` stands before the name of the file.
fn unrecognised(document: &Document, what: &str, name: &str) -> Diagnostic {
    let fault = Diagnostic::error(
        codes::UNRECOGNISED,
        format!("{what}`{name}` is none of the files that are read"),
    )
    .label(head(document), "what is this?");
    let entries = document.root.as_mapping().unwrap_or_default().iter();
    let mut keys = entries.map(|entry| entry.key.as_str());
    if keys.clone().any(|key| key == "servers") {
        return fault.help(format!(
            "VS Code lists servers so; `onecall init {name}` makes an `onecall.yaml` of them"
        ));
    }
    let near = keys.find_map(|key| suggest(key, MAIN_KEYS));
    if let Some(near) = near {
        return fault.help(format!("a key named `{near}` would tell what it is"));
    }
    fault.help(KINDS)
}

/// A file without a document.
fn empty(source: SourceId, name: &str) -> Diagnostic {
    let start = Place::from(Span::new(source, 0, 0));
    let message = format!("`{name}` is empty");
    Diagnostic::error(codes::UNRECOGNISED, message)
        .label(start, "nothing is here")
        .help(KINDS)
}

/// What tells the files apart.
const KINDS: &str = "a ToolHive configuration has `compositeTools`, a resource `apiVersion` and `kind`, `mcp.json` has `mcpServers`, a suite `compositions`, `onecall.yaml` has `backends` or `workflows`, and a workflow file has `workflow`";

fn two_stores(place: &Place, before: &Place) -> Diagnostic {
    Diagnostic::error(codes::KEYS_CONFLICT, "two files name different stores")
        .label(place, "this one")
        .secondary(before, "and this one")
        .help("remove one of them")
}

#[derive(Default)]
struct Merged {
    server: Server,
    /// The group that a configuration file takes its backends from.
    group: Option<Text>,
    store: Option<(String, Place)>,
    durability: Option<Durability>,
    templates: GoOptions,
    limits: Limits,
    questions: Questions,
    /// Workflows that clients are not shown.
    unpublished: Vec<Built>,
    /// Compositions that are published though they do not say so.
    exposed: Compositions,
    /// Environment variables that compositions may read.
    readable: BTreeSet<String>,
    compositions: Vec<Built>,
    tests: Vec<Tests>,
    /// The names of the workflows of the server.
    taken: Taken,
    /// What is said of backends by name, for when all are known.
    stated: Stated,
    /// Who may call any of the servers.
    access: Option<Access>,
    reach: Reach,
}

impl Merged {
    fn add_onecall(&mut self, own: Onecall, diagnostics: &mut Diagnostics) {
        self.server.backends.extend(own.backends);
        if let Some(expose) = own.expose {
            self.server.expose = expose;
        }
        if let (Some((old, before)), Some((new, place))) = (&self.store, &own.store)
            && old != new
        {
            diagnostics.push(two_stores(place, before));
        }
        self.store = own.store.or(self.store.take());
        self.durability = own.durability.or(self.durability);
        self.templates = own.templates.unwrap_or(self.templates);
        self.limits = own.limits.or(self.limits);
        self.questions = own.questions.or(self.questions);
        let names = &mut self.server.names;
        names.prefix = own.prefix.or(names.prefix.take());
        if own.compositions != Compositions::Stated {
            self.exposed = own.compositions;
        }
        self.readable.extend(own.environment);
        self.reach.join(own.reach);
        if let Some(access) = own.access {
            access::join(&mut self.access, access, diagnostics);
        }
    }

    fn backend_names(&self) -> Vec<String> {
        let names = self.server.backends.iter().map(|backend| &backend.name);
        names.map(|name| name.as_str().to_owned()).collect()
    }

    fn add_suite(&mut self, own: Suite, diagnostics: &mut Diagnostics) {
        self.server.backends.extend(own.backends);
        for composition in own.compositions {
            self.tests.push(composition.tests);
            let built = composition.built;
            let (name, place) = (built.name().as_str(), built.place());
            if composition.is_published || self.exposed.publish(name) {
                self.taken.add(name, place, diagnostics);
                self.server.add(built);
            } else {
                self.compositions.push(built);
            }
        }
    }

    fn add_toolhive(&mut self, own: Toolhive, loaded: &mut Loaded, diagnostics: &mut Diagnostics) {
        if let Some(name) = own.name {
            self.server.name = name;
        }
        if let Some(aggregation) = own.aggregation {
            self.server.aggregation = aggregation;
        }
        let others = self.server.backends.len();
        if let (Some(group), []) = (&own.group, own.backends.as_slice()) {
            loaded.join(group, NAMESPACE, &mut self.server);
        }
        if let Some(access) = own.access {
            access::join(&mut self.server.access, access, diagnostics);
        }
        self.group = own.group.or(self.group.take());
        self.server.backends.extend(own.backends);
        let own_backends = others..self.server.backends.len();
        self.stated.add(own.workloads, own_backends);
        for built in own.workflows {
            self.server.add(built);
        }
        for name in &own.names {
            self.taken.add(name, name.place(), diagnostics);
        }
        let mut publication = Publication {
            server: &mut self.server,
            namespace: NAMESPACE,
            taken: &mut self.taken,
        };
        let definitions = &mut loaded.definitions;
        publish(&own.tool_refs, &mut publication, definitions, diagnostics);
    }

    fn add_native(&mut self, root: &Node, diagnostics: &mut Diagnostics) {
        let hidden = root.get("expose").and_then(Node::as_bool) == Some(false);
        if let (Some(name), false) = (root.get("workflow").and_then(Node::as_text), hidden) {
            self.taken.add(name, name.place(), diagnostics);
            self.server.names.prefixed.insert(name.to_string());
        }
        match native::read(root, diagnostics) {
            Some(own) if own.exposed => {
                let name = own.built.name().as_str().to_owned();
                self.server.names.prefixed.insert(name);
                self.server.add(own.built);
            }
            Some(own) => self.unpublished.push(own.built),
            None => {}
        }
    }

    /// The servers of resources, and one of everything else where there is such a thing.
    fn finish(mut self, mut servers: Vec<Server>, diagnostics: &mut Diagnostics) -> Settings {
        let is_named = !self.server.name.is_empty();
        if let (Some(group), []) = (&self.group, self.server.backends.as_slice()) {
            diagnostics.push(no_backends(&self.server, group.place(), Some(group)));
        }
        self.stated.apply(&mut self.server.backends, diagnostics);
        if !is_named {
            "onecall".clone_into(&mut self.server.name);
        }
        if servers.is_empty() || is_named || self.server.steps().next().is_some() {
            servers.insert(0, self.server);
        }
        for server in &mut servers {
            if let Some(access) = self.access.clone() {
                access::join(&mut server.access, access, diagnostics);
            }
            server.limits = self.limits;
            server.questions = self.questions;
            for backend in &mut server.backends {
                backend.max_in_flight = backend.max_in_flight.or(self.limits.in_flight);
            }
        }
        for server in &servers {
            check_backends(&server.backends, diagnostics);
            check_exchanges(server, diagnostics);
            prefix::check_backends(server, diagnostics);
            headers::check_backends(&server.backends, diagnostics);
            if self.durability == Some(Durability::None) {
                check_questions(server, diagnostics);
            }
        }
        let mut settings = Settings {
            servers,
            store: self.store.map(|(path, _)| path),
            durability: self.durability,
            limits: self.limits,
            questions: self.questions,
            reach: self.reach,
            tests: self.tests,
            ..Settings::default()
        };
        for built in self.unpublished {
            settings.add_unpublished(built);
        }
        for built in self.compositions {
            settings.add_composition(built);
        }
        settings
    }
}

fn check_backends(backends: &[Backend], diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<&str, &Backend> = BTreeMap::new();
    for backend in backends {
        match first.get(backend.name.as_str()) {
            None => {
                first.insert(backend.name.as_str(), backend);
            }
            Some(earlier) => diagnostics.push(
                Diagnostic::error(
                    codes::DUPLICATE_BACKEND,
                    format!("two backends are named `{}`", backend.name),
                )
                .label(&backend.place, "this name is taken")
                .secondary(&earlier.place, "first used here")
                .help("give one of them another name"),
            ),
        }
    }
}

/// Tokens of callers can only be exchanged where callers show some that a token server knows.
fn check_exchanges(server: &Server, diagnostics: &mut Diagnostics) {
    if server
        .access
        .as_ref()
        .is_some_and(|access| access.oidc.is_some())
    {
        return;
    }
    let exchanges = |backend: &&Backend| {
        let exchange = backend
            .tokens
            .as_ref()
            .and_then(|own| own.exchange.as_ref());
        exchange.is_some_and(|subject| subject.token.is_none())
    };
    for backend in server.backends.iter().filter(exchanges) {
        diagnostics.push(
            Diagnostic::error(
                codes::NO_CALLER_TOKEN,
                format!(
                    "backend `{}` exchanges the token of its caller, and no caller shows one",
                    backend.name
                ),
            )
            .label(&backend.place, "every call of it would be refused")
            .help("let callers in by an identity provider: `auth: {oidc: {issuer, audience}}`, or `incomingAuth: {type: oidc}` of a ToolHive file"),
        );
    }
}

fn check_questions(server: &Server, diagnostics: &mut Diagnostics) {
    let asks = |step: &&Step| matches!(step.action, Action::Ask(_));
    for step in server.steps().filter(asks) {
        diagnostics.push(
            Diagnostic::error(
                codes::QUESTION_NOT_STORED,
                format!(
                    "step `{}` asks a person, but runs are not stored",
                    step.name
                ),
            )
            .label(&step.place, "the question would be lost with the process")
            .help("set `durability` to `async` or `sync`"),
        );
    }
}
