//! `onecall tools`: what the backends offer, shown or saved for `check --tools`, and one tool in full.

mod signature;

use crate::args::ToolsArgs;
use crate::exit::Exit;
use crate::{print, waiting, wire};
use anyhow::Context;
use onecall_runtime::runtime::Runtime;
use onecall_runtime::sources::is_url_without_scheme;
use onecall_source::suggest;
use std::path::PathBuf;
use std::time::Duration;

/// How long backends may take to connect and tell their tools.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(mut args: ToolsArgs) -> anyhow::Result<Exit> {
    let name = take_name(&mut args.paths);
    args.paths = args.files.paths_or_here(args.paths, "onecall tools PATH")?;
    let url = args.paths.first().and_then(|path| path.to_str());
    let url = url.filter(|word| args.paths.len() == 1 && wire::is_url(word));
    let loaded = args.files.load_or_reach(url, &args.token, &args.paths)?;
    let Some(mut settings) = loaded.usable(None) else {
        return Ok(Exit::Failed);
    };
    let mut server = wire::only_server(&mut settings)?;
    if server.backends.is_empty() && (name.is_none() || server.workflows.is_empty()) {
        return Ok(wire::nothing_there());
    }
    // What is saved stands under a name that files can have.
    if let Some(url) = url.filter(|_| !args.json && args.save.is_none()) {
        wire::name_by_url(&mut server, url);
    }
    let runtime = wire::start_to_look(server, &settings).await?;
    let exit = match name {
        Some(name) => {
            let place = url.map_or_else(|| args.files.shown(&args.paths), str::to_owned);
            Ok(show_one(&runtime, &name, &place).await)
        }
        None => show(&runtime, &args, url.is_some()).await,
    };
    runtime.shutdown(Duration::ZERO).await;
    exit
}

/// The last word, if it is the name of a tool and not a path or a URL.
fn take_name(words: &mut Vec<PathBuf>) -> Option<String> {
    let last = words.last()?;
    let word = last.to_str()?;
    let is_path = last.exists()
        || wire::is_url(word)
        || is_url_without_scheme(last)
        || word.contains(std::path::is_separator)
        || ["yaml", "yml", "json"]
            .iter()
            .any(|own| last.extension().is_some_and(|it| it == *own));
    if is_path {
        return None;
    }
    let word = word.to_owned();
    words.pop();
    Some(word)
}

/// One tool or workflow in full: as clients see it, or as steps name it (`backend.tool`).
async fn show_one(runtime: &Runtime, name: &str, place: &str) -> Exit {
    waiting::for_tools(runtime, PATIENCE).await;
    let published = runtime.published_now();
    let catalog = runtime.catalog();
    let of_catalog = || {
        let mut tools = catalog.tools.iter();
        tools.find(|own| format!("{}.{}", own.backend, own.original) == name)
    };
    let definition = match published.find(name) {
        Some(found) => Some((found.name.clone(), &found.definition)),
        None => of_catalog().map(|own| {
            let listed = own.name.as_ref().map(|name| name.as_str().to_owned());
            (listed.unwrap_or_else(|| name.to_owned()), &own.tool)
        }),
    };
    if let Some((name, tool)) = definition {
        for line in signature::lines(&name, tool, place) {
            print::out(line);
        }
        return Exit::Ok;
    }
    if let Some(reason) = published.withheld_reason(name) {
        print::err(format!("error: `{name}` is withheld: {reason}"));
        return Exit::Failed;
    }
    print::err(format!("error: no tool is named `{name}`"));
    let names = published.tools.iter().map(|tool| tool.name.as_str());
    if let Some(near) = suggest(name, names) {
        print::err(format!("  = help: a tool named `{near}` exists"));
    }
    print::err(format!("  = help: all tools: onecall tools {place}").trim_end());
    Exit::NothingSelected
}

/// `is_elsewhere`: the tools are those of one server, which need not be told apart.
async fn show(runtime: &Runtime, args: &ToolsArgs, is_elsewhere: bool) -> anyhow::Result<Exit> {
    let saved = waiting::for_tools(runtime, PATIENCE).await;
    let missing: Vec<String> = saved.missing(runtime);
    for reason in &missing {
        print::err(format!("error: {reason}"));
        if let Some(help) = args.token.help(reason).filter(|_| is_elsewhere) {
            print::err(format!("  = help: {help}"));
        }
    }
    let exit = if missing.is_empty() {
        Exit::Ok
    } else {
        Exit::Unreachable
    };
    if let Some(path) = &args.save {
        // `check --tools` would take what is missing for absent.
        if !missing.is_empty() {
            return Ok(exit);
        }
        std::fs::write(path, saved.to_text())
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        print::err(format!(
            "saved {} to `{}`",
            print::counted(saved.count(), "tool"),
            path.display()
        ));
    } else if args.json {
        print::data(saved.to_text().trim_end());
    } else {
        for tool in &runtime.catalog().tools {
            let name = tool.name.as_ref().map_or("-", |name| name.as_str());
            let hidden = if tool.listed { "" } else { "  (hidden)" };
            let about = tool
                .tool
                .description()
                .unwrap_or("")
                .lines()
                .next()
                .unwrap_or("");
            let origin = if is_elsewhere {
                String::new()
            } else {
                format!("{}.{}{hidden}  ", tool.backend, tool.original)
            };
            print::out(format!("{name:<28} {origin}{about}").trim_end());
        }
    }
    Ok(exit)
}
