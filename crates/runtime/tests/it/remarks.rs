//! What is odd about the names of tools is logged once, and only when it is certain.

use crate::world::{LEASE, PATIENCE, demo, gate, options, server, sum_config};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The remarks on names that were logged.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Subscriber for Told {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "onecall_runtime::remarks"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        if self.enabled(event.metadata()) {
            let mut told = self.0.lock().unwrap();
            event.record(&mut |_: &Field, text: &dyn Debug| told.push(format!("{text:?}")));
        }
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Told {
    /// How often it was told that the tool `add` of a backend has no name of its own, and to whom it lost it.
    fn losses(&self) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let adds = told.iter().filter(|text| text.starts_with("tool `add` of"));
        let loss = |text: &String| {
            let mut words = text.split('`').skip(3).step_by(2);
            let (loser, winner) = (words.next().unwrap(), words.nth(1).unwrap());
            format!("{loser} to {winner}")
        };
        adds.map(loss).collect()
    }
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
    let told = Told::default();
    let _telling = tracing::subscriber::set_default(told.clone());
    let (url, _stop) = demo().await;
    let opened = Arc::new(Semaphore::new(0));
    let runtime = three(&url, PATIENCE, &opened).await;
    for own in ["second.nonesuch", "third.nonesuch"] {
        runtime.settled_for(own).await;
    }
    assert!(runtime.published_now().find("third.add").is_some());
    assert_eq!(told.losses(), Vec::<String>::new());
    opened.add_permits(Semaphore::MAX_PERMITS);
    runtime.settled().await;
    assert_eq!(told.losses(), ["second to first", "third to first"]);
    // Another version of the files says nothing new.
    let files = sum_config(&[("second", &url), ("third", &url)], ORDER);
    runtime.reload(server(&files)).await.unwrap();
    assert_eq!(told.losses().split_off(2), ["third to second"]);
    let files = files.replace("Adds one.", "Adds 1.");
    runtime.reload(server(&files)).await.unwrap();
    assert_eq!(told.losses().len(), 3);
    runtime.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_lost_name_is_told_though_somebody_stays_silent() {
    let told = Told::default();
    let _telling = tracing::subscriber::set_default(told.clone());
    let (url, _stop) = demo().await;
    let closed = Arc::new(Semaphore::new(0));
    let runtime = three(&url, Duration::from_millis(300), &closed).await;
    runtime.settled().await;
    let telling = async {
        while told.losses().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, telling).await.unwrap();
    assert_eq!(told.losses(), ["third to second"]);
    runtime.shutdown(Duration::ZERO).await;
}
