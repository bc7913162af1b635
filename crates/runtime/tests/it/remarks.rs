//! What is odd about the names of tools is logged once, and only when it is certain.

use crate::logged::Logged;
use crate::world::{LEASE, PATIENCE, demo, gate, options, server, sum_config};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Who listens to the remarks on names.
fn remarks() -> Logged {
    Logged::of("onecall_runtime::remarks")
}

/// How often it was told that the tool `add` of a backend has no name of its own, and to whom it lost it.
fn losses(told: &Logged) -> Vec<String> {
    let told = told.lines();
    let adds = told.iter().filter(|text| text.starts_with("tool `add` of"));
    let loss = |text: &String| {
        let mut words = text.split('`').skip(3).step_by(2);
        let (loser, winner) = (words.next().unwrap(), words.nth(1).unwrap());
        format!("{loser} to {winner}")
    };
    adds.map(loss).collect()
}

const ORDER: &str = "  conflictResolution: priority
  conflictResolutionConfig: { priorityOrder: [first, second, third] }
";

/// Three backends with the same tools, of which the first is not there before it is let through.
async fn three(url: &str, moment: Duration, opened: &Arc<Semaphore>) -> Runtime {
    let first = gate(url, Arc::clone(opened)).await;
    let text = sum_config(&[("first", &first), ("second", url), ("third", url)], ORDER);
    let journal = MemoryStore::new(Retention::default()).open(now(), LEASE);
    let mut options = options(server(&text), Arc::new(journal));
    options.first_list_wait = moment;
    Runtime::start(options).await.unwrap()
}

#[tokio::test]
async fn a_lost_name_is_told_once_and_when_all_are_there() {
    let told = remarks();
    let _telling = tracing::subscriber::set_default(told.clone());
    let (url, _stop) = demo().await;
    let opened = Arc::new(Semaphore::new(0));
    let runtime = three(&url, PATIENCE, &opened).await;
    for own in ["second.nonesuch", "third.nonesuch"] {
        runtime.settled_for(own).await;
    }
    assert!(runtime.published_now().find("third.add").is_some());
    assert_eq!(losses(&told), Vec::<String>::new());
    opened.add_permits(Semaphore::MAX_PERMITS);
    runtime.settled().await;
    assert_eq!(losses(&told), ["second to first", "third to first"]);
    // Another version of the files says nothing new.
    let files = sum_config(&[("second", &url), ("third", &url)], ORDER);
    runtime.reload(server(&files)).await.unwrap();
    assert_eq!(losses(&told).split_off(2), ["third to second"]);
    let files = files.replace("Adds one.", "Adds 1.");
    runtime.reload(server(&files)).await.unwrap();
    assert_eq!(losses(&told).len(), 3);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_lost_name_is_told_though_somebody_stays_silent() {
    let told = remarks();
    let _telling = tracing::subscriber::set_default(told.clone());
    let (url, _stop) = demo().await;
    let closed = Arc::new(Semaphore::new(0));
    let runtime = three(&url, Duration::from_millis(300), &closed).await;
    runtime.settled().await;
    let telling = async {
        while losses(&told).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, telling).await.unwrap();
    assert_eq!(losses(&told), ["third to second"]);
    runtime.shutdown(Duration::ZERO).await;
}
