//! A tool of a server that runs elsewhere, by its URL. The server finds the tool, keeps the run and says what happens;
//! here its progress is shown and its questions are asked.

use super::given::Given;
use super::outcome::{may_have_acted, print_left, running, text};
use super::pass::{self, Passed, Terms};
use super::raw;
use crate::args::CallArgs;
use crate::exit::{Exit, usage};
use crate::limits::RESULT_WAIT_SECONDS;
use crate::token::TokenArgs;
use crate::{print, values, waiting, wire};
use onecall_gateway::RESULT_TOOL;
use onecall_mcp::{code, meta};
use onecall_runtime::calls::{Reply, Request};
use onecall_runtime::publish::Published;
use onecall_runtime::runtime::Runtime;
use serde_json::{Value, json};
use std::time::Duration;

/// What the server puts before the names of workflows.
const PREFIXES: [&str; 2] = ["workflow:", "workflow_"];

/// What to do after a call that was not answered.
const RUN_MAY_BE_THERE: &str = "its run may still be there, and goes on or is held once its server is up again; \
     where the server keeps its store, look with `onecall runs list --state running --state held` before you call again";

pub(super) async fn run(
    args: &CallArgs,
    url: &str,
    tool: &str,
    given: Given,
) -> anyhow::Result<Exit> {
    refuse(args)?;
    args.token.refuse_unset()?;
    let Some(mut settings) = wire::load_url(url, &args.token).sound() else {
        return Ok(Exit::Failed);
    };
    let labels = values::labels(&args.labels)?;
    let mut server = wire::only_server(&mut settings)?;
    wire::name_by_url(&mut server, url);
    let runtime = wire::start_to_look(server, &settings).await?;
    let awaited = || vec![url.to_owned()];
    let published = waiting::during(runtime.settled(), awaited).await;
    let exit = if args.raw {
        raw::run(&runtime, tool, given.into_value()).await
    } else {
        let mut request = Request::new(tool, Value::Null);
        if !labels.is_empty() {
            request.meta.insert(meta::LABELS.to_owned(), json!(labels));
        }
        let server = Elsewhere {
            runtime: &runtime,
            published: &published,
            url,
            token: &args.token,
        };
        server.call(request, given).await
    };
    runtime.shutdown(Duration::from_millis(100)).await;
    exit
}

/// What acts on files or on a store of this machine cannot act on a server elsewhere.
fn refuse(args: &CallArgs) -> anyhow::Result<()> {
    let flags = [
        ("--dry-run", args.dry_run),
        ("--trace", args.trace.is_some()),
        ("--ephemeral", args.store.ephemeral),
        ("--store", args.store.is_stated()),
    ];
    let stated = flags.iter().filter(|(_, is_stated)| *is_stated);
    let stated = stated.map(|(flag, _)| *flag).chain(args.files.stated());
    match stated.collect::<Vec<_>>().as_slice() {
        [] => Ok(()),
        flags => Err(usage(format!(
            "{} cannot act on a server elsewhere; give the paths of its files instead of its URL",
            flags.join(", ")
        ))),
    }
}

struct Elsewhere<'a> {
    runtime: &'a Runtime,
    published: &'a Published,
    url: &'a str,
    token: &'a TokenArgs,
}

impl Elsewhere<'_> {
    async fn call(&self, mut request: Request, mut given: Given) -> anyhow::Result<Exit> {
        let tool = request.tool.clone();
        let listed = self.listed(&tool);
        if let Some(name) = &listed {
            let found = self.published.find(name);
            given.meet(
                &tool,
                found.and_then(|found| found.definition.input_schema()),
            );
        }
        request.arguments = given.to_value().into();
        let mut reply = match self.exchange(request).await? {
            Passed::Reply(reply) => reply,
            Passed::Left(exit) => return Ok(exit),
        };
        while let Some((run, handle)) = going_on(&reply)? {
            let arguments = json!({ "run_id": run, "wait_seconds": RESULT_WAIT_SECONDS });
            let fetched = self.exchange(Request::new(RESULT_TOOL, arguments)).await?;
            reply = match fetched {
                // It is leaving, or has no such tool.
                Passed::Reply(Reply::Rpc(error)) => {
                    return Ok(print_left(&run, &handle, &self.silence(&error.message)));
                }
                // It cannot be reached: whatever it says itself comes as `Passed`.
                Passed::Reply(Reply::Result(own)) => {
                    return Ok(print_left(&run, &handle, &self.silence(&text(&own))));
                }
                Passed::Reply(reply) => reply,
                Passed::Left(exit) => return Ok(exit),
            };
        }
        if let Reply::Rpc(error) = &reply
            && error.code == code::INVALID_PARAMS
            && listed.is_none()
        {
            return Ok(super::unknown::tell(
                self.runtime,
                self.published,
                &tool,
                self.url,
            ));
        }
        let help = match &reply {
            // The connection broke. What the server itself says of a run comes as `Passed`.
            Reply::Result(result) if may_have_acted(result) => Some(RUN_MAY_BE_THERE.to_owned()),
            Reply::Result(result) => self.token.help(&result.to_string()),
            Reply::Rpc(error) => self.token.help(&error.message),
            _ => None,
        };
        let exit = pass::told(reply, &format!("`{}`", self.url), &given)?;
        if let Some(help) = help {
            print::err(format!("  = help: {help}"));
        } else if exit == Exit::Unreachable && !self.url.trim_end_matches('/').ends_with("/mcp") {
            let url = self.url.trim_end_matches('/');
            print::err(format!("  = help: servers are mostly found at `{url}/mcp`"));
        }
        Ok(exit)
    }

    fn silence(&self, why: &str) -> String {
        format!("`{}` tells no more of it: {why}", self.url)
    }

    async fn exchange(&self, request: Request) -> anyhow::Result<Passed> {
        let send = |sent| self.runtime.call_backend(self.url, sent);
        pass::exchange(Terms::ELSEWHERE, request, send).await
    }

    /// The name that the server lists the tool under; it answers to others too.
    fn listed(&self, tool: &str) -> Option<String> {
        let prefixed = PREFIXES.map(|prefix| format!("{prefix}{tool}"));
        let mut names = [tool.to_owned()].into_iter().chain(prefixed);
        names.find(|name| self.published.find(name).is_some())
    }
}

/// The run whose result is still to come, and what was told of it.
fn going_on(reply: &Reply) -> anyhow::Result<Option<(String, Value)>> {
    let result = match reply {
        Reply::Passed(result) => Value::Object(result.parse()?.into_object()),
        Reply::Result(result) => Value::clone(result),
        Reply::Started(_) | Reply::Rpc(_) | Reply::Asks(_) | Reply::UnknownTool => return Ok(None),
    };
    let run = running(&result).map(str::to_owned);
    Ok(run.map(|run| (run, result)))
}
