//! What a backend says and asks while it answers, and what it is answered, on the way to each kind of client and back.

use super::kinds::{ALL, Kind, call, update};
use crate::client::{ODD, spelled};
use onecall_mcp::read_leniently;
use serde_json::{Value, json};

const LISTED: &str = r#"{"tools":[{"name":"t"}]}"#;

/// Makes a backend one of the modern era.
const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"answers","version":"1"}}"#;

/// What a backend was told stands in its result as a text.
const DONE: &str = r#"{"content":[],"heard":HEARD}"#;

/// The backend of a call that is answered so, of either era.
fn backend(is_modern: bool, answer: &str) -> Vec<(&'static str, String)> {
    let mut answers = vec![
        ("tools/list", LISTED.to_owned()),
        ("tools/call", answer.to_owned()),
        ("tools/call again", DONE.to_owned()),
    ];
    if is_modern {
        answers.push(("server/discover", DISCOVERED.to_owned()));
    }
    answers
}

/// Some message among those told says this.
fn assert_told(kind: Kind, told: &[String], wanted: &str) {
    let has = told.iter().any(|message| message.contains(wanted));
    assert!(has, "{kind:?}\n{}\nlack\n{wanted}", told.join("\n"));
}

#[tokio::test]
async fn progress_and_logs_arrive_as_they_were_written() {
    let progress = format!(
        r#""x":{ODD},"progress":1.10,"total":123456789012345678901234567890,"message":"\u0041","_meta":{ODD}"#
    );
    let log = format!(r#"{{"data":{ODD},"level":"info","_meta":{ODD},"x":1.10}}"#);
    let answer = format!(
        "tell {{\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":TOKEN,{progress}}}}}\n\
         tell {{\"method\":\"notifications/message\",\"params\":{log}}}\n\
         {DONE}"
    );
    for is_modern in [false, true] {
        let answers = backend(is_modern, &answer);
        for kind in ALL.into_iter().filter(|kind| *kind != Kind::Direct) {
            let told = call(kind, &answers, &Value::Null).await;
            assert_eq!(told.len(), 3, "{kind:?} {told:?}");
            let progress = format!(r#""params":{{"progressToken":"p",{progress}}}"#);
            assert_told(kind, &told[..1], &progress);
            assert_told(kind, &told[1..2], &format!(r#""params":{log}"#));
        }
    }
}

#[tokio::test]
async fn questions_arrive_as_they_were_written() {
    let form = format!(
        r#"{{"x":{ODD},"message":"\u0041","requestedSchema":{{"type":"object","properties":{{"n":{{"type":"number","maximum":123456789012345678901234567890,"default":1.10}}}}}},"_meta":{ODD}}}"#
    );
    let page = format!(
        r#"{{"mode":"url","elicitationId":"e","x":{ODD},"url":"https:\/\/example.com","message":"m"}}"#
    );
    let sample = format!(r#"{{"messages":[],"maxTokens":1E+2,"metadata":{ODD}}}"#);
    let roots = format!(r#"{{"_meta":{ODD}}}"#);
    for (method, params) in [
        ("elicitation/create", &form),
        ("elicitation/create", &page),
        ("sampling/createMessage", &sample),
        ("roots/list", &roots),
    ] {
        let question = format!(r#"{{"method":"{method}","params":{params}}}"#);
        let live = format!("ask {question}\n{DONE}");
        let carried = format!(
            r#"{{"resultType":"input_required","requestState":"s","inputRequests":{{"k":{question}}}}}"#
        );
        for (is_modern, answer) in [(false, &live), (true, &carried)] {
            let answers = backend(is_modern, answer);
            for kind in ALL {
                let told = call(kind, &answers, &json!({ "action": "accept" })).await;
                assert_told(kind, &told[..1], &format!(r#""params":{params}"#));
                assert_told(kind, &told[1..], "accept");
            }
        }
    }
}

#[tokio::test]
async fn what_stands_beside_questions_arrives_as_it_was_written() {
    let question = r#"{"x":1.10,"method":"roots/list"}"#;
    let asks = |state: &str| {
        format!(
            r#""x":{ODD},"resultType":"input_required","requestState":"{state}","inputRequests":{{"k": {question}}},"_meta":{{"own":{ODD}"#
        )
    };
    let answers = backend(true, &format!("{{{}}}}}", asks("s")));
    for kind in ALL {
        if matches!(kind, Kind::Session | Kind::SessionLines) {
            continue;
        }
        let told = call(kind, &answers, &json!({ "roots": [] })).await;
        let read: Value = read_leniently(&told[0]).unwrap();
        let result = &read["result"];
        let state = result["requestState"].as_str().unwrap();
        assert_told(kind, &told[..1], &asks(state));
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "test");
    }
}

#[tokio::test]
async fn answers_reach_the_backend_as_they_were_written() {
    let answer =
        json!({ "x": "@odd", "action": "accept", "content": { "n": "@odd" }, "_meta": "@odd" });
    let written = spelled(&answer);
    let question = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}"#;
    let sampling = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
    for question in [question, sampling] {
        let live = format!("ask {question}\n{DONE}");
        let carried =
            format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{question}}}}}"#);
        for (is_modern, asks) in [(false, &live), (true, &carried)] {
            for kind in ALL {
                let told = call(kind, &backend(is_modern, asks), &answer).await;
                let heard = heard(told.last().unwrap());
                let wanted = if is_modern {
                    format!(r#""inputResponses":{{"k":{written}}}"#)
                } else {
                    written.clone()
                };
                assert_told(kind, &[heard], &wanted);
            }
        }
    }
}

#[tokio::test]
async fn errors_reach_the_backend_as_they_were_written() {
    let question = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}"#;
    let live = format!("ask {question}\n{DONE}");
    let carried =
        format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{question}}}}}"#);
    for error in [
        json!({ "x": "@odd", "code": -1, "message": "no", "data": "@odd" }),
        json!({ "code": 5_000_000_000_i64, "message": "no" }),
    ] {
        let answer = json!({ "error": error });
        for kind in [Kind::Session, Kind::SessionLines] {
            let told = call(kind, &backend(false, &live), &answer).await;
            assert_eq!(heard(told.last().unwrap()), spelled(&error));
            // A modern backend cannot be told; the call fails.
            let told = call(kind, &backend(true, &carried), &answer).await;
            let failed = format!("the client did not answer: no (code {})", error["code"]);
            assert_told(kind, &told[1..], &failed);
        }
    }
}

/// What the backend was told, as its result has it.
fn heard(told: &str) -> String {
    let told: Value = read_leniently(told).unwrap();
    told["result"]["heard"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn answers_to_tasks_reach_the_backend_as_they_were_written() {
    let question = r#"{"method":"elicitation/create","params":{"message":"m"}}"#;
    let task = r#""taskId":"t","pollIntervalMs":20,"status""#;
    let mut answers = backend(
        true,
        &format!(r#"{{"resultType":"task",{task}:"working"}}"#),
    );
    let asks = format!(r#"{{{task}:"input_required","inputRequests":{{"k":{question}}}}}"#);
    // What is wrong with the update ends the call, and says what it was.
    let refuses = r#"error {"code":1,"message":HEARD}"#.to_owned();
    answers.extend([("tasks/get", asks), ("tasks/update", refuses)]);
    let answer = json!({ "x": "@odd", "action": "accept" });
    let written = serde_json::to_string(&spelled(&answer)).unwrap();
    for kind in ALL {
        let told = call(kind, &answers, &answer).await;
        assert_told(kind, &told[1..], written.trim_matches('"'));
    }
}

#[tokio::test]
async fn a_page_without_a_name_gets_one_beside_the_rest() {
    let page = format!(r#"{{"x":{ODD},"mode":"url","url":"https:\/\/example.com","message":"m""#);
    let answer = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"k":{{"method":"elicitation/create","params":{page}}}}}}}}}"#
    );
    for kind in [Kind::Session, Kind::SessionLines] {
        let told = call(
            kind,
            &backend(true, &answer),
            &json!({ "action": "accept" }),
        )
        .await;
        assert_told(kind, &told[..1], &format!(r#"{page},"elicitationId":""#));
    }
}

#[tokio::test]
async fn questions_of_tasks_arrive_as_they_were_written() {
    let params = format!(r#"{{"x":{ODD},"message":"m","requestedSchema":{{"type":"object"}}}}"#);
    let question = format!(r#"{{"method":"elicitation/create","params":{params}}}"#);
    let task = r#""taskId":"t","pollIntervalMs":20,"status""#;
    let mut answers = backend(
        true,
        &format!(r#"{{"resultType":"task",{task}:"working"}}"#),
    );
    let asks = format!(r#"{{{task}:"input_required","inputRequests":{{"k":{question}}}}}"#);
    answers.extend([
        ("tasks/get", asks),
        ("tasks/update", r#"{"heard":HEARD}"#.to_owned()),
        (
            "tasks/get again",
            format!(r#"{{{task}:"completed","result":{DONE}}}"#),
        ),
    ]);
    for kind in ALL {
        let told = call(kind, &answers, &json!({ "action": "accept" })).await;
        assert_told(kind, &told[..1], &format!(r#""params":{params}"#));
    }
}

#[tokio::test]
async fn the_end_of_a_page_arrives_as_it_was_written() {
    let page = r#"{"mode":"url","elicitationId":"e","url":"https://example.com","message":"m"}"#;
    let done = format!(r#"{{"x":{ODD},"elicitationId":"e","_meta":{ODD}}}"#);
    let answer = format!(
        "ask {{\"method\":\"elicitation/create\",\"params\":{page}}}\n\
         tell {{\"method\":\"notifications/elicitation/complete\",\"params\":{done}}}\n\
         ask {{\"method\":\"roots/list\"}}\n\
         {DONE}"
    );
    let kind = Kind::SessionLines;
    let told = call(
        kind,
        &backend(false, &answer),
        &json!({ "action": "accept" }),
    )
    .await;
    assert_told(kind, &told, &format!(r#""params":{done}"#));
}

#[tokio::test]
async fn updates_of_resources_arrive_as_they_were_written() {
    let told = format!(r#""x":{ODD},"uri":"x://1""#);
    let meta = format!(r#"{{"own":{ODD},"io.modelcontextprotocol/subscriptionId":1}}"#);
    let updated = format!(
        "tell {{\"method\":\"notifications/resources/updated\",\"params\":{{{told},\"_meta\":{meta}}}}}\n{{}}"
    );
    let listed = r#"{"resources":[{"uri":"x://1","name":"one"}]}"#.to_owned();
    let answers = [("resources/list", listed), ("resources/subscribe", updated)];
    for kind in ALL.into_iter().filter(|kind| *kind != Kind::Direct) {
        let (line, id) = update(kind, &answers, "x://1").await;
        let own = match kind {
            Kind::Session | Kind::SessionLines => String::new(),
            _ => format!(r#","io.modelcontextprotocol/subscriptionId":{id}"#),
        };
        let meta = format!(r#""_meta":{{"own":{ODD}{own}}}"#);
        assert_told(kind, &[line], &format!(r#""params":{{{told},{meta}}}"#));
    }
}
