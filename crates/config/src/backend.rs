//! A backend as every kind of file writes it: a command, or a URL.

use crate::environment::{DEPTH, is_own};
use crate::settings::{Backend, Health, Session, Transport};
use crate::substitute::{Environment, substitute};
use crate::{headers, keys, literal};
use onecall_dialects::toolhive::read_duration;
use onecall_mcp::url;
use onecall_source::{Diagnostic, Diagnostics, Entry, Fields, Node, NodeKind, Place, Text, codes};
use onecall_workflow::name::BackendName;

/// What is read of a backend, and with what.
pub(crate) struct Reader<'a> {
    pub(crate) environment: &'a Environment<'a>,
    /// The variables of this process alone, where `environment` has others too.
    pub(crate) process: &'a Environment<'a>,
    /// The directory of the file, for a relative `cwd`.
    pub(crate) directory: &'a str,
}

/// Whether clients share a connection; the last two mean the same.
pub(crate) const SESSIONS: &[&str] = &["shared", "per_client", "per-client"];
/// What becomes of a workflow that calls a tool whose input schema cannot be used.
pub(crate) const UNUSABLE_SCHEMAS: &[&str] = &["refuse", "accept"];
/// How other programs spell the transports.
const TRANSPORTS: [&str; 5] = ["stdio", "sse", "http", "streamable-http", "streamable_http"];

impl Reader<'_> {
    /// The keys that say how a backend is reached; the rest is left in `fields`.
    pub(crate) fn transport(
        &self,
        fields: &mut Fields<'_>,
        kind_key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Transport> {
        let kind = fields.optional_choice(kind_key, &TRANSPORTS, diagnostics);
        let before = diagnostics.error_count();
        let command = command(fields, diagnostics);
        let url = fields.optional_string("url", diagnostics);
        let is_told = diagnostics.error_count() > before;
        let more = fields.string_sequence("args", diagnostics);
        let mut env = self.inherited(fields, diagnostics);
        env.extend(self.pairs(fields, "env", diagnostics));
        let cwd = fields.optional_string("cwd", diagnostics);
        let headers = self.headers(fields, diagnostics);
        match (command, url) {
            (Some((command, mut args)), None) => {
                warn_of_others(fields, "command", &["headers"], diagnostics);
                if let Some(kind) = kind.filter(|kind| kind.value != "stdio") {
                    diagnostics.push(transport_unfit(&kind.place, "a command speaks `stdio`"));
                }
                args.extend(more);
                let words = args.into_iter();
                let words = words.map(|word| substitute(word, self.environment, diagnostics));
                Some(Transport::Stdio {
                    command: command.to_string(),
                    args: words.collect(),
                    env,
                    cwd: cwd.map(|cwd| self.path(cwd)),
                })
            }
            (None, Some(url)) => {
                warn_of_others(
                    fields,
                    "url",
                    &["args", "env", "inherit_env", "cwd"],
                    diagnostics,
                );
                let text = substitute_url(url, self.environment, diagnostics);
                match kind.as_ref().map(|kind| kind.value) {
                    Some("sse") => Some(Transport::Sse { url: text, headers }),
                    Some("stdio") => {
                        let place = kind.map_or(url.place().clone(), |kind| kind.place);
                        diagnostics.push(transport_unfit(&place, "`stdio` needs a `command`"));
                        None
                    }
                    _ => Some(Transport::StreamableHttp { url: text, headers }),
                }
            }
            (Some(_), Some(url)) => {
                diagnostics.push(two_ways(url));
                None
            }
            (None, None) => {
                if !is_told {
                    diagnostics.push(no_way(fields.node()));
                }
                None
            }
        }
    }

    /// Keys that any backend may have beside its transport.
    pub(crate) fn backend(
        &self,
        name: &Text,
        fields: &mut Fields<'_>,
        kind_key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Backend {
        let transport = self.transport(fields, kind_key, diagnostics);
        let session = fields.optional_choice("session", SESSIONS, diagnostics);
        let timeout = read_duration(fields, "timeout", diagnostics);
        let connect_timeout = read_duration(fields, "connect_timeout", diagnostics);
        let in_flight = fields.optional_integer("max_in_flight", 1..=10_000, diagnostics);
        let eager = fields.optional_bool("eager", diagnostics);
        let unusable = fields.optional_choice("unusable_schemas", UNUSABLE_SCHEMAS, diagnostics);
        check_name(name, diagnostics);
        Backend {
            name: BackendName::from(name.as_str()),
            transport: transport.unwrap_or_else(Transport::unreadable),
            timeout: timeout.map(|timeout| timeout.value),
            connect_timeout: connect_timeout.map(|timeout| timeout.value),
            max_in_flight: in_flight.and_then(|count| usize::try_from(count.value).ok()),
            eager: eager.is_some_and(|eager| eager.value),
            accepts_unusable_schemas: unusable.is_some_and(|stated| stated.value == "accept"),
            session: match session.map(|session| session.value) {
                Some("per_client" | "per-client") => Session::PerClient,
                _ => Session::Shared,
            },
            tokens: None,
            health: Health::default(),
            place: name.place().clone(),
        }
    }

    /// The variables that the entry names to be passed on, if they are set.
    fn inherited(
        &self,
        fields: &mut Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for name in fields.string_sequence("inherit_env", diagnostics) {
            if let Some(fault) = not_inheritable(name) {
                diagnostics.push(fault);
            } else if let Some(value) = (self.process)(name) {
                pairs.push((name.to_string(), value));
            }
        }
        pairs
    }

    fn pairs(
        &self,
        fields: &mut Fields<'_>,
        key: &'static str,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for Entry { key: name, value } in fields.mapping(key, diagnostics) {
            if **name == *DEPTH {
                diagnostics.push(set_by_gateway(name));
            }
            if let Some(text) = value.expect_string(name, diagnostics) {
                literal::check_named(name, text, diagnostics);
                let value = substitute(text, self.environment, diagnostics);
                pairs.push((name.to_string(), value));
            }
        }
        pairs
    }

    fn headers(
        &self,
        fields: &mut Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        for Entry { key: name, value } in fields.mapping("headers", diagnostics) {
            headers::check_name(name, diagnostics);
            if let Some(text) = value.expect_string(name, diagnostics) {
                literal::check_named(name, text, diagnostics);
                let value = substitute(text, self.environment, diagnostics);
                headers::check_value(text, &value, diagnostics);
                headers.push((name.to_string(), value));
            }
        }
        headers
    }

    /// A path relative to the file it stands in.
    pub(crate) fn path(&self, path: &Text) -> String {
        let absolute = path.starts_with(['/', '\\']) || path.get(1..2) == Some(":");
        if absolute || self.directory.is_empty() {
            return path.to_string();
        }
        format!("{}/{path}", self.directory)
    }
}

/// A command as one text, or as the list of its words.
fn command<'n>(
    fields: &mut Fields<'n>,
    diagnostics: &mut Diagnostics,
) -> Option<(&'n Text, Vec<&'n Text>)> {
    let node = fields.optional("command")?;
    let NodeKind::Sequence(words) = &node.kind else {
        let text = node.expect_string("command", diagnostics)?;
        diagnostics.extend(with_words(text));
        return Some((text, Vec::new()));
    };
    let words: Vec<&Text> = words
        .iter()
        .filter_map(|word| word.expect_string("command", diagnostics))
        .collect();
    let Some((first, rest)) = words.split_first() else {
        diagnostics.push(no_way(node));
        return None;
    };
    Some((first, rest.to_vec()))
}

/// Keys a foreign file has for its own program.
pub(crate) fn warn_of_rest(fields: &mut Fields<'_>, prefix: &str, diagnostics: &mut Diagnostics) {
    for entry in fields.rest() {
        diagnostics.push(keys::inert(entry, &format!("{prefix}{}", entry.key)));
    }
}

/// Why a child process cannot inherit the variable of this name.
fn not_inheritable(name: &Text) -> Option<Diagnostic> {
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.()".contains(c));
    let (message, help) = if is_own(name) {
        (
            format!("`{name}` is a variable of the gateway, and no backend inherits it"),
            "remove it; `env: {NAME: value}` sets a variable for a backend",
        )
    } else if !is_name {
        (
            format!(
                "`{}` is not the name of an environment variable",
                name.as_str()
            ),
            "write each name in full; patterns such as `AWS_*` are not supported",
        )
    } else {
        return None;
    };
    let fault = Diagnostic::error(codes::NOT_INHERITED, message)
        .label(name.place(), "not inherited")
        .help(help);
    Some(fault)
}

/// A server that is its own backend is found by this variable, so no file may reset it.
fn set_by_gateway(name: &Text) -> Diagnostic {
    let message = format!("`{name}` is set by the gateway for every backend");
    Diagnostic::error(codes::NOT_INHERITED, message)
        .label(name.place(), "cannot be set here")
        .help("remove it")
}

fn check_name(name: &Text, diagnostics: &mut Diagnostics) {
    let fits = !name.is_empty()
        && name.chars().count() <= 128
        && name.chars().all(|c| !c.is_whitespace() && !c.is_control());
    if !fits {
        diagnostics.push(
            Diagnostic::error(codes::INVALID_NAME, "the name of a backend cannot be this")
                .label(name.place(), "not a backend name")
                .help("use letters, digits, `_` and `-`"),
        );
    }
}

/// A backend that is written as one text.
pub(crate) fn in_one_text(text: &Text) -> Diagnostic {
    let help = if text.starts_with("http://") || text.starts_with("https://") {
        format!("write `{{ url: {} }}`", text.as_str())
    } else {
        format!("write `{{ {} }}`", in_words(text))
    };
    Diagnostic::error(
        codes::BACKEND_TRANSPORT,
        "a backend is a mapping with `command` or `url`, not a text",
    )
    .label(text.place(), "how is it reached?")
    .help(help)
}

/// A program and its words, as two keys.
fn in_words(text: &str) -> String {
    let mut words = text.split_whitespace();
    let program = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [] => format!("command: {program}"),
        words => format!("command: {program}, args: [{}]", words.join(", ")),
    }
}

/// A command that holds its arguments too: it is started as one word, which is no program.
fn with_words(text: &Text) -> Option<Diagnostic> {
    let program = text.split_whitespace().next()?;
    // Folders and programs may have blanks in their names.
    if program.len() == text.len() || program.contains(['/', '\\']) {
        return None;
    }
    let message = format!(
        "`command` names a program, and `{}` is several words",
        text.as_str()
    );
    let fault = Diagnostic::warning(codes::BACKEND_TRANSPORT, message)
        .label(text.place(), "started as one word")
        .help(format!("write `{}`", in_words(text)));
    Some(fault)
}

pub(crate) fn transport_unfit(place: &Place, why: &str) -> Diagnostic {
    Diagnostic::error(
        codes::BACKEND_TRANSPORT,
        format!("the transport of this backend does not fit: {why}"),
    )
    .label(place, "does not fit")
    .help("remove it, or change how the backend is reached")
}

/// The URL of a backend with its variables replaced, and what is wrong with it.
pub(crate) fn substitute_url(
    written: &Text,
    environment: &Environment<'_>,
    diagnostics: &mut Diagnostics,
) -> String {
    let before = diagnostics.error_count();
    let stated = substitute(written, environment, diagnostics);
    // What a variable that is not set would have given is not known.
    if diagnostics.error_count() == before {
        diagnostics.extend(url_fault(written, &stated));
    }
    stated
}

/// `stated` is what was written with its variables replaced.
pub(crate) fn url_fault(written: &Text, stated: &str) -> Option<Diagnostic> {
    let (message, help) = if !url::is_http(stated) {
        (
            "the URL of a backend must start with `http://` or `https://`, and name a host"
                .to_owned(),
            "write the whole URL of the server's MCP endpoint",
        )
    } else if let Some(stray) = url::stray(stated) {
        (
            format!("the URL of a backend has {stray:?} in it, which stands in no URL"),
            "write `%20` for a blank; a variable may hold a line break at its end",
        )
    } else if url::has_credentials(stated) {
        (
            "the URL of a backend holds no credentials".to_owned(),
            "write them into `headers`, such as `Authorization: Basic …`, or into `auth`",
        )
    } else {
        return None;
    };
    let fault = Diagnostic::error(codes::BACKEND_TRANSPORT, message)
        .label(written.place(), "not such a URL")
        .help(help);
    Some(fault)
}

/// Keys that go with the other way of reaching a backend. Editors write some of them empty.
fn warn_of_others(
    fields: &mut Fields<'_>,
    way: &str,
    keys: &[&'static str],
    diagnostics: &mut Diagnostics,
) {
    let other = if way == "url" { "command" } else { "url" };
    for key in keys {
        let Some(entry) = fields.entry(key) else {
            continue;
        };
        let is_empty = match &entry.value.kind {
            NodeKind::Mapping(entries) => entries.is_empty(),
            NodeKind::Sequence(items) => items.is_empty(),
            _ => entry.value.is_null(),
        };
        if is_empty {
            continue;
        }
        let message = format!("`{key}` goes with a `{other}`, and this backend has a `{way}`");
        diagnostics.push(
            Diagnostic::warning(codes::BACKEND_TRANSPORT, message)
                .label(entry.key.place(), "acts on nothing")
                .help("remove it, or change how the backend is reached"),
        );
    }
}

fn two_ways(url: &Text) -> Diagnostic {
    Diagnostic::error(
        codes::BACKEND_TRANSPORT,
        "a backend has both `command` and `url`",
    )
    .label(url.place(), "only one can be used")
    .help("remove one of them")
}

fn no_way(node: &Node) -> Diagnostic {
    let place = node
        .as_mapping()
        .and_then(<[_]>::first)
        .map_or(&node.place, |entry| entry.key.place());
    Diagnostic::error(
        codes::BACKEND_TRANSPORT,
        "a backend has neither `command` nor `url`",
    )
    .label(place, "how is it reached?")
    .help("add `command:` to start a program, or `url:` to reach a running server")
}
