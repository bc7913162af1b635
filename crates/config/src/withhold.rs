//! An error in the files takes away the definition, the backend or the file that it is in, and nothing else.
//! After an error anywhere else, such as in `auth` or `limits`, nothing may be served.

use crate::limits::REASONS_MAX;
use crate::read::{Found, Input, OURS_FIRST};
use crate::settings::{Server, Settings};
use onecall_dialects::dialect::Kind;
use onecall_source::{Diagnostic, Diagnostics, Entry, Node, Place, SourceMap, Span, Text};
use onecall_workflow::draft::Draft;
use std::collections::BTreeMap;

/// Something that is left out because of errors in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    pub kind: WithheldKind,
    pub name: String,
    /// The messages of its errors.
    pub reason: String,
    /// Where the errors are, and what to do; not for callers.
    pub help: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithheldKind {
    Workflow,
    Backend,
    File,
}

impl WithheldKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Backend => "backend",
            Self::File => "file",
        }
    }
}

/// A piece of the files that can be left out by itself.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    kind: WithheldKind,
    name: Option<String>,
    span: Span,
}

/// The parts of all files. A file without recognised documents is one if it begins as a workflow file or a suite does
/// and says nothing of callers: else it may have been meant to keep some out.
pub(crate) fn parts(sources: &SourceMap, inputs: &[Input], documents: &[Found]) -> Vec<Part> {
    let mut parts = Vec::new();
    for found in documents {
        of_document(&found.document.root, found.kind, &mut parts);
    }
    for input in inputs {
        let file = sources.get(input.source);
        let mut own = documents
            .iter()
            .filter(|found| found.source == input.source)
            .peekable();
        let is_free = match own.peek() {
            Some(_) => own
                .clone()
                .all(|found| is_free(&found.document.root, found.kind)),
            None => is_of_workflows(file.text()),
        };
        if is_free {
            let workflow = own.find_map(|found| found.document.root.get("workflow")?.as_text());
            let (kind, name) = match workflow {
                Some(name) => (WithheldKind::Workflow, name.to_string()),
                None => (WithheldKind::File, file.name().to_owned()),
            };
            parts.push(Part {
                kind,
                name: Some(name),
                span: Span::new(input.source, 0, file.text().len()),
            });
        }
    }
    parts
}

fn is_of_workflows(text: &str) -> bool {
    let begins = |line: &str| OURS_FIRST.iter().any(|word| line.starts_with(word));
    text.lines().any(begins) && !text.to_ascii_lowercase().contains("auth")
}

/// Whether a document holds definitions and backends alone, and nothing that restricts callers.
fn is_free(root: &Node, kind: Kind) -> bool {
    match kind {
        Kind::Workflow | Kind::Suite | Kind::McpServers => true,
        Kind::Onecall | Kind::ToolhiveConfig => false,
        Kind::Resource => {
            let kind = root.get("kind").and_then(Node::as_text);
            kind.is_some_and(|kind| of_resource(kind).is_some())
        }
    }
}

/// What a resource of this kind is.
fn of_resource(kind: &str) -> Option<WithheldKind> {
    match kind {
        "VirtualMCPCompositeToolDefinition" => Some(WithheldKind::Workflow),
        "MCPServer" | "MCPRemoteProxy" | "MCPServerEntry" => Some(WithheldKind::Backend),
        _ => None,
    }
}

fn of_document(root: &Node, kind: Kind, parts: &mut Vec<Part>) {
    match kind {
        Kind::Onecall => {
            entries(root, "backends", parts);
            // A path that leads nowhere.
            items(root, "workflows", WithheldKind::File, parts);
        }
        Kind::McpServers => entries(root, "mcpServers", parts),
        Kind::Suite => {
            entries(root, "servers", parts);
            items(root, "compositions", WithheldKind::Workflow, parts);
        }
        Kind::ToolhiveConfig => of_toolhive(root, parts),
        // The whole file is one.
        Kind::Workflow => {}
        Kind::Resource => {
            let listed = root.get("items").and_then(Node::as_sequence);
            for resource in listed.unwrap_or(std::slice::from_ref(root)) {
                of_one_resource(resource, parts);
            }
        }
    }
}

fn of_one_resource(resource: &Node, parts: &mut Vec<Part>) {
    let kind = resource.get("kind").and_then(Node::as_text);
    let kind = kind.map(Text::as_str).unwrap_or_default();
    let spec = resource.get("spec");
    if kind == "VirtualMCPServer" {
        let spec = spec.into_iter();
        for model in spec.flat_map(|spec| [Some(spec), spec.get("config")].into_iter().flatten()) {
            of_toolhive(model, parts);
        }
    }
    if let Some(of) = of_resource(kind) {
        let metadata = resource.get("metadata").and_then(|own| own.get("name"));
        let stated = spec
            .and_then(|spec| spec.get("name"))
            .filter(|_| of == WithheldKind::Workflow);
        let name = stated.or(metadata).and_then(Node::as_text);
        push(of, name.map(ToString::to_string), &resource.place, parts);
    }
}

/// Of a ToolHive configuration, or of a resource that holds one.
fn of_toolhive(root: &Node, parts: &mut Vec<Part>) {
    items(root, "backends", WithheldKind::Backend, parts);
    items(root, "compositeTools", WithheldKind::Workflow, parts);
    items(root, "compositeToolRefs", WithheldKind::Workflow, parts);
    if let Some(auth) = root.get("outgoingAuth") {
        entries(auth, "backends", parts);
    }
}

/// The backends that a mapping holds by name.
fn entries(root: &Node, key: &str, parts: &mut Vec<Part>) {
    let all = root.get(key).and_then(Node::as_mapping).unwrap_or_default();
    for Entry { key, value } in all {
        let place = match (key.place().span(), value.place.span()) {
            (Some(key), Some(value)) => Place::from(key.to(value)),
            _ => value.place.clone(),
        };
        push(WithheldKind::Backend, Some(key.to_string()), &place, parts);
    }
}

fn items(root: &Node, key: &str, kind: WithheldKind, parts: &mut Vec<Part>) {
    for item in root
        .get(key)
        .and_then(Node::as_sequence)
        .unwrap_or_default()
    {
        let name = item.get("name").unwrap_or(item).as_text();
        push(kind, name.map(ToString::to_string), &item.place, parts);
    }
}

fn push(kind: WithheldKind, name: Option<String>, place: &Place, parts: &mut Vec<Part>) {
    if let Some(span) = place.span() {
        parts.push(Part { kind, name, span });
    }
}

impl Settings {
    /// Leaves out every part that has an error. `None` if an error is in no part, so that nothing may be served;
    /// else what is left out, in the order of the files.
    pub fn withhold(
        &mut self,
        sources: &SourceMap,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<Withheld>> {
        if diagnostics.omitted() > 0 {
            return None;
        }
        let mut hit: BTreeMap<usize, Vec<&Diagnostic>> = BTreeMap::new();
        for error in diagnostics.iter().filter(|one| one.is_error()) {
            hit.entry(self.part_of(error)?).or_default().push(error);
        }
        let mut all = Vec::new();
        for (part, errors) in hit {
            let part = self.parts[part].clone();
            let (reason, help) = (reason(&errors), help(&errors, sources));
            self.leave_out(&part, &Reason { reason, help }, &mut all);
        }
        self.leave_out_drafts(&mut all);
        Some(all)
    }

    /// The smallest part that holds the error.
    fn part_of(&self, error: &Diagnostic) -> Option<usize> {
        let span = error.place()?.span()?;
        let parts = self.parts.iter().enumerate();
        let holding = parts.filter(|(_, part)| part.span.contains(span));
        let smallest = holding.min_by_key(|(_, part)| part.span.len());
        smallest.map(|(index, _)| index)
    }

    fn leave_out(&mut self, part: &Part, why: &Reason, all: &mut Vec<Withheld>) {
        let before = all.len();
        let holds = |place: &Place| place.span().is_some_and(|own| part.span.contains(own));
        let is_named = |name: &str| part.name.as_deref() == Some(name);
        let of_backend = part.kind == WithheldKind::Backend;
        for server in &mut self.servers {
            server.leave_out_workflows(&holds, why, all);
            server.leave_out_backends(
                |place, name| holds(place) || of_backend && is_named(name),
                why,
                all,
            );
        }
        self.unpublished_drafts.retain(|own| !holds(own.place()));
        let beside = self.compositions.extract_if(.., |own| holds(&own.place));
        let beside = beside.chain(self.unpublished.extract_if(.., |own| holds(&own.place)));
        all.extend(beside.map(|own| why.of(WithheldKind::Workflow, own.name.as_str())));
        if all.len() == before
            && let Some(name) = &part.name
        {
            let withheld = why.of(part.kind, name);
            if part.kind == WithheldKind::Workflow {
                for server in &mut self.servers {
                    server.withheld.push(withheld.clone());
                }
            }
            all.push(withheld);
        }
    }

    /// Drafts whose errors are reported elsewhere in the files.
    fn leave_out_drafts(&mut self, all: &mut Vec<Withheld>) {
        let why = Reason {
            reason: "it has errors".to_owned(),
            help: vec!["`onecall check` shows them".to_owned()],
        };
        for server in &mut self.servers {
            for draft in std::mem::take(&mut server.drafts) {
                server.push_withheld(why.of(WithheldKind::Workflow, draft.name()), all);
            }
        }
    }
}

impl Server {
    fn leave_out_workflows(
        &mut self,
        holds: &impl Fn(&Place) -> bool,
        why: &Reason,
        all: &mut Vec<Withheld>,
    ) {
        let workflows = self.workflows.extract_if(.., |own| holds(&own.place));
        let names = workflows.map(|own| own.name.as_str().to_owned());
        let drafts = self
            .drafts
            .extract_if(.., |own: &mut Draft| holds(own.place()));
        let names: Vec<String> = names
            .chain(drafts.map(|own| own.name().to_owned()))
            .collect();
        for name in names {
            self.push_withheld(why.of(WithheldKind::Workflow, &name), all);
        }
    }

    fn push_withheld(&mut self, withheld: Withheld, all: &mut Vec<Withheld>) {
        self.withheld.push(withheld.clone());
        all.push(withheld);
    }

    fn leave_out_backends(
        &mut self,
        is_held: impl Fn(&Place, &str) -> bool,
        why: &Reason,
        all: &mut Vec<Withheld>,
    ) {
        let gone = self
            .backends
            .extract_if(.., |own| is_held(&own.place, own.name.as_str()));
        for backend in gone {
            let withheld = why.of(WithheldKind::Backend, backend.name.as_str());
            if self
                .invalid
                .insert(backend.name, why.reason.clone())
                .is_none()
            {
                all.push(withheld);
            }
        }
        // If two backends have one name, it is unknown which of them is meant.
        let invalid = &self.invalid;
        self.backends.retain(|own| !invalid.contains_key(&own.name));
    }
}

struct Reason {
    reason: String,
    help: Vec<String>,
}

impl Reason {
    fn of(&self, kind: WithheldKind, name: &str) -> Withheld {
        Withheld {
            kind,
            name: name.to_owned(),
            reason: self.reason.clone(),
            help: self.help.clone(),
        }
    }
}

fn reason(errors: &[&Diagnostic]) -> String {
    let shown = errors.iter().take(REASONS_MAX);
    let shown: Vec<&str> = shown.map(|error| error.message.as_str()).collect();
    match errors.len() - shown.len() {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}

fn help(errors: &[&Diagnostic], sources: &SourceMap) -> Vec<String> {
    let one = |error: &&Diagnostic| {
        let place = error.place().map(|place| sources.describe(place));
        let help = error.help.join("; ");
        let code = error.code.as_str();
        match place {
            Some(place) if help.is_empty() => format!("{code} at {place}"),
            Some(place) => format!("{code} at {place}: {help}"),
            None => help,
        }
    };
    errors.iter().take(REASONS_MAX).map(one).collect()
}
