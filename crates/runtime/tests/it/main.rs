//! The runtime over a store in memory: what it does with runs that others left behind.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod codes;
mod commands;
mod current;
mod doubted;
mod followed;
mod labels;
mod leave;
mod limits;
mod logged;
mod names;
mod needs;
mod offers;
mod open_runs;
mod refused;
mod remarks;
mod rules;
mod secrets;
mod sim;
mod start;
mod stranded;
mod through;
mod versions;
mod world;

use crate::world::{LEASE, options};
use onecall_config::settings::Server;
use onecall_engine::event::{Event, What};
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Command, Journal, NewRun, Order, Phase};
use onecall_journal::{MemoryStore, Retention};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn left_behind(plan: &str) -> NewRun {
    NewRun {
        plan_hash: "h".to_owned(),
        plan: plan.into(),
        ..NewRun::new(RunId::new("left"), "w", now())
    }
}

fn started() -> Event {
    Event {
        at: now(),
        what: What::RunStarted {
            input: Arc::new(json!({})),
            seed: 1,
            deadline: None,
            kept: None,
        },
    }
}

#[tokio::test]
async fn a_command_for_another_waits_once_however_many_look_at_it() {
    let store = MemoryStore::new(Retention::default());
    let dead = store.open(now(), LEASE);
    let run = left_behind(r#"{"ir":99}"#);
    let command = Command {
        run: run.id.clone(),
        what: Order::Cancel {
            reason: "no".to_owned(),
        },
    };
    dead.create(run, vec![started()]).await.unwrap();
    dead.tell(command.clone()).await.unwrap();
    drop(dead);
    for _ in 0..3 {
        let mut options = options(Server::default(), Arc::new(store.open(now(), LEASE)));
        options.resumes = false;
        let runtime = Runtime::start(options).await.unwrap();
        runtime.shutdown(Duration::ZERO).await;
    }
    let later = now().plus(LEASE * 2);
    let next = store.open(later, LEASE);
    assert_eq!(next.commands(later).await.unwrap(), [command]);
}

#[tokio::test]
async fn a_run_that_cannot_be_read_is_held_with_its_reason() {
    let store = MemoryStore::new(Retention::default());
    let dead = store.open(now(), LEASE);
    dead.create(left_behind(r#"{"ir":99}"#), vec![started()])
        .await
        .unwrap();
    drop(dead);
    let journal: Arc<dyn Journal> = Arc::new(store.open(now(), LEASE));
    let options = options(Server::default(), Arc::clone(&journal));
    let runtime = Runtime::start(options).await.unwrap();
    let stored = journal.load(&RunId::new("left")).await.unwrap().unwrap();
    assert_eq!(stored.summary.phase, Phase::Held);
    let last = &stored.events.last().unwrap().what;
    assert!(
        matches!(last, What::Note { text } if text.contains("form 99")),
        "{last:?}"
    );
    runtime.shutdown(Duration::ZERO).await;
}
