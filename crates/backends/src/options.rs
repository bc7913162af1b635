//! What a backend is started with, complete and checked by whoever builds it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use onecall_mcp::Era;
use onecall_mcp::limits::{ARGUMENTS_BYTES_MAX, MESSAGE_BYTES_MAX};
use onecall_workflow::name::BackendName;

use crate::limits;

/// Who we are to the backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
}

/// One backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendOptions {
    pub name: BackendName,
    pub transport: TransportOptions,
    /// For one call, also one that has more time of its own. Waiting for a free place counts.
    /// Without it a call that has none either has a minute.
    pub call_timeout: Option<Duration>,
    /// From start to the first list of tools.
    pub connect_timeout: Duration,
    pub max_in_flight: usize,
    /// Arguments of one call, in bytes of JSON.
    pub argument_bytes_max: usize,
    /// Result of one call, in bytes of JSON. No message is longer, whatever this says.
    pub result_bytes_max: usize,
    /// Connect at once, not at the first call.
    pub eager: bool,
    pub session: SessionScope,
    /// Speak this era without probing.
    pub era: Option<Era>,
    /// How long a child may take to end once its stdin is closed.
    pub grace: Duration,
    pub health: HealthOptions,
    /// Log that it is down; not where whoever started it says so itself.
    pub logs_failures: bool,
}

/// When a backend counts as dead, and how it is found alive again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthOptions {
    /// It is probed so often, calls or none.
    pub probe_every: Option<Duration>,
    pub probe_timeout: Duration,
    /// Probes left unanswered in a row, after which calls are refused.
    pub unanswered_max: u32,
    /// Calls left unanswered in a row, after which it is probed, and after which calls are refused where `rest` is
    /// given.
    pub failures_max: u32,
    /// How long calls are refused before it is tried again, by one of them or by a probe. Without it only unanswered
    /// probes have calls refused, and it is probed after longer and longer pauses.
    pub rest: Option<Duration>,
}

impl Default for HealthOptions {
    fn default() -> Self {
        Self {
            probe_every: None,
            probe_timeout: limits::HEALTH_PROBE_TIMEOUT,
            unanswered_max: 1,
            failures_max: limits::DOUBT_AFTER,
            rest: None,
        }
    }
}

/// Whether callers share one connection. Questions of a legacy stdio backend can only be taken on
/// a connection that serves one caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionScope {
    Shared,
    PerClient,
}

/// How a backend is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportOptions {
    Stdio(StdioOptions),
    /// Streamable HTTP.
    Http(HttpOptions),
    /// The two-endpoint HTTP+SSE transport of 2024-11-05.
    Sse(HttpOptions),
}

/// A child process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StdioOptions {
    pub command: String,
    pub args: Vec<String>,
    /// Variables of this process that the child inherits. It gets no others.
    pub inherited: Vec<(OsString, OsString)>,
    /// Variables that are set for the child. They win over inherited ones.
    pub env: Vec<(String, String)>,
    pub cwd: Option<PathBuf>,
}

/// A URL, with headers that go with every request.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HttpOptions {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Where the bearer token of each request comes from, if not from a header.
    pub tokens: Option<TokenOptions>,
}

/// A token server, and what it is asked for. Secrets go to it alone, over https or within this
/// machine.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenOptions {
    pub url: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub audience: Option<String>,
    pub resource: Option<String>,
    pub grant: Grant,
}

/// What a token is given for.
#[derive(Clone, PartialEq, Eq)]
pub enum Grant {
    ClientCredentials,
    /// RFC 8693. The type is that of an access token unless given.
    Exchange {
        subject_token: String,
        subject_token_type: Option<String>,
    },
    /// The same with the token that the caller showed. Every caller then has a connection of its own; requests that
    /// belong to no caller, such as lists, go with client credentials where there is a secret, else without a token.
    ExchangeCaller {
        subject_token_type: Option<String>,
    },
}

/// The subject token stays out of it.
impl std::fmt::Debug for Grant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::ClientCredentials => "ClientCredentials",
            Self::Exchange { .. } => "Exchange",
            Self::ExchangeCaller { .. } => "ExchangeCaller",
        })
    }
}

/// Secrets stay out of it.
impl std::fmt::Debug for TokenOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TokenOptions")
            .field("url", &self.url)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// Values of the environment may be credentials.
impl std::fmt::Debug for StdioOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("StdioOptions")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Header values may be credentials.
impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("HttpOptions")
            .field("url", &self.url)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl BackendOptions {
    pub fn new(name: impl Into<BackendName>, transport: TransportOptions) -> Self {
        let connect_timeout = match &transport {
            TransportOptions::Stdio(_) => limits::CHILD_CONNECT_TIMEOUT_DEFAULT,
            TransportOptions::Http(_) | TransportOptions::Sse(_) => limits::CONNECT_TIMEOUT_DEFAULT,
        };
        Self {
            name: name.into(),
            transport,
            call_timeout: None,
            connect_timeout,
            max_in_flight: limits::IN_FLIGHT_DEFAULT,
            argument_bytes_max: ARGUMENTS_BYTES_MAX,
            result_bytes_max: MESSAGE_BYTES_MAX,
            eager: false,
            session: SessionScope::Shared,
            era: None,
            grace: limits::GRACE_DEFAULT,
            health: HealthOptions::default(),
            logs_failures: true,
        }
    }

    /// How long a call may take that may take `own` by itself: whichever ends earlier.
    pub(crate) fn time_of(&self, own: Option<Duration>) -> Duration {
        let bounds = own.into_iter().chain(self.call_timeout);
        bounds.min().unwrap_or(limits::CALL_TIMEOUT_DEFAULT)
    }

    /// Calls go with what their callers' tokens are exchanged for.
    pub(crate) fn exchanges_callers(&self) -> bool {
        let tokens = match &self.transport {
            TransportOptions::Stdio(_) => None,
            TransportOptions::Http(http) | TransportOptions::Sse(http) => http.tokens.as_ref(),
        };
        tokens.is_some_and(|tokens| matches!(tokens.grant, Grant::ExchangeCaller { .. }))
    }

    pub fn stdio(name: &str, command: &str, args: &[&str]) -> Self {
        let stdio = StdioOptions {
            command: command.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            ..StdioOptions::default()
        };
        Self::new(name, TransportOptions::Stdio(stdio))
    }

    pub fn http(name: &str, url: &str) -> Self {
        let http = HttpOptions {
            url: url.to_owned(),
            ..HttpOptions::default()
        };
        Self::new(name, TransportOptions::Http(http))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_may_fetch_what_it_runs_before_it_is_there() {
        let patience = |options: BackendOptions| options.connect_timeout.as_secs();
        assert_eq!(patience(BackendOptions::stdio("b", "npx", &[])), 120);
        assert_eq!(patience(BackendOptions::http("b", "http://h/")), 30);
    }

    #[test]
    fn values_that_may_be_secret_are_not_shown() {
        let pair = || vec![("NAME".to_owned(), "s3cret".to_owned())];
        let stdio = StdioOptions {
            env: pair(),
            ..StdioOptions::default()
        };
        let http = HttpOptions {
            headers: pair(),
            ..HttpOptions::default()
        };
        for shown in [format!("{stdio:?}"), format!("{http:?}")] {
            assert!(
                shown.contains("NAME") && !shown.contains("s3cret"),
                "{shown}"
            );
        }
    }
}
