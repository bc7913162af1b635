//! `onecall connect`: enters these files, or a running server, in the configuration of a desktop client.

use crate::client_file::{Change, ClientFile, Readers};
use crate::clients::{Client, Folders, Variable};
use crate::exit::{Exit, usage};
use crate::files::{self, no_path};
use crate::token::TokenArgs;
use crate::{print, served, wire};
use anyhow::Context;
use clap::{Args, ValueEnum as _};
use onecall_config::settings::{Backend, Transport};
use onecall_runtime::now;
use onecall_source::codes;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Stands for a variable that is not set while files are checked, wherever it is used.
const STAND_IN: &str = "http://not-set.invalid";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall connect claude onecall.yaml\n  onecall connect cursor . --name work\n  onecall connect vscode --url http://127.0.0.1:4483/mcp --token-env MY_TOKEN\n  onecall connect claude-code . --print"
)]
pub(crate) struct ConnectArgs {
    #[arg(value_enum)]
    client: Client,
    /// Files or directories that the client shall serve, as for `onecall serve` [default: `onecall.yaml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Reach a server that runs already instead of starting one
    #[arg(long, conflicts_with = "paths")]
    url: Option<String>,
    #[command(flatten)]
    token: TokenArgs,
    /// The name of the entry
    #[arg(long, default_value = "onecall")]
    name: String,
    /// Replace an entry of this name that leads to other files or another server
    #[arg(long)]
    force: bool,
    /// Change the file for everything this user opens, not the one of this folder
    #[arg(long)]
    user: bool,
    /// Change this file
    #[arg(long, value_name = "FILE", conflicts_with = "user")]
    file: Option<PathBuf>,
    /// Print the file as it would be, and change nothing
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(mut args: ConnectArgs) -> anyhow::Result<Exit> {
    if args.url.is_none() && args.paths.is_empty() {
        let word = args.client.to_possible_value();
        let word = word.as_ref().map_or("CLIENT", |value| value.get_name());
        let here = files::of_this_folder();
        args.paths
            .push(here.ok_or_else(|| no_path(&format!("onecall connect {word} PATH")))?);
    }
    enter(&args)
}

fn enter(args: &ConnectArgs) -> anyhow::Result<Exit> {
    let client = args.client;
    let (variables, backends) = match &args.url {
        Some(_) => Default::default(),
        None => match variables(args)? {
            Some(found) => found,
            None => return Ok(Exit::Failed),
        },
    };
    let entry = entry(args, &variables)?;
    let path = target(args)?;
    let file = ClientFile::open(&path)?;
    if !args.force
        && let Some(known) = file.servers(client.key()).get(&args.name)
        && let Some(leads) = served::of_others(known, &args.paths, args.url.as_deref())
    {
        return Err(taken(args, &path, &leads));
    }
    let change = file.set(client.key(), &args.name, &entry)?;
    if args.print {
        print::data(file.to_text().trim_end());
        return Ok(Exit::Ok);
    }
    let shown = path.display();
    let what = match change {
        Change::None => {
            print::err(format!("`{shown}` has this entry already; nothing changed"));
            return Ok(Exit::Ok);
        }
        Change::Added => "added to",
        Change::Replaced => "replaced in",
    };
    let holds = |own: &Variable| own.value.is_some() && client.named(&own.name).is_none();
    let readers = if variables.iter().any(holds) {
        Readers::User
    } else {
        Readers::Usual
    };
    let backup = file.write(&now().to_rfc3339().replace(':', ""), readers)?;
    print::err(format!("`{}` {what} `{shown}`", args.name));
    if let Some(backup) = backup {
        print::err(format!("what was there is kept as `{}`", backup.display()));
    }
    for variable in &variables {
        print::err(advice(client, variable, &path));
    }
    for line in still_there(&file.servers(client.key()), &backends, client, &path) {
        print::err(line);
    }
    print::err(format!("restart {} to see it", client.title()));
    Ok(Exit::Ok)
}

/// The servers that the client still starts itself, though these files wrap them, and how to remove them.
fn still_there(
    servers: &Map<String, Value>,
    backends: &[Backend],
    client: Client,
    path: &Path,
) -> Vec<String> {
    let is_wrapped = |entry: &Value| backends.iter().any(|own| is_same(entry, &own.transport));
    let names = servers.iter().filter(|(_, entry)| is_wrapped(entry));
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let (listed, key, shown) = (names.join("`, `"), client.key(), path.display());
    let mut lines = vec![format!(
        "the client still loads the tools of `{listed}` itself, so nothing is saved yet; to remove them, delete these \
         entries under `{key}` in `{shown}`"
    )];
    if client == Client::ClaudeCode {
        let commands = names.iter().map(|name| format!("claude mcp remove {name}"));
        lines.extend(commands.map(|command| format!("  or: {command}")));
    }
    lines
}

/// Whether an entry of a client starts or reaches what this backend does.
fn is_same(entry: &Value, transport: &Transport) -> bool {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    match transport {
        Transport::Stdio { command, args, .. } => {
            let own = entry.get("args").and_then(Value::as_array);
            let own: Vec<&str> = own
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            // Values that a variable stands for here are written out there, or the other way round.
            let is_alike = |(own, other): (&&str, &String)| {
                *own == other.as_str() || own.contains("${") || other.contains(STAND_IN)
            };
            text("command") == Some(command.as_str())
                && own.len() == args.len()
                && own.iter().zip(args).all(is_alike)
        }
        Transport::StreamableHttp { url, .. } | Transport::Sse { url, .. } => {
            text("url") == Some(url.as_str())
        }
    }
}

/// An entry of this name is somebody else's. `leads`: what it does.
fn taken(args: &ConnectArgs, path: &Path, leads: &str) -> anyhow::Error {
    let (name, shown) = (&args.name, path.display());
    usage(format!(
        "`{name}` in `{shown}` {leads}, so it is kept\n  = help: `--name {}` makes an entry beside it, `--force` replaces it",
        other_name(args)
    ))
}

/// A name for an entry beside that of others: after the folder of the files.
fn other_name(args: &ConnectArgs) -> String {
    let path = args.paths.first().and_then(|path| path.canonicalize().ok());
    let folder = path.as_deref().and_then(|path| {
        let folder = if path.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        folder?.file_name()?.to_str()
    });
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    match folder.filter(|name| name.chars().all(plain)) {
        Some(folder) if folder != args.name => folder.to_owned(),
        Some(_) | None => "OTHER".to_owned(),
    }
}

/// What is to be done, or to be known, about a variable of the entry.
fn advice(client: Client, variable: &Variable, path: &Path) -> String {
    let (name, shown, title) = (&variable.name, path.display(), client.title());
    match (client.named(name), &variable.value) {
        (Some(_), _) => format!("{title} takes {name} from the environment it is started in"),
        (None, Some(_)) => format!("the value of {name} now stands in `{shown}`"),
        (None, None) => format!("{name} is not set here: fill it in under `env` in `{shown}`"),
    }
}

/// What the client is told.
fn entry(args: &ConnectArgs, variables: &[Variable]) -> anyhow::Result<Value> {
    if let Some(url) = &args.url {
        if !wire::is_url(url) {
            return Err(usage(format!(
                "`{url}` is no URL; write it as `onecall serve` prints it, `http://127.0.0.1:4483/mcp`"
            )));
        }
        let entry = args.client.url_entry(url, args.token.variable());
        return entry.ok_or_else(|| {
            usage(format!(
                "{} starts servers itself; give the paths instead of --url",
                args.client.title()
            ))
        });
    }
    args.token.refuse_for_paths()?;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut words = vec!["serve".to_owned(), "--stdio".to_owned()];
    for path in &args.paths {
        words.push(absolute(path)?.display().to_string());
    }
    Ok(args.client.stdio_entry(&program, &words, variables))
}

/// The variables that the files name and need, and their backends; `None` where the files have faults, which are reported. One that is
/// not set is no fault: the client may set it.
fn variables(args: &ConnectArgs) -> anyhow::Result<Option<(Vec<Variable>, Vec<Backend>)>> {
    let now = |name: &str| std::env::var(name).ok();
    let loaded = wire::load(&args.paths)?;
    let is_unset = |name: &str| {
        let mut faults = loaded.diagnostics.iter();
        let quoted = format!("`{name}`");
        faults.any(|own| own.code == codes::VARIABLE_NOT_SET && own.message.contains(&quoted))
    };
    let as_if = wire::load_in(&args.paths, &|name| {
        now(name).or_else(|| is_unset(name).then(|| STAND_IN.to_owned()))
    })?;
    if as_if.diagnostics.has_errors() {
        wire::report(&as_if);
        return Ok(None);
    }
    let named = loaded.variables.iter().map(|name| Variable {
        name: name.clone(),
        value: now(name),
    });
    // One that is not set and has a text to use instead needs nothing.
    let needed = named.filter(|own| own.value.is_some() || is_unset(&own.name));
    let servers = as_if.settings.servers.into_iter();
    let backends = servers.flat_map(|server| server.backends);
    Ok(Some((needed.collect(), backends.collect())))
}

/// A client starts its servers in a folder of its own, so paths must stand on their own.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot resolve `{}`", path.display()))
}

fn target(args: &ConnectArgs) -> anyhow::Result<PathBuf> {
    if let Some(file) = &args.file {
        return Ok(file.clone());
    }
    let folder = std::env::current_dir().context("cannot tell the current folder")?;
    let of_project = args.client.project_file(&folder).filter(|_| !args.user);
    of_project
        .or_else(|| args.client.user_file(&Folders::of_this_user()))
        .ok_or_else(|| usage("no home folder is known; give --file FILE"))
}
