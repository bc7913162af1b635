//! Following a run for its caller until there is an answer: the result, a question to pass on, or a handle.

use crate::ask::Reply;
use crate::call::Caller;
use crate::interrupt::Interrupt;
use crate::limits::{ASK_AGAIN_PAUSE, HELD_TOLD_MAX, TASK_AFTER};
use crate::logging::Log;
use crate::progress::Progress;
use crate::result_tool;
use crate::server::Shared;
use crate::{ask, call, large, links, tasks};
use onecall_engine::event::AnswerAction;
use onecall_engine::failure::Code;
use onecall_engine::identity::RunId;
use onecall_mcp::{Era, RpcError};
use onecall_runtime::calls::Moved;
use onecall_runtime::questions::{Answered, Follower, Given};
use onecall_runtime::result;
use onecall_runtime::runs::{Asked, Standing};
use onecall_runtime::sample::sample;
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::time::Instant;

/// What the caller may expect of the run.
pub(crate) struct Terms {
    /// The workflow declares its output, so only `_meta` may hold a failure.
    pub(crate) declares_output: bool,
    /// A caller that cancels its request cancels the run.
    pub(crate) cancels: bool,
    pub(crate) patience: Duration,
    /// What lasts longer becomes a task, which must be found again.
    pub(crate) may_be_task: bool,
    /// Digest of the call, for a state that is carried back.
    pub(crate) digest: String,
}

pub(crate) async fn follow(
    shared: &Shared,
    mut follower: Follower,
    caller: &Caller,
    terms: &Terms,
) -> Result<Value, RpcError> {
    let told = caller.progress.clone().zip(caller.peer.clone());
    let mut progress = told.map(|(token, peer)| Progress::new(token, peer));
    let log = Log::new(caller);
    let is_task = terms.may_be_task && caller.takes_tasks;
    let patience = if is_task { TASK_AFTER } else { terms.patience };
    let mut deadline = Instant::now() + patience;
    let mut asked = Repeats::default();
    loop {
        let moved = tokio::select! {
            moved = follower.moved() => moved,
            () = tokio::time::sleep_until(deadline) => {
                if is_task {
                    return tasks::created(shared, &follower.run, caller).await;
                }
                match follower.come_back() {
                    Some(standing) => Moved::Rests(standing),
                    None => return Ok(running(shared, &follower, terms)),
                }
            }
            interrupt = caller.watch.interrupted() => {
                return leave(shared, &follower, interrupt, terms).await;
            }
        };
        let standing = match moved {
            Moved::Events(seen) => {
                if let Some(progress) = &mut progress {
                    progress.tell(&seen).await;
                }
                if let Some(log) = &log {
                    log.tell(&follower.run, &seen.events, &seen.steps).await;
                }
                continue;
            }
            Moved::Rests(standing) => standing,
        };
        if let Some(result) = large::result(shared, &standing, terms.declares_output, caller).await
        {
            return Ok(result);
        }
        if let Some(answer) = at_rest(shared, &follower, caller, terms, &standing).await? {
            return Ok(answer);
        }
        asked.pause(&standing).await;
        // A person has answered: the patience of the client begins anew.
        deadline = Instant::now() + patience;
    }
}

/// The questions that were asked last. A question that was closed and is still there is not asked again at once: its answer could not
/// be stored, and a client that answers by itself would be asked in a loop.
#[derive(Default)]
struct Repeats(Vec<(String, u32)>);

impl Repeats {
    async fn pause(&mut self, standing: &Standing) {
        let questions = standing.questions.iter();
        let now: Vec<_> = questions
            .map(|asked| (asked.step.clone(), asked.round))
            .collect();
        if now == self.0 {
            tokio::time::sleep(ASK_AGAIN_PAUSE).await;
        }
        self.0 = now;
    }
}

/// The answer for a run that goes on without its caller: a task for those who take them, else a handle.
pub(crate) async fn goes_on(
    shared: &Shared,
    follower: &Follower,
    caller: &Caller,
    terms: &Terms,
) -> Result<Value, RpcError> {
    if terms.may_be_task && caller.takes_tasks {
        return tasks::created(shared, &follower.run, caller).await;
    }
    // Its end is kept for whoever comes back, also where it has come in this very moment.
    let _ = follower.come_back();
    Ok(running(shared, follower, terms))
}

/// The answer for a run that only a person can move on; `None` when one just did.
async fn at_rest(
    shared: &Shared,
    follower: &Follower,
    caller: &Caller,
    terms: &Terms,
    standing: &Standing,
) -> Result<Option<Value>, RpcError> {
    let is_task = terms.may_be_task && caller.takes_tasks;
    if !standing.held.is_empty() {
        return Ok(Some(held(shared, standing, terms)));
    }
    let forms: Vec<&Asked> = standing
        .questions
        .iter()
        .filter(|question| ask::can_be_put(question, caller))
        .collect();
    let Some(first) = forms.first() else {
        if is_task {
            return tasks::created(shared, &follower.run, caller)
                .await
                .map(Some);
        }
        return Ok(Some(waiting(shared, standing, caller, terms)));
    };
    if caller.era == Era::Modern {
        let run = &follower.run;
        let asked = ask::input_required(shared, run, &forms, terms, &caller.principal);
        return Ok(Some(asked));
    }
    put(shared, follower, caller, terms, standing, first).await
}

/// Asks a question in a session. `None`: it was answered, here or elsewhere, or is asked again. A reply that a run cannot
/// take as an answer counts as an invalid answer.
async fn put(
    shared: &Shared,
    follower: &Follower,
    caller: &Caller,
    terms: &Terms,
    standing: &Standing,
    question: &Asked,
) -> Result<Option<Value>, RpcError> {
    let Some(mut elicited) = ask::elicit(shared, caller, question).await else {
        return Ok(Some(waiting(shared, standing, caller, terms)));
    };
    let reply = tokio::select! {
        reply = elicited.answer() => reply,
        () = shared.runtime.settles(&follower.run, &question.step, question.round) => {
            elicited.withdraw("the question is closed").await;
            return Ok(None);
        }
        interrupt = caller.watch.interrupted() => {
            if interrupt != Interrupt::Gone {
                elicited.withdraw("nobody waits for the answer here").await;
            }
            return leave(shared, follower, interrupt, terms).await.map(Some);
        }
    };
    let given = match reply {
        Reply::Given(given) => given,
        Reply::Unfit(reason) => Given {
            step: question.step.clone(),
            round: Some(question.round),
            action: AnswerAction::Invalid,
            content: Some(Value::String(reason)),
        },
        Reply::Silence => return Ok(Some(waiting(shared, standing, caller, terms))),
    };
    match shared.runtime.answer(&follower.run, given).await {
        Ok(Answered::Taken | Answered::AskedAgain { .. } | Answered::TooLate) => {}
        // Somebody else was first; their answer counts.
        Err(error) => tracing::info!(run = %follower.run, %error, "an answer was not taken"),
    }
    Ok(None)
}

async fn leave(
    shared: &Shared,
    follower: &Follower,
    interrupt: Interrupt,
    terms: &Terms,
) -> Result<Value, RpcError> {
    match interrupt {
        Interrupt::Cancelled if terms.cancels => {
            follower.cancel("the client cancelled the call").await;
        }
        Interrupt::Cancelled | Interrupt::Gone => {}
        Interrupt::Leaving if outlives(shared, &follower.run).await => {
            return Ok(left_running(shared, follower, terms));
        }
        Interrupt::Leaving => return Ok(lost(&follower.run, terms)),
    }
    Err(call::interrupted(interrupt))
}

/// Whether anybody finds the run once this process has ended. A store that cannot be read just now has it.
async fn outlives(shared: &Shared, run: &RunId) -> bool {
    shared.store_flag.is_some() && shared.runtime.is_stored(run).await.unwrap_or(true)
}

/// The run ends with the server, wherever it stands.
fn lost(run: &RunId, terms: &Terms) -> Value {
    let text = format!(
        "the server is leaving and run `{run}`, which is not stored, ends with it; its steps may have acted"
    );
    let code = Code::UnknownOutcomeUnanswered;
    result::unfinished(run, code, text, terms.declares_output)
}

fn running(shared: &Shared, follower: &Follower, terms: &Terms) -> Value {
    let run = &follower.run;
    let advice = result_tool::advice(shared, run);
    let text = format!("run `{run}` goes on; {advice}");
    result::unfinished(run, Code::PendingRunning, text, terms.declares_output)
}

/// The run goes on, and this server does not: whoever sits at its store can follow the run.
fn left_running(shared: &Shared, follower: &Follower, terms: &Terms) -> Value {
    let run = &follower.run;
    let mut text = format!("the server is leaving, and run `{run}` goes on once it is back");
    if let Some(flag) = &shared.store_flag {
        let _ = write!(
            text,
            "; a person follows it with `onecall runs watch {run}{flag}`"
        );
    }
    let _ = write!(text, ". Then {}", result_tool::advice(shared, run));
    result::unfinished(run, Code::PendingRunning, text, terms.declares_output)
}

fn held(shared: &Shared, standing: &Standing, terms: &Terms) -> Value {
    let run = &standing.run;
    let mut text = format!("run `{run}` is held until a person decides.");
    let (told, more) = standing
        .held
        .split_at(standing.held.len().min(HELD_TOLD_MAX));
    for held in told {
        let _ = write!(text, " Step `{}`: {}.", held.name, held.reason);
        if let Some(flag) = &shared.store_flag {
            let command = format!("onecall runs answer {run} {}", quoted(&held.name));
            let _ = write!(
                text,
                " `{command} --result JSON{flag}` if it has acted, `{command} --fail{flag}` to count it as failed, \
                 `{command} --retry{flag}` to call it again, which may act twice."
            );
        }
    }
    if !more.is_empty() {
        let _ = write!(text, " {} more are held.", more.len());
    }
    result::unfinished(run, Code::UnknownOutcomeHeld, text, terms.declares_output)
}

/// The name of a step or an item as a shell takes it: brackets mean something there.
fn quoted(name: &str) -> String {
    if name.contains('[') {
        format!("'{name}'")
    } else {
        name.to_owned()
    }
}

/// The run waits for a person whom this client cannot ask.
fn waiting(shared: &Shared, standing: &Standing, caller: &Caller, terms: &Terms) -> Value {
    let run = &standing.run;
    let mut text = format!("run `{run}` waits for a person.");
    for question in &standing.questions {
        text.push_str(&how_to_answer(shared, run, question, caller));
    }
    let _ = write!(text, " Then {}", result_tool::advice(shared, run));
    result::unfinished(run, Code::PendingInput, text, terms.declares_output)
}

/// Over stdio nothing serves a page, and with `--ephemeral` no store that a command could reach.
const NO_WAY: &str = " Nobody can answer it here: this client cannot be asked, and `--ephemeral` keeps the run in \
    this process alone. Start the server without `--ephemeral` and answer with `onecall runs answer`, serve over HTTP, \
    which has a page for answers, or use a client that supports elicitation.";

/// What is asked, and where and how a person whom the client cannot ask answers it.
pub(crate) fn how_to_answer(
    shared: &Shared,
    run: &RunId,
    question: &Asked,
    caller: &Caller,
) -> String {
    let (step, message) = (&question.step, question.text());
    let mut text = format!(" Step `{step}` asks: {message}");
    if shared.hides_links {
        text.push_str(
            " A person answers it where the server runs: `onecall runs list --waiting` says how.",
        );
        return text;
    }
    let link = shared.base().map(|base| {
        let question = links::Question {
            run,
            asked: question,
            principal: caller.principal.name(),
            client: caller.client_name.clone(),
            timeout: shared.runtime.question_timeout(),
        };
        format!("at {}", links::to_answer(&shared.sealer, &base, question))
    });
    let flag = shared.store_flag.as_ref();
    let fields = sample(question.schema.as_deref());
    let command = flag.map(|flag| format!("with `onecall runs answer {run} {step}{fields}{flag}`"));
    let ways: Vec<String> = link.into_iter().chain(command).collect();
    if ways.is_empty() {
        text.push_str(NO_WAY);
    } else {
        let _ = write!(text, " A person answers {}.", ways.join(" or "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_engine::journal::Phase;
    use std::sync::Arc;

    fn asking(round: u32) -> Standing {
        let asked = Asked {
            step: "sure".to_owned(),
            round,
            message: "Sure?".to_owned(),
            schema: None,
            url: None,
            deadline: None,
            fault: None,
        };
        Standing {
            run: RunId::new("r1"),
            phase: Phase::Waiting,
            result: None,
            questions: vec![asked],
            held: Vec::new(),
            steps: Arc::new([]),
            declares_output: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_question_that_is_still_there_waits() {
        let start = Instant::now();
        let mut asked = Repeats::default();
        asked.pause(&asking(1)).await;
        asked.pause(&asking(2)).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        asked.pause(&asking(2)).await;
        assert_eq!(start.elapsed(), ASK_AGAIN_PAUSE);
    }
}
