//! Streamable HTTP: both eras against the demo, and faults against a server that has them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onecall_backends::{
    BackendName, BackendOptions, BackendState, Backends, Call, CallerId, SessionScope, StartError,
    Takes, TransportOptions,
};
use onecall_mcp::{CallAnswer, Era};
use onecall_testkit::faulty::{Reply, Seen, Server, answer, done, modern};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::world::{PATIENCE, call, client_info, complete, start, way};

/// The demo on a port of its own, until the guard is dropped.
async fn demo(options: onecall_demo::Options) -> (String, DropGuard) {
    let stop = CancellationToken::new();
    let (tell, told) = oneshot::channel();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let ready = move |address: SocketAddr| tell.send(address).unwrap();
    tokio::spawn(onecall_demo::serve_http(
        options,
        address,
        stop.clone(),
        ready,
    ));
    (
        format!("http://{}/mcp", told.await.unwrap()),
        stop.drop_guard(),
    )
}

pub(crate) fn http(name: &str, url: &str, era: Option<Era>) -> BackendOptions {
    let mut options = BackendOptions::http(name, url);
    options.call_timeout = Some(PATIENCE);
    options.era = era;
    options
}

#[tokio::test]
async fn the_demo_is_called_in_both_eras() {
    let (url, _stop) = demo(onecall_demo::Options::default()).await;
    let backends = start(vec![
        http("auto", &url, None),
        http("legacy", &url, Some(Era::Legacy)),
    ]);
    for name in ["auto", "legacy"] {
        let added = call(&backends, name, "add", json!({ "a": 1, "b": 2.5 }))
            .await
            .unwrap();
        assert_eq!(added.structured(), Some(&json!({ "sum": 3.5 })));
        let unknown = call(&backends, name, "nope", json!({})).await.unwrap_err();
        assert_eq!(way(&unknown), "Rpc -32602");
        // `region` must arrive in a header as well, or the demo refuses.
        let note = json!({ "id": "n1", "region": "Zürich" });
        let fetched = call(&backends, name, "fetch", note).await.unwrap();
        assert_eq!(fetched.text_json().unwrap()["region"], "Zürich");
        let (progress, mut told) = mpsc::channel(8);
        let mut slow = Call::new("slow", json!({ "ms": 4 }));
        slow.progress = Some(progress);
        complete(backends.call(&name.into(), slow).await).unwrap();
        let mut seen = Vec::new();
        while let Ok(progress) = told.try_recv() {
            seen.push(progress.made());
        }
        assert_eq!(seen, [1.0, 2.0, 3.0, 4.0]);
    }
    let revisions: Vec<_> = backends.status().iter().map(|one| one.revision).collect();
    assert_eq!(revisions, [Some("2026-07-28"), Some("2025-11-25")]);
    backends.shutdown().await;
}

#[tokio::test]
async fn questions_reach_the_caller_they_belong_to() {
    let (url, _stop) = demo(onecall_demo::Options::default()).await;
    let backends = start(vec![
        http("legacy", &url, Some(Era::Legacy)),
        http("modern", &url, None),
    ]);
    let ask = |who: &'static str| {
        let backends = backends.clone();
        async move {
            let (asker, mut questions) = mpsc::channel(1);
            let mut ask = Call::new("ask", json!({ "question": format!("are you {who}?") }));
            ask.asker = Some(asker);
            let answering = async {
                let question = questions.recv().await.unwrap();
                let asked = question.params.value()["message"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                let content = json!({ "answer": format!("{who}: {asked}") });
                question
                    .reply
                    .send(Ok(json!({ "action": "accept", "content": content }).into()))
                    .unwrap();
            };
            let name = BackendName::from("legacy");
            let (output, ()) = tokio::join!(backends.call(&name, ask), answering);
            complete(output).unwrap().structured().unwrap()["content"]["answer"].clone()
        }
    };
    let (first, second) = tokio::join!(ask("Ada"), ask("Bob"));
    assert_eq!(
        (first, second),
        (json!("Ada: are you Ada?"), json!("Bob: are you Bob?"))
    );
    let mut modern = Call::new("ask", json!({ "question": "q", "mode": "url" }));
    modern.takes = Takes::ALL;
    let asked = backends.call(&"modern".into(), modern).await.unwrap();
    let CallAnswer::InputRequired(asked) = asked else {
        panic!("{asked:?}")
    };
    assert_eq!(asked.requests["answer"].value()["params"]["mode"], "url");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_changed_list_is_read_again_in_both_eras() {
    let options = onecall_demo::Options {
        changing_list: true,
        ..Default::default()
    };
    let (url, _stop) = demo(options).await;
    for era in [Era::Modern, Era::Legacy] {
        let backends = start(vec![http("demo", &url, Some(era))]);
        let before = backends.settle(PATIENCE).await;
        let count = before.lists[0].1.len();
        let mut lists = backends.tool_lists();
        // The stream may open after the first change; then the next one is heard.
        let changed = async {
            loop {
                call(&backends, "demo", "toggle", json!({})).await.unwrap();
                let heard = lists.wait_for(|lists| lists.lists[0].1.len() != count);
                if tokio::time::timeout(Duration::from_millis(200), heard)
                    .await
                    .is_ok()
                {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, changed).await.unwrap();
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_list_that_has_lasted_its_time_is_read_again() {
    let lists = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        if seen.body["method"] != "tools/list" {
            return modern(done)(seen);
        }
        let tools: Vec<Value> = (0..=lists.fetch_add(1, Ordering::SeqCst))
            .map(|number| json!({ "name": format!("t{number}") }))
            .collect();
        let page = json!({ "tools": tools, "ttlMs": 1, "cacheScope": "public" });
        Reply::Json(200, Vec::new(), answer(seen, "result", page))
    })
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    let mut lists = backends.tool_lists();
    backends.settle(PATIENCE).await;
    let grown = lists.wait_for(|lists| lists.lists.first().is_some_and(|(_, one)| one.len() > 2));
    tokio::time::timeout(PATIENCE, grown)
        .await
        .unwrap()
        .unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn a_list_that_is_left_unanswered_holds_nothing_up() {
    let lists = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        if seen.body["method"] != "tools/list" {
            return modern(done)(seen);
        }
        if lists.fetch_add(1, Ordering::SeqCst) > 0 {
            return Reply::Hang;
        }
        let page = json!({ "tools": [{ "name": "do" }], "ttlMs": 1, "cacheScope": "public" });
        Reply::Json(200, Vec::new(), answer(seen, "result", page))
    })
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    backends.settle(PATIENCE).await;
    let asked_again = async {
        while server
            .methods()
            .iter()
            .filter(|own| *own == "tools/list")
            .count()
            < 2
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked_again).await.unwrap();
    call(&backends, "b", "do", json!({})).await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, backends.shutdown()).await;
    ended.expect("the list is given up");
}

/// A legacy server whose calls never end; it sends pings on the stream of a call and takes no answer to them.
fn pings(number: usize) -> impl Fn(&Seen) -> Reply {
    move |seen| match seen.body["method"].as_str() {
        None if seen.verb != "POST" => Reply::Json(405, Vec::new(), Value::Null),
        None => Reply::Hang,
        Some("initialize") => {
            let result = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
            Reply::Json(200, Vec::new(), answer(seen, "result", result))
        }
        Some("tools/list") => {
            let page = json!({ "tools": [{ "name": "do" }] });
            Reply::Json(200, Vec::new(), answer(seen, "result", page))
        }
        Some("tools/call") => {
            let ping = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            let mut events: Vec<String> = (0..number).map(|id| ping(id).to_string()).collect();
            let done = json!({ "content": [] });
            events.push(answer(seen, "result", done).to_string());
            let events = events.iter().map(|event| format!("data: {event}\n\n"));
            Reply::Events(events.collect())
        }
        Some(_) => Reply::Json(202, Vec::new(), Value::Null),
    }
}

#[tokio::test]
async fn a_server_that_asks_faster_than_it_takes_answers_is_bounded() {
    let server = Server::start(pings(1_000)).await;
    let backends = start(vec![http("b", &server.url, Some(Era::Legacy))]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    call(&backends, "b", "do", json!({})).await.unwrap();
    assert!(server.connections() < 100, "{}", server.connections());
    backends.shutdown().await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_in_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger");
    let options = onecall_demo::Options {
        ledger: Some(ledger.clone()),
        ..Default::default()
    };
    let (url, _stop) = demo(options).await;
    for era in [Era::Modern, Era::Legacy] {
        let backends = start(vec![http("demo", &url, Some(era))]);
        backends.settle(PATIENCE).await;
        let (progress, mut told) = mpsc::channel(8);
        let mut slow = Call::new("slow", json!({ "ms": 800 }));
        slow.progress = Some(progress);
        let name = BackendName::from("demo");
        tokio::select! {
            _ = backends.call(&name, slow) => panic!("finished"),
            first = told.recv() => assert!(first.is_some()),
        }
        call(&backends, "demo", "slow", json!({ "ms": 900 }))
            .await
            .unwrap();
        backends.shutdown().await;
    }
    let text = std::fs::read_to_string(&ledger).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[tokio::test]
async fn one_round_trip_a_call_on_connections_that_are_reused() {
    let server = Server::start(modern(done)).await;
    let backends = start(vec![http("b", &server.url, None)]);
    for _ in 0..100 {
        call(&backends, "b", "do", json!({})).await.unwrap();
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 102));
    let calls = (0..200).map(|_| call(&backends, "b", "do", json!({})));
    assert!(
        futures::future::join_all(calls)
            .await
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!(server.seen().len(), 302);
    assert!(
        (50..=64).contains(&server.connections()),
        "{} connections",
        server.connections()
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn what_a_server_logs_for_a_call_reaches_its_caller_as_it_came() {
    let logged = json!({ "level": "info", "logger": "l", "data": { "n": 1 }, "vendor": true });
    let params = logged.clone();
    let server = Server::start(modern(move |seen| {
        let log = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        let result = answer(seen, "result", json!({ "content": [] }));
        Reply::Events(vec![
            format!("data: {log}\n\n"),
            format!("data: {result}\n\n"),
        ])
    }))
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    let (sink, mut messages) = mpsc::channel(4);
    let mut logging = Call::new("do", json!({}));
    logging.messages = Some(sink);
    complete(backends.call(&"b".into(), logging).await).unwrap();
    let told = messages.recv().await.unwrap();
    assert_eq!(
        (&*told.level, &*told.params),
        ("info", &*logged.to_string())
    );
    assert_eq!(messages.recv().await, None);
    backends.shutdown().await;
}

#[tokio::test]
async fn nobody_at_the_address_is_known_not_to_have_acted() {
    let backends = start(vec![http("gone", "http://127.0.0.1:1/mcp", None)]);
    let error = call(&backends, "gone", "do", json!({})).await.unwrap_err();
    assert_eq!(
        (way(&error).as_str(), error.may_have_acted()),
        ("Unavailable", false)
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn a_server_of_a_known_era_that_cannot_be_opened_is_told_with_its_reason() {
    let failing = Server::start(|_| Reply::Json(500, Vec::new(), Value::Null)).await;
    let gone = Server::start(|_| Reply::Hang).await.url.clone();
    let backends = start(vec![
        http("failing", &failing.url, Some(Era::Modern)),
        http("gone", &gone, Some(Era::Modern)),
    ]);
    for (name, reason) in [("failing", "HTTP status 500"), ("gone", "refused")] {
        let error = call(&backends, name, "do", json!({})).await.unwrap_err();
        assert_eq!(way(&error), "Unavailable");
        assert!(error.to_string().contains(reason), "{error}");
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn a_server_that_refuses_us_from_the_start_is_told_as_one_that_does_later() {
    let server = Server::start(|_| Reply::Json(401, Vec::new(), Value::Null)).await;
    let backends = start(vec![http("b", &server.url, None)]);
    for _ in 0..2 {
        let error = call(&backends, "b", "do", json!({})).await.unwrap_err();
        let (way, acted) = (way(&error), error.may_have_acted());
        assert_eq!((way.as_str(), acted), ("Denied", false), "{error}");
    }
    let state = backends.status().remove(0).state;
    assert!(
        matches!(
            state,
            BackendState::Down {
                is_denied: true,
                ..
            }
        ),
        "{state:?}"
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn a_status_that_does_not_say_what_became_of_the_call_is_an_answer() {
    let failing = |_: &Seen| Reply::Json(500, Vec::new(), Value::Null);
    let server = Server::start(modern(failing)).await;
    let backends = start(vec![http("b", &server.url, None)]);
    let error = call(&backends, "b", "do", json!({})).await.unwrap_err();
    let text = "backend `b` took the call, and what became of it is not known: HTTP status 500";
    assert!(error.to_string().starts_with(text), "{error}");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_broken_stream_is_resumed_where_the_server_left_marks() {
    let called = std::sync::Mutex::new(Value::Null);
    let reply = move |seen: &Seen| {
        let result = match (
            seen.verb.as_str(),
            seen.body["method"].as_str().unwrap_or_default(),
        ) {
            ("GET", _)
                if seen
                    .headers
                    .get("last-event-id")
                    .is_some_and(|id| id == "e7") =>
            {
                let id = called.lock().unwrap().clone();
                let message = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
                return Reply::Events(vec![format!("id: e8\ndata: {message}\n\n")]);
            }
            ("POST", "initialize") => {
                json!({ "protocolVersion": "2025-11-25", "capabilities": {} })
            }
            ("POST", "tools/list") => json!({ "tools": [{ "name": "do" }] }),
            ("POST", "tools/call") => {
                *called.lock().unwrap() = seen.body["id"].clone();
                return Reply::Events(vec!["id: e7\nretry: 1\ndata:\n\n".to_owned()]);
            }
            ("POST", "server/discover") => return Reply::Json(400, Vec::new(), Value::Null),
            ("POST", _) => return Reply::Json(202, Vec::new(), Value::Null),
            _ => return Reply::Json(405, Vec::new(), Value::Null),
        };
        Reply::Json(200, Vec::new(), answer(seen, "result", result))
    };
    let server = Server::start(reply).await;
    let backends = start(vec![http("b", &server.url, None)]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    assert_eq!(
        server
            .methods()
            .iter()
            .filter(|method| *method == "tools/call")
            .count(),
        1
    );
    backends.shutdown().await;
}

#[test]
fn options_that_cannot_work_are_refused_at_the_start() {
    let refused =
        |options: BackendOptions| Backends::start(&client_info(), vec![options]).unwrap_err();
    for url in ["", "ftp://a/b", "not a url", "http://user:secret@host/"] {
        let error = refused(BackendOptions::http("b", url));
        assert!(matches!(error, StartError::Url { .. }), "{url}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }
    let with_headers = |names: &[&str]| {
        let mut bad = BackendOptions::http("b", "http://127.0.0.1:1/");
        if let TransportOptions::Http(http) = &mut bad.transport {
            let pair = |name: &&str| ((*name).to_owned(), "secret".to_owned());
            http.headers = names.iter().map(pair).collect();
        }
        refused(bad)
    };
    for (names, reason) in [
        (&["a b"][..], "header `a b` is not a valid header"),
        (
            &["Content-Length"],
            "header `Content-Length` belongs to the connection and cannot be set",
        ),
        (
            &["Authorization", "X", "authorization"],
            "header `authorization` is given twice, by `headers` or by `auth`",
        ),
    ] {
        let error = with_headers(names);
        assert!(matches!(error, StartError::Header { .. }), "{error}");
        assert_eq!(error.to_string(), format!("backend `b`: {reason}"));
    }
}

#[tokio::test]
async fn a_probe_that_is_refused_is_answered() {
    let probes = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&probes);
    let server = Server::start(move |seen| {
        let is_probe = seen.body["method"] == "server/discover";
        if is_probe && counted.fetch_add(1, Ordering::SeqCst) > 0 {
            return Reply::Json(401, Vec::new(), Value::Null);
        }
        modern(done)(seen)
    })
    .await;
    let mut options = http("b", &server.url, None);
    options.health.probe_every = Some(Duration::from_millis(1));
    let backends = start(vec![options]);
    backends.settle(PATIENCE).await;
    let probed = async {
        while probes.load(Ordering::SeqCst) < 4 {
            call(&backends, "b", "do", json!({})).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, probed).await.unwrap();
    assert_eq!(backends.status()[0].breaker.word(), "closed");
    backends.shutdown().await;
}

#[tokio::test]
async fn the_places_of_a_backend_are_those_of_all_its_callers() {
    let server = Server::start(modern(|seen| {
        if seen.body["params"]["arguments"]["hangs"] == true {
            return Reply::Hang;
        }
        done(seen)
    }))
    .await;
    let mut options = http("b", &server.url, None);
    options.session = SessionScope::PerClient;
    options.max_in_flight = 1;
    let backends = start(vec![options]);
    let call = |caller: &str, time: Duration, arguments: Value| {
        let mut own = Call::new("do", arguments);
        own.caller = Some(CallerId(caller.into()));
        own.timeout = Some(time);
        let backends = backends.clone();
        async move { backends.call(&"b".into(), own).await }
    };
    for caller in ["Ada", "Bob"] {
        call(caller, PATIENCE, json!({})).await.unwrap();
    }
    let (short, hangs) = (Duration::from_millis(100), json!({ "hangs": true }));
    let (first, second) = tokio::join!(
        call("Ada", short * 5, hangs.clone()),
        call("Bob", short, hangs)
    );
    assert!(first.unwrap_err().may_have_acted());
    assert!(!second.unwrap_err().may_have_acted(), "there was one place");
    backends.shutdown().await;
}

#[tokio::test]
async fn the_breaker_of_a_dead_backend_is_never_shown_as_closed() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        // The first attempt to connect is refused in every way of opening.
        0..3 => Reply::Json(400, Vec::new(), Value::Null),
        _ => Reply::Hang,
    })
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    let before = backends.status().remove(0);
    backends.settle(PATIENCE).await;
    let trying = async {
        loop {
            let status = backends.status().remove(0);
            if status.state.word() == "connecting" {
                return status;
            }
            assert_eq!(status.breaker.word(), "open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let trying = tokio::time::timeout(PATIENCE, trying).await.unwrap();
    let words = (before.breaker.word(), trying.breaker.word());
    assert_eq!(words, ("closed", "half-open"));
    backends.shutdown().await;
}

#[tokio::test]
async fn a_call_whose_headers_are_out_of_date_is_made_again_by_the_new_list() {
    let lists = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let (status, key, value) = match seen.body["method"].as_str() {
            Some("tools/list") => {
                let mut region = json!({ "type": "string" });
                if lists.fetch_add(1, Ordering::SeqCst) > 0 {
                    region["x-mcp-header"] = json!("Region");
                }
                let schema = json!({ "type": "object", "properties": { "region": region } });
                let tools = json!([{ "name": "do", "inputSchema": schema }]);
                (200, "result", json!({ "tools": tools }))
            }
            Some("tools/call") if !seen.headers.contains_key("mcp-param-region") => {
                (400, "error", json!({ "code": -32020, "message": "no" }))
            }
            _ => return modern(done)(seen),
        };
        Reply::Json(status, Vec::new(), answer(seen, key, value))
    })
    .await;
    let backends = start(vec![http("b", &server.url, None)]);
    let arguments = json!({ "region": "north" });
    call(&backends, "b", "do", arguments.clone()).await.unwrap();
    call(&backends, "b", "do", arguments).await.unwrap();
    let refused = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&refused), "Rpc -32020");
    let calls = server.methods();
    let calls = calls.iter().filter(|own| *own == "tools/call").count();
    assert_eq!(calls, 5, "once more for the first and the last");
    backends.shutdown().await;
}
