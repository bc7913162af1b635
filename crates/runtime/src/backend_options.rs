//! From the settings of backends to the options of their connections.

use onecall_backends::{
    BackendOptions, Grant, HealthOptions, HttpOptions, SessionScope, StdioOptions, TokenOptions,
    TransportOptions,
};
use onecall_config::settings;
use std::ffi::OsString;
use std::path::PathBuf;

/// The program and the variables that child processes are started with.
#[derive(Debug)]
pub(crate) struct Children {
    /// The program that the command `onecall` names.
    pub(crate) program: Option<PathBuf>,
    pub(crate) env: Vec<(OsString, OsString)>,
}

pub(crate) fn backends_options(
    server: &settings::Server,
    children: &Children,
) -> Vec<BackendOptions> {
    let backends = server.backends.iter();
    let options = backends.map(|backend| {
        let mut own = backend_options(backend, children);
        let limits = &server.limits;
        own.argument_bytes_max = limits.argument_bytes.unwrap_or(own.argument_bytes_max);
        own.result_bytes_max = limits.result_bytes.unwrap_or(own.result_bytes_max);
        own
    });
    options.collect()
}

fn backend_options(backend: &settings::Backend, children: &Children) -> BackendOptions {
    let transport = match &backend.transport {
        settings::Transport::Stdio {
            command,
            args,
            env,
            cwd,
        } => TransportOptions::Stdio(StdioOptions {
            command: children
                .program
                .as_ref()
                .filter(|_| command == "onecall")
                .map_or_else(|| command.clone(), |program| program.display().to_string()),
            args: args.clone(),
            inherited: children.env.clone(),
            env: env.clone(),
            cwd: cwd.clone().map(Into::into),
        }),
        settings::Transport::StreamableHttp { url, headers } => {
            TransportOptions::Http(http_options(backend, url, headers))
        }
        settings::Transport::Sse { url, headers } => {
            TransportOptions::Sse(http_options(backend, url, headers))
        }
    };
    let mut options = BackendOptions::new(backend.name.as_str(), transport);
    options.call_timeout = backend.timeout;
    if let Some(patience) = backend.connect_timeout {
        options.connect_timeout = patience;
    }
    if let Some(max) = backend.max_in_flight {
        options.max_in_flight = max;
    }
    options.eager = backend.eager;
    options.health = health_options(&backend.health);
    options.session = match backend.session {
        settings::Session::Shared => SessionScope::Shared,
        settings::Session::PerClient => SessionScope::PerClient,
    };
    options
}

fn health_options(stated: &settings::Health) -> HealthOptions {
    let default = HealthOptions::default();
    HealthOptions {
        probe_every: stated.probe_every,
        probe_timeout: stated.probe_timeout.unwrap_or(default.probe_timeout),
        unanswered_max: stated.unanswered_max.unwrap_or(default.unanswered_max),
        failures_max: stated.failures_max.unwrap_or(default.failures_max),
        rest: stated.rest,
    }
}

fn http_options(
    backend: &settings::Backend,
    url: &str,
    headers: &[(String, String)],
) -> HttpOptions {
    let tokens = backend.tokens.clone().map(|server| TokenOptions {
        url: server.url,
        client_id: server.client_id,
        client_secret: server.client_secret,
        scopes: server.scopes,
        audience: server.audience,
        resource: server.resource,
        grant: match server.exchange {
            None => Grant::ClientCredentials,
            Some(subject) => match subject.token {
                Some(subject_token) => Grant::Exchange {
                    subject_token,
                    subject_token_type: subject.kind,
                },
                None => Grant::ExchangeCaller {
                    subject_token_type: subject.kind,
                },
            },
        },
    });
    HttpOptions {
        url: url.to_owned(),
        headers: headers.to_vec(),
        tokens,
    }
}
