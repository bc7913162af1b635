//! Long values in events, and small values beside the runs.

use super::Store;
use super::samples::{append, at, ending, events_of, new_run, returned};
use serde_json::json;

pub(super) async fn long_values_come_back(store: &dyn Store) {
    let journal = store.open(at(0));
    let long = returned(json!({"text": "x".repeat(300_000), "list": vec![1; 60_000], "short": 1}));
    journal
        .create(new_run("a"), vec![long.clone()])
        .await
        .unwrap();
    journal
        .append(append("a", 1, vec![long.clone(), returned(json!(2))]))
        .await
        .unwrap();
    let expected = [long.clone(), long, returned(json!(2))];
    assert_eq!(events_of(&journal, "a").await, expected);
    journal.append(ending("a", 3, 4)).await.unwrap();
    drop(journal);
    let again = store.open(at(1));
    assert_eq!(events_of(&again, "a").await[..3], expected);
}

pub(super) async fn kept_values_are_replaced(store: &dyn Store) {
    let journal = store.open(at(0));
    assert_eq!(journal.kept("catalog").await.unwrap(), None);
    journal.keep("catalog", &json!({"v": 1})).await.unwrap();
    journal.keep("other", &json!(null)).await.unwrap();
    journal.keep("catalog", &json!({"v": [2]})).await.unwrap();
    let other = store.open(at(0));
    for journal in [&journal, &other] {
        assert_eq!(
            journal.kept("catalog").await.unwrap(),
            Some(json!({"v": [2]}))
        );
        assert_eq!(journal.kept("other").await.unwrap(), Some(json!(null)));
    }
}
