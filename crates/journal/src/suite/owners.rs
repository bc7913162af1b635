//! Owning, claiming, parking, and being fenced.

use super::Store;
use super::samples::{append, at, ending, events_of, id, new_run, note, refusal, start};
use onecall_engine::journal::{JournalError, Phase, StoredPlan};
use std::sync::Arc;

const FENCED: &str = "run `a` is owned by another process now";

pub(super) async fn a_run_of_a_living_owner_is_not_claimed(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(0)));
    start(&one, "a").await;
    for journal in [&one, &two] {
        assert!(journal.claimable(at(9)).await.unwrap().is_empty());
        assert!(journal.claim(&id("a"), at(9)).await.unwrap().is_none());
    }
    assert_eq!(refusal(two.append(append("a", 1, vec![])).await), FENCED);
    assert_eq!(refusal(two.park(&id("a"), None).await), FENCED);
    one.append(append("a", 1, vec![note("1")])).await.unwrap();
}

pub(super) async fn a_silent_owner_loses_its_run_and_is_fenced(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(5)));
    start(&one, "a").await;
    assert_eq!(two.claimable(at(11)).await.unwrap(), [id("a")]);
    let claimed = two.claim(&id("a"), at(11)).await.unwrap().unwrap();
    assert_eq!(claimed.events, [note("start")]);
    assert_eq!(
        refusal(one.append(append("a", 1, vec![note("x")])).await),
        FENCED
    );
    assert_eq!(refusal(one.park(&id("a"), None).await), FENCED);
    two.append(append("a", 1, vec![note("1")])).await.unwrap();
    // A heartbeat brings the owner back and not its run.
    one.heartbeat(at(12)).await.unwrap();
    assert_eq!(
        refusal(one.append(append("a", 1, vec![note("x")])).await),
        FENCED
    );
    assert_eq!(
        refusal(one.append(append("a", 2, vec![note("x")])).await),
        FENCED
    );
    assert!(one.claim(&id("a"), at(12)).await.unwrap().is_none());
    assert_eq!(events_of(&one, "a").await, [note("start"), note("1")]);
}

pub(super) async fn a_heartbeat_keeps_a_run(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(0)));
    start(&one, "a").await;
    one.heartbeat(at(8)).await.unwrap();
    assert!(two.claimable(at(18)).await.unwrap().is_empty());
    assert!(two.claim(&id("a"), at(18)).await.unwrap().is_none());
    assert!(two.claim(&id("a"), at(19)).await.unwrap().is_some());
}

pub(super) async fn a_closed_owner_leaves_its_runs(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    drop(one);
    let two = store.open(at(1));
    assert_eq!(two.claimable(at(1)).await.unwrap(), [id("a")]);
    assert!(two.claim(&id("a"), at(1)).await.unwrap().is_some());
    assert!(two.claimable(at(1)).await.unwrap().is_empty());
    two.append(append("a", 1, vec![note("1")])).await.unwrap();
}

pub(super) async fn a_run_is_claimed_exactly_once(store: &dyn Store) {
    let dead = store.open(at(0));
    for number in 0..20 {
        start(&dead, &format!("r{number}")).await;
    }
    drop(dead);
    let openers: Vec<_> = (0..4).map(|_| store.open(at(1))).collect();
    let mut claims = Vec::new();
    for number in 0..20 {
        for opener in openers.iter().cycle().take(12) {
            let opener = Arc::clone(opener);
            claims.push(tokio::spawn(async move {
                let name = format!("r{number}");
                let won = opener.claim(&id(&name), at(1)).await.unwrap().is_some();
                if won {
                    opener.append(append(&name, 1, vec![])).await.unwrap();
                }
                (number, won)
            }));
        }
    }
    let mut winners = [0; 20];
    for claim in claims {
        let (number, won) = claim.await.unwrap();
        winners[number] += usize::from(won);
    }
    assert_eq!(winners, [1; 20]);
}

pub(super) async fn a_run_goes_to_and_fro(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(0)));
    start(&one, "a").await;
    two.heartbeat(at(20)).await.unwrap();
    assert!(two.claim(&id("a"), at(20)).await.unwrap().is_some());
    two.append(append("a", 1, vec![note("1"), note("2")]))
        .await
        .unwrap();
    one.heartbeat(at(40)).await.unwrap();
    let claimed = one.claim(&id("a"), at(40)).await.unwrap().unwrap();
    assert_eq!(claimed.summary.event_count, 3);
    one.append(append("a", 3, vec![note("3")])).await.unwrap();
    assert_eq!(refusal(two.append(append("a", 3, vec![])).await), FENCED);
    assert_eq!(events_of(&two, "a").await.len(), 4);
}

pub(super) async fn an_ended_run_is_not_claimed(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    one.append(ending("a", 1, 1)).await.unwrap();
    assert_eq!(refusal(one.park(&id("a"), None).await), "run `a` has ended");
    drop(one);
    let two = store.open(at(1));
    assert!(two.claimable(at(1)).await.unwrap().is_empty());
    assert!(two.claim(&id("a"), at(1)).await.unwrap().is_none());
}

pub(super) async fn a_parked_run_wakes_at_its_time(store: &dyn Store) {
    let (one, two) = (store.open(at(0)), store.open(at(0)));
    start(&one, "a").await;
    start(&one, "b").await;
    one.park(&id("a"), Some(at(5))).await.unwrap();
    one.park(&id("b"), None).await.unwrap();
    assert!(one.claimable(at(4)).await.unwrap().is_empty());
    assert_eq!(one.claimable(at(5)).await.unwrap(), [id("a")]);
    assert!(two.claimable(at(5)).await.unwrap().is_empty());
    assert!(one.claim(&id("a"), at(5)).await.unwrap().is_some());
    assert!(one.claim(&id("a"), at(5)).await.unwrap().is_none());
    assert!(one.claimable(at(6)).await.unwrap().is_empty());
    // Whoever has a reason may take a parked run, also from a living owner.
    assert!(two.claim(&id("b"), at(6)).await.unwrap().is_some());
    assert!(one.claim(&id("b"), at(6)).await.unwrap().is_none());
    two.append(append("b", 1, vec![note("1")])).await.unwrap();
}

pub(super) async fn a_parked_run_of_a_dead_owner_waits_for_its_time(store: &dyn Store) {
    let one = store.open(at(0));
    for name in ["a", "b", "c"] {
        start(&one, name).await;
    }
    one.park(&id("a"), Some(at(5))).await.unwrap();
    one.park(&id("b"), None).await.unwrap();
    drop(one);
    let two = store.open(at(1));
    assert_eq!(two.claimable(at(4)).await.unwrap(), [id("c")]);
    assert_eq!(two.claimable(at(5)).await.unwrap(), [id("a"), id("c")]);
    assert!(two.claim(&id("b"), at(5)).await.unwrap().is_some());
}

pub(super) async fn a_parked_run_takes_no_events(store: &dyn Store) {
    let one = store.open(at(0));
    start(&one, "a").await;
    one.park(&id("a"), Some(at(7))).await.unwrap();
    assert_eq!(refusal(one.append(append("a", 1, vec![])).await), FENCED);
    assert_eq!(refusal(one.park(&id("a"), None).await), FENCED);
    let claimed = one.claim(&id("a"), at(1)).await.unwrap().unwrap();
    assert_eq!(claimed.summary.phase, Phase::Running);
    one.append(append("a", 1, vec![note("1")])).await.unwrap();
}

pub(super) async fn a_run_is_bound_to_another_plan_while_nobody_else_drives_it(store: &dyn Store) {
    let plan = |hash: &str| StoredPlan {
        hash: hash.to_owned(),
        text: Arc::from(format!("{{\"ir\":1,\"of\":\"{hash}\"}}")),
    };
    let first = store.open(at(0));
    first.create(new_run("a"), vec![note("x")]).await.unwrap();
    let second = store.open(at(0));
    assert!(!second.rebind(&id("a"), plan("h2"), at(1)).await.unwrap());
    assert!(first.rebind(&id("a"), plan("h2"), at(1)).await.unwrap());
    first.park(&id("a"), None).await.unwrap();
    assert!(second.rebind(&id("a"), plan("h3"), at(1)).await.unwrap());
    let stored = second.claim(&id("a"), at(1)).await.unwrap().unwrap();
    assert_eq!(stored.plan_hash, "h3");
    assert_eq!(&*stored.plan, &*plan("h3").text);
    assert_eq!(stored.events.len(), 1);
    second.append(ending("a", 1, 2)).await.unwrap();
    assert!(!second.rebind(&id("a"), plan("h4"), at(3)).await.unwrap());
    let unknown = second.rebind(&id("b"), plan("h4"), at(3)).await;
    assert!(matches!(unknown, Err(JournalError::UnknownRun { .. })));
}
