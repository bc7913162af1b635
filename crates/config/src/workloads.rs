//! What a ToolHive configuration says of backends by their names. It is applied once all are known, since the
//! members of a group stand in other files or are given by flags.

use crate::backend::transport_unfit;
use crate::settings::{Backend, Health, TokenServer, Transport};
use onecall_source::{Diagnostic, Diagnostics, Text, codes, suggest};
use std::ops::Range;
use std::time::Duration;

/// What a backend is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// How a backend is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Header(Header),
    /// With what the caller's token is exchanged for.
    Exchange(Box<TokenServer>),
}

impl Way {
    /// As the file names it.
    fn as_str(&self) -> &'static str {
        match self {
            Self::Header(_) => "header_injection",
            Self::Exchange(_) => "token_exchange",
        }
    }
}

/// Everything that one configuration says of backends by name.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    /// Every name, where it is written.
    pub(crate) names: Vec<Text>,
    pub(crate) default_timeout: Option<Duration>,
    pub(crate) timeouts: Vec<(Text, Duration)>,
    pub(crate) default_way: Option<Way>,
    /// `None` where a backend is called as it is.
    pub(crate) ways: Vec<(Text, Option<Way>)>,
    /// When they count as dead, all of them.
    pub(crate) health: Option<Health>,
}

impl Workloads {
    /// What is said of all backends counts where this one is meant by it; what names a backend always does.
    fn apply(&self, backend: &mut Backend, is_meant: bool, diagnostics: &mut Diagnostics) {
        let default_timeout = self.default_timeout.filter(|_| is_meant);
        let stated = of(&self.timeouts, backend).copied();
        backend.timeout = stated.or(backend.timeout).or(default_timeout);
        if let Some(health) = self.health.as_ref().filter(|_| is_meant) {
            backend.health = health.clone();
        }
        let named = entry(&self.ways, backend);
        let way = match named {
            Some((_, way)) => way.as_ref(),
            None => self.default_way.as_ref().filter(|_| is_meant),
        };
        if matches!(backend.transport, Transport::Stdio { .. }) {
            // Only the default may pass over a child process.
            if let (Some((name, _)), Some(way)) = (named, way) {
                diagnostics.push(wants_url(name, way.as_str()));
            }
            return;
        }
        match way {
            Some(Way::Header(header)) => add_header(backend, header),
            Some(Way::Exchange(server)) => backend.tokens = Some(TokenServer::clone(server)),
            None => {}
        }
    }
}

/// What the configurations of one server say of its backends, each with those that it gives itself or that are the
/// members of its group: their positions among all.
#[derive(Debug, Default)]
pub(crate) struct Stated(Vec<(Workloads, Range<usize>)>);

impl Stated {
    pub(crate) fn add(&mut self, workloads: Workloads, own: Range<usize>) {
        self.0.push((workloads, own));
    }

    /// Backends that no configuration gives are the group of one that has none.
    pub(crate) fn apply(&self, backends: &mut [Backend], diagnostics: &mut Diagnostics) {
        for (workloads, own) in &self.0 {
            for (at, backend) in backends.iter_mut().enumerate() {
                let is_loose = !self.0.iter().any(|(_, own)| own.contains(&at));
                let is_meant = own.contains(&at) || (own.is_empty() && is_loose);
                workloads.apply(backend, is_meant, diagnostics);
            }
            check_names(workloads.names.iter(), backends, diagnostics);
        }
    }
}

/// Names that are none of a backend. Where no backend is given, nothing is known of their names.
pub(crate) fn check_names<'n>(
    names: impl Iterator<Item = &'n Text>,
    backends: &[Backend],
    diagnostics: &mut Diagnostics,
) {
    if backends.is_empty() {
        return;
    }
    let is_known = |name: &Text| backends.iter().any(|own| own.name == name.as_str());
    let unknown = names.filter(|name| !is_known(name));
    diagnostics.extend(unknown.map(|name| unknown_backend(name, backends)));
}

fn of<'a, T>(all: &'a [(Text, T)], backend: &Backend) -> Option<&'a T> {
    entry(all, backend).map(|(_, own)| own)
}

fn entry<'a, T>(all: &'a [(Text, T)], backend: &Backend) -> Option<&'a (Text, T)> {
    all.iter().find(|(name, _)| backend.name == name.as_str())
}

/// Credentials that name a backend which takes none.
pub(crate) fn wants_url(name: &Text, what: &str) -> Diagnostic {
    let why = format!("`{name}` is started as a program, and `{what}` goes with a `url`");
    transport_unfit(name.place(), &why)
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
