//! Creating, appending and loading.

use super::Store;
use super::samples::{
    append, at, ending, events_of, id, mark, new_run, note, refusal, returned, start,
};
use onecall_engine::journal::{Filter, NewRun, Phase};
use onecall_workflow::policy::Durability;
use serde_json::json;
use std::collections::BTreeMap;

pub(super) async fn events_come_back_in_order(store: &dyn Store) {
    let journal = store.open(at(0));
    let run = NewRun {
        principal: Some("ada".to_owned()),
        tenant: Some("acme".to_owned()),
        labels: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        retry_of: Some(id("earlier")),
        durability: Durability::Sync,
        ..new_run("a")
    };
    journal
        .create(run, vec![note("0"), note("1")])
        .await
        .unwrap();
    let odd = json!({"z": 1, "a": [0.1, -0.0, 1e300, u64::MAX, i64::MIN, null, "é\u{0}\n"]});
    journal
        .append(append("a", 2, vec![returned(odd.clone())]))
        .await
        .unwrap();
    journal
        .append(append("a", 3, vec![note("3"), note("4")]))
        .await
        .unwrap();
    let expected = vec![note("0"), note("1"), returned(odd), note("3"), note("4")];
    for journal in [&journal, &store.open(at(1))] {
        let loaded = journal.load(&id("a")).await.unwrap().unwrap();
        assert_eq!(loaded.events, expected);
        assert_eq!(&*loaded.plan, "{\"ir\":1}");
        assert_eq!(loaded.plan_hash, "h1");
        let plan = journal.plan(&id("a")).await.unwrap().unwrap();
        assert_eq!((&*plan.hash, &*plan.text), ("h1", "{\"ir\":1}"));
        assert!(journal.plan(&id("b")).await.unwrap().is_none());
        assert_eq!(loaded.durability, Durability::Sync);
        assert_eq!(loaded.summary.event_count, 5);
        assert_eq!(loaded.summary.tenant.as_deref(), Some("acme"));
        assert_eq!(loaded.summary.retry_of, Some(id("earlier")));
        assert_eq!(loaded.summary.version.as_deref(), Some("2"));
        assert_eq!(loaded.summary.labels["team"], "x");
    }
}

pub(super) async fn a_run_is_created_once(store: &dyn Store) {
    let journal = store.open(at(0));
    start(&journal, "a").await;
    let again = journal.create(new_run("a"), vec![]).await;
    assert_eq!(refusal(again), "run `a` already exists");
    assert_eq!(events_of(&journal, "a").await, [note("start")]);
}

pub(super) async fn a_run_that_is_not_there_is_named(store: &dyn Store) {
    let journal = store.open(at(0));
    let unknown = "run `x` is not in the store";
    assert!(journal.load(&id("x")).await.unwrap().is_none());
    assert_eq!(
        refusal(journal.append(append("x", 0, vec![])).await),
        unknown
    );
    assert_eq!(refusal(journal.park(&id("x"), None).await), unknown);
    assert_eq!(refusal(journal.claim(&id("x"), at(0)).await), unknown);
}

pub(super) async fn a_gap_and_a_repetition_are_refused(store: &dyn Store) {
    let journal = store.open(at(0));
    start(&journal, "a").await;
    journal
        .append(append("a", 1, vec![note("1")]))
        .await
        .unwrap();
    let gap = journal.append(append("a", 3, vec![note("x")])).await;
    assert_eq!(refusal(gap), "run `a` expected event 2 next, not 3");
    let repetition = journal.append(append("a", 1, vec![note("x")])).await;
    assert_eq!(refusal(repetition), "run `a` expected event 2 next, not 1");
    journal
        .append(append("a", 2, vec![note("2")]))
        .await
        .unwrap();
    assert_eq!(
        events_of(&journal, "a").await,
        [note("start"), note("1"), note("2")]
    );
}

pub(super) async fn appends_of_many_runs_do_not_mix(store: &dyn Store) {
    let journal = store.open(at(0));
    let runs = (0..40).map(|number| {
        let journal = std::sync::Arc::clone(&journal);
        tokio::spawn(async move {
            let name = format!("run-{number}");
            start(&journal, &name).await;
            for next in 1..20 {
                let event = note(format!("{name} {next}"));
                let mut append = append(&name, next, vec![event]);
                if number % 3 == 0 {
                    append.durability = Durability::Sync;
                }
                journal.append(append).await.unwrap();
            }
            name
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let name = run.await.unwrap();
        let events = events_of(&journal, &name).await;
        assert_eq!(events.len(), 20);
        for (next, event) in events.iter().enumerate().skip(1) {
            assert_eq!(*event, note(format!("{name} {next}")));
        }
    }
}

pub(super) async fn a_note_after_the_end_is_kept(store: &dyn Store) {
    let journal = store.open(at(0));
    start(&journal, "a").await;
    journal.append(ending("a", 1, 5)).await.unwrap();
    let mut late = append("a", 2, vec![note("late")]);
    late.mark = mark(Phase::Completed);
    late.at = at(9);
    journal.append(late).await.unwrap();
    let loaded = journal.load(&id("a")).await.unwrap().unwrap();
    assert_eq!(loaded.events, [note("start"), note("end"), note("late")]);
    assert_eq!(loaded.summary.ended, Some(at(5)));
    assert_eq!(loaded.summary.updated, at(9));
}

pub(super) async fn what_is_not_durable_is_not_stored(store: &dyn Store) {
    let journal = store.open(at(0));
    let run = NewRun {
        durability: Durability::None,
        ..new_run("a")
    };
    journal.create(run, vec![note("0")]).await.unwrap();
    let mut more = append("a", 1, vec![note("1")]);
    more.durability = Durability::None;
    journal.append(more).await.unwrap();
    assert!(journal.load(&id("a")).await.unwrap().is_none());
    assert!(journal.list(Filter::default()).await.unwrap().is_empty());
}

pub(super) async fn a_client_key_names_one_run(store: &dyn Store) {
    let journal = store.open(at(0));
    let other = store.open(at(0));
    let keyed = |name: &str, workflow: &str, principal: Option<&str>| NewRun {
        client_key: Some("k".to_owned()),
        workflow: workflow.to_owned(),
        principal: principal.map(str::to_owned),
        ..new_run(name)
    };
    journal.create(keyed("a", "w", None), vec![]).await.unwrap();
    let taken = "the client's key already belongs to run `a`";
    assert_eq!(
        refusal(other.create(keyed("b", "w", None), vec![]).await),
        taken
    );
    // The same run again is the same run, whatever its key.
    let again = journal.create(keyed("a", "w", None), vec![]).await;
    assert_eq!(refusal(again), "run `a` already exists");
    journal.create(keyed("c", "v", None), vec![]).await.unwrap();
    other
        .create(keyed("d", "w", Some("ada")), vec![])
        .await
        .unwrap();
    assert!(journal.load(&id("b")).await.unwrap().is_none());
}

pub(super) async fn a_run_without_events_begins_later(store: &dyn Store) {
    let journal = store.open(at(0));
    journal.create(new_run("a"), vec![]).await.unwrap();
    journal.park(&id("a"), Some(at(1))).await.unwrap();
    assert_eq!(journal.claimable(at(2)).await.unwrap(), [id("a")]);
    let stored = journal.claim(&id("a"), at(2)).await.unwrap().unwrap();
    assert!(stored.events.is_empty());
    let append = append("a", 0, vec![note("first")]);
    journal.append(append).await.unwrap();
    let stored = journal.load(&id("a")).await.unwrap().unwrap();
    assert_eq!(stored.events, [note("first")]);
}
