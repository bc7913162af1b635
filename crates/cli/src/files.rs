//! Flags beside the paths: backends that no file names, and which of several servers is meant.
//! A backend of a flag is read as if a file of one entry had it, so every rule of files holds for it.

use crate::exit::usage;
use crate::own;
use crate::token::TokenArgs;
use crate::wire::{self, Loaded};
use clap::{Args, ValueEnum};
use onecall_config::{CONFIGURATIONS, Compat, Input};
use onecall_runtime::sources::{self, Collected};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The configuration of a folder.
pub(crate) const CONFIGURATION: &str = "onecall.yaml";

/// The configuration of this folder, for commands that were given no path.
pub(crate) fn of_this_folder() -> Option<PathBuf> {
    let mut names = CONFIGURATIONS.iter().map(PathBuf::from);
    names.find(|own| own.is_file())
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FileArgs {
    /// A backend beside those of the files: its URL, or its command; may be repeated
    #[arg(long = "backend", value_name = "NAME=URL|COMMAND")]
    backends: Vec<String>,
    /// A file of backends as desktop clients write it (`mcpServers`); may be repeated
    #[arg(long = "mcp-config", value_name = "FILE")]
    mcp_configs: Vec<PathBuf>,
    /// The server to take, where the files hold several
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Read suites as this program does where it differs from its own documentation
    #[arg(long, value_enum, value_name = "PROGRAM")]
    compat: Option<Program>,
}

/// A program whose ways can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    #[value(name = "mcptest-1.3")]
    Mcptest13,
}

impl FileArgs {
    /// The paths that were written. Where none is, the configuration of this folder is meant, or the backends of the
    /// flags alone; `usage` is how the command is written with a path.
    pub(crate) fn paths_or_here(
        &self,
        mut paths: Vec<PathBuf>,
        usage: &str,
    ) -> anyhow::Result<Vec<PathBuf>> {
        if paths.is_empty() {
            paths.extend(of_this_folder());
        }
        if paths.is_empty() && !self.gives_backends() {
            return Err(no_path(usage));
        }
        Ok(paths)
    }

    /// Reads the paths and what the flags add to them.
    pub(crate) fn collect(&self, paths: &[PathBuf]) -> anyhow::Result<Collected> {
        let paths: Vec<PathBuf> = paths.iter().chain(&self.mcp_configs).cloned().collect();
        let mut collected = sources::collect(&paths)?;
        for flag in &self.backends {
            let (name, backend) = backend(flag)?;
            let text = json!({ "backends": { name: backend } }).to_string();
            let source = collected.sources.add(format!("{FLAG_SOURCE}{name}"), text);
            collected.inputs.push(Input {
                source,
                named: true,
            });
        }
        Ok(collected)
    }

    /// The files that the paths name or hold, each once, in order.
    pub(crate) fn each(&self, paths: &[PathBuf]) -> anyhow::Result<BTreeSet<PathBuf>> {
        let collected = self.collect(paths)?;
        let names = collected.inputs.iter();
        let names = names.map(|input| PathBuf::from(collected.sources.get(input.source).name()));
        Ok(names.filter(|path| path.is_file()).collect())
    }

    pub(crate) fn load(&self, paths: &[PathBuf]) -> anyhow::Result<Loaded> {
        let mut loaded = wire::understand(self.collect(paths)?, self.compat());
        self.pick(&mut loaded)?;
        let read: Vec<PathBuf> = paths.iter().chain(&self.mcp_configs).cloned().collect();
        own::leave_out(&mut loaded.settings, &read);
        loaded.check = Some(self.check_command(paths));
        Ok(loaded)
    }

    /// The server at a URL alone, where there is one; else as `load`.
    pub(crate) fn load_or_reach(
        &self,
        url: Option<&str>,
        token: &TokenArgs,
        paths: &[PathBuf],
    ) -> anyhow::Result<Loaded> {
        if let Some(url) = url {
            token.refuse_unset()?;
            return Ok(wire::load_url(url, token));
        }
        token.refuse_for_paths()?;
        self.load(paths)
    }

    /// The command line that checks what these paths and flags give.
    fn check_command(&self, paths: &[PathBuf]) -> String {
        format!("onecall check {}", self.shown(paths))
            .trim_end()
            .to_owned()
    }

    /// These paths and flags as a shell takes them, for a command that is suggested.
    pub(crate) fn shown(&self, paths: &[PathBuf]) -> String {
        let mut words: Vec<String> = Vec::new();
        words.extend(paths.iter().map(|path| path.display().to_string()));
        let backends = self.backends.iter().map(|own| ("--backend", own.clone()));
        let configs = self.mcp_configs.iter();
        let configs = configs.map(|own| ("--mcp-config", own.display().to_string()));
        let server = self.server.iter().map(|own| ("--server", own.clone()));
        let compat = self.compat.and_then(|own| own.to_possible_value());
        let compat = compat.map(|own| ("--compat", own.get_name().to_owned()));
        let flags = backends.chain(configs).chain(server).chain(compat);
        words.extend(flags.flat_map(|(flag, value)| [flag.to_owned(), value]));
        in_shell(&words)
    }

    /// Whether the flags name backends of their own.
    pub(crate) fn gives_backends(&self) -> bool {
        !self.backends.is_empty() || !self.mcp_configs.is_empty()
    }

    /// The flags that were given, by name.
    pub(crate) fn stated(&self) -> impl Iterator<Item = &'static str> + use<> {
        let flags = [
            ("--backend", !self.backends.is_empty()),
            ("--mcp-config", !self.mcp_configs.is_empty()),
            ("--server", self.server.is_some()),
            ("--compat", self.compat.is_some()),
        ];
        let stated = flags.into_iter().filter(|(_, is_stated)| *is_stated);
        stated.map(|(flag, _)| flag)
    }

    pub(crate) fn compat(&self) -> Compat {
        match self.compat {
            None => Compat::Page,
            Some(Program::Mcptest13) => Compat::Program,
        }
    }

    /// Leaves only the server that the flag names.
    pub(crate) fn pick(&self, loaded: &mut Loaded) -> anyhow::Result<()> {
        let Some(wanted) = &self.server else {
            return Ok(());
        };
        let settings = &mut loaded.settings;
        let names: Vec<String> = settings
            .servers
            .iter()
            .map(|own| own.name.clone())
            .collect();
        settings.servers.retain(|server| server.name == *wanted);
        if settings.servers.is_empty() {
            let names = names.join("`, `");
            return Err(usage(format!(
                "no server is named `{wanted}`; the paths hold `{names}`"
            )));
        }
        Ok(())
    }
}

/// Before the name of a backend, where a flag is read as a file.
const FLAG_SOURCE: &str = "--backend ";

/// Whether a source of this name is a flag.
pub(crate) fn is_flag(name: &str) -> bool {
    name.starts_with(FLAG_SOURCE)
}

/// Paths as a shell is given them.
pub(crate) fn shown(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|own| own.display().to_string()).collect();
    in_shell(&words)
}

fn in_shell(words: &[String]) -> String {
    let words = words.iter().map(String::as_str);
    shlex::try_join(words.clone()).unwrap_or_else(|_| words.collect::<Vec<_>>().join(" "))
}

/// Neither a path nor a configuration here.
pub(crate) fn no_path(usage_is: &str) -> anyhow::Error {
    usage(format!(
        "no path is named, and there is no `{CONFIGURATION}` here; write `{usage_is}`"
    ))
}

/// `NAME=URL`, or `NAME=COMMAND ARGUMENT…` in the words of a shell.
fn backend(flag: &str) -> anyhow::Result<(&str, Value)> {
    let wrong = |why: &str| {
        usage(format!(
            "`--backend {flag}` {why}; write `--backend NAME=URL`"
        ))
    };
    let Some((name, rest)) = flag.split_once('=') else {
        return Err(wrong("names no backend"));
    };
    if rest.starts_with("http://") || rest.starts_with("https://") {
        return Ok((name, json!({ "url": rest })));
    }
    let Some(words) = shlex::split(rest) else {
        return Err(wrong("has a quote that is not closed"));
    };
    match words.split_first() {
        Some((command, arguments)) => Ok((name, json!({ "command": command, "args": arguments }))),
        None => Err(wrong("says neither a URL nor a command")),
    }
}
