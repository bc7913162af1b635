//! `onecall call`: one call of a workflow or tool; progress on stderr, the result as JSON on stdout.
//! Questions are asked in the terminal where there is one.

mod ask;
mod dry_run;
mod follow;
mod given;
mod outcome;
mod pass;
mod raw;
mod remote;
mod trace;
mod unknown;

use crate::args::CallArgs;
use crate::exit::{Exit, usage};
use crate::files::FileArgs;
use crate::{print, values, waiting, wire};
use given::Given;
use onecall_config::settings::Server;
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::publish::{Published, Target};
use onecall_runtime::runtime::Runtime;
use onecall_runtime::sources::is_url_without_scheme;
use onecall_workflow::step::Step;
use onecall_workflow::workflow::Workflow;
use pass::Passed;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) async fn run(args: CallArgs) -> anyhow::Result<Exit> {
    let words = Words::split(&args.words)?.here(&args.files)?;
    let mut given = Given::read(args.args_json.as_deref(), &words.rest)?;
    if let Some(url) = &words.url {
        return remote::run(&args, url, &words.tool, given).await;
    }
    args.token.refuse_for_paths()?;
    args.trace.as_deref().map_or(Ok(()), trace::refuse)?;
    let Some(mut settings) = args.files.load(&words.paths)?.usable(Some(&words.tool)) else {
        return Ok(Exit::Failed);
    };
    wire::bound_ephemeral(&args.store, &mut settings)?;
    let labels = values::labels(&args.labels)?;
    let mut server = wire::only_server(&mut settings)?;
    wire::take_composition(&mut settings, &mut server, &words.tool);
    let lacking = lacking_backend(&server, &words.tool);
    let journal = wire::open_store(&args.store, &settings)?;
    let runtime = wire::start(server, &settings, journal, wire::Role::OneShot).await?;
    let tool = words.tool.as_str();
    let awaited = || runtime.awaited_for(tool);
    let published = waiting::during(runtime.settled_for(tool), awaited).await;
    let listed = listed(&runtime, &published, tool);
    let tool = listed.as_deref().unwrap_or(tool);
    if let Some(found) = published.find(tool) {
        given.meet(tool, found.definition.input_schema());
    }
    let exit = if args.dry_run {
        dry_run::run(&runtime, tool, given.into_value()).await
    } else if args.raw {
        raw::run(&runtime, tool, given.into_value()).await
    } else {
        let mut request = Request::new(tool, serde_json::Value::Null);
        request.labels = labels;
        let local = Local {
            runtime: &runtime,
            published: &published,
            trace: args.trace.as_deref(),
            store_flag: wire::store_flag(&args.store, &settings),
            place: args.files.shown(&words.paths),
        };
        let exit = local.call(request, given).await;
        if let (Some(name), Ok(Exit::Failed)) = (lacking, &exit) {
            print::err(format!(
                "  = help: no backend is given; add `--backend '{name}=COMMAND'`, or `--backend {name}=URL`"
            ));
        }
        exit
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
        if paths.is_empty() && (wire::is_url(tool) || Path::new(tool).exists()) {
            return Err(usage(format!(
                "no tool is named; write `onecall call {tool} TOOL key=value`"
            )));
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
            return Err(usage(no_path(word, tool)));
        }
        Ok(Self {
            paths: paths.iter().map(PathBuf::from).collect(),
            url: None,
            tool: tool.clone(),
            rest: rest.to_vec(),
        })
    }

    /// Where no path is written, the configuration of this folder is meant, or the backends of the flags alone.
    fn here(mut self, files: &FileArgs) -> anyhow::Result<Self> {
        if self.url.is_none() {
            let usage = format!("onecall call PATH {} key=value", self.tool);
            self.paths = files.paths_or_here(self.paths, &usage)?;
        }
        Ok(self)
    }
}

/// What a word is not that stands where paths do, and what may have been meant. `last` was taken for the tool.
fn no_path(word: &str, last: &str) -> String {
    let help = if is_url_without_scheme(Path::new(word)) {
        format!("a server is named by its URL, `http://{word}`")
    } else {
        format!("if it is the tool, write what follows as `key=value`, not `{last}`")
    };
    format!("`{word}` is neither a file nor a directory; {help}")
}

/// Where the files give no backend at all: the name of one that a workflow calls.
fn lacking_backend(server: &Server, workflow: &str) -> Option<String> {
    if !server.backends.is_empty() {
        return None;
    }
    let own = |one: &&Workflow| workflow.ends_with(one.name.as_str());
    let workflow = server.workflows.iter().find(own)?;
    let call = workflow.steps.iter().find_map(Step::call)?;
    let (backend, _) = call.tool.as_str().split_once(['.', '_'])?;
    Some(backend.to_owned())
}

/// The name that a tool is listed under, where it was written as steps write it: `backend.tool`.
fn listed(runtime: &Runtime, published: &Published, tool: &str) -> Option<String> {
    if published.find(tool).is_some() || published.withheld_reason(tool).is_some() {
        return None;
    }
    let catalog = runtime.catalog();
    let mut tools = catalog.tools.iter();
    let found = tools.find(|own| format!("{}.{}", own.backend, own.original) == tool)?;
    found.name.as_ref().map(|name| name.as_str().to_owned())
}

/// The files of this machine, at work for one call.
struct Local<'a> {
    runtime: &'a Runtime,
    published: &'a Published,
    trace: Option<&'a Path>,
    store_flag: Option<String>,
    /// The paths and flags, as a command is given them.
    place: String,
}

impl Local<'_> {
    async fn call(&self, mut request: Request, given: Given) -> anyhow::Result<Exit> {
        let (runtime, published) = (self.runtime, self.published);
        let tool = request.tool.clone();
        let found = published.find(&tool);
        if found.is_none() && published.withheld_reason(&tool).is_none() {
            return Ok(unknown::tell(runtime, published, &tool, &self.place));
        }
        request.arguments = given.to_value().into();
        let is_passed = found.is_some_and(|found| matches!(found.target, Target::Backend { .. }));
        let reply = if is_passed {
            match pass::exchange(pass::Terms::LOCAL, request, |sent| runtime.call(sent)).await? {
                Passed::Reply(reply) => reply,
                Passed::Left(exit) => return Ok(exit),
            }
        } else {
            runtime.call(request).await
        };
        match reply {
            Reply::Started(handle) => {
                let run = handle.id.clone();
                let exit = follow::follow(runtime, handle, self.store_flag.as_deref()).await?;
                if let Some(file) = self.trace {
                    trace::write(runtime, &run, file).await?;
                }
                Ok(exit)
            }
            Reply::UnknownTool => Ok(Exit::NothingSelected),
            other if found.is_none() => {
                let exit = pass::told(other, "the backend", &given);
                for help in published.withheld_help(&tool) {
                    print::err(format!("  = help: {help}"));
                }
                exit
            }
            other if self.trace.is_some() && is_passed => {
                print::err(format!(
                    "warning: there is no trace: `{tool}` is a tool of a backend, which has no steps"
                ));
                pass::told(other, "the backend", &given)
            }
            other => pass::told(other, "the backend", &given),
        }
    }
}
