//! A call that is passed through to a backend or to a server elsewhere: its progress is shown, its questions are put
//! to the person at the terminal, and it is called again with the answers.

use super::ask;
use super::given::Given;
use super::outcome::{is_about_arguments, print_result};
use crate::exit::Exit;
use crate::limits::QUESTION_ROUNDS_MAX;
use crate::{print, signals, terminal};
use onecall_mcp::{Exact, InputRequired};
use onecall_runtime::calls::{Progress, Question, Reply, Request, Takes};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// How the call is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The other side can keep a run for a person who is not here; without one it is told that nobody can be asked.
    keeps_runs: bool,
}

impl Terms {
    pub(super) const LOCAL: Self = Self { keeps_runs: false };
    pub(super) const ELSEWHERE: Self = Self { keeps_runs: true };
}

/// What an exchange came to.
pub(super) enum Passed {
    Reply(Reply),
    /// It was left, for a reason that was told.
    Left(Exit),
}

/// Calls, asks and calls again until there is an answer.
pub(super) async fn exchange<F: Future<Output = Reply>>(
    terms: Terms,
    mut request: Request,
    send: impl Fn(Request) -> F,
) -> anyhow::Result<Passed> {
    let stop = signals::stop_on_signals();
    let is_possible = terminal::is_possible();
    let (progress, mut told) = mpsc::channel(64);
    let (asker, mut questions) = mpsc::channel::<Box<Question>>(4);
    request.passing.progress = Some(progress);
    if is_possible {
        request.passing.asker = Some(asker);
    }
    if is_possible || !terms.keeps_runs {
        request.passing.takes = Takes::ALL;
    }
    if terms.keeps_runs {
        // No tasks: a run that waits for a person is left where it is, and not cancelled with its task.
        let capabilities = if is_possible {
            json!({ "elicitation": { "form": {}, "url": {} } })
        } else {
            json!({})
        };
        request.passing.capabilities = Some(capabilities);
    }
    for _ in 0..QUESTION_ROUNDS_MAX {
        let reply = {
            let call = send(request.clone());
            tokio::pin!(call);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(given_up(&request.tool)),
                    Some(progress) = told.recv() => show(&progress),
                    Some(question) = questions.recv() => {
                        let given = ask::put(&question.method, question.params.value()).await?;
                        given.map(|given| question.reply.send(Ok(given.into())));
                    }
                    reply = &mut call => break reply,
                }
            }
        };
        // What came just before the answer is shown too.
        while let Ok(progress) = told.try_recv() {
            show(&progress);
        }
        let Reply::Asks(asked) = reply else {
            return Ok(Passed::Reply(reply));
        };
        if !is_possible {
            return Ok(Passed::Left(nobody(&request.tool, &asked)));
        }
        request.passing.input_responses = tokio::select! {
            answers = answers(&asked) => Some(answers?.into_iter().collect()),
            () = stop.cancelled() => return Ok(given_up(&request.tool)),
        };
        request.passing.request_state = asked.request_state;
    }
    print::err(format!(
        "error: the tool asked more than {QUESTION_ROUNDS_MAX} times"
    ));
    Ok(Passed::Left(Exit::Failed))
}

/// A person has interrupted a call that is under way.
fn given_up(tool: &str) -> Passed {
    // On a line of its own, behind what the terminal shows of the key.
    print::err("");
    print::err(format!(
        "interrupted: `{tool}` was told to stop, and may have acted"
    ));
    Passed::Left(Exit::Interrupted)
}

async fn answers(asked: &InputRequired) -> anyhow::Result<Vec<(String, Exact)>> {
    let mut answers = Vec::new();
    for (key, request) in &asked.requests {
        let request = request.value();
        let name = request.get("method").and_then(Value::as_str);
        let params = request.get("params").unwrap_or(&Value::Null);
        let given = ask::put(name.unwrap_or_default(), params).await?;
        answers.extend(given.map(|given| (key.clone(), given.into())));
    }
    Ok(answers)
}

/// A tool asks, and there is neither a terminal nor a run that could wait.
fn nobody(tool: &str, asked: &InputRequired) -> Exit {
    for request in asked.requests.values() {
        let question = ask::read(&request.value()["params"]);
        print::err(format!("`{tool}` asks a person: {}", question.text()));
    }
    print::err("  = help: call it in a terminal, or in a workflow, whose run waits for the answer");
    Exit::Waiting
}

/// A line a step, as the server tells it.
fn show(progress: &Progress) {
    let made = progress.made();
    let count = match progress.total() {
        Some(total) => format!("{made}/{total}"),
        None => made.to_string(),
    };
    let message = progress.message().unwrap_or("progress");
    print::err(format!("  ▸ {message} ({count})"));
}

/// Prints what came of a call; `who` answered.
pub(super) fn told(reply: Reply, who: &str, given: &Given) -> anyhow::Result<Exit> {
    let result = match reply {
        Reply::Result(result) => Value::clone(&result).into(),
        Reply::Passed(result) => Exact::from_raw(result.raw())?,
        Reply::Rpc(error) => {
            let (code, message) = (error.code, error.message);
            print::err(format!("error: {who} answered {code}: {message}"));
            if code == onecall_mcp::code::INVALID_PARAMS {
                print_hint(given, &message);
            }
            return Ok(Exit::Failed);
        }
        Reply::Asks(_) | Reply::Started(_) | Reply::UnknownTool => return Ok(Exit::Failed),
    };
    let exit = print_result(&result);
    if is_about_arguments(result.value()) {
        print_hint(given, &result.value().to_string());
    }
    Ok(exit)
}

fn print_hint(given: &Given, message: &str) {
    if let Some(hint) = given.hint(message) {
        print::err(format!("  = help: {hint}"));
    }
}
