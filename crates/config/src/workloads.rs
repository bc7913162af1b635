//! What a ToolHive configuration says of backends by their names. It is applied once they are known, since the
//! members of a group stand in other files.

use crate::settings::{Backend, Transport};
use onecall_source::{Diagnostic, Diagnostics, Text, codes, suggest};
use std::time::Duration;

/// What a backend is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Everything that one configuration says of backends by name.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    /// Every name, where it is written.
    pub(crate) names: Vec<Text>,
    pub(crate) default_timeout: Option<Duration>,
    pub(crate) timeouts: Vec<(Text, Duration)>,
    pub(crate) default_header: Option<Header>,
    /// `None` where a backend is called without any.
    pub(crate) headers: Vec<(Text, Option<Header>)>,
}

impl Workloads {
    pub(crate) fn apply(&self, backends: &mut [Backend]) {
        for backend in backends {
            let stated = of(&self.timeouts, backend).copied();
            backend.timeout = stated.or(backend.timeout).or(self.default_timeout);
            let header = match of(&self.headers, backend) {
                Some(header) => header.as_ref(),
                None => self.default_header.as_ref(),
            };
            if let Some(header) = header {
                add_header(backend, header);
            }
        }
    }

    /// Names that are none of a backend. Where no backend is given, nothing is known of their names.
    pub(crate) fn check(&self, backends: &[Backend], diagnostics: &mut Diagnostics) {
        if backends.is_empty() {
            return;
        }
        let is_known = |name: &Text| backends.iter().any(|own| own.name == name.as_str());
        let unknown = self.names.iter().filter(|name| !is_known(name));
        diagnostics.extend(unknown.map(|name| unknown_backend(name, backends)));
    }
}

fn of<'a, T>(all: &'a [(Text, T)], backend: &Backend) -> Option<&'a T> {
    let found = all.iter().find(|(name, _)| backend.name == name.as_str());
    found.map(|(_, own)| own)
}

/// Adds a header to a backend that is reached over HTTP.
pub(crate) fn add_header(backend: &mut Backend, header: &Header) {
    match &mut backend.transport {
        Transport::Stdio { .. } => {}
        Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. } => {
            headers.push((header.name.clone(), header.value.clone()));
        }
    }
}

fn unknown_backend(name: &Text, backends: &[Backend]) -> Diagnostic {
    let diagnostic = Diagnostic::warning(
        codes::UNKNOWN_BACKEND,
        format!("no backend is named `{name}`"),
    )
    .label(name.place(), "unknown backend");
    let known: Vec<&str> = backends.iter().map(|own| own.name.as_str()).collect();
    match suggest(name, known.iter().copied()) {
        Some(near) => diagnostic.help(format!("a backend named `{near}` exists")),
        None => diagnostic.help(format!(
            "name a backend, or remove it; the backends are `{}`",
            known.join("`, `")
        )),
    }
}
