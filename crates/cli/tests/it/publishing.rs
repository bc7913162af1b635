//! What is published, as clients of both eras see it: compositions of a suite by `publish` and by `expose`, a workflow
//! file with typed outputs, and an output too large to be shown whole.

use crate::http::{self, Session};
use crate::support::{run, serve};
use serde_json::{Value, json};
use std::path::Path;

const SUITE: &str = r#"servers: {demo: {command: [onecall, demo]}}
compositions:
- name: shout
  description: Says it louder
  publish: true
  nodes:
  - {id: one, tool: echo, args: {text: "${var.who}"}, transform: {jq: "{said: .content[0].text}"}}
  - {id: two, needs: [one], tool: echo, args: {text: "${one.said}!"}, transform: {jq: "{said: .content[0].text}"}}
  output: two
- name: whole
  nodes:
  - {id: one, tool: echo, args: {text: hi}, transform: {jq: ".content[0].text"}}
  - {id: two, needs: [one], tool: echo, args: {text: "<${one}>"}, transform: {jq: ".content[0].text"}}
  output: {assemble: "{said: .nodes.two}"}
"#;

const WORKFLOW: &str = r#"workflow: greet
title: Greeter
description: Greets somebody
inputs: { who: string, times: integer = 2 }
steps:
  say: { tool: demo.echo, with: { text: "${{ .inputs.who }} x${{ .inputs.times }}" }, transform: "{said: .content[0].text}" }
  fail: { if: "${{ .inputs.times == 9 }}", needs: [say], tool: demo.fail }
outputs:
  said: { type: string, value: "${{ .steps.say.said }}" }
"#;

fn written(home: &Path, name: &str, text: &str) -> String {
    let file = home.join(name);
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A client of either era.
enum Client {
    Modern(String),
    Handshake(Session),
}

impl Client {
    fn result(&self, method: &str, params: Value) -> Value {
        let answer = match self {
            Self::Modern(url) => http::modern(url, method, params),
            Self::Handshake(session) => http::read(session.send(method, &params)).unwrap(),
        };
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.result()
    }
}

fn tool(client: &Client, name: &str) -> Option<Value> {
    let list = client.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).cloned()
}

fn called(client: &Client, name: &str, arguments: &Value) -> Value {
    client.result(
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
    )
}

/// Clients of both eras of a server with these files.
fn with_clients(files: &[(&str, &str)], check: impl Fn(&Client)) {
    let home = tempfile::tempdir().unwrap();
    let files = files
        .iter()
        .map(|(name, text)| written(home.path(), name, text));
    let files: Vec<String> = files.collect();
    let mut words: Vec<&str> = files.iter().map(String::as_str).collect();
    words.push("--ephemeral");
    let (_running, url) = serve(home.path(), &words);
    check(&Client::Handshake(Session::open(&url)));
    check(&Client::Modern(url));
}

#[test]
fn a_composition_is_a_tool_where_the_suite_says_so() {
    with_clients(&[("suite.yaml", SUITE)], |client| {
        let shout = tool(client, "shout").unwrap();
        assert_eq!(shout["description"], "Says it louder");
        assert_eq!(
            shout["inputSchema"],
            json!({ "type": "object", "properties": { "who": {} }, "required": ["who"] })
        );
        assert!(tool(client, "whole").is_none());
        let result = called(client, "shout", &json!({ "who": "Ada" }));
        assert_eq!(
            result["structuredContent"],
            json!({ "said": "Ada!" }),
            "{result}"
        );
        assert_eq!(
            result["content"][0]["text"], r#"{"said":"Ada!"}"#,
            "{result}"
        );
        assert_ne!(result["isError"], true, "{result}");
        let refused = called(client, "shout", &json!({}));
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(refused["_meta"]["dev.onecall/error"]["category"], "input");
    });
}

#[test]
fn the_configuration_exposes_compositions_by_name() {
    let configuration = "backends: {}\nexpose: {tools: false, compositions: [whole]}\n";
    with_clients(
        &[("suite.yaml", SUITE), ("onecall.yaml", configuration)],
        |client| {
            let result = called(client, "whole", &json!({}));
            assert_eq!(
                result["structuredContent"],
                json!({ "said": "<hi>" }),
                "{result}"
            );
            assert!(tool(client, "shout").is_some());
            assert!(tool(client, "demo_echo").is_none());
        },
    );
    let all = "backends: {}\nexpose: {compositions: all}\n";
    with_clients(&[("suite.yaml", SUITE), ("onecall.yaml", all)], |client| {
        assert!(tool(client, "whole").is_some() && tool(client, "demo_echo").is_some());
    });
}

#[test]
fn compat_reads_a_suite_as_the_program_does() {
    let home = tempfile::tempdir().unwrap();
    let suite = written(home.path(), "suite.yaml", SUITE);
    let words = ["call", &suite, "whole", "--ephemeral"];
    let page = run(home.path(), &words);
    assert_eq!(page.json(), json!({ "said": "<hi>" }), "{page:?}");
    let told = run(home.path(), &["check", &suite]);
    assert!(told.err.contains("the page is followed"), "{told:?}");
    let program = run(
        home.path(),
        &[&words[..], &["--compat", "mcptest-1.3"]].concat(),
    );
    assert_eq!(program.json(), json!({ "said": "<>" }), "{program:?}");
    let told = run(home.path(), &["check", &suite, "--compat", "mcptest-1.3"]);
    assert!(!told.err.contains("the page is followed"), "{told:?}");
}

#[test]
fn a_workflow_file_is_a_tool_with_typed_inputs_and_outputs() {
    let configuration = "backends: {demo: {command: onecall, args: [demo]}}\n";
    with_clients(
        &[
            ("greet.workflow.yaml", WORKFLOW),
            ("onecall.yaml", configuration),
        ],
        |client| {
            let greet = tool(client, "workflow:greet").unwrap();
            assert_eq!(
                (&greet["title"], &greet["description"]),
                (&json!("Greeter"), &json!("Greets somebody"))
            );
            let inputs = json!({
                "type": "object", "required": ["who"],
                "properties": { "who": { "type": "string" }, "times": { "type": "integer", "default": 2 } },
            });
            assert_eq!(greet["inputSchema"], inputs);
            assert_eq!(
                greet["outputSchema"]["properties"]["said"]["type"],
                "string"
            );
            let result = called(client, "workflow:greet", &json!({ "who": "Ada" }));
            assert_eq!(
                result["structuredContent"],
                json!({ "said": "Ada x2" }),
                "{result}"
            );
            assert_eq!(
                result["content"][0]["text"], r#"{"said":"Ada x2"}"#,
                "{result}"
            );
            let failed = called(
                client,
                "workflow:greet",
                &json!({ "who": "Ada", "times": 9 }),
            );
            assert_eq!(failed["isError"], true, "{failed}");
            let failure = &failed["_meta"]["dev.onecall/error"];
            assert_eq!(failure["code"], "tool.error", "{failed}");
            assert_eq!(
                (&failure["category"], &failure["step_id"]),
                (&json!("tool"), &json!("fail"))
            );
            assert!(
                failure["message"].is_string() && failure["retryable"].is_boolean(),
                "{failed}"
            );
            assert_eq!(
                failure["partial"]["output"],
                json!({ "said": "Ada x9" }),
                "{failed}"
            );
        },
    );
}

#[test]
fn outputs_above_the_limit_are_shown_by_their_beginning_and_linked() {
    let workflow = "workflow: long\nsteps: { say: { tool: demo.echo, with: { text: \"${{ [range(200)] | join(\\\",\\\") }}\" } } }\n";
    let shown = |limits: &str, client: &dyn Fn(&Client, &Value)| {
        let configuration =
            format!("backends: {{demo: {{command: onecall, args: [demo]}}}}\n{limits}");
        with_clients(
            &[
                ("long.workflow.yaml", workflow),
                ("onecall.yaml", &configuration),
            ],
            |own| {
                client(own, &called(own, "workflow:long", &json!({})));
            },
        );
    };
    shown("", &|_, result| {
        assert!(!result.to_string().contains("resource_link"), "{result}");
    });
    shown("limits: {shown_bytes: 100}\n", &|client, result| {
        let [preview, link] = [&result["content"][0], &result["content"][1]];
        let text = preview["text"].as_str().unwrap();
        assert!(
            text.contains("Its first 100 bytes:\n{") && !text.contains("198,199"),
            "{result}"
        );
        assert_eq!(link["type"], "resource_link", "{result}");
        let uri = link["uri"].as_str().unwrap();
        assert!(uri.starts_with("onecall://runs/"), "{result}");
        let read = client.result("resources/read", json!({ "uri": uri }));
        assert!(
            read["contents"][0]["text"]
                .as_str()
                .unwrap()
                .contains("198,199"),
            "{read}"
        );
    });
}

#[test]
fn check_tells_what_the_list_costs_and_who_refuses_a_name() {
    let home = tempfile::tempdir().unwrap();
    let file = written(home.path(), "greet.workflow.yaml", WORKFLOW);
    let checked = run(home.path(), &["check", &file]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let line = checked
        .out
        .lines()
        .find(|line| line.starts_with("published as 1 tool, about "));
    let tokens = line.and_then(|line| line.split(' ').nth(5)).unwrap();
    assert!(
        (40..400).contains(&tokens.parse::<u32>().unwrap()),
        "{checked:?}"
    );
    let refused = "`workflow:greet` is refused by Claude Desktop, claude.ai";
    assert!(checked.out.contains(refused), "{checked:?}");
    let plain = written(
        home.path(),
        "onecall.yaml",
        "backends: {}\nnames: {prefix: p_}\n",
    );
    let checked = run(home.path(), &["check", &file, &plain]);
    assert!(!checked.out.contains("refused"), "{checked:?}");
}
