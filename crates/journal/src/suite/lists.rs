//! Lists, their filters, and what retention removes.

use super::Store;
use super::samples::{append, at, ending, id, mark, new_run, note, start};
use onecall_engine::journal::{Filter, Journal, Mark, NewRun, Phase};
use std::collections::BTreeMap;
use std::sync::Arc;

async fn names(journal: &Arc<dyn Journal>, filter: Filter) -> Vec<String> {
    let summaries = journal.list(filter).await.unwrap();
    summaries
        .into_iter()
        .map(|summary| summary.id.to_string())
        .collect()
}

pub(super) async fn the_newest_comes_first(store: &dyn Store) {
    let journal = store.open(at(0));
    for (name, seconds) in [("b", 2), ("a", 1), ("c", 3), ("d", 3)] {
        let run = NewRun {
            at: at(seconds),
            ..new_run(name)
        };
        journal.create(run, vec![]).await.unwrap();
    }
    assert_eq!(
        names(&journal, Filter::default()).await,
        ["d", "c", "b", "a"]
    );
    let limited = Filter {
        limit: 2,
        ..Filter::default()
    };
    assert_eq!(names(&journal, limited).await, ["d", "c"]);
}

pub(super) async fn filters_narrow_a_list(store: &dyn Store) {
    let journal = store.open(at(0));
    let label = |value: &str| BTreeMap::from([("team \"x\"".to_owned(), value.to_owned())]);
    let one = NewRun {
        labels: label("red"),
        principal: Some("ada".to_owned()),
        client_key: Some("k".to_owned()),
        at: at(1),
        ..new_run("one")
    };
    let two = NewRun {
        labels: label("blue"),
        workflow: "other".to_owned(),
        retry_of: Some(id("one")),
        at: at(2),
        ..new_run("two")
    };
    let three = NewRun {
        mark: mark(Phase::Waiting),
        at: at(3),
        ..new_run("three")
    };
    for run in [one, two, three] {
        journal.create(run, vec![]).await.unwrap();
    }
    let all = Filter::default;
    #[rustfmt::skip]
    let cases: [(Filter, &[&str]); 11] = [
        (Filter { retry_of: Some(id("one")), ..all() }, &["two"]),
        (Filter { workflow: Some("other".to_owned()), ..all() }, &["two"]),
        (Filter { phases: vec![Phase::Waiting, Phase::Held], ..all() }, &["three"]),
        (Filter { labels: label("red"), ..all() }, &["one"]),
        (Filter { labels: label("green"), ..all() }, &[]),
        (Filter { since: Some(at(2)), ..all() }, &["three", "two"]),
        (Filter { until: Some(at(2)), ..all() }, &["one"]),
        (Filter { client_key: Some("k".to_owned()), ..all() }, &["one"]),
        (Filter { principal: Some("ada".to_owned()), ..all() }, &["one"]),
        (Filter { no_principal: true, ..all() }, &["three", "two"]),
        (Filter { principal: Some("bob".to_owned()), phases: vec![Phase::Running], ..all() }, &[]),
    ];
    for (filter, expected) in cases {
        assert_eq!(
            names(&journal, filter.clone()).await,
            expected,
            "{filter:?}"
        );
    }
}

pub(super) async fn a_summary_follows_the_run(store: &dyn Store) {
    let journal = store.open(at(0));
    start(&journal, "a").await;
    let summary = async || journal.list(Filter::default()).await.unwrap().remove(0);
    let mut waiting = append("a", 1, vec![note("1"), note("2")]);
    waiting.mark = Mark {
        phase: Phase::Waiting,
        due: Some(at(50)),
        failure: None,
    };
    journal.append(waiting).await.unwrap();
    let now = summary().await;
    assert_eq!((now.phase, now.due), (Phase::Waiting, Some(at(50))));
    assert_eq!((now.created, now.updated), (at(0), at(1)));
    assert_eq!(now.event_count, 3);

    journal.park(&id("a"), Some(at(40))).await.unwrap();
    assert_eq!(summary().await.due, Some(at(40)));
    journal.claim(&id("a"), at(2)).await.unwrap().unwrap();

    let mut failed = ending("a", 3, 7);
    failed.mark = Mark {
        phase: Phase::Failed,
        due: None,
        failure: Some("tool.error".to_owned()),
    };
    journal.append(failed).await.unwrap();
    let now = summary().await;
    assert_eq!((now.phase, now.due), (Phase::Failed, None));
    assert_eq!((now.updated, now.ended), (at(7), Some(at(7))));
    assert_eq!(now.failure.as_deref(), Some("tool.error"));
    assert_eq!(now.event_count, 4);
}

pub(super) async fn the_oldest_finished_runs_are_removed(store: &dyn Store) {
    let journal = store.open(at(0));
    start(&journal, "unfinished").await;
    for number in 0..180 {
        let name = format!("r{number:03}");
        let run = NewRun {
            client_key: Some(name.clone()),
            ..new_run(&name)
        };
        journal.create(run, vec![note("0")]).await.unwrap();
        journal.append(ending(&name, 1, number)).await.unwrap();
    }
    let everything = || Filter {
        limit: 1_000,
        ..Filter::default()
    };
    // A hundred are kept, and eighty go in batches.
    assert!(journal.maintain(at(200)).await.unwrap());
    while journal.maintain(at(200)).await.unwrap() {}
    let left = names(&journal, everything()).await;
    assert_eq!(left.len(), 101);
    assert_eq!(left[100], "unfinished");
    assert_eq!(left[99], "r080");
    assert!(journal.load(&id("r079")).await.unwrap().is_none());
    // A thousand seconds are kept.
    while journal.maintain(at(1_150)).await.unwrap() {}
    assert_eq!(names(&journal, everything()).await.len(), 31);
    // The key of a removed run is free.
    let run = NewRun {
        client_key: Some("r000".to_owned()),
        ..new_run("new")
    };
    journal.create(run, vec![]).await.unwrap();
}

pub(super) async fn open_runs_are_listed_with_what_they_hold(store: &dyn Store) {
    let journal = store.open(at(0));
    let long = "x".repeat(200_000);
    for (name, text) in [
        ("short", "x"),
        ("long", long.as_str()),
        ("parked", "x"),
        ("ended", "x"),
    ] {
        let run = NewRun {
            principal: (name == "long").then(|| "ada".to_owned()),
            ..new_run(name)
        };
        journal.create(run, vec![note(text)]).await.unwrap();
    }
    journal.park(&id("parked"), None).await.unwrap();
    journal.append(ending("ended", 1, 5)).await.unwrap();
    let later = store.open(at(9));
    let lefts = [
        (&journal, at(9), ["parked"].as_slice()),
        (&later, at(9), &["parked"]),
        // The owner has been silent for too long.
        (&later, at(11), &["long", "parked", "short"]),
    ];
    for (journal, at, expected) in lefts {
        let open = journal.open_runs(at).await.unwrap();
        let mut left: Vec<_> = open.iter().filter(|run| run.is_left).collect();
        left.sort_by_key(|run| run.id.clone());
        let names: Vec<&str> = left.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(names, expected);
        let stored = journal.plan(&id("parked")).await.unwrap().unwrap();
        assert!(open.iter().all(|run| run.plan_hash == stored.hash));
    }
    let mut open = journal.open_runs(at(9)).await.unwrap();
    open.sort_by_key(|run| run.id.clone());
    let names: Vec<&str> = open.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(names, ["long", "parked", "short"]);
    assert_eq!(open[0].principal.as_deref(), Some("ada"));
    assert!((200_000..210_000).contains(&open[0].bytes), "{open:?}");
    assert!(open[1].bytes < 5_000 && open[2].bytes < 5_000, "{open:?}");
}
