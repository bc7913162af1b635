//! A store without room: a run under way ends and says why, and what could not be stored is not performed.

use crate::driver::{Setting, end_of};
use crate::plan::{call, plan};
use crate::world::{Remembers, Tool};
use onecall_engine::evaluate::PlanEvaluator;
use onecall_engine::event::End;
use onecall_engine::failure::Code;
use onecall_engine::journal::JournalError;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Two calls, one after the other, on a store that has no room at these tries to append.
fn setting(full: &[u32]) -> Setting {
    let second = Duration::from_secs(1);
    let mut setting = Setting::new(&[("a", Tool::Answers(second)), ("b", Tool::Answers(second))]);
    setting.journal = Arc::new(Remembers {
        full: full.to_vec(),
        ..Remembers::default()
    });
    setting
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_events_do_not_fit_ends_and_says_why() {
    let mut setting = setting(&[1]);
    let stopped = setting.run(vec![call("a", &[]), call("b", &["a"])]).await;
    let End::Failed { failure, .. } = end_of(stopped) else {
        panic!("the run did not fail");
    };
    assert_eq!(failure.code, Code::InternalStore);
    assert_eq!(failure.message, "the store has no room left");
    assert_eq!(
        setting.journal.kinds(),
        [
            vec!["run_started", "attempt_started"],
            vec!["attempt_ended", "step_ended", "run_ended"],
        ]
    );
    assert_eq!(setting.world.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_for_which_open_runs_leave_no_room_fails_by_that_limit() {
    let mut setting = setting(&[1]);
    setting.journal = Arc::new(Remembers {
        full: vec![1],
        is_memory: true,
        ..Remembers::default()
    });
    let stopped = setting.run(vec![call("a", &[]), call("b", &["a"])]).await;
    let End::Failed { failure, .. } = end_of(stopped) else {
        panic!("the run did not fail");
    };
    assert_eq!(failure.code, Code::LimitOpenRuns);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_end_does_not_fit_either_stays_as_it_is_stored() {
    let mut setting = setting(&[1, 2]);
    let steps = vec![call("a", &[]), call("b", &["a"])];
    let driven = setting
        .drive(plan(steps), Arc::new(PlanEvaluator::default()))
        .await;
    assert!(matches!(driven, Err(JournalError::Full(_))), "{driven:?}");
    assert_eq!(
        setting.journal.kinds(),
        [["run_started", "attempt_started"]]
    );
    assert_eq!(setting.world.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_called_for_a_run_that_cannot_be_stored() {
    let mut setting = setting(&[0, 1]);
    let driven = setting
        .drive(
            plan(vec![call("a", &[])]),
            Arc::new(PlanEvaluator::default()),
        )
        .await;
    assert!(matches!(driven, Err(JournalError::Full(_))), "{driven:?}");
    assert_eq!(setting.world.calls.load(Ordering::SeqCst), 0);
}
