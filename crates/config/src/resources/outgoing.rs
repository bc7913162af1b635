//! `outgoingAuth` of a VirtualMCPServer: what each backend is called with.

use super::external_auth::ExternalAuths;
use crate::settings::{Backend, Transport};
use crate::toolhive::read_reference;
use crate::workloads::{Header, check_names, wants_url};
use onecall_source::{Diagnostics, Entry, Fields, Text};

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    default: Strategy,
    backends: Vec<(Text, Strategy)>,
    /// What the resource of a backend says does not count.
    is_inline: bool,
}

#[derive(Debug, Default)]
enum Strategy {
    /// As the resource of the backend says.
    #[default]
    Discovered,
    /// `None` is a configuration without a header.
    Given(Option<Header>),
}

impl Outgoing {
    pub(super) fn read(
        mut fields: Fields<'_>,
        auths: &ExternalAuths<'_>,
        namespace: &str,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let source = fields.optional_choice("source", &["discovered", "inline"], diagnostics);
        let default = fields.entry("default").filter(|own| !own.value.is_null());
        let backends = fields.mapping("backends", diagnostics);
        fields.finish(diagnostics);
        let mut strategy =
            |entry: &Entry| strategy(entry, auths, namespace, diagnostics).unwrap_or_default();
        Self {
            default: default.map(&mut strategy).unwrap_or_default(),
            backends: backends
                .iter()
                .map(|entry| (entry.key.clone(), strategy(entry)))
                .collect(),
            is_inline: source.is_some_and(|source| source.value == "inline"),
        }
    }

    /// Whether what names a backend can be done for it.
    pub(super) fn check(&self, backends: &[Backend], diagnostics: &mut Diagnostics) {
        let names = self.backends.iter().map(|(name, _)| name);
        check_names(names, backends, diagnostics);
        for (name, strategy) in &self.backends {
            let is_program = |own: &Backend| {
                own.name == name.as_str() && matches!(own.transport, Transport::Stdio { .. })
            };
            if matches!(strategy, Strategy::Given(Some(_))) && backends.iter().any(is_program) {
                diagnostics.push(wants_url(name, "headerInjection"));
            }
        }
    }

    /// What a backend is called with; `own` is what its resource says.
    pub(super) fn header<'h>(
        &'h self,
        backend: &str,
        own: Option<&'h Header>,
    ) -> Option<&'h Header> {
        let named = self.backends.iter().find(|(name, _)| **name == *backend);
        match (named.map(|(_, strategy)| strategy), &self.default) {
            (Some(Strategy::Given(header)), _) => header.as_ref(),
            (None, Strategy::Given(header)) if self.is_inline || own.is_none() => header.as_ref(),
            (None, Strategy::Discovered) if self.is_inline => None,
            (Some(Strategy::Discovered) | None, _) => own,
        }
    }
}

fn strategy(
    entry: &Entry,
    auths: &ExternalAuths<'_>,
    namespace: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Strategy> {
    let mut fields = Fields::read(&entry.value, "an authentication strategy", diagnostics)?;
    fields.required("type", diagnostics);
    let choices = ["discovered", "externalAuthConfigRef"];
    let kind = fields.optional_choice("type", &choices, diagnostics);
    let reference = if kind.as_ref()?.value == "externalAuthConfigRef" {
        fields.required("externalAuthConfigRef", diagnostics)
    } else {
        fields.optional("externalAuthConfigRef");
        None
    };
    fields.finish(diagnostics);
    if kind?.value == "discovered" {
        return Some(Strategy::Discovered);
    }
    let reference = read_reference(reference, "externalAuthConfigRef", diagnostics)?;
    let header = auths.header(&reference, namespace, diagnostics);
    Some(Strategy::Given(header))
}
