//! `onecall call`: one call of a workflow or tool; progress on stderr, the result as JSON on stdout.
//! Questions are asked in the terminal where there is one.

mod dry_run;
mod raw;
mod trace;

use crate::args::CallArgs;
use crate::exit::{Exit, usage};
use crate::input::read_text;
use crate::limits::STDIN_BYTES_MAX;
use crate::progress::{self, Progress};
use crate::terminal::{self, Terminal};
use crate::{print, values, wire};
use onecall_backends::BackendState;
use onecall_engine::identity::RunId;
use onecall_runtime::calls::{Moved, Reply, Request, RunHandle};
use onecall_runtime::publish::Published;
use onecall_runtime::questions::{AnswerError, Answered, Follower};
use onecall_runtime::runs::Asked;
use onecall_runtime::runtime::Runtime;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) async fn run(args: CallArgs) -> anyhow::Result<Exit> {
    let words = Words::split(&args.words)?;
    let arguments = arguments(&args, &words.rest)?;
    let url = words.url.as_deref();
    let loaded = args.files.load_or_reach(url, &args.token, &words.paths)?;
    let Some(mut settings) = loaded.sound() else {
        return Ok(Exit::Failed);
    };
    let labels = values::labels(&args.labels)?;
    let mut server = wire::only_server(&mut settings)?;
    wire::take_composition(&mut settings, &mut server, &words.tool);
    let journal = wire::open_store(&args.store, &settings)?;
    let runtime = wire::start(server, &settings, journal, false).await?;
    let exit = if args.dry_run {
        dry_run::run(&runtime, &words.tool, arguments).await
    } else if args.raw {
        raw::run(&runtime, &words.tool, arguments).await
    } else {
        let mut request = Request::new(&words.tool, arguments);
        request.labels = labels;
        call(&runtime, request, args.trace.as_deref()).await
    };
    runtime.shutdown(Duration::from_millis(100)).await;
    exit
}

/// The words of the command line, told apart.
struct Words {
    paths: Vec<PathBuf>,
    /// A server that runs elsewhere, instead of paths.
    url: Option<String>,
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
        if let [url] = paths
            && wire::is_url(url)
        {
            return Ok(Self {
                paths: Vec::new(),
                url: Some(url.clone()),
                tool: tool.clone(),
                rest: rest.to_vec(),
            });
        }
        if let Some(word) = paths.iter().find(|path| !Path::new(path).exists()) {
            let text =
                format!("`{word}` is neither a file nor a directory; arguments are `key=value`");
            return Err(usage(text));
        }
        Ok(Self {
            paths: paths.iter().map(PathBuf::from).collect(),
            url: None,
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

async fn call(runtime: &Runtime, request: Request, trace: Option<&Path>) -> anyhow::Result<Exit> {
    let tool = request.tool.as_str();
    let published = runtime.settled().await;
    let known = published.find(tool).is_some() || published.withheld_reason(tool).is_some();
    if !known {
        return Ok(unknown(runtime, &published, tool));
    }
    match runtime.call(request).await {
        Reply::Result(result) => print_result(&result),
        Reply::Passed(result) => print_result(&Value::Object(result.parse()?.into_object())),
        Reply::Started(handle) => {
            let run = handle.id.clone();
            let exit = follow(runtime, handle).await?;
            if let Some(file) = trace {
                trace::write(runtime, &run, file).await?;
            }
            Ok(exit)
        }
        Reply::Rpc(error) => {
            let (code, message) = (error.code, error.message);
            print::err(format!("error: the backend answered {code}: {message}"));
            Ok(Exit::Failed)
        }
        // The call offers nobody to be asked.
        Reply::Asks(_) => {
            print::err("error: the backend asks a question; call it from a workflow");
            Ok(Exit::Failed)
        }
        Reply::UnknownTool => Ok(Exit::NothingSelected),
    }
}

fn unknown(runtime: &Runtime, published: &Published, tool: &str) -> Exit {
    let mut is_down = false;
    for status in runtime.backends() {
        if let BackendState::Down { reason, .. } = status.state {
            print::err(format!("error: backend `{}`: {reason}", status.name));
            is_down = true;
        }
    }
    if is_down {
        return Exit::Unreachable;
    }
    let names = published.tools.iter().map(|tool| tool.name.as_str());
    print::err(format!("error: no tool is named `{tool}`"));
    match onecall_source::suggest(tool, names.clone()) {
        Some(near) => print::err(format!("  = help: a tool named `{near}` exists")),
        None => print::err(format!(
            "  = help: published: {}",
            names.collect::<Vec<_>>().join(", ")
        )),
    }
    Exit::NothingSelected
}

async fn follow(runtime: &Runtime, handle: RunHandle) -> anyhow::Result<Exit> {
    let run = handle.id.clone();
    let mut progress = Progress::new(&run, &handle.standing().steps);
    let mut follower = Follower::new(runtime.clone(), handle);
    let stop = wire::stop_on_signals();
    loop {
        let moved = tokio::select! {
            moved = follower.moved() => moved,
            () = stop.cancelled() => return Ok(interrupted(&mut follower).await),
        };
        let standing = match moved {
            Moved::Events(seen) => {
                progress.show(seen);
                continue;
            }
            Moved::Rests(standing) => standing,
        };
        if let Some(result) = standing.result {
            progress.finish();
            return print_result(&result);
        }
        let question = standing
            .questions
            .first()
            .filter(|_| terminal::is_possible());
        let Some(question) = question else {
            progress.finish();
            progress::waiting(&standing);
            return Ok(Exit::Waiting);
        };
        progress.finish();
        tokio::select! {
            answered = ask(runtime, &run, question) => answered?,
            () = stop.cancelled() => return Ok(interrupted(&mut follower).await),
        }
        progress.go_on();
    }
}

async fn interrupted(follower: &mut Follower) -> Exit {
    follower.cancel("interrupted").await;
    while let Moved::Events(_) = follower.moved().await {}
    print::err(format!("run {} was cancelled", follower.run));
    Exit::Interrupted
}

/// Asks the person at the terminal, unless somebody else answers first.
async fn ask(runtime: &Runtime, run: &RunId, question: &Asked) -> anyhow::Result<()> {
    let put = question.clone();
    let person = tokio::task::spawn_blocking(move || terminal::ask(&put, &mut Terminal::new()));
    let given = tokio::select! {
        given = person => given??,
        () = runtime.settles(run, &question.step, question.round) => {
            print::err("the question is open no longer");
            return Ok(());
        }
    };
    match runtime.answer(run, given).await {
        Ok(Answered::Taken) => {}
        Ok(Answered::TooLate) => print::err("the time to answer is over"),
        Ok(Answered::AskedAgain { reason }) => print::err(format!("asked again: {reason}")),
        Err(error @ (AnswerError::NotAsked { .. } | AnswerError::Otherwise { .. })) => {
            print::err(format!("{error}"));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
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
