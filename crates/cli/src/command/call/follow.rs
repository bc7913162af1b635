//! The run of a workflow, followed to its end. Questions are asked in the terminal where there is one.

use super::outcome::print_result;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::terminal::{self, Terminal};
use crate::{needs, print, signals};
use onecall_engine::identity::RunId;
use onecall_runtime::calls::{Moved, RunHandle};
use onecall_runtime::questions::{AnswerError, Answered, Follower};
use onecall_runtime::runs::Asked;
use onecall_runtime::runtime::Runtime;
use serde_json::Value;

/// `store_flag`: what `onecall runs` must be told to find the run.
pub(super) async fn follow(
    runtime: &Runtime,
    handle: RunHandle,
    store_flag: Option<&str>,
) -> anyhow::Result<Exit> {
    let run = handle.id.clone();
    let mut progress = Progress::new(&run, &handle.standing().steps);
    let mut follower = Follower::new(runtime.clone(), handle);
    let stop = signals::stop_on_signals();
    loop {
        let moved = tokio::select! {
            moved = follower.moved() => moved,
            () = stop.cancelled() => {
                progress.break_off();
                return Ok(interrupted(&mut follower).await);
            }
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
            return Ok(print_result(&Value::clone(&result).into()));
        }
        let question = standing
            .questions
            .first()
            .filter(|_| terminal::is_possible());
        let Some(question) = question else {
            progress.finish();
            for line in needs::lines(&standing, store_flag) {
                print::err(line);
            }
            return Ok(Exit::Waiting);
        };
        progress.finish();
        tokio::select! {
            is_put = ask(runtime, &run, question) => if !is_put? {
                return Ok(interrupted(&mut follower).await);
            },
            () = stop.cancelled() => {
                // What is told next must not stand behind the prompt.
                print::err("");
                return Ok(interrupted(&mut follower).await);
            }
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

/// Asks the person at the terminal, unless somebody else answers first. `false`: the person interrupted.
async fn ask(runtime: &Runtime, run: &RunId, question: &Asked) -> anyhow::Result<bool> {
    let put = question.clone();
    let person = tokio::task::spawn_blocking(move || terminal::ask(&put, &mut Terminal::new()));
    let given = tokio::select! {
        given = person => given??,
        () = runtime.settles(run, &question.step, question.round) => {
            print::err("the question is open no longer");
            return Ok(true);
        }
    };
    let Some(given) = given else {
        return Ok(false);
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
    Ok(true)
}
