//! Drives one backend from the command line, for checks against other people's programs.
//! `drive URL` does what the scenarios of the protocol's conformance suite expect of a client;
//! `drive list COMMAND ARGS…` prints revision and tools; `drive call TOOL JSON COMMAND ARGS…`
//! prints the result as received. A URL may stand in place of a command.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::time::Duration;

use onecall_backends::{
    BackendName, BackendOptions, Backends, Call, CallerId, ClientInfo, ListKind, Question,
    Requester, SessionScope, Takes,
};
use onecall_mcp::{CallAnswer, Exact, Tool};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (backends, name) = match words[..] {
        ["list", command, ref args @ ..] | ["call", _, _, command, ref args @ ..] => {
            start(command, args)?
        }
        [.., url] => start(url, &[])?,
        [] => return Err("say what to drive".into()),
    };
    let outcome = match words[..] {
        ["list", ..] => list(&backends, &name).await,
        ["call", tool, json, ..] => call(&backends, &name, tool, json).await,
        _ => conform(&backends, &name).await,
    };
    backends.shutdown().await;
    outcome
}

fn start(target: &str, args: &[&str]) -> Result<(Backends, BackendName), Failure> {
    let mut options = if target.starts_with("http") {
        BackendOptions::http("b", target)
    } else {
        BackendOptions::stdio("b", target, args)
    };
    options.session = SessionScope::PerClient;
    let client = ClientInfo {
        name: "onecall-drive".to_owned(),
        version: "1".to_owned(),
    };
    Ok((Backends::start(&client, vec![options])?, "b".into()))
}

async fn list(backends: &Backends, name: &BackendName) -> Result<(), Failure> {
    let tools = backends.tools_of(name).await?;
    let status = &backends.status()[0];
    let names: Vec<_> = tools.iter().map(Tool::name).collect();
    let server = status.server_info.clone().unwrap_or_default();
    let revision = status.revision.unwrap_or("?");
    println!(
        "{revision} {} {}: {} tools: {}",
        server["name"],
        server["version"],
        names.len(),
        names.join(" ")
    );
    Ok(())
}

async fn call(
    backends: &Backends,
    name: &BackendName,
    tool: &str,
    arguments: &str,
) -> Result<(), Failure> {
    let call = Call::new(tool, serde_json::from_str::<Value>(arguments)?);
    match backends.call(name, call).await? {
        CallAnswer::Complete(result) => println!("{}", result.raw().get()),
        other => println!("{other:?}"),
    }
    Ok(())
}

/// Lists everything, calls every tool, answers every question with its defaults.
async fn conform(backends: &Backends, name: &BackendName) -> Result<(), Failure> {
    let tools = backends.tools_of(name).await?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let given = context
        .get("toolCalls")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut calls: Vec<Call> = given
        .iter()
        .filter_map(|call| Some(Call::new(call["name"].as_str()?, call["arguments"].clone())))
        .collect();
    for tool in tools.iter() {
        if calls.iter().all(|call| call.tool != tool.name()) {
            let schema = tool.input_schema().cloned().unwrap_or_default();
            let mut arguments = sample(&schema);
            if tool.name() == "json_schema_echo" {
                // Wants the schema of the tool listed before it, as we received it.
                let echoed = tools.first().and_then(Tool::input_schema);
                for value in arguments
                    .as_object_mut()
                    .into_iter()
                    .flat_map(Map::values_mut)
                {
                    *value = echoed.cloned().unwrap_or_default();
                }
            }
            calls.push(Call::new(tool.name(), arguments));
        }
    }
    let nobody = Requester::default();
    let extras = async {
        for prompt in backends.list(name, ListKind::Prompts).await?.iter() {
            let params = json!({ "name": prompt.value()["name"], "arguments": {} });
            backends
                .request(name, "prompts/get", params.into(), &nobody)
                .await?;
        }
        for resource in backends.list(name, ListKind::Resources).await?.iter() {
            let params = json!({ "uri": resource.value()["uri"] });
            backends
                .request(name, "resources/read", params.into(), &nobody)
                .await?;
        }
        Ok::<_, onecall_backends::CallError>(())
    };
    extras.await?;
    let runs = calls.into_iter().map(|call| run(backends, name, call));
    for outcome in futures::future::join_all(runs).await {
        println!("{outcome:?}");
    }
    // Something may still be told after the last answer.
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

async fn run(backends: &Backends, name: &BackendName, mut call: Call) -> Result<String, Failure> {
    let (asker, questions) = mpsc::channel(8);
    call.asker = Some(asker);
    call.takes = Takes::ALL;
    call.caller = Some(CallerId("drive".into()));
    let answering = tokio::spawn(answer_all(questions));
    for _ in 0..10 {
        match backends.call(name, call.clone()).await? {
            CallAnswer::Complete(result) => {
                answering.abort();
                return Ok(format!("{}: {}", call.tool, result.raw().get()));
            }
            CallAnswer::InputRequired(asked) => {
                let answers: Vec<_> = asked
                    .requests
                    .iter()
                    .map(|(key, request)| (key.clone(), accepted(&request.value()["params"])))
                    .collect();
                call.input_responses = (!answers.is_empty()).then(|| answers.into_iter().collect());
                call.request_state = asked.request_state;
            }
            CallAnswer::Task(task) => return Ok(format!("{}: task {task:?}", call.tool)),
        }
    }
    Err("asked too often".into())
}

async fn answer_all(mut questions: mpsc::Receiver<Box<Question>>) {
    while let Some(question) = questions.recv().await {
        let _ = question.reply.send(Ok(accepted(question.params.value())));
    }
}

fn accepted(params: &Value) -> Exact {
    let content = sample(params.get("requestedSchema").unwrap_or(&Value::Null));
    onecall_mcp::answer("accept", Some(content)).into()
}

/// A value for each property: its default, its first choice, or something of its type.
fn sample(schema: &Value) -> Value {
    let empty = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let one = |(name, property): (&String, &Value)| {
        let first = |key: &str| property.get(key).and_then(|list| list.get(0)).cloned();
        let value = property
            .get("default")
            .cloned()
            .or_else(|| first("enum"))
            .unwrap_or_else(|| match property["type"].as_str() {
                Some("integer" | "number") => json!(5),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => json!("test"),
            });
        (name.clone(), value)
    };
    Value::Object(properties.iter().map(one).collect())
}
