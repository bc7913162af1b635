//! The entries of desktop clients that start this program, or that reach a server of it by its URL.

use super::{Finding, Verdict};
use crate::client_file::ClientFile;
use crate::clients::Client;
use crate::served::{self, Serves};
use crate::token::TokenArgs;
use crate::{print, waiting, wire};
use onecall_backends::BackendState;
use onecall_gateway::RESULT_TOOL;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name under which `connect` enters this program, unless told otherwise.
const NAME: &str = "onecall";

/// Where `serve` listens, unless told otherwise.
const PORT: &str = "4483";

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// `paths`: what the doctor looks at, if anything.
pub(super) async fn findings(
    files: &[(Client, PathBuf)],
    paths: &[PathBuf],
) -> anyhow::Result<Vec<Finding>> {
    let mut found = Vec::new();
    for (client, path) in files {
        found.extend(in_file(*client, path, paths).await?);
    }
    let is_entered = found.iter().any(|own| own.serves == Serves::These);
    let findings = found.into_iter().map(|own| own.judged(is_entered));
    let mut findings: Vec<Finding> = findings.collect();
    if findings.is_empty() {
        let text = "no desktop client knows this program";
        let help = "onecall connect claude|claude-code|cursor|vscode PATH";
        findings.push(Finding::new("client", Verdict::Doubtful, text).help(help));
    }
    Ok(findings)
}

/// A finding about an entry, and what the entry serves.
struct Found {
    finding: Finding,
    serves: Serves,
}

impl Found {
    /// `is_entered`: some entry serves the files at hand.
    fn judged(self, is_entered: bool) -> Finding {
        if is_entered || !matches!(self.serves, Serves::Others(_)) {
            return self.finding;
        }
        let mut finding = self.finding;
        finding.verdict = Verdict::Doubtful;
        finding.help("onecall connect CLIENT PATH --name NAME makes an entry for these files")
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        let serves = Serves::Unknown;
        Self { finding, serves }
    }
}

async fn in_file(client: Client, path: &Path, paths: &[PathBuf]) -> anyhow::Result<Vec<Found>> {
    let file = match ClientFile::open(path) {
        Ok(file) => file,
        Err(error) => {
            let text = format!("{}: {error:#}", client.title());
            return Ok(vec![Finding::new("client", Verdict::Bad, text).into()]);
        }
    };
    let mut findings = Vec::new();
    for (name, entry) in &file.servers(client.key()) {
        let what = format!("{}: `{name}` in `{}`", client.title(), path.display());
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        if let Some(command) = text("command") {
            findings.extend(started(&what, Path::new(command), entry, paths));
        } else if let Some(url) = text("url") {
            let found = reached(&what, name, url, entry).await?;
            findings.extend(found.map(Found::from));
        }
    }
    Ok(findings)
}

/// An entry that starts this program.
fn started(what: &str, command: &Path, entry: &Value, paths: &[PathBuf]) -> Option<Found> {
    if command.file_stem().is_none_or(|stem| stem != "onecall") {
        return None;
    }
    if command.components().count() > 1 && !command.exists() {
        let text = format!("{what} starts `{}`, which is not there", command.display());
        let finding = Finding::new("client", Verdict::Bad, text);
        let finding = finding.help("onecall connect writes the entry anew");
        return Some(finding.into());
    }
    if let Some(missing) = missing_path(entry) {
        let text = format!("{what} serves `{missing}`, which is not there");
        return Some(Finding::new("client", Verdict::Bad, text).into());
    }
    let serves = served::compare(entry, paths);
    let text = match &serves {
        Serves::Others(files) => format!("{what} serves {files}, other files than these"),
        Serves::These | Serves::Unknown => what.to_owned(),
    };
    let finding = Finding::new("client", Verdict::Good, text);
    Some(Found { finding, serves })
}

/// An absolute path among the arguments of an entry that does not exist.
fn missing_path(entry: &Value) -> Option<String> {
    let args = entry.get("args")?.as_array()?;
    let mut paths = args.iter().filter_map(Value::as_str).map(Path::new);
    let missing = paths.find(|path| path.is_absolute() && !path.exists())?;
    Some(missing.display().to_string())
}

/// Whether an entry with a URL leads to this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    /// As `connect` writes it, or where `serve` listens.
    Ours,
    /// A server of this machine, which may be any: what it lists tells.
    Maybe,
    /// Servers of others are left in peace.
    Other,
}

fn kin(name: &str, url: &str) -> Kin {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let is_here = ["127.0.0.1", "localhost", "[::1]"].contains(&host);
    match (name == NAME, is_here) {
        (true, _) => Kin::Ours,
        (false, true) if port == PORT => Kin::Ours,
        (false, true) => Kin::Maybe,
        (false, false) => Kin::Other,
    }
}

/// An entry that reaches a server which runs already. It is asked for its tools, as the client would.
async fn reached(
    what: &str,
    name: &str,
    url: &str,
    entry: &Value,
) -> anyhow::Result<Option<Finding>> {
    let kin = kin(name, url);
    if kin == Kin::Other {
        return Ok(None);
    }
    let variable = token_variable(entry);
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let token = TokenArgs::of(variable.filter(is_set));
    let mut loaded = wire::load_url(url, &token);
    if loaded.diagnostics.has_errors() {
        let text = format!("{what} leads to `{url}`, which is no address of a server");
        let finding = Finding::new("client", Verdict::Bad, text);
        return Ok((kin == Kin::Ours).then_some(finding));
    }
    let server = wire::only_server(&mut loaded.settings)?;
    let runtime = wire::start_to_look(server, &loaded.settings).await?;
    waiting::for_tools(&runtime, PATIENCE).await;
    let status = runtime.backends().into_iter().next();
    let mut tools = runtime.catalog().tools.clone().into_iter();
    let is_ours = kin == Kin::Ours || tools.any(|tool| tool.original == RESULT_TOOL);
    runtime.shutdown(Duration::ZERO).await;
    let Some(status) = status.filter(|_| is_ours) else {
        return Ok(None);
    };
    let late = || format!("no answer within {} s", PATIENCE.as_secs());
    let reason = match (&status.state, status.tools) {
        (BackendState::Down { reason, .. }, _) => reason.clone(),
        (_, Some(tools)) => {
            let tools = print::counted(tools, "tool");
            let text = format!("{what} leads to `{url}`, which answers and has {tools}");
            return Ok(Some(Finding::new("client", Verdict::Good, text)));
        }
        (_, None) => status.last_error.clone().unwrap_or_else(late),
    };
    Ok(Some(match (token.help(&reason), variable) {
        (None, _) => {
            let text = format!("{what} leads to `{url}`, which does not answer: {reason}");
            let finding = Finding::new("client", Verdict::Unreachable, text);
            finding
                .help("onecall serve starts it; onecall connect enters files that need no server")
        }
        (Some(_), Some(name)) if token.variable().is_none() => {
            let text = format!(
                "{what} leads to `{url}`, which answers; `{name}`, whose token it wants, is not set here"
            );
            Finding::new("client", Verdict::Doubtful, text)
        }
        (Some(help), _) => {
            let text = format!("{what} leads to `{url}`, which does not let it in: {reason}");
            Finding::new("client", Verdict::Bad, text).help(help)
        }
    }))
}

/// The variable that holds the token, as `connect --token-env` writes it.
fn token_variable(entry: &Value) -> Option<&str> {
    let shown = entry.get("headers")?.get("Authorization")?.as_str()?;
    let named = shown.strip_prefix("Bearer ${")?.strip_suffix('}')?;
    Some(named.strip_prefix("env:").unwrap_or(named))
}

#[cfg(test)]
mod tests {
    use super::{Kin, kin, token_variable};
    use crate::clients::Client;

    #[test]
    fn servers_of_others_are_told_from_ours() {
        for (name, url, told) in [
            ("onecall", "https://tools.example.com/mcp", Kin::Ours),
            ("work", "http://127.0.0.1:4483/mcp", Kin::Ours),
            ("work", "http://localhost:5000/alpha/mcp", Kin::Maybe),
            ("work", "http://[::1]:5000/mcp", Kin::Maybe),
            ("work", "https://example.com/mcp", Kin::Other),
            ("work", "https://example.com:4483/mcp", Kin::Other),
            ("work", "http://127.0.0.1.example.com/mcp", Kin::Other),
        ] {
            assert_eq!(kin(name, url), told, "{name} {url}");
        }
    }

    #[test]
    fn the_token_is_found_as_it_is_entered() {
        for client in [Client::ClaudeCode, Client::Cursor, Client::Vscode] {
            let entry = client.url_entry("http://h/mcp", Some("MY_TOKEN")).unwrap();
            assert_eq!(token_variable(&entry), Some("MY_TOKEN"), "{entry}");
        }
    }
}
