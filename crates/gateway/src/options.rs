//! What a face is served with, and why it may not be served.

use crate::limits::{
    BODY_BYTES_MAX, CONNECTION_IDLE, CONNECTIONS_MAX, GRACE, PATIENCE, REQUESTS_MAX, SESSION_IDLE,
    SESSIONS_MAX, SHOWN_BYTES_MAX,
};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use tokio::runtime::Handle;

/// How to serve over HTTP.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Name or address to bind.
    pub host: String,
    /// Zero takes any free port.
    pub port: u16,
    /// Allows an address that other machines reach, without authentication.
    pub allow_anonymous: bool,
    /// Where clients and people find it, without `/mcp`; unless given, where it listens. Its name and its pages are
    /// allowed.
    pub public_url: Option<String>,
    /// Further names that the `Host` header may hold; loopback names are always allowed.
    pub allowed_hosts: Vec<String>,
    /// Further values of the `Origin` header, such as `https://app.example.com`; loopback origins are always allowed.
    pub allowed_origins: Vec<String>,
    /// The version that clients are told.
    pub version: String,
    /// How long a call waits for its run before it answers with a handle.
    pub patience: Duration,
    /// The longest output that is handed over whole, in bytes of JSON.
    pub shown_bytes_max: usize,
    /// What `onecall runs answer` must be told besides to find the runs; `None` where no other process finds them.
    pub store_flag: Option<String>,
    /// Results of tools have no links to answer pages; `link_to_answer` makes them from the store.
    pub hides_links: bool,
    /// The longest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// How many requests may be worked on at once.
    pub requests_max: usize,
    /// How many connections may be open.
    pub connections_max: usize,
    /// How long a connection may be idle between requests, and how long a request may take to arrive.
    pub connection_idle: Duration,
    /// How many sessions of handshake clients there may be.
    pub sessions_max: usize,
    /// How long such a session may be silent before it is closed.
    pub session_idle: Duration,
    /// How long calls in flight may go on after the server was told to stop.
    pub grace: Duration,
    /// Where connections are served, each on one of them; without any they are served where they are accepted.
    /// Each outlives the runs that were started on it.
    pub threads: Vec<Handle>,
}

impl HttpOptions {
    pub fn new(host: impl Into<String>, port: u16, version: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port,
            allow_anonymous: false,
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            version: version.into(),
            patience: PATIENCE,
            shown_bytes_max: SHOWN_BYTES_MAX,
            store_flag: Some(String::new()),
            hides_links: false,
            body_bytes_max: BODY_BYTES_MAX,
            requests_max: REQUESTS_MAX,
            connections_max: CONNECTIONS_MAX,
            connection_idle: CONNECTION_IDLE,
            sessions_max: SESSIONS_MAX,
            session_idle: SESSION_IDLE,
            grace: GRACE,
            threads: Vec::new(),
        }
    }

    /// Where clients and people find what listens at this address, without `/mcp`.
    pub fn base_url(&self, address: SocketAddr) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", callable(address)),
        }
    }
}

/// An address that stands for every interface cannot be called; the one by which this machine reaches others can.
fn callable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let (any, other): (IpAddr, IpAddr) = match address {
        SocketAddr::V4(_) => (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        ),
        SocketAddr::V6(_) => {
            let documented = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
            (Ipv6Addr::UNSPECIFIED.into(), documented.into())
        }
    };
    // Nothing is sent: the system only says which interface it would take.
    let outward = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((other, 9))?;
        socket.local_addr()
    });
    let ip = outward.map_or_else(|_| Ipv4Addr::LOCALHOST.into(), |own| own.ip());
    SocketAddr::new(ip, address.port())
}

/// What callers show to be let in: one of the tokens, or one of the identity provider.
#[derive(Clone, Debug, Default)]
pub struct AccessOptions {
    pub tokens: Vec<BearerToken>,
    pub oidc: Option<OidcOptions>,
}

/// A token, and the principal it stands for.
#[derive(Clone)]
pub struct BearerToken {
    pub principal: String,
    pub token: String,
}

/// The token stays out of it.
impl fmt::Debug for BearerToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BearerToken")
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

/// An identity provider whose tokens are taken.
#[derive(Clone, Debug)]
pub struct OidcOptions {
    pub issuer: String,
    pub audience: String,
    /// Where its keys are; without it the provider is asked.
    pub jwks_url: Option<String>,
    /// The URL that clients know the server by.
    pub resource: Option<String>,
    /// Names of the signatures that are taken; empty takes every one with a public key.
    pub algorithms: Vec<String>,
    /// How far clocks may be apart.
    pub leeway: Option<Duration>,
    /// All of these must be granted.
    pub scopes: Vec<String>,
    /// Clients are told of these as well.
    pub offered_scopes: Vec<String>,
    /// The claim that names the caller.
    pub principal_claim: String,
    /// The provider may be reached by plain HTTP.
    pub allows_http: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("nobody could be let in: there is neither a token nor an identity provider")]
    Nobody,
    #[error("signatures of kind `{0}` are not taken")]
    Algorithm(String),
}

/// How to serve over standard input and output.
#[derive(Clone, Debug)]
pub struct StdioOptions {
    /// The version that clients are told.
    pub version: String,
    /// How long a call waits for its run before it answers with a handle.
    pub patience: Duration,
    /// The longest output that is handed over whole, in bytes of JSON.
    pub shown_bytes_max: usize,
    /// What `onecall runs answer` must be told besides to find the runs; `None` where no other process finds them.
    pub store_flag: Option<String>,
    /// Results of tools say that a person is asked, and neither by which link nor by which command they answer.
    pub hides_links: bool,
}

impl StdioOptions {
    pub fn new(version: impl Into<String>) -> Self {
        Self {
            version: version.into(),
            patience: PATIENCE,
            shown_bytes_max: SHOWN_BYTES_MAX,
            store_flag: Some(String::new()),
            hides_links: false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the host `{host}` cannot be resolved")]
    Resolve {
        host: String,
        #[source]
        cause: std::io::Error,
    },
    #[error(
        "`{host}` is reachable from other machines and there is no authentication; \
         configure `auth`, bind a loopback address, or say `--allow-anonymous`"
    )]
    NotLoopback { host: String },
    #[error("cannot listen on {address}")]
    Bind {
        address: SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    #[error("the HTTP server stopped")]
    Http(#[source] std::io::Error),
    #[error("the client did not open the protocol: {0}")]
    Opening(String),
}
