//! `onecall init`: a first `onecall.yaml` from the servers a desktop client lists already, with one workflow
//! over tools that really exist there. Without such a list the built-in demo backend takes its place.

mod editor;
mod example;
mod found;
mod secrets;
mod uninherited;

use crate::args::StoreArgs;
use crate::clients::{self, Folders};
use crate::exit::{Exit, usage};
use crate::files::CONFIGURATION;
use crate::{print, waiting, wire};
use anyhow::{Context, bail};
use clap::Args;
use found::{Found, Secrets};
use onecall_config::{Compat, Input};
use onecall_runtime::runtime::Runtime;
use onecall_runtime::sources::Collected;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A list of servers that belongs to no client in particular.
const OPEN: &str = "mcp.json";
const WORKFLOW: &str = "workflows/first.workflow.yaml";

/// How long backends may take to connect and tell their tools; a package may be fetched first.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall init\n  onecall init ~/.cursor/mcp.json\n  onecall init tools --from .vscode/mcp.json\n  onecall init my-tools --force"
)]
pub(crate) struct InitArgs {
    /// The folder to set up, or the file to take servers from
    #[arg(default_value = ".", value_name = "FOLDER|FILE")]
    folder: PathBuf,
    /// A file with `mcpServers` or `servers` [default: `mcp.json` here, else the first that a desktop client keeps here or at home]
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
    /// Copy keys and tokens too, instead of naming a variable for each
    #[arg(long)]
    copy_secrets: bool,
}

pub(crate) async fn run(mut args: InitArgs) -> anyhow::Result<Exit> {
    let names_a_file =
        args.folder.is_file() || args.folder.extension().is_some_and(|own| own == "json");
    if names_a_file && args.from.is_none() {
        args.from = Some(std::mem::replace(&mut args.folder, PathBuf::from(".")));
    }
    let written = [CONFIGURATION, WORKFLOW].map(|name| args.folder.join(name));
    if let Some(taken) = written.iter().find(|path| path.exists() && !args.force) {
        let text = format!(
            "`{}` is there already; --force replaces it",
            taken.display()
        );
        return Err(usage(text));
    }
    let Some(found) = find(&args)? else {
        return Ok(Exit::NothingSelected);
    };
    print::err(match &found.from {
        Some(path) => {
            let (count, path) = (found.len(), path.display());
            format!("{} from `{path}`", print::counted(count, "backend"))
        }
        None => "no desktop client lists servers here; using the built-in demo backend".to_owned(),
    });
    for (name, ours) in found.renamed() {
        print::err(format!("`{name}` is called `{ours}` here"));
    }
    let workflow = match discover(&found).await? {
        Some(runtime) => {
            let workflow = example::write(&runtime.catalog());
            runtime.shutdown(Duration::ZERO).await;
            workflow
        }
        None => return Ok(Exit::Failed),
    };
    let secrets = if args.copy_secrets {
        Secrets::Copied
    } else {
        Secrets::Named
    };
    let (configuration, needs) = found.to_yaml(secrets);
    save(&args.folder.join(CONFIGURATION), &configuration)?;
    for (variable, place) in &needs.variables {
        print::err(format!("set {variable}, which stands for {place}"));
    }
    for (backend, name) in found.uninherited() {
        print::err(format!(
            "warning: `{backend}` reads `{name}`, which backends do not inherit: add `inherit_env: [{name}]` to it"
        ));
    }
    for line in &needs.unknown {
        print::err(format!("warning: {line}"));
    }
    for (backend, file) in found.variable_files() {
        print::err(format!(
            "set what `{backend}` needs of `{file}` (`envFile`), which is not read here"
        ));
    }
    let Some(workflow) = workflow else {
        print::err("no tool answered that an example could call; see `onecall doctor`");
        return Ok(Exit::Unreachable);
    };
    save(&args.folder.join(WORKFLOW), &workflow.text)?;
    // Not the folder: the file that the servers came from may lie there too.
    let file = args.folder.join(CONFIGURATION);
    let file = file.strip_prefix(".").unwrap_or(&file).display();
    print::err(format!("try: onecall call {file} {}", workflow.call));
    print::err(format!("then: onecall serve {file}"));
    Ok(Exit::Ok)
}

/// The servers to begin with; `None` where the file that was named lists none, which is told.
fn find(args: &InitArgs) -> anyhow::Result<Option<Found>> {
    let folder = std::path::absolute(&args.folder).context("cannot resolve the folder")?;
    if let Some(path) = &args.from {
        if !path.exists() {
            bail!("`{}` is not there", path.display());
        }
        let found = Found::read(path, &folder)?;
        if found.len() == 0 {
            let shown = path.display();
            print::err(format!(
                "error: `{shown}` lists no servers under `mcpServers` or `servers`; nothing was written"
            ));
            return Ok(None);
        }
        return Ok(Some(found));
    }
    let of_clients = clients::existing(&args.folder, &Folders::of_this_user());
    let of_clients = of_clients.into_iter();
    // One that lies open in the folder was put there for its tools.
    let open = Some(args.folder.join(OPEN)).filter(|path| path.is_file());
    let files = open.into_iter().map(|path| (OPEN, path));
    let files = files.chain(of_clients.map(|(client, path)| (client.title(), path)));
    let mut found = None;
    for (title, path) in files {
        // Nobody named this file, and another may do.
        let read = match Found::read(&path, &folder) {
            Ok(read) => read,
            Err(error) => {
                print::err(format!("warning: {title} is left out: {error:#}"));
                continue;
            }
        };
        if read.len() == 0 {
            continue;
        }
        match &found {
            None => found = Some(read),
            Some(_) => print::err(format!(
                "{title} lists servers too: --from {}",
                path.display()
            )),
        }
    }
    Ok(Some(found.unwrap_or_else(Found::demo)))
}

/// Starts the backends and waits for their tools. A backend that does not answer is named and left out.
async fn discover(found: &Found) -> anyhow::Result<Option<Runtime>> {
    let (text, _) = found.to_yaml(Secrets::Tried);
    let mut collected = Collected::default();
    let source = collected.sources.add(CONFIGURATION, text);
    let named = true;
    collected.inputs.push(Input { source, named });
    let Some(mut settings) = wire::understand(collected, Compat::Page).sound() else {
        return Ok(None);
    };
    let server = wire::only_server(&mut settings)?;
    let in_memory = StoreArgs {
        store: None,
        ephemeral: true,
    };
    let journal = wire::open_store(&in_memory, &settings)?;
    let runtime = wire::start(server, &settings, journal, wire::Role::OneShot).await?;
    let saved = waiting::for_tools(&runtime, PATIENCE).await;
    for reason in saved.missing(&runtime) {
        print::err(format!("warning: {reason}"));
    }
    Ok(Some(runtime))
}

fn save(path: &Path, text: &str) -> anyhow::Result<()> {
    let shown = path.display();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder of `{shown}`"))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write `{shown}`"))?;
    print::err(format!("wrote `{shown}`"));
    Ok(())
}
