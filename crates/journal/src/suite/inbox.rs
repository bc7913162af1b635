//! Commands: to living and dead owners, taken, settled, and taken over.

use super::Store;
use super::samples::{answer, append, at, cancel, ending, id, refusal, start};
use onecall_engine::event::{Answer, AnswerAction, Event, What};
use onecall_engine::journal::Command;

const NONE: [Command; 0] = [];

fn answered() -> Event {
    Event {
        at: at(1),
        what: What::QuestionAnswered {
            step: 0,
            round: 1,
            answer: Answer {
                action: AnswerAction::Accept,
                content: None,
                defaulted: false,
            },
            sent: None,
        },
    }
}

pub(super) async fn a_command_reaches_the_owner_only(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(0)));
    start(&one, "a").await;
    two.tell(answer("a", "x")).await.unwrap();
    two.tell(cancel("a")).await.unwrap();
    assert_eq!(two.commands(at(1)).await.unwrap(), NONE);
    assert_eq!(
        one.commands(at(1)).await.unwrap(),
        [answer("a", "x"), cancel("a")]
    );
    assert_eq!(one.commands(at(1)).await.unwrap(), NONE);
}

pub(super) async fn a_command_to_a_run_nobody_owns_reaches_anybody(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    one.park(&id("a"), None).await.unwrap();
    one.tell(cancel("a")).await.unwrap();
    let two = store.open(at(9));
    assert_eq!(two.commands(at(9)).await.unwrap(), NONE);
    assert_eq!(two.commands(at(11)).await.unwrap(), [cancel("a")]);
    let three = store.open(at(11));
    assert_eq!(three.commands(at(11)).await.unwrap(), NONE);
    assert!(two.claim(&id("a"), at(11)).await.unwrap().is_some());
}

pub(super) async fn a_taken_command_survives_its_taker(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    one.tell(cancel("a")).await.unwrap();
    assert_eq!(one.commands(at(0)).await.unwrap(), [cancel("a")]);
    drop(one);
    let two = store.open(at(1));
    assert!(two.claim(&id("a"), at(1)).await.unwrap().is_some());
    assert_eq!(two.commands(at(1)).await.unwrap(), [cancel("a")]);
}

pub(super) async fn a_settled_command_is_gone(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    for step in ["x", "y"] {
        one.tell(answer("a", step)).await.unwrap();
    }
    one.tell(cancel("a")).await.unwrap();
    assert_eq!(one.commands(at(0)).await.unwrap().len(), 3);
    // What was told after that has not been taken and is not settled by this.
    one.tell(answer("a", "z")).await.unwrap();
    one.append(append("a", 1, vec![answered()])).await.unwrap();
    drop(one);
    let two = store.open(at(1));
    assert_eq!(
        two.commands(at(1)).await.unwrap(),
        [answer("a", "y"), cancel("a"), answer("a", "z")]
    );
}

pub(super) async fn a_command_follows_the_run_to_its_owner(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    drop(one);
    let (two, three) = (store.open(at(1)), store.open(at(1)));
    two.tell(cancel("a")).await.unwrap();
    assert_eq!(two.commands(at(1)).await.unwrap(), [cancel("a")]);
    // The other one is faster.
    assert!(three.claim(&id("a"), at(1)).await.unwrap().is_some());
    assert!(two.claim(&id("a"), at(1)).await.unwrap().is_none());
    assert_eq!(three.commands(at(1)).await.unwrap(), [cancel("a")]);
    assert_eq!(two.commands(at(1)).await.unwrap(), NONE);
}

pub(super) async fn a_command_that_is_given_back_is_given_out_again_once(store: &dyn Store) {
    let one = store.open(at(0));
    for run in ["a", "b"] {
        start(&one, run).await;
        one.tell(answer(run, "x")).await.unwrap();
        one.tell(cancel(run)).await.unwrap();
    }
    drop(one);
    let (two, three) = (store.open(at(1)), store.open(at(1)));
    for _ in 0..3 {
        assert_eq!(two.commands(at(1)).await.unwrap().len(), 4);
        two.give_back(&id("a")).await.unwrap();
        // Those of the other run, and those of another taker, stay where they are.
        let given = [answer("a", "x"), cancel("a")];
        assert_eq!(three.commands(at(1)).await.unwrap(), given);
        two.give_back(&id("a")).await.unwrap();
        assert_eq!(two.commands(at(1)).await.unwrap(), NONE);
        three.give_back(&id("a")).await.unwrap();
        two.give_back(&id("b")).await.unwrap();
    }
    two.give_back(&id("unknown")).await.unwrap();
}

pub(super) async fn an_ended_or_unknown_run_takes_no_commands(store: &dyn Store) {
    let one = store.open(at(0));
    assert_eq!(
        refusal(one.tell(cancel("x")).await),
        "run `x` is not in the store"
    );
    start(&one, "a").await;
    one.tell(cancel("a")).await.unwrap();
    one.append(ending("a", 1, 1)).await.unwrap();
    assert_eq!(one.commands(at(1)).await.unwrap(), NONE);
    assert_eq!(refusal(one.tell(cancel("a")).await), "run `a` has ended");
}

pub(super) async fn what_was_told_can_be_looked_at(store: &dyn Store) {
    let one = store.open(at(0));
    for run in ["a", "b"] {
        start(&one, run).await;
        one.tell(answer(run, "x")).await.unwrap();
    }
    one.tell(cancel("a")).await.unwrap();
    let told = [answer("a", "x").what, cancel("a").what];
    assert_eq!(store.open(at(0)).told(&id("a")).await.unwrap(), told);
    // Looking takes nothing, and what was taken lies there until it has had its effect.
    assert_eq!(one.commands(at(0)).await.unwrap().len(), 3);
    assert_eq!(one.told(&id("a")).await.unwrap(), told);
    one.append(append("a", 1, vec![answered()])).await.unwrap();
    assert_eq!(one.told(&id("a")).await.unwrap(), [cancel("a").what]);
    assert_eq!(one.told(&id("unknown")).await.unwrap(), []);
}

pub(super) async fn an_inbox_has_an_end(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    start(&one, "b").await;
    let told = futures::future::join_all((0..1_000).map(|_| one.tell(cancel("a")))).await;
    assert!(told.iter().all(Result::is_ok));
    let one_more = refusal(one.tell(cancel("a")).await);
    assert_eq!(one_more, "cannot put another command into the store");
    one.tell(cancel("b")).await.unwrap();
}
