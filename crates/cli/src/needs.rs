//! What a run needs a person for, and the commands that move it on: the same words wherever a run is looked at.

use crate::limits::HELD_SHOWN_MAX;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Journal, Phase, Summary};
use onecall_runtime::runs::{Asked, HeldCall, Standing, standing_of};
use onecall_runtime::sample::sample;
use onecall_runtime::tend::fold;
use std::collections::BTreeSet;

/// How many runs need a person, in words: `1 is held, 2 wait for an answer`. `None`: none does.
pub(crate) fn counted(held: usize, waiting: usize) -> Option<String> {
    let held = match held {
        0 => None,
        1 => Some("1 is held".to_owned()),
        many => Some(format!("{many} are held")),
    };
    let waiting = match waiting {
        0 => None,
        1 => Some("1 waits for an answer".to_owned()),
        many => Some(format!("{many} wait for an answer")),
    };
    let both: Vec<String> = held.into_iter().chain(waiting).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// The command that lists them.
pub(crate) fn list(store_flag: &str) -> String {
    format!("onecall runs list --state held --state waiting{store_flag}")
}

/// A line for each question and held call, with its commands below. `store_flag`: what `onecall runs` must be told to
/// find the run; `None` where it ends with this process.
pub(crate) fn lines(standing: &Standing, store_flag: Option<&str>) -> Vec<String> {
    let run = &standing.run;
    let mut lines = Vec::new();
    for question in &standing.questions {
        lines.push(format!("run {run} waits for a person: {}", question.text()));
        lines.push(match store_flag {
            Some(flag) => format!("  = help: {}{flag}", answer(run, question)),
            None => NOT_KEPT.to_owned(),
        });
    }
    for held in standing.held.iter().take(HELD_SHOWN_MAX) {
        let HeldCall { name, reason } = held;
        lines.push(format!("run {run} is held: step `{name}`: {reason}"));
        match store_flag {
            Some(flag) => lines.extend(decisions(run, name, flag)),
            None => lines.push(NOT_KEPT.to_owned()),
        }
    }
    let more = standing.held.len().saturating_sub(HELD_SHOWN_MAX);
    if more > 0 {
        lines.push(format!("{more} more are held"));
    }
    lines
}

/// Leaves out the questions and held calls whose answer no server has taken yet; returns how many.
pub(crate) async fn leave_out_answered(
    journal: &dyn Journal,
    standing: &mut Standing,
) -> anyhow::Result<usize> {
    let told = journal.told(&standing.run).await?;
    Ok(standing.leave_out_answered(&told))
}

/// The runs that wait for nothing but a server, which takes the answers that they were given.
pub(crate) async fn answered_runs(
    journal: &dyn Journal,
    runs: &[Summary],
) -> anyhow::Result<BTreeSet<RunId>> {
    let mut answered = BTreeSet::new();
    let need_a_person = |run: &&Summary| matches!(run.phase, Phase::Waiting | Phase::Held);
    for run in runs.iter().filter(need_a_person) {
        let told = journal.told(&run.id).await?;
        if told.is_empty() {
            continue;
        }
        if let Some(stored) = journal.load(&run.id).await?
            && let Ok(state) = fold(&run.id, &stored)
        {
            let mut standing = standing_of(&state);
            if standing.leave_out_answered(&told) > 0 && !standing.rests() {
                answered.insert(run.id.clone());
            }
        }
    }
    Ok(answered)
}

/// The line for a run whose answers no server has taken. `backends`: those that it is bound to, as text.
pub(crate) fn answered(run: &RunId, backends: Option<String>) -> String {
    let with = backends.map(|backends| format!(" with its backends, {backends}"));
    format!(
        "run {run} has been answered; it resumes once a server is started (`onecall serve`){}",
        with.unwrap_or_default()
    )
}

const NOT_KEPT: &str = "  = help: the run is not kept; call in a terminal, or without --ephemeral";

fn answer(run: &RunId, question: &Asked) -> String {
    let fields = sample(question.schema.as_deref());
    format!("onecall runs answer {run} {}{fields}", question.step)
}

/// Every choice with its meaning, so that nobody takes the only one that is named. Each can be pasted as it is.
fn decisions(run: &RunId, name: &str, flag: &str) -> [String; 3] {
    let name = shlex::try_quote(name).unwrap_or(name.into());
    let command = |choice: &str| format!("onecall runs answer {run} {name} {choice}{flag}");
    [
        format!(
            "  = help: {}  # it has acted, and this is what it gave",
            command("--result JSON")
        ),
        format!(
            "          {}  # it counts as failed, and is not made again",
            command("--fail")
        ),
        format!(
            "          {}  # it is made again, under the same key: it may act twice",
            command("--retry")
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_call_has_three_ways_on() {
        let held = |name: &str| HeldCall {
            name: name.to_owned(),
            reason: "lost".to_owned(),
        };
        let mut standing = Standing {
            run: RunId::new("r1"),
            phase: Phase::Held,
            result: None,
            questions: Vec::new(),
            held: vec![held("pay[0]")],
            steps: [].into(),
            declares_output: false,
        };
        let told = lines(&standing, Some(" --store x.db"));
        assert_eq!(told[0], "run r1 is held: step `pay[0]`: lost");
        for (line, choice) in told[1..].iter().zip(["--result JSON", "--fail", "--retry"]) {
            let command = format!("onecall runs answer r1 'pay[0]' {choice} --store x.db  # ");
            assert!(line.contains(&command), "{line}");
        }
        standing.held = (0..12).map(|item| held(&format!("pay[{item}]"))).collect();
        let told = lines(&standing, None);
        assert_eq!(told.last().unwrap(), "2 more are held");
        assert!(told[1].contains("not kept"), "{told:?}");
    }
}
