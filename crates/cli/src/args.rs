//! The command line as written. What the flags mean is in `wire` and in each command.

use crate::command::backends::BackendsArgs;
use crate::command::completions::CompletionsArgs;
use crate::command::connect::ConnectArgs;
use crate::command::convert::ConvertArgs;
use crate::command::doctor::DoctorArgs;
use crate::command::init::InitArgs;
use crate::command::list::ListArgs;
use crate::command::lock::LockArgs;
use crate::command::runs;
use crate::command::test::TestArgs;
use crate::files::FileArgs;
use crate::token::TokenArgs;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand, ValueEnum};
use onecall_config::environment;
use onecall_config::reach::Reach;
use std::path::PathBuf;

/// Many tools, one call: publish workflows over MCP tools as tools of their own.
#[derive(Debug, Parser)]
#[command(
    name = "onecall",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How much to log to stderr: error, warn, info, debug, or a filter such as `onecall_engine=debug` [default: warn]
    #[arg(long, global = true, env = environment::LOG, value_name = "FILTER")]
    pub(crate) log_level: Option<String>,
    /// Log as text or as one JSON object a line
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check files and report every fault at once
    #[command(alias = "validate")]
    Check(CheckArgs),
    /// Call a workflow or tool once and print its result
    #[command(alias = "run")]
    Call(CallArgs),
    /// Test the compositions of suites
    Test(TestArgs),
    /// List suites, workflows and tests with their descriptions
    List(ListArgs),
    /// Publish workflows as an MCP server
    Serve(ServeArgs),
    /// Look at runs, answer their questions, stop them
    #[command(
        subcommand,
        after_help = "Examples:\n  onecall runs list --state waiting\n  onecall runs show last\n  onecall runs answer last approve ok:=true\n  onecall runs watch r241e"
    )]
    Runs(RunsCommand),
    /// The built-in MCP backend, for trying things out
    Demo(DemoArgs),
    /// Write the workflows of a file as workflow files
    Convert(ConvertArgs),
    /// Draw the steps of workflows and what they wait for
    Graph(GraphArgs),
    /// List the tools of the backends, or save them for `check --tools`
    Tools(ToolsArgs),
    /// Show how each backend is doing
    Backends(BackendsArgs),
    /// Write down the tools that workflows use, so that a change of one is noticed
    Lock(LockArgs),
    /// Try a Go template
    Render(RenderArgs),
    /// Print JSON Schema for editors, or list every key and what it does
    Schema(SchemaArgs),
    /// Explain the code of a diagnostic or of a failed run
    Explain(ExplainArgs),
    /// Make a first `onecall.yaml` from the servers your MCP client lists
    Init(InitArgs),
    /// Enter these files in the configuration of a desktop client
    Connect(ConnectArgs),
    /// Look at everything a working set-up needs, and say what to mend
    Doctor(DoctorArgs),
    /// Print a script that completes commands and flags in a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall check\n  onecall check .\n  onecall check onecall.yaml --tools tools.json\n  onecall check vmcp.yaml --format sarif > faults.sarif\n  onecall check release.workflow.yaml --print"
)]
pub(crate) struct CheckArgs {
    /// Files or directories [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// A file, as other tools spell it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,
    /// How to print what was found
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Check against these tools too: a file written by `onecall tools --save`
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Print each workflow in full, every policy spelled out
    #[arg(long)]
    pub(crate) print: bool,
    /// Also note what works here and fails in this program
    #[arg(long, value_enum, value_name = "PROGRAM")]
    pub(crate) portable: Option<Portable>,
    /// Treat warnings as faults
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Portable {
    Toolhive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Text,
    Json,
    Sarif,
    /// The status block of each definition resource
    Status,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall call examples/hello greet who=Ada\n  onecall call greet who=Ada\n  onecall call onecall.yaml deploy count:=3 --dry-run\n  onecall call http://127.0.0.1:4483/mcp greet who=Ada\n  onecall call https://tools.example.com/mcp greet who=Ada --token-env MY_TOKEN\n  onecall call examples/hello greet --trace greet.json\n  echo '{\"who\": \"Ada\"}' | onecall call . greet --args-json -"
)]
pub(crate) struct CallArgs {
    /// Paths or the URL of a server [default: `onecall.yaml` here], then the tool, then arguments: `key=text` or `key:=json`
    #[arg(required = true, value_name = "[PATH|URL…] TOOL KEY=VALUE…")]
    pub(crate) words: Vec<String>,
    /// All arguments as one JSON object, or `-` to read it from stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) args_json: Option<String>,
    /// Show what would run, with the first arguments, and call nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Call a backend's tool, print its result as received and, below it, how steps read it
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) raw: bool,
    /// Label the run, as `key=value`; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<String>,
    /// Write what each step was given, gave and took to a `.json` file; without one it is printed
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", value_parser = trace_file)]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall serve --demo\n  onecall serve onecall.yaml workflows/\n  onecall serve vmcp.yaml --backend github=https://example.com/mcp\n  onecall serve . --stdio\n  onecall serve . --mcp-config ~/.cursor/mcp.json --ephemeral\n  onecall serve onecall.yaml --host 0.0.0.0 --public-url https://tools.example.com"
)]
pub(crate) struct ServeArgs {
    /// Files or directories with backends and workflows [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 4483)]
    pub(crate) port: u16,
    /// The address to listen on; one beyond loopback needs `auth` in the configuration
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Serve one client over stdin and stdout instead of HTTP
    #[arg(long, conflicts_with_all = ["port", "host"])]
    pub(crate) stdio: bool,
    /// Add the built-in demo backend and its example workflows
    #[arg(long)]
    pub(crate) demo: bool,
    /// Serve beyond loopback without authentication
    #[arg(long)]
    pub(crate) allow_anonymous: bool,
    /// Let clients in that call this server by this name; may be repeated
    #[arg(long = "allow-host", value_name = "NAME", value_parser = host, conflicts_with = "stdio")]
    pub(crate) allow_hosts: Vec<String>,
    /// Where clients and people find this server, such as `https://tools.example.com`
    #[arg(long, value_name = "URL", value_parser = public_url, conflicts_with = "stdio")]
    pub(crate) public_url: Option<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    /// Where runs are kept [default: onecall.db in the state folder of the user]
    #[arg(long, env = environment::STORE, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Keep runs in memory only
    #[arg(long)]
    pub(crate) ephemeral: bool,
}

impl StoreArgs {
    /// Whether the store was named on the command line, and not only by the environment.
    pub(crate) fn is_stated(&self) -> bool {
        let of_environment = std::env::var_os(environment::STORE).map(PathBuf::from);
        self.store.is_some() && self.store != of_environment
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first
    List(runs::list::ListArgs),
    /// Show what a run did, step by step
    Show(RunsShowArgs),
    /// Answer a question, or decide about a call whose outcome is unknown
    Answer(RunsAnswerArgs),
    /// Stop a run
    Cancel(RunsCancelArgs),
    /// Follow a run until it ends or waits for a person
    #[command(after_help = "Examples:\n  onecall runs watch last\n  onecall runs watch r241e")]
    Watch(OneRunArgs),
    /// Write a run as JSON: its plan, its events, its values
    Export(RunsExportArgs),
    /// Read a run that was exported, for looking at it
    Import(RunsImportArgs),
    /// Repeat a finished run without the steps that completed
    Retry(runs::retry::RetryArgs),
    /// Bind a run to the backends that the files describe now
    Rebind(runs::rebind::RebindArgs),
    /// Say what differs between two runs
    Diff(runs::diff::DiffArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OneRunArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) store: RunsStoreArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs export last > run.json\n  onecall runs export r241e --reveal > run.json"
)]
pub(crate) struct RunsExportArgs {
    #[command(flatten)]
    pub(crate) one: OneRunArgs,
    /// Write sensitive values as they are; without this they are written as `•••`
    #[arg(long)]
    pub(crate) reveal: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs import run.json\n  onecall runs import - --store other.db < run.json"
)]
pub(crate) struct RunsImportArgs {
    /// A file that `runs export` wrote, or `-` for stdin
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunsStoreArgs {
    /// The store to look into [default: the one that `onecall.yaml` here names, else onecall.db in the state folder of the user]
    #[arg(long, env = environment::STORE, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs show last\n  onecall runs show r241e --events\n  onecall runs show last --json"
)]
pub(crate) struct RunsShowArgs {
    #[command(flatten)]
    pub(crate) one: OneRunArgs,
    /// Print its events in the order in which they were stored
    #[arg(long)]
    pub(crate) events: bool,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs answer last approve ok:=true\n  onecall runs answer r241e approve --decline\n  onecall runs answer last pay --retry"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one flag a decision, of which one may be given"
)]
pub(crate) struct RunsAnswerArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    pub(crate) run: String,
    /// The step that asks or is held; for one item of a loop `step[3]`
    pub(crate) step: String,
    /// Fields of the answer: `key=text` or `key:=json`
    pub(crate) fields: Vec<String>,
    /// Decline the question
    #[arg(long, group = "decision")]
    pub(crate) decline: bool,
    /// Cancel the question
    #[arg(long, group = "decision")]
    pub(crate) cancel: bool,
    /// Held: make the call again, under the same idempotency key
    #[arg(long, group = "decision")]
    pub(crate) retry: bool,
    /// Held: the call happened, and this is its result
    #[arg(long, group = "decision", value_name = "JSON")]
    pub(crate) result: Option<String>,
    /// Held: give the call up; the step fails
    #[arg(long, group = "decision")]
    pub(crate) fail: bool,
    #[command(flatten)]
    pub(crate) store: RunsStoreArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall runs cancel last\n  onecall runs cancel r241e --reason 'wrong branch'"
)]
pub(crate) struct RunsCancelArgs {
    /// A run id, an unambiguous beginning of one, or `last`
    pub(crate) run: String,
    /// Why, for the history of the run
    #[arg(long, default_value = "asked for on the command line")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) store: RunsStoreArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall demo\n  onecall demo --http 4490 --ledger calls.txt\n  onecall tools --backend 'demo=onecall demo'"
)]
pub(crate) struct DemoArgs {
    /// Serve over HTTP on this loopback port instead of stdio; 0 picks a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) http: Option<u16>,
    /// Append one line for each executed call
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// More tools and what they answer: a JSON file `{tool: result}` or `{tool: [result, …]}`
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall render 'Hello {{ .name }}' --data data.json\n  echo '{\"a\": [1, 2]}' | onecall render '{{ len .a }}' --data - --mode go"
)]
pub(crate) struct RenderArgs {
    /// The template text
    #[arg(required_unless_present = "lines")]
    pub(crate) template: Option<String>,
    /// A JSON file with the data, or `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// The functions and the handling of absent values: those of workflows, or those of Go alone
    #[arg(long, value_enum, default_value_t = RenderMode::Workflow)]
    pub(crate) mode: RenderMode,
    /// Read one JSON object a line and answer one a line
    #[arg(long, conflicts_with_all = ["template", "data"])]
    pub(crate) lines: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RenderMode {
    Go,
    Workflow,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onecall explain WF101\n  onecall explain pending.input")]
pub(crate) struct ExplainArgs {
    /// A code such as `WF101` or `pending.input`, or a category such as `pending`
    pub(crate) code: String,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall graph release\n  onecall graph onecall.yaml release\n  onecall graph . --format mermaid"
)]
pub(crate) struct GraphArgs {
    /// A file or directory [default: `onecall.yaml` here]
    pub(crate) path: Option<PathBuf>,
    /// The workflow to draw; all of them if none is named
    pub(crate) workflow: Option<String>,
    /// How to draw
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Text,
    Mermaid,
    Dot,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall tools onecall.yaml\n  onecall tools onecall.yaml --save tools.json\n  onecall tools http://127.0.0.1:4483/mcp --json"
)]
pub(crate) struct ToolsArgs {
    /// Files or directories with backends, or the URL of one [default: `onecall.yaml` here]; then the name of a tool, to
    /// see its parameters and an example call
    #[arg(value_name = "PATH|URL|NAME")]
    pub(crate) paths: Vec<PathBuf>,
    /// Write `{backend: list}` as JSON, for `check --tools`
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print `{backend: list}` as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall schema workflow > workflow.schema.json\n  onecall schema --keys --effect refused"
)]
pub(crate) struct SchemaArgs {
    /// The files that the JSON Schema describes
    #[arg(value_enum)]
    pub(crate) kind: Option<SchemaKind>,
    /// List every key and what it does instead
    #[arg(long, conflicts_with = "kind")]
    pub(crate) keys: bool,
    /// Only keys that are: acts, refused, warned, noted or free
    #[arg(long, value_name = "EFFECT", requires = "keys")]
    pub(crate) effect: Option<String>,
    /// List the keys as JSON
    #[arg(long, requires = "keys")]
    pub(crate) json: bool,
    /// List the keys as the table of `docs/configuration.md`
    #[arg(long, requires = "keys", conflicts_with = "json")]
    pub(crate) markdown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// `onecall.yaml`, `mcp.json` and ToolHive configurations
    Config,
    /// Kubernetes resources
    Resources,
    /// Workflow files
    Workflow,
}

/// An error of the command line, with what was meant where that is known: arguments of a tool are written as flags by
/// whoever comes from other programs.
pub(crate) fn advised(mut error: clap::Error) -> clap::Error {
    let shown = |error: &clap::Error, kind| error.get(kind).map(ToString::to_string);
    let usage = shown(&error, ContextKind::Usage).unwrap_or_default();
    let is_near = error.get(ContextKind::SuggestedArg).is_some();
    let flag = shown(&error, ContextKind::InvalidArg);
    let key = flag.as_deref().and_then(|flag| flag.strip_prefix("--"));
    if let Some(key) = key.filter(|_| !is_near && usage.contains("onecall call ")) {
        let key = key.split('=').next().unwrap_or(key);
        let tip = format!("arguments of the tool are written `{key}=VALUE`, without dashes");
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

fn host(word: &str) -> Result<String, String> {
    if Reach::is_host(word) {
        return Ok(word.to_owned());
    }
    Err("give the name alone, such as `tools.example.com`".to_owned())
}

fn public_url(word: &str) -> Result<String, String> {
    let base = Reach::base_of(word);
    base.ok_or_else(|| "give a URL such as `https://tools.example.com`".to_owned())
}

/// A word behind `--trace` that is no place for a trace is more likely the path or tool that was to follow.
fn trace_file(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let is_json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    if word == "-" || is_json || path.starts_with("/dev") {
        return Ok(path);
    }
    Err("a trace goes to a `.json` file; to print it, put `--trace` last".to_owned())
}
