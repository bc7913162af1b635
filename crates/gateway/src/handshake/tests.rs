//! Which stream of a session an event comes on, what a client that comes back is given, and how a session ends.

use super::line::{self, HandlerEnd, Line, LineError};
use super::lost::Room;
use super::stream::Events;
use crate::limits::{
    EVENTS_AHEAD_MAX, EVENTS_KEPT_MAX, IDLE_STREAMS_MAX, LOST_ANSWERS_MAX, LOST_LIFE,
};
use futures::{FutureExt as _, StreamExt as _};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport as _;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const IDLE: Duration = Duration::from_mins(30);

/// Room for answers that nobody read.
const LOST_BYTES: usize = 64 * 1024;

fn open() -> (Arc<Line>, HandlerEnd) {
    line::open(IDLE, Room::new(LOST_BYTES))
}

fn from_client(message: Value) -> ClientJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

fn from_handler(message: Value) -> ServerJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

fn call(id: i64, token: i64) -> ClientJsonRpcMessage {
    let params = json!({ "name": "a", "_meta": { "progressToken": token } });
    from_client(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

fn progress(token: i64, number: i64) -> ServerJsonRpcMessage {
    let params = json!({ "progressToken": token, "progress": number });
    let method = "notifications/progress";
    from_handler(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

fn answer(id: i64) -> ServerJsonRpcMessage {
    from_handler(json!({ "jsonrpc": "2.0", "id": id, "result": {} }))
}

fn changed() -> ServerJsonRpcMessage {
    let method = "notifications/tools/list_changed";
    from_handler(json!({ "jsonrpc": "2.0", "method": method }))
}

/// The places of the events that wait, and whether the stream has ended behind them.
fn waiting(events: &mut Events) -> (Vec<String>, bool) {
    let mut places = Vec::new();
    loop {
        match events.next().now_or_never() {
            Some(Some(event)) => places.push(event.event_id.unwrap()),
            Some(None) => return (places, true),
            None => return (places, false),
        }
    }
}

/// A session whose handler has been handed the first request of its client.
async fn asked(id: i64, token: i64) -> (Arc<Line>, HandlerEnd, Events) {
    let (line, mut handler) = open();
    let events = line.ask(call(id, token)).await.unwrap();
    assert!(handler.receive().await.is_some());
    (line, handler, events)
}

#[tokio::test]
async fn what_belongs_to_a_request_comes_on_its_stream() {
    let (line, mut handler, mut first) = asked(1, 10).await;
    let mut second = line.ask(call(2, 20)).await.unwrap();
    let mut own = line.listen().unwrap();
    handler.send(progress(20, 1)).await.unwrap();
    handler.send(changed()).await.unwrap();
    handler.send(answer(1)).await.unwrap();
    // What nobody waits for any more is told on the stream of the session.
    handler.send(progress(10, 1)).await.unwrap();
    let owned = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect();
    assert_eq!(waiting(&mut first), (owned(&["0/0", "1/0"]), true));
    assert_eq!(waiting(&mut second), (owned(&["0/1", "1/1"]), false));
    assert_eq!(waiting(&mut own), (owned(&["1", "2"]), false));
}

#[tokio::test]
async fn a_lost_stream_is_read_on_behind_what_was_seen() {
    let (line, mut handler, events) = asked(1, 10).await;
    handler.send(progress(10, 1)).await.unwrap();
    drop(events);
    handler.send(progress(10, 2)).await.unwrap();
    let mut again = line.resume("1/0").unwrap();
    handler.send(answer(1)).await.unwrap();
    let rest = vec!["2/0".to_owned(), "3/0".to_owned()];
    assert_eq!(waiting(&mut again), (rest, true));
    for place in ["1/0", "1/7", "9", "x", "", "1/"] {
        assert!(line.resume(place).is_err(), "{place}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_read_is_kept_and_can_be_had_once() {
    let (line, mut handler, events) = asked(1, 10).await;
    drop(events);
    handler.send(progress(10, 1)).await.unwrap();
    handler.send(answer(1)).await.unwrap();
    for (place, is_there) in [("0/0", true), ("2/0", true), ("3/0", false), ("0/1", false)] {
        assert_eq!(line.has_place(place), is_there, "{place}");
    }
    assert!(line.resume("3/0").is_err());
    let mut again = line.resume("0/0").unwrap();
    let rest = vec!["1/0".to_owned(), "2/0".to_owned()];
    assert_eq!(waiting(&mut again), (rest, true));
    assert!(!line.has_place("0/0"));
    assert!(line.resume("0/0").is_err());
}

#[tokio::test]
async fn of_answers_that_nobody_read_the_latest_are_kept_while_there_is_room() {
    let (line, mut handler) = open();
    let lose = async |id: i64, text: &str, handler: &mut HandlerEnd| {
        drop(line.ask(call(id, id)).await.unwrap());
        assert!(handler.receive().await.is_some());
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        handler.send(from_handler(answer)).await.unwrap();
    };
    let large = "x".repeat(LOST_BYTES / 2);
    lose(0, &large, &mut handler).await;
    lose(1, &large, &mut handler).await;
    assert!(line.has_place("0/0"));
    assert!(!line.has_place("0/1"), "there was no room left for it");
    for id in 2..=i64::try_from(LOST_ANSWERS_MAX).unwrap() + 1 {
        lose(id, "", &mut handler).await;
    }
    assert!(!line.has_place("0/0"), "it was the oldest");
    assert!(line.has_place("0/2"));
    lose(20, &large, &mut handler).await;
    let last = format!("0/{}", LOST_ANSWERS_MAX + 2);
    assert!(line.has_place(&last), "there is room again");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_comes_back_for_is_forgotten() {
    let (line, mut handler, events) = asked(1, 10).await;
    drop(events);
    handler.send(answer(1)).await.unwrap();
    let silent = tokio::time::timeout(LOST_LIFE / 2, handler.receive());
    assert!(silent.await.is_err());
    assert!(line.has_place("0/0"));
    let silent = tokio::time::timeout(LOST_LIFE, handler.receive());
    assert!(silent.await.is_err(), "the session stays open");
    assert!(!line.has_place("0/0"));
}

#[tokio::test]
async fn a_session_keeps_the_last_events_until_its_stream_is_opened() {
    let (line, mut handler) = open();
    for _ in 0..EVENTS_KEPT_MAX + 3 {
        handler.send(changed()).await.unwrap();
    }
    let mut events = line.listen().unwrap();
    let (places, _) = waiting(&mut events);
    assert_eq!(places.len(), EVENTS_KEPT_MAX);
    assert_eq!(places[0], "4");
    drop(events);
    // The place of the event that opens every stream: nothing was seen.
    let mut events = line.resume("0").unwrap();
    assert_eq!(waiting(&mut events).0, places);
    drop(events);
    let mut events = line.resume("18").unwrap();
    assert_eq!(waiting(&mut events).0, ["19"]);
}

#[tokio::test]
async fn a_second_stream_stays_open_and_hears_nothing() {
    let (line, mut handler) = open();
    let mut first = line.listen().unwrap();
    let mut oldest = line.listen().unwrap();
    let others: Vec<_> = (0..IDLE_STREAMS_MAX).map(|_| line.listen()).collect();
    handler.send(changed()).await.unwrap();
    assert_eq!(waiting(&mut first).0, ["1"]);
    assert_eq!(waiting(&mut oldest), (Vec::new(), true));
    let mut latest = others.into_iter().last().unwrap().unwrap();
    assert_eq!(waiting(&mut latest), (Vec::new(), false));
    drop((first, latest));
    assert_eq!(waiting(&mut line.listen().unwrap()).0, ["1"]);
}

#[tokio::test]
async fn a_reader_that_is_behind_is_waited_for_and_one_that_has_gone_is_not() {
    let (line, mut handler) = open();
    let mut events = line.listen().unwrap();
    for _ in 0..EVENTS_AHEAD_MAX {
        handler.send(changed()).await.unwrap();
    }
    let mut behind = Box::pin(handler.send(changed()));
    assert!(behind.as_mut().now_or_never().is_none());
    assert!(events.next().await.is_some());
    behind.await.unwrap();
    let mut behind = Box::pin(handler.send(changed()));
    assert!(behind.as_mut().now_or_never().is_none());
    drop(events);
    behind.await.unwrap();
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let (line, mut handler, mut events) = asked(1, 10).await;
    let params = json!({ "requestId": 1 });
    let method = "notifications/cancelled";
    let cancelled = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    line.say(from_client(cancelled)).await.unwrap();
    assert!(handler.receive().await.is_some());
    assert_eq!(waiting(&mut events), (vec!["0/0".to_owned()], true));
}

#[tokio::test]
async fn an_ended_session_ends_its_streams_and_loses_nothing_said() {
    let (line, mut handler) = open();
    let mut own = line.listen().unwrap();
    let mut beside = line.listen().unwrap();
    let mut events = line.ask(call(1, 10)).await.unwrap();
    line.end();
    assert!(handler.receive().await.is_some());
    assert!(handler.receive().await.is_none());
    assert!(matches!(
        handler.send(answer(1)).await,
        Err(LineError::Ended)
    ));
    for events in [&mut own, &mut beside, &mut events] {
        assert!(waiting(events).1);
    }
    assert!(line.ask(call(2, 20)).await.is_err());
    assert!(line.listen().is_err());
}

#[tokio::test]
async fn without_a_handler_nobody_waits() {
    let (line, handler) = open();
    let greeted = tokio::spawn({
        let line = Arc::clone(&line);
        async move { line.greet(call(1, 10)).await }
    });
    tokio::task::yield_now().await;
    let mut own = line.listen().unwrap();
    drop(handler);
    assert!(greeted.await.unwrap().is_err());
    assert!(waiting(&mut own).1);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_once_both_were_silent() {
    let (line, mut handler) = open();
    let begun = tokio::time::Instant::now();
    let heard = tokio::spawn(async move {
        let mut next = Box::pin(handler.receive());
        tokio::select! {
            _ = &mut next => panic!("the session was not silent for long enough"),
            () = tokio::time::sleep(IDLE / 2) => {}
        }
        drop(next);
        handler.send(changed()).await.unwrap();
        handler.receive().await
    });
    assert!(heard.await.unwrap().is_none());
    assert!(begun.elapsed() >= IDLE + IDLE / 2);
    assert!(line.listen().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_for_an_answer_is_not_silent() {
    let (line, mut handler, events) = asked(1, 10).await;
    let started = tokio::time::Instant::now();
    let silent = tokio::time::timeout(IDLE * 3, handler.receive());
    assert!(
        silent.await.is_err(),
        "it is open while its call is answered"
    );
    // Its client has gone: nobody waits any more.
    drop(events);
    assert!(handler.receive().await.is_none());
    assert!(started.elapsed() <= IDLE * 5);
    drop(line);
}
