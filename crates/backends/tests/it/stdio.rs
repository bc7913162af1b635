//! Child processes: eras, faults, restarts, shutdown.

use std::time::{Duration, Instant};

use onecall_backends::{
    BackendName, BackendOptions, BackendState, Breaker, Call, CallError, CallerId, HealthOptions,
    SessionScope, Takes, TransportOptions,
};
use onecall_mcp::{CallAnswer, Era, Tool};
use serde_json::json;
use tokio::sync::mpsc;

use crate::world::{PATIENCE, call, complete, start, stdio, way};

fn revision(backends: &onecall_backends::Backends, index: usize) -> Option<&'static str> {
    backends.status()[index].revision
}

#[tokio::test]
async fn the_demo_is_called_in_both_eras() {
    let mut legacy = stdio("legacy", &["demo"]);
    legacy.era = Some(Era::Legacy);
    let backends = start(vec![stdio("auto", &["demo"]), legacy]);
    for name in ["auto", "legacy"] {
        let added = call(&backends, name, "add", json!({ "a": 1, "b": 2 }))
            .await
            .unwrap();
        assert_eq!(added.structured(), Some(&json!({ "sum": 3 })));
        let blocks = call(&backends, name, "images", json!({}))
            .await
            .unwrap()
            .content_map();
        let keys: Vec<_> = blocks.keys().map(String::as_str).collect();
        assert_eq!(keys, ["text", "image_0", "audio_0", "resource", "link_0"]);
        let failed = call(&backends, name, "fail", json!({ "message": "no" }))
            .await
            .unwrap();
        assert!(failed.is_error() && failed.error_text() == "no");
        let unknown = call(&backends, name, "nope", json!({})).await.unwrap_err();
        assert_eq!(way(&unknown), "Rpc -32602");
    }
    assert_eq!(
        (revision(&backends, 0), revision(&backends, 1)),
        (Some("2026-07-28"), Some("2025-11-25"))
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn the_era_is_found_whatever_a_legacy_server_does_with_the_probe() {
    let faults = ["plain", "deaf", "fragile", "spoilt"];
    let backends = start(faults.iter().map(|fault| stdio(fault, &[fault])).collect());
    let calls = faults.map(|fault| call(&backends, fault, "do", json!({})));
    for (outcome, fault) in futures::future::join_all(calls)
        .await
        .into_iter()
        .zip(faults)
    {
        assert!(outcome.is_ok(), "{fault}: {outcome:?}");
    }
    for status in backends.status() {
        assert_eq!(status.revision, Some("2025-06-18"), "{status:?}");
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let backends = start(vec![stdio("pages", &["pages"])]);
    let lists = backends.settle(PATIENCE).await;
    let names: Vec<_> = lists.lists[0].1.iter().map(Tool::name).collect();
    assert_eq!(names, ["one", "two", "three"]);
    backends.shutdown().await;
}

#[tokio::test]
async fn a_child_that_dies_in_a_call_leaves_an_unknown_outcome_and_is_restarted() {
    let backends = start(vec![stdio("dies", &["dies"]), stdio("demo", &["demo"])]);
    let lost = call(&backends, "dies", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&lost), "UnknownOutcome");
    let text = lost.to_string();
    assert!(
        text.contains("exit status: 3") && text.contains("out of luck"),
        "{text}"
    );
    // The other backend is not touched, and this one comes back by itself.
    call(&backends, "demo", "echo", json!({ "text": "x" }))
        .await
        .unwrap();
    let again = call(&backends, "dies", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&again), "UnknownOutcome");
    assert_eq!(backends.status()[0].connects, 2);
    backends.shutdown().await;
}

#[tokio::test]
async fn a_child_that_cannot_start_fails_calls_that_were_never_sent() {
    let missing = onecall_backends::BackendOptions::stdio("missing", "/no/such/program", &[]);
    // As one that spoke the era before and is started again.
    let mut known = stdio("known", &["crash"]);
    known.era = Some(Era::Modern);
    let backends = start(vec![stdio("crash", &["crash"]), missing, known]);
    for name in ["crash", "known"] {
        let crashed = call(&backends, name, "do", json!({})).await.unwrap_err();
        assert_eq!(
            (way(&crashed).as_str(), crashed.may_have_acted()),
            ("Unavailable", false)
        );
        assert!(
            crashed.to_string().contains("cannot read the settings"),
            "{crashed}"
        );
    }
    let missing = call(&backends, "missing", "do", json!({}))
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains("/no/such/program"),
        "{missing}"
    );
    assert!(matches!(
        backends.status()[1].state,
        BackendState::Down { .. }
    ));
    backends.shutdown().await;
}

#[tokio::test]
async fn a_silent_backend_times_out_and_delays_nobody() {
    let mut silent = stdio("silent", &["silent"]);
    silent.call_timeout = Some(Duration::from_millis(300));
    silent.eager = true;
    let mut mute = stdio("mute", &["mute"]);
    mute.call_timeout = Some(Duration::from_millis(300));
    let backends = start(vec![silent, mute, stdio("demo", &["demo"])]);
    backends.tools_of(&"mute".into()).await.unwrap();
    let (silent, mute, demo) = tokio::join!(
        call(&backends, "silent", "do", json!({})),
        call(&backends, "mute", "do", json!({})),
        call(&backends, "demo", "echo", json!({ "text": "x" })),
    );
    assert!(
        matches!(silent, Err(CallError::Timeout { sent: false, .. })),
        "{silent:?}"
    );
    assert!(
        matches!(mute, Err(CallError::Timeout { sent: true, .. })),
        "{mute:?}"
    );
    assert!(demo.is_ok());
    let began = Instant::now();
    let lists = backends.settle(Duration::from_millis(100)).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    let names: Vec<_> = lists.lists.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["mute", "demo"]);
    backends.shutdown().await;
}

#[tokio::test]
async fn the_earlier_of_two_time_outs_ends_a_call() {
    let (short, long) = (Duration::from_millis(50), PATIENCE * 100);
    let mut hasty = stdio("hasty", &["mute"]);
    hasty.call_timeout = Some(short);
    let mut patient = stdio("patient", &["mute"]);
    patient.call_timeout = Some(long);
    let mut silent_on_it = stdio("unstated", &["mute"]);
    silent_on_it.call_timeout = None;
    let backends = start(vec![hasty, patient, silent_on_it]);
    backends.settle(PATIENCE).await;
    for (backend, own) in [("hasty", long), ("patient", short), ("unstated", short)] {
        let mut limited = Call::new("do", json!({}));
        limited.timeout = Some(own);
        let name = BackendName::from(backend);
        let called = tokio::time::timeout(PATIENCE, backends.call(&name, limited)).await;
        let late = called.expect("it ends in time").unwrap_err();
        let CallError::Timeout { after, sent, .. } = late else {
            panic!("{backend}: {late}")
        };
        assert_eq!((after, sent), (short, true), "{backend}");
    }
    backends.shutdown().await;
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_their_turn() {
    let mut demo = stdio("demo", &["demo"]);
    demo.max_in_flight = 2;
    let backends = start(vec![demo]);
    backends.settle(PATIENCE).await;
    let calls = (0..6).map(|_| call(&backends, "demo", "slow", json!({ "ms": 40 })));
    let watching = async {
        while backends.status()[0].in_flight < 2 {
            tokio::task::yield_now().await;
        }
    };
    let began = Instant::now();
    let (outcomes, ()) = tokio::join!(futures::future::join_all(calls), watching);
    assert!(outcomes.iter().all(Result::is_ok));
    assert!(
        began.elapsed() >= Duration::from_millis(120),
        "{:?}",
        began.elapsed()
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn a_call_that_finds_no_place_in_time_says_that_nothing_was_sent() {
    let mut mute = stdio("mute", &["mute"]);
    mute.max_in_flight = 1;
    let backends = start(vec![mute]);
    backends.settle(PATIENCE).await;
    let name = BackendName::from("mute");
    let call = |time: Duration| {
        let mut call = Call::new("do", json!({}));
        call.timeout = Some(time);
        backends.call(&name, call)
    };
    let second = Duration::from_secs(1);
    let (first, second) = tokio::join!(call(second), call(second / 100));
    assert!(first.unwrap_err().may_have_acted());
    let late = second.unwrap_err();
    assert!(!late.may_have_acted());
    assert!(late.to_string().ends_with("nothing was sent"), "{late}");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_the_ledger_shows_keys() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("ledger");
    let backends = start(vec![stdio(
        "demo",
        &["demo", "--ledger", ledger.to_str().unwrap()],
    )]);
    let name = BackendName::from("demo");
    backends.settle(PATIENCE).await;
    let (progress, mut told) = mpsc::channel(8);
    let mut slow = Call::new("slow", json!({ "ms": 200 }));
    slow.progress = Some(progress);
    tokio::select! {
        _ = backends.call(&name, slow) => panic!("finished"),
        first = told.recv() => assert_eq!(first.unwrap().message(), Some("1 of 4")),
    }
    let put = Call::new("put", json!({ "key": "k", "value": [1] })).with_key("run1-step1");
    complete(backends.call(&name, put).await).unwrap();
    backends.shutdown().await;
    let text = std::fs::read_to_string(&ledger).unwrap();
    let lines: Vec<_> = text
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert_eq!(lines[0][1..3], ["run1-step1", "put"]);
}

#[tokio::test]
async fn a_modern_question_comes_back_and_is_answered_by_calling_again() {
    let backends = start(vec![stdio("demo", &["demo"])]);
    let name = BackendName::from("demo");
    let mut ask = Call::new("ask", json!({ "question": "why?" }));
    let refused = complete(backends.call(&name, ask.clone()).await).unwrap_err();
    assert_eq!(way(&refused), "Rpc -32021");
    ask.takes = Takes::ALL;
    let answer = backends.call(&name, ask.clone()).await.unwrap();
    let CallAnswer::InputRequired(asked) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(
        asked.requests["answer"].value()["method"],
        "elicitation/create"
    );
    let answer = json!({ "action": "accept", "content": { "answer": "so" } });
    ask.input_responses = Some([("answer".to_owned(), answer.into())].into());
    ask.request_state = asked.request_state;
    let said = complete(backends.call(&name, ask).await).unwrap();
    assert_eq!(said.structured().unwrap()["content"]["answer"], "so");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_changed_list_is_read_again_in_both_eras() {
    for era in [Era::Modern, Era::Legacy] {
        let mut demo = stdio("demo", &["demo", "--changing"]);
        demo.era = Some(era);
        let backends = start(vec![demo]);
        let before = backends.settle(PATIENCE).await;
        let mut lists = backends.tool_lists();
        let has_extra = |lists: &onecall_backends::ToolLists| {
            lists.lists[0].1.iter().any(|tool| tool.name() == "extra")
        };
        assert!(!has_extra(&before));
        call(&backends, "demo", "toggle", json!({})).await.unwrap();
        let changed = tokio::time::timeout(PATIENCE, lists.wait_for(|lists| has_extra(lists)));
        assert!(
            changed.await.unwrap().unwrap().version > before.version,
            "{era:?}"
        );
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_child_that_will_not_end_is_killed() {
    let mut stubborn = stdio("stubborn", &["stubborn"]);
    stubborn.grace = Duration::from_millis(50);
    let backends = start(vec![stubborn]);
    call(&backends, "stubborn", "do", json!({})).await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, backends.shutdown()).await;
    assert!(ended.is_ok());
    assert!(matches!(backends.status()[0].state, BackendState::Stopped));
    let late = call(&backends, "stubborn", "do", json!({}))
        .await
        .unwrap_err();
    assert!(matches!(late, CallError::Stopped));
}

#[tokio::test]
async fn questions_of_a_legacy_child_reach_their_own_caller() {
    let mut demo = stdio("demo", &["demo"]);
    demo.era = Some(Era::Legacy);
    let shared = start(vec![demo.clone()]);
    let refused = call(&shared, "demo", "ask", json!({ "question": "?" }))
        .await
        .unwrap();
    assert!(refused.is_error(), "a shared child must not ask");
    shared.shutdown().await;
    demo.session = SessionScope::PerClient;
    let backends = start(vec![demo]);
    let ask = |who: &'static str| {
        let backends = backends.clone();
        async move {
            let (asker, mut questions) = mpsc::channel(1);
            let mut ask = Call::new("ask", json!({ "question": format!("are you {who}?") }));
            ask.asker = Some(asker);
            ask.caller = Some(CallerId(who.into()));
            let answering = async {
                let question = questions.recv().await.unwrap();
                let content =
                    json!({ "answer": format!("{who}: {}", question.params.value()["message"]) });
                question
                    .reply
                    .send(Ok(json!({ "action": "accept", "content": content }).into()))
                    .unwrap();
            };
            let name = BackendName::from("demo");
            let (output, ()) = tokio::join!(backends.call(&name, ask), answering);
            complete(output).unwrap().structured().unwrap()["content"]["answer"].clone()
        }
    };
    let (first, second) = tokio::join!(ask("Ada"), ask("Bob"));
    assert_eq!(
        (first, second),
        (
            json!("Ada: \"are you Ada?\""),
            json!("Bob: \"are you Bob?\"")
        )
    );
    backends.forget(&CallerId("Ada".into())).await;
    backends.shutdown().await;
}

#[tokio::test]
async fn a_shared_child_that_asks_unoffered_reaches_nobody() {
    let backends = start(vec![stdio("nosy", &["nosy"])]);
    let ask = || async {
        let (asker, mut questions) = mpsc::channel(1);
        let mut call = Call::new("do", json!({}));
        call.asker = Some(asker);
        let name = BackendName::from("nosy");
        tokio::select! {
            output = backends.call(&name, call) => complete(output).unwrap().content_map(),
            Some(question) = questions.recv() => panic!("asked {question:?}"),
        }
    };
    let (first, second) = tokio::join!(ask(), ask());
    assert_eq!(
        (&first["text"], &second["text"]),
        (&json!("-32601"), &json!("-32601"))
    );
    // Who looks is told what to do about it, once.
    let told = remark(&backends).await;
    assert!(told.contains("`session: per-client`"), "{told}");
    backends.shutdown().await;

    let mut options = stdio("nosy", &["nosy"]);
    options.session = SessionScope::PerClient;
    let backends = start(vec![options]);
    let call = call(&backends, "nosy", "do", json!({})).await;
    assert_eq!(call.unwrap().content_map()["text"], "-32601");
    let told = remark(&backends).await;
    assert!(told.ends_with("takes no questions"), "{told}");
    backends.shutdown().await;
}

/// What is said of the first backend, once anything is.
async fn remark(backends: &onecall_backends::Backends) -> String {
    let told = async {
        while backends.status()[0].remarks.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    let mut remarks = backends.status().remove(0).remarks;
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    remarks.remove(0)
}

#[tokio::test]
async fn a_child_that_asks_outside_of_calls_is_refused_without_a_word() {
    // It asks while it is asked for its tools, and tells them once it is refused.
    let script = r#"
        id() { id="${line#*\"id\":}"; id="${id%%,*}"; }
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
        read -r line; id; answer '{"protocolVersion":"2025-06-18","capabilities":{}}'
        read -r line; read -r line; id
        printf '{"jsonrpc":"2.0","id":"q","method":"roots/list"}\n'
        read -r line
        case "$line" in *-32601*) answer '{"tools":[{"name":"do"}]}' ;; esac
        read -r line; id; answer '{"content":[]}'
        read -r line
    "#;
    let mut options = BackendOptions::stdio("b", "sh", &["-c", script]);
    options.era = Some(Era::Legacy);
    let backends = start(vec![options]);
    call(&backends, "b", "do", json!({})).await.unwrap();
    let remarks = backends.status().remove(0).remarks;
    assert!(remarks.is_empty(), "{remarks:?}");
    backends.shutdown().await;
}

#[tokio::test]
async fn a_child_that_reads_no_more_is_started_again() {
    // It opens, lists its tools, and leaves its output open behind a closed input.
    let script = r#"
        id() { id="${line#*\"id\":}"; id="${id%%,*}"; }
        answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
        read -r line; id; answer '{"protocolVersion":"2025-06-18","capabilities":{}}'
        read -r line; read -r line; id; exec 0<&-
        answer '{"tools":[{"name":"do"}]}'
        exec sleep 60
    "#;
    let mut options = BackendOptions::stdio("b", "sh", &["-c", script]);
    options.era = Some(Era::Legacy);
    options.call_timeout = Some(PATIENCE);
    options.grace = Duration::ZERO;
    let backends = start(vec![options]);
    let lost = call(&backends, "b", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&lost), "UnknownOutcome");
    assert!(lost.to_string().contains("takes no more input"), "{lost}");
    let restarted = async {
        while backends.status()[0].connects < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, restarted).await.unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn a_child_that_falls_silent_is_suspended_then_restarted() {
    let mut hung = stdio("hung", &["hung"]);
    hung.call_timeout = Some(Duration::from_millis(50));
    let backends = start(vec![hung]);
    backends.settle(PATIENCE).await;
    for _ in 0..5 {
        let silent = call(&backends, "hung", "do", json!({})).await.unwrap_err();
        assert!(
            matches!(silent, CallError::Timeout { sent: true, .. }),
            "{silent:?}"
        );
    }
    let became = async {
        while !matches!(backends.status()[0].state, BackendState::Silent { .. }) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let status = backends.status().remove(0);
        assert!(matches!(status.breaker, Breaker::Open | Breaker::HalfOpen));
        let last = status.last_error.unwrap();
        assert!(last.contains("answers neither calls nor"), "{last}");
        let began = Instant::now();
        let refused = call(&backends, "hung", "do", json!({})).await.unwrap_err();
        assert_eq!(way(&refused), "Unavailable");
        assert!(
            began.elapsed() < Duration::from_millis(40),
            "{:?}",
            began.elapsed()
        );
        while backends.status()[0].connects < 2 || backends.status()[0].state != BackendState::Ready
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(backends.status()[0].breaker, Breaker::Closed);
    };
    tokio::time::timeout(PATIENCE, became).await.unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn a_child_that_is_probed_is_found_silent_without_a_call() {
    for (unanswered_max, told) in [(1, "nor 1 probe"), (2, "nor 2 probes")] {
        let mut hung = stdio("hung", &["hung"]);
        hung.health = HealthOptions {
            probe_every: Some(Duration::from_millis(20)),
            probe_timeout: Duration::from_millis(50),
            unanswered_max,
            rest: Some(Duration::from_hours(1)),
            ..HealthOptions::default()
        };
        let backends = start(vec![hung]);
        backends.settle(PATIENCE).await;
        let became = async {
            while !matches!(backends.status()[0].state, BackendState::Silent { .. }) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, became).await.unwrap();
        let status = backends.status().remove(0);
        // The last probe that is left unanswered counts, and then it has its rest.
        assert!(status.last_error.unwrap().ends_with(told));
        assert_eq!((status.breaker, status.connects), (Breaker::Open, 1));
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let mut lost = stdio("lost", &["demo"]);
    if let TransportOptions::Stdio(options) = &mut lost.transport {
        options.cwd = Some("/no/such/folder".into());
    }
    let backends = start(vec![lost]);
    let error = call(&backends, "lost", "add", json!({ "a": 1, "b": 2 }))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("its folder `/no/such/folder` is not there"),
        "{error}"
    );
    backends.shutdown().await;
}

#[tokio::test]
async fn what_a_child_says_that_is_not_ready_in_time_is_told() {
    let script = "echo 'npm warn: fetching 300 packages' >&2; echo Listening on port 3000; \
        while read line; do :; done";
    let mut slow = BackendOptions::stdio("slow", "sh", &["-c", script]);
    slow.connect_timeout = Duration::from_millis(500);
    let backends = start(vec![slow]);
    let failed = call(&backends, "slow", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&failed), "Unavailable");
    for told in [
        "no connection within 0.5 s (`connect_timeout` sets how long it may take)",
        "; 1 line of its output was no message: Listening on port 3000",
        "; its last words: npm warn: fetching 300 packages",
    ] {
        assert!(failed.to_string().contains(told), "{failed}");
    }
    // Whoever looks while it is being started sees it too.
    let seen = async {
        while backends.status()[0].stderr.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap();
    backends.shutdown().await;
}

#[tokio::test]
async fn a_program_that_speaks_something_else_is_given_up_and_quoted() {
    let backends = start(vec![BackendOptions::stdio("yes", "yes", &[])]);
    let failed = call(&backends, "yes", "do", json!({})).await.unwrap_err();
    assert_eq!(way(&failed), "Unavailable");
    let told = "it writes no JSON-RPC to stdout: `y`";
    assert!(failed.to_string().ends_with(told), "{failed}");
    assert_eq!(backends.status()[0].last_error.as_deref(), Some(told));
    backends.shutdown().await;
}

#[tokio::test]
async fn a_line_without_end_is_told_as_the_reason_and_not_what_became_of_the_child() {
    let script = "tr '\\0' x < /dev/zero";
    let mut options = BackendOptions::stdio("b", "sh", &["-c", script]);
    options.era = Some(Era::Legacy);
    options.call_timeout = Some(PATIENCE);
    let backends = start(vec![options]);
    let failed = call(&backends, "b", "do", json!({})).await.unwrap_err();
    let told = "it sent a line of more than 268435456 bytes";
    assert!(failed.to_string().ends_with(told), "{failed}");
    backends.shutdown().await;
}
