//! `onecall call`: one call of a workflow or tool; progress on stderr, the result as JSON on stdout.

use crate::args::CallArgs;
use crate::exit::{Exit, usage};
use crate::input::read_text;
use crate::{print, progress, values, wire};
use onecall_runtime::calls::{Moved, Reply, Request, RunHandle};
use onecall_runtime::runtime::Runtime;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limit: bytes of arguments read from stdin.
const STDIN_BYTES_MAX: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(args: CallArgs) -> anyhow::Result<Exit> {
    let words = Words::split(&args.words)?;
    let arguments = arguments(&args, &words.rest)?;
    let loaded = wire::load(&words.paths)?;
    wire::report(&loaded);
    if loaded.diagnostics.has_errors() {
        return Ok(Exit::Failed);
    }
    let journal = wire::open_store(&args.store, &loaded)?;
    let runtime = wire::start(loaded, journal, false).await?;
    let exit = call(&runtime, &words.tool, arguments).await;
    runtime.shutdown(Duration::from_millis(100)).await;
    exit
}

/// The words of the command line, told apart.
struct Words {
    paths: Vec<PathBuf>,
    tool: String,
    rest: Vec<String>,
}

impl Words {
    /// Everything before the tool that exists as a file or directory is a path.
    fn split(words: &[String]) -> anyhow::Result<Self> {
        let rest_at = words.iter().position(|word| values::is_assignment(word));
        let (names, rest) = words.split_at(rest_at.unwrap_or(words.len()));
        let Some((tool, paths)) = names.split_last() else {
            return Err(usage(
                "no tool is named; write `onecall call PATH TOOL key=value`",
            ));
        };
        if paths.is_empty() {
            let text = if Path::new(tool).exists() {
                format!("no tool is named; write `onecall call {tool} TOOL key=value`")
            } else {
                format!("no path is named; write `onecall call PATH {tool} key=value`")
            };
            return Err(usage(text));
        }
        if let Some(word) = paths.iter().find(|path| !Path::new(path).exists()) {
            let text =
                format!("`{word}` is neither a file nor a directory; arguments are `key=value`");
            return Err(usage(text));
        }
        Ok(Self {
            paths: paths.iter().map(PathBuf::from).collect(),
            tool: tool.clone(),
            rest: rest.to_vec(),
        })
    }
}

fn arguments(args: &CallArgs, rest: &[String]) -> anyhow::Result<Value> {
    let mut object = match args.args_json.as_deref() {
        None => serde_json::Map::new(),
        Some(text) => {
            let text = if text == "-" {
                read_text(Path::new("-"), STDIN_BYTES_MAX)?
            } else {
                text.to_owned()
            };
            match serde_json::from_str(&text) {
                Ok(Value::Object(object)) => object,
                Ok(_) => return Err(usage("--args-json must be a JSON object")),
                Err(error) => return Err(usage(format!("--args-json is not JSON: {error}"))),
            }
        }
    };
    object.extend(values::object(rest)?);
    Ok(Value::Object(object))
}

async fn call(runtime: &Runtime, tool: &str, arguments: Value) -> anyhow::Result<Exit> {
    let published = runtime.settled().await;
    let known = published.find(tool).is_some() || published.withheld_reason(tool).is_some();
    if !known {
        let names = published.tools.iter().map(|tool| tool.name.as_str());
        let near = onecall_source::suggest(tool, names.clone());
        print::err(format!("error: no tool is named `{tool}`"));
        match near {
            Some(near) => print::err(format!("  = help: a tool named `{near}` exists")),
            None => print::err(format!(
                "  = help: published: {}",
                names.collect::<Vec<_>>().join(", ")
            )),
        }
        return Ok(Exit::NothingSelected);
    }
    match runtime.call(Request::new(tool, arguments)).await {
        Reply::Result(result) => print_result(&result),
        Reply::Started(handle) => follow(handle).await,
        Reply::Rpc { code, message, .. } => {
            print::err(format!("error: the backend answered {code}: {message}"));
            Ok(Exit::Failed)
        }
        Reply::UnknownTool => Ok(Exit::NothingSelected),
    }
}

async fn follow(mut handle: RunHandle) -> anyhow::Result<Exit> {
    let mut progress = progress::Lines::new(&handle.id);
    let stop = wire::stop_on_signals();
    let standing = loop {
        tokio::select! {
            moved = handle.moved() => match moved {
                Moved::Events(seen) => progress.show(&seen),
                Moved::Rests(standing) => break standing,
            },
            () = stop.cancelled() => {
                handle.cancel("interrupted").await;
                let _ = handle.result().await;
                print::err(format!("run {} was cancelled", handle.id));
                return Ok(Exit::Interrupted);
            }
        }
    };
    if let Some(result) = standing.result {
        return print_result(&result);
    }
    progress::waiting(&standing);
    Ok(Exit::Waiting)
}

/// The structured result, or the text, on stdout; a failure's text on stderr.
fn print_result(result: &Value) -> anyhow::Result<Exit> {
    let is_error = result.get("isError") == Some(&Value::Bool(true));
    let texts = result
        .get("content")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let text = onecall_mcp::text_of(texts);
    if is_error {
        print::err(format!("error: {text}"));
    }
    let failure = result
        .get("_meta")
        .and_then(|meta| meta.get(onecall_mcp::meta::ERROR));
    match result.get("structuredContent") {
        Some(structured) => print::out(serde_json::to_string_pretty(structured)?),
        None if is_error => print::out(serde_json::to_string_pretty(failure.unwrap_or(result))?),
        None => print::out(text),
    }
    Ok(if is_error { exit_of(failure) } else { Exit::Ok })
}

/// A backend that cannot be reached has an exit code of its own.
fn exit_of(failure: Option<&Value>) -> Exit {
    let category = failure
        .and_then(|failure| failure.get("category"))
        .and_then(Value::as_str);
    if category == Some("transport") {
        Exit::Unreachable
    } else {
        Exit::Failed
    }
}
