//! Configuration as used: complete and checked. How each file writes it is left to the modules that read them.

use crate::limits::TOKEN_BYTES_MIN;
use crate::reach::Reach;
use crate::withhold::{Part, Withheld};
use onecall_dialects::mcptest::Tests;
use onecall_source::{Place, SourceId, Text};
use onecall_workflow::draft::{Built, Draft};
use onecall_workflow::lock::Lock;
use onecall_workflow::name::BackendName;
use onecall_workflow::policy::Durability;
use onecall_workflow::step::Step;
use onecall_workflow::workflow::{Annotations, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// Everything a command was given, merged.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// One virtual server, or several with their own paths.
    pub servers: Vec<Server>,
    pub store: Option<String>,
    /// Holds for every workflow that states none.
    pub durability: Option<Durability>,
    pub limits: Limits,
    pub questions: Questions,
    /// How clients reach the servers.
    pub reach: Reach,
    /// Definitions that no server publishes: they can be checked and shown, not called.
    pub unpublished: Vec<Workflow>,
    /// Compositions that are not published: they can be called by command and tested.
    pub compositions: Vec<Workflow>,
    /// What the suites say about testing their compositions, published or not.
    pub tests: Vec<Tests>,
    /// Workflows with faults that no server would publish.
    pub unpublished_drafts: Vec<Draft>,
    /// A file that may give backends could not be parsed to its end, so not all of them are known.
    pub lacks_backends: bool,
    /// The sources that hold a document which was recognised.
    pub read: BTreeSet<SourceId>,
    /// Those of them that are suites.
    pub suites: BTreeSet<SourceId>,
    /// What can be left out by itself; see `withhold`.
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Shown,
    /// Only `onecall runs list --waiting` prints them.
    Hidden,
}

impl Settings {
    pub(crate) fn add_unpublished(&mut self, built: Built) {
        match built {
            Built::Sound(workflow) => self.unpublished.push(workflow),
            Built::Faulty(draft) => self.unpublished_drafts.push(draft),
        }
    }

    pub(crate) fn add_composition(&mut self, built: Built) {
        match built {
            Built::Sound(workflow) => self.compositions.push(workflow),
            Built::Faulty(draft) => self.unpublished_drafts.push(draft),
        }
    }

    /// Every workflow of the files, published or not.
    pub fn workflows(&self) -> impl Iterator<Item = &Workflow> {
        let published = self.servers.iter().flat_map(|server| &server.workflows);
        published.chain(self.beside())
    }

    /// Workflows that no server publishes.
    pub fn beside(&self) -> impl Iterator<Item = &Workflow> {
        self.unpublished.iter().chain(&self.compositions)
    }
}

/// Limits that the configuration changes; each crate has its own number for what is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Steps of one workflow.
    pub steps: Option<usize>,
    /// Calls in flight to a backend that states no number.
    pub in_flight: Option<usize>,
    /// Arguments of one call, in bytes of JSON.
    pub argument_bytes: Option<usize>,
    /// Body of one HTTP request.
    pub body_bytes: Option<usize>,
    /// Sessions of handshake clients.
    pub sessions: Option<usize>,
    /// Requests that are worked on at once.
    pub requests: Option<usize>,
    /// Open connections.
    pub connections: Option<usize>,
    /// How long a session of a handshake client may be silent.
    pub session_idle: Option<Duration>,
    /// How long a call waits for its run before it answers with a handle.
    pub patience: Option<Duration>,
    /// Result of one call, in bytes of JSON.
    pub result_bytes: Option<usize>,
    /// Text that one expression makes.
    pub text_bytes: Option<usize>,
    /// All values of one run.
    pub run_bytes: Option<usize>,
    /// Events of one run.
    pub events: Option<usize>,
    /// Operations of one expression.
    pub operations: Option<usize>,
    /// Output of a run that is handed over whole, in bytes of JSON.
    pub shown_bytes: Option<usize>,
    /// Runs that have not ended, of all callers.
    pub open_runs: Option<usize>,
    /// Runs of one caller that have not ended.
    pub open_runs_per_caller: Option<usize>,
    /// Values of the runs that have not ended, of all callers.
    pub open_bytes: Option<usize>,
    /// Values of the runs of one caller that have not ended.
    pub open_bytes_per_caller: Option<usize>,
    /// Runs of `--ephemeral`, finished ones included.
    pub ephemeral_bytes: Option<usize>,
}

impl Limits {
    /// These, and those of another file for what is absent.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            steps: self.steps.or(other.steps),
            in_flight: self.in_flight.or(other.in_flight),
            argument_bytes: self.argument_bytes.or(other.argument_bytes),
            body_bytes: self.body_bytes.or(other.body_bytes),
            sessions: self.sessions.or(other.sessions),
            requests: self.requests.or(other.requests),
            connections: self.connections.or(other.connections),
            session_idle: self.session_idle.or(other.session_idle),
            patience: self.patience.or(other.patience),
            result_bytes: self.result_bytes.or(other.result_bytes),
            text_bytes: self.text_bytes.or(other.text_bytes),
            run_bytes: self.run_bytes.or(other.run_bytes),
            events: self.events.or(other.events),
            operations: self.operations.or(other.operations),
            shown_bytes: self.shown_bytes.or(other.shown_bytes),
            open_runs: self.open_runs.or(other.open_runs),
            open_runs_per_caller: self.open_runs_per_caller.or(other.open_runs_per_caller),
            open_bytes: self.open_bytes.or(other.open_bytes),
            open_bytes_per_caller: self.open_bytes_per_caller.or(other.open_bytes_per_caller),
            ephemeral_bytes: self.ephemeral_bytes.or(other.ephemeral_bytes),
        }
    }
}

/// How people are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// How long a question can be answered if its workflow sets no timeout.
    pub timeout: Option<Duration>,
    /// Whether results of tools have links to answer pages.
    pub links: Option<Links>,
}

impl Questions {
    /// These, and those of another file for what is absent.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            timeout: self.timeout.or(other.timeout),
            links: self.links.or(other.links),
        }
    }
}

/// One virtual MCP server: its backends, its workflows, the names it publishes.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub name: String,
    /// The folder that its files stand in, where they were read from one: servers of other folders are others, though
    /// they may start the same programs.
    pub home: Option<String>,
    pub backends: Vec<Backend>,
    pub workflows: Vec<Workflow>,
    /// Workflows with faults, for the checks alone.
    pub drafts: Vec<Draft>,
    /// Workflows that are left out because of errors in them.
    pub withheld: Vec<Withheld>,
    /// Backends that are left out because of errors in them, each with the reason.
    pub invalid: BTreeMap<BackendName, String>,
    pub aggregation: Aggregation,
    pub expose: Expose,
    pub limits: Limits,
    pub questions: Questions,
    /// The tools that workflows may be run on, as they were locked.
    pub lock: Option<Lock>,
    pub names: Names,
    /// Who may call; everybody where there is none.
    pub access: Option<Access>,
}

/// What callers show to be let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub tokens: Vec<CallerToken>,
    pub oidc: Option<Oidc>,
}

/// A token that stands for a principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerToken {
    pub principal: String,
    pub text: TokenText,
}

#[derive(Clone, PartialEq, Eq)]
pub enum TokenText {
    Stated(String),
    /// A file that holds it alone.
    File(String),
}

impl TokenText {
    /// Whether a token is too long to be guessed and fits in a header.
    pub fn is_fit(token: &str) -> bool {
        token.len() >= TOKEN_BYTES_MIN && token.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

/// The token stays out of it.
impl fmt::Debug for TokenText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated(_) => formatter.write_str("Stated(•••)"),
            Self::File(path) => formatter.debug_tuple("File").field(path).finish(),
        }
    }
}

/// An identity provider whose tokens are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oidc {
    pub issuer: String,
    pub audience: String,
    /// Where its keys are; without it the provider is asked.
    pub jwks_url: Option<String>,
    /// The URL that clients know the server by.
    pub resource: Option<String>,
    /// Kinds of signatures that are taken; all with a public key where none is named.
    pub algorithms: Vec<String>,
    /// How far clocks may be apart.
    pub leeway: Option<Duration>,
    /// All of these must be granted.
    pub scopes: Vec<String>,
    /// Clients are told of these as well.
    pub offered_scopes: Vec<String>,
    /// The claim that names the caller; `sub` where none is named.
    pub principal_claim: Option<String>,
    /// The provider may be reached by plain HTTP.
    pub allows_http: bool,
    pub place: Place,
}

impl Server {
    pub(crate) fn add(&mut self, built: Built) {
        match built {
            Built::Sound(workflow) => self.workflows.push(workflow),
            Built::Faulty(draft) => self.drafts.push(draft),
        }
    }

    /// The steps of everything it would publish, whether it has faults or not.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        let sound = self.workflows.iter().flat_map(|own| &own.steps);
        sound.chain(self.drafts.iter().flat_map(Draft::steps))
    }
}

/// How workflows of workflow files are named; composite tools keep their own name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Stands before the names, where the files say what does.
    pub prefix: Option<String>,
    /// The workflows that take the prefix.
    pub prefixed: BTreeSet<String>,
}

impl Names {
    /// What the prefix is unless it is set: over HTTP, and where hosts refuse a colon.
    pub const COLON: &str = "workflow:";
    pub const PLAIN: &str = "workflow_";

    /// The name a workflow is listed under.
    pub fn spelled(&self, name: &str) -> String {
        if self.prefixed.contains(name) {
            let prefix = self.prefix.as_deref().unwrap_or(Self::COLON);
            format!("{prefix}{name}")
        } else {
            name.to_owned()
        }
    }

    /// Every name a workflow answers to, first the one it is listed under.
    pub fn spellings(&self, name: &str) -> Vec<String> {
        let mut spellings = vec![self.spelled(name)];
        if self.prefixed.contains(name) {
            let prefixes = [Self::COLON, Self::PLAIN, ""];
            spellings.extend(prefixes.map(|prefix| format!("{prefix}{name}")));
        }
        spellings
    }
}

/// What clients see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expose {
    /// Workflows and the tools of the backends.
    #[default]
    All,
    /// Workflows only; backend tools stay usable in workflows.
    Workflows,
}

/// Which compositions of suites are published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Compositions {
    /// Those that say `publish: true`.
    #[default]
    Stated,
    All,
    /// Those that say so, and these.
    Named(Vec<String>),
}

impl Compositions {
    pub(crate) fn publish(&self, name: &str) -> bool {
        match self {
            Self::Stated => false,
            Self::All => true,
            Self::Named(names) => names.iter().any(|own| own == name),
        }
    }
}

/// A backend MCP server.
#[derive(Clone, Debug)]
pub struct Backend {
    pub name: BackendName,
    pub transport: Transport,
    pub timeout: Option<Duration>,
    /// How long a connection may take to be there, with the first list of tools.
    pub connect_timeout: Option<Duration>,
    pub max_in_flight: Option<usize>,
    /// Connected at start instead of at the first use.
    pub eager: bool,
    /// Workflows may call its tools although their input schemas cannot be used.
    pub accepts_unusable_schemas: bool,
    pub session: Session,
    /// Where the bearer token of each request comes from.
    pub tokens: Option<TokenServer>,
    pub health: Health,
    pub place: Place,
}

/// When a backend counts as dead, and how it is found alive again; what is absent is left to the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// It is probed so often, calls or none.
    pub probe_every: Option<Duration>,
    pub probe_timeout: Option<Duration>,
    /// Probes left unanswered in a row, after which calls are refused.
    pub unanswered_max: Option<u32>,
    /// Calls left unanswered in a row, after which it is probed, and calls are refused where `rest` is given.
    pub failures_max: Option<u32>,
    /// How long calls are refused before it is tried again.
    pub rest: Option<Duration>,
}

impl Backend {
    /// Stands in for a backend of which nothing but its name could be read, so that others can refer to it.
    /// Settings that hold one have an error.
    pub(crate) fn unreadable(name: &Text) -> Self {
        Self::plain(name.as_str(), Transport::unreadable(), name.place().clone())
    }

    /// A backend of which nothing is said but how it is reached.
    pub fn plain(name: &str, transport: Transport, place: Place) -> Self {
        Self {
            name: BackendName::from(name),
            transport,
            timeout: None,
            connect_timeout: None,
            max_in_flight: None,
            eager: false,
            accepts_unusable_schemas: false,
            session: Session::Shared,
            tokens: None,
            health: Health::default(),
            place,
        }
    }
}

/// A server of OAuth tokens, and what it is asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenServer {
    pub url: String,
    pub client_id: String,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    pub audience: Option<String>,
    pub resource: Option<String>,
    /// What is exchanged for a token; without it the client's own credentials count.
    pub exchange: Option<Subject>,
}

/// Secrets stay out of it.
impl fmt::Debug for TokenServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenServer")
            .field("url", &self.url)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct Subject {
    /// Without it the token that the caller showed.
    pub token: Option<String>,
    pub kind: Option<String>,
}

/// The token stays out of it.
impl fmt::Debug for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.token.is_some() {
            "stated"
        } else {
            "the caller's"
        };
        formatter.debug_tuple("Subject").field(&whose).finish()
    }
}

#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    },
    StreamableHttp {
        url: String,
        headers: Vec<(String, String)>,
    },
    Sse {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl Transport {
    pub(crate) fn unreadable() -> Self {
        Self::StreamableHttp {
            url: String::new(),
            headers: Vec::new(),
        }
    }
}

/// Values of headers and of the environment may be credentials.
impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        match self {
            Self::Stdio {
                command, args, env, ..
            } => formatter
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &names(env))
                .finish_non_exhaustive(),
            Self::StreamableHttp { url, headers } => formatter
                .debug_struct("StreamableHttp")
                .field("url", url)
                .field("headers", &names(headers))
                .finish(),
            Self::Sse { url, headers } => formatter
                .debug_struct("Sse")
                .field("url", url)
                .field("headers", &names(headers))
                .finish(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Session {
    #[default]
    Shared,
    PerClient,
}

/// How the tools of several backends become one list.
#[derive(Clone, Debug, Default)]
pub struct Aggregation {
    pub strategy: Strategy,
    pub rules: Vec<ToolRule>,
    pub exclude_all: bool,
    pub default_visibility: Visibility,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// `{workload}` in the format stands for the backend's name.
    Prefix {
        format: String,
    },
    Priority {
        order: Vec<BackendName>,
    },
    Manual,
}

impl Default for Strategy {
    fn default() -> Self {
        Self::Prefix {
            format: "{workload}_".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    #[default]
    Allow,
    Deny,
}

/// What is special about the tools of one backend.
#[derive(Clone, Debug)]
pub struct ToolRule {
    pub backend: BackendName,
    /// Only these are listed, by original name.
    pub filter: Option<Vec<String>>,
    pub overrides: BTreeMap<String, ToolOverride>,
    pub exclude_all: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ToolOverride {
    pub name: Option<String>,
    pub description: Option<String>,
    pub annotations: Annotations,
}
