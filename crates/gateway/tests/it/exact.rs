//! What a backend sends reaches clients as it was written: digits, exponents, the order of keys, fields that nobody knows.
//! In both eras, over HTTP and stdio.

mod kinds;
mod saying;

use crate::client::{Http, MODERN, ODD, spelled};
use crate::stdio::connect_to;
use crate::world::{World, backend, started};
use onecall_config::settings::{Aggregation, Backend, Server, Session, Strategy};
use onecall_journal::MemoryStore;
use serde_json::{Value, json};

/// A server with one backend that answers so, under bare names.
fn server(answers: &[(&str, String)]) -> Server {
    let mut args = vec!["answers"];
    for (method, text) in answers {
        args.extend([*method, text.as_str()]);
    }
    Server {
        name: "test".to_owned(),
        backends: vec![Backend {
            session: Session::PerClient,
            ..backend("exact", &args)
        }],
        aggregation: Aggregation {
            strategy: Strategy::Priority { order: Vec::new() },
            ..Aggregation::default()
        },
        ..Server::default()
    }
}

/// What clients of each kind are answered: modern and handshake over HTTP, then over stdio. The second of the modern
/// ones goes through `rmcp`.
async fn answered(answers: &[(&str, String)], method: &str, params: &Value) -> [String; 5] {
    let world = World::serving(server(answers)).await;
    let mut modern = Http::new(world.address);
    let direct = modern.modern(method, params.clone()).await.text().await;
    let mut heard = params.clone();
    heard["_meta"]["progressToken"] = json!("p");
    let through = modern.modern(method, heard).await.text().await;
    let mut legacy = Http::new(world.address);
    legacy.initialize("2025-11-25", json!({})).await;
    let session = legacy.legacy(method, params.clone()).await.text().await;
    world.end().await;

    let mut params = params.clone();
    let request =
        |params: &Value| json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let mut pipe = connect_to(started(server(answers), &MemoryStore::default()).await).await;
    kinds::open_lines(&mut pipe, json!({})).await;
    pipe.write(&spelled(&request(&params))).await;
    let line = pipe.next_line().await;
    pipe.rest().await;

    let mut pipe = connect_to(started(server(answers), &MemoryStore::default()).await).await;
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    pipe.write(&spelled(&request(&params))).await;
    let modern_line = pipe.next_line().await;
    pipe.rest().await;
    [direct, through, session, line, modern_line]
}

/// Every client is told `wanted`, as it is written.
async fn check(answers: &[(&str, String)], method: &str, params: Value, wanted: &[&str]) {
    for told in answered(answers, method, &params).await {
        for wanted in wanted {
            assert!(told.contains(wanted), "{method}\n{told}\nlacks\n{wanted}");
        }
    }
}

#[tokio::test]
async fn a_resource_that_is_read_arrives_as_it_was_written() {
    let contents = format!(r#""contents":[{{"uri":"x://1","text":"t","_meta":{ODD}}}]"#);
    let vendor = format!(r#""vendor":{ODD}"#);
    let mine = r#""mine":1.10"#;
    let result = format!(r#"{{{vendor},{contents},"_meta":{{{mine}}}}}"#);
    let listed = r#"{"resources":[{"uri":"x://1","name":"one"}]}"#.to_owned();
    let answers = [("resources/read", result), ("resources/list", listed)];
    let read = json!({ "uri": "x://1" });
    check(
        &answers,
        "resources/read",
        read,
        &[&contents, &vendor, mine],
    )
    .await;
}

#[tokio::test]
async fn a_prompt_and_a_completion_arrive_as_they_were_written() {
    let messages =
        format!(r#""messages":[{{"role":"user","content":{{"type":"new","x":{ODD}}}}}]"#);
    let completion = format!(r#""completion":{{"values":[],"total":0,"x":{ODD}}}"#);
    let answers = [
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#.to_owned()),
        ("prompts/get", format!("{{{messages}}}")),
        ("completion/complete", format!("{{{completion}}}")),
    ];
    check(
        &answers,
        "prompts/get",
        json!({ "name": "p" }),
        &[&messages],
    )
    .await;
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" },
        "argument": { "name": "a", "value": "" } });
    check(&answers, "completion/complete", complete, &[&completion]).await;
}

#[tokio::test]
async fn parameters_of_other_requests_reach_the_backend_as_they_were_written() {
    let heard = |key: &str| format!(r#"{{"{key}":[],"heard":HEARD}}"#);
    let answers = [
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#.to_owned()),
        ("prompts/get", heard("messages")),
        ("completion/complete", heard("completion")),
        ("resources/read", heard("contents")),
    ];
    let mine = format!(r#""mine":{ODD}"#);
    for (method, params) in [
        (
            "prompts/get",
            json!({ "x": "@odd", "name": "p", "arguments": { "n": "@odd" } }),
        ),
        ("resources/read", json!({ "x": "@odd", "uri": "x://1" })),
        (
            "completion/complete",
            json!({ "x": "@odd", "ref": { "y": "@odd", "type": "ref/prompt", "name": "p" },
                "argument": { "n": "@odd", "name": "a", "value": "" } }),
        ),
    ] {
        let mut given = params.clone();
        given["_meta"] = json!({ "mine": "@odd" });
        for told in answered(&answers, method, &given).await {
            let wanted = spelled(&params);
            let told: Value = onecall_mcp::read_leniently(message_of(&told)).unwrap();
            let heard = told["result"]["heard"].as_str().unwrap();
            assert!(heard.starts_with(wanted.trim_end_matches('}')), "{heard}");
            assert!(heard.contains(&mine), "{heard}");
        }
    }
}

/// The last message of an answer, be it an event of a stream or all there is.
fn message_of(told: &str) -> &str {
    let events = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut messages = events.filter(|data| data.starts_with('{'));
    messages.next_back().unwrap_or(told)
}

#[tokio::test]
async fn what_a_backend_says_of_its_error_arrives_as_it_was_written() {
    let data = format!(r#""data":{{"why":{ODD}}}"#);
    let error = format!(r#"error {{"z":{ODD},"code":-32000,"message":"no",{data},"a":1.10}}"#);
    let answers = [
        ("tools/list", r#"{"tools":[{"name":"t"}]}"#.to_owned()),
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#.to_owned()),
        ("tools/call", error.clone()),
        ("prompts/get", error.clone()),
    ];
    let whole = error.replace("error ", "\"error\":");
    check(&answers, "tools/call", json!({ "name": "t" }), &[&whole]).await;
    check(&answers, "prompts/get", json!({ "name": "p" }), &[&whole]).await;
}

#[tokio::test]
async fn the_code_of_an_error_arrives_as_it_was_written() {
    for code in ["5000000000", "-123456789012345678901234567890"] {
        let error = format!(r#"{{"code":{code},"message":"\u0041"}}"#);
        let answers = [
            ("tools/list", r#"{"tools":[{"name":"t"}]}"#.to_owned()),
            ("tools/call", format!("error {error}")),
        ];
        let wanted = format!(r#""error":{error}"#);
        check(&answers, "tools/call", json!({ "name": "t" }), &[&wanted]).await;
    }
}

#[tokio::test]
async fn odd_keys_leave_the_rest_as_it_was_written() {
    let half = format!(r#""_meta":{{"\ud800":{ODD},"mine":1}}"#);
    let data = format!(r#""data":{ODD}"#);
    let twice = format!(r#"error {{"code":-32000,"message":"m","message":"n",{data}}}"#);
    let answers = [
        ("tools/list", r#"{"tools":[{"name":"t"}]}"#.to_owned()),
        ("prompts/list", r#"{"prompts":[{"name":"p"}]}"#.to_owned()),
        ("tools/call", format!(r#"{{"content":[],{half}}}"#)),
        ("prompts/get", twice),
    ];
    let value = format!(":{ODD},\"mine\":1");
    check(&answers, "tools/call", json!({ "name": "t" }), &[&value]).await;
    let wanted = ["\"n\"", &data];
    check(&answers, "prompts/get", json!({ "name": "p" }), &wanted).await;
}

#[tokio::test]
async fn tools_are_listed_as_they_were_written() {
    let tool = format!(
        r#"{{"zeta":{ODD},"name":"t","inputSchema":{{"type":"object","properties":{{"n":{{"maximum":123456789012345678901234567890}}}},"x":{ODD}}},"annotations":{{"readOnlyHint":true,"v":1.10}},"_meta":{ODD},"icons":[{{"src":"data:x","size":1e400}}]}}"#
    );
    let answers = [("tools/list", format!(r#"{{"tools":[{tool}]}}"#))];
    check(&answers, "tools/list", json!({}), &[&tool]).await;
}

#[tokio::test]
async fn resources_templates_and_prompts_are_listed_as_they_were_written() {
    for (method, key, name) in [
        ("resources/list", "resources", "uri"),
        (
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
        ),
        ("prompts/list", "prompts", "name"),
    ] {
        let entry = format!(r#"{{"zeta":{ODD},"{name}":"x://1","title":"T","_meta":{ODD}}}"#);
        let answers = [(method, format!(r#"{{"{key}":[{entry}]}}"#))];
        check(&answers, method, json!({}), &[&entry]).await;
    }
}
