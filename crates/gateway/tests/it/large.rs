//! Results too large to be handed over whole, and runs as resources: linked, read, and never anybody else's.

use crate::client::Http;
use crate::world::{World, calls, server, workflow};
use onecall_config::settings::{Expose, Server};
use onecall_engine::identity::RunId;
use onecall_runtime::calls::{Reply, Request};
use onecall_workflow::expression::{Expression, nowhere};
use onecall_workflow::policy::{self, Durability};
use onecall_workflow::workflow::{
    Output, OutputKind, OutputProperties, OutputProperty, OutputSource, Unset, Workflow,
};
use serde_json::{Value, json};

const LARGE: usize = 300_000;
const SECRET: &str = "hunter22-token";

fn text() -> String {
    "ä".repeat(LARGE / 2)
}

fn says(name: &str, text: &str) -> Workflow {
    workflow(
        name,
        vec![calls("say", "demo.echo", json!({ "text": text }))],
    )
}

/// `large` says much; `declared` has an output schema; `unkept` is not stored; `failing` fails with much
/// in its output;
/// `secret` says the token of its input.
fn large_server() -> Server {
    let property = OutputProperty {
        name: "all".to_owned(),
        kind: OutputKind::String,
        description: None,
        source: OutputSource::Value(Expression::text(text())),
        default: None,
        schema: None,
        place: nowhere(),
    };
    let declared = Output::Properties(OutputProperties {
        properties: vec![property],
        required: Vec::new(),
        unset: Unset::Fails,
    });
    let failing = Workflow {
        output: declared.clone(),
        ..workflow("failing", vec![calls("fail", "demo.fail", json!({}))])
    };
    let workflows = vec![
        says("small", "little"),
        says("large", &text()),
        Workflow {
            output: declared,
            ..says("declared", "little")
        },
        Workflow {
            policy: policy::Run {
                durability: Some(Durability::None),
                ..policy::Run::default()
            },
            ..says("unkept", &text())
        },
        failing,
        Workflow {
            inputs: json!({ "type": "object", "properties": {
                "token": { "type": "string", "format": "password" } } }),
            ..says("secret", SECRET)
        },
    ];
    Server {
        workflows,
        ..server()
    }
}

/// A client of one era or the other.
struct Client {
    http: Http,
    is_modern: bool,
}

impl Client {
    async fn both(world: &World) -> [Self; 2] {
        let modern = Self {
            http: Http::new(world.address),
            is_modern: true,
        };
        [modern, Self::of_handshake(world, "2025-11-25").await]
    }

    async fn of_handshake(world: &World, version: &str) -> Self {
        let mut http = Http::new(world.address);
        let opened = http.initialize(version, json!({})).await;
        assert!(opened["capabilities"]["resources"].is_object(), "{opened}");
        Self {
            http,
            is_modern: false,
        }
    }

    async fn send(&mut self, method: &str, params: Value) -> Value {
        let mut answer = if self.is_modern {
            self.http.modern(method, params).await
        } else {
            self.http.legacy(method, params).await
        };
        answer.response().await
    }

    async fn call(&mut self, tool: &str) -> Value {
        let response = self.send("tools/call", json!({ "name": tool })).await;
        response["result"].clone()
    }

    /// The JSON document under a URI.
    async fn read(&mut self, uri: &str) -> Value {
        let response = self.send("resources/read", json!({ "uri": uri })).await;
        let content = &response["result"]["contents"][0];
        assert_eq!(content["uri"], uri, "{response}");
        assert_eq!(content["mimeType"], "application/json");
        serde_json::from_str(content["text"].as_str().unwrap()).unwrap()
    }

    async fn is_unknown(&mut self, uri: &str) {
        let response = self.send("resources/read", json!({ "uri": uri })).await;
        let code = if self.is_modern { -32602 } else { -32002 };
        let unknown = json!({ "code": code, "message": format!("no backend has a resource `{uri}`"),
            "data": { "uri": uri } });
        assert_eq!(response["error"], unknown);
    }
}

fn run_of(result: &Value) -> &str {
    result["_meta"]["dev.onecall/run"]["run_id"]
        .as_str()
        .unwrap()
}

fn link_of(result: &Value) -> &Value {
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link");
    assert_eq!(link["mimeType"], "application/json");
    assert!(link["size"].as_u64().unwrap() > LARGE as u64);
    link
}

#[tokio::test]
async fn a_large_output_is_shown_by_its_beginning_and_read_whole_by_its_link() {
    let world = World::serving(large_server()).await;
    for mut client in Client::both(&world).await {
        let result = client.call("large").await;
        let shown = result["content"][0]["text"].as_str().unwrap();
        assert!(shown.len() < 5_000 && shown.contains("ää"), "{shown}");
        assert!(result.get("structuredContent").is_none());
        let link = link_of(&result);
        let uri = link["uri"].as_str().unwrap();
        assert_eq!(uri, format!("onecall://runs/{}", run_of(&result)));
        assert!(shown.contains(uri), "{shown}");
        let whole = json!({ "text": text() });
        assert_eq!(client.read(uri).await, whole);
        assert_eq!(link["size"], whole.to_string().len());
        assert_eq!(client.read(&format!("{uri}/steps/say")).await, whole);
        // The same run again, by the tool that fetches results.
        let arguments = json!({ "run_id": run_of(&result) });
        let fetch = json!({ "name": "workflow_result", "arguments": arguments });
        let fetched = client.send("tools/call", fetch).await;
        assert_eq!(fetched["result"]["content"], result["content"]);
    }
    world.end().await;
}

#[tokio::test]
async fn what_is_small_declared_or_not_stored_is_there_whole() {
    let world = World::serving(large_server()).await;
    for mut client in Client::both(&world).await {
        let small = client.call("small").await;
        let content = json!([{ "type": "text", "text": r#"{"text":"little"}"# }]);
        assert_eq!(small["content"], content);
        assert_eq!(small["structuredContent"], json!({ "text": "little" }));
        let declared = client.call("declared").await;
        let uri = link_of(&declared)["uri"].as_str().unwrap().to_owned();
        assert_eq!(declared["structuredContent"], json!({ "all": text() }));
        assert_eq!(client.read(&uri).await, json!({ "all": text() }));
        let unkept = client.call("unkept").await;
        assert_eq!(unkept["content"].as_array().unwrap().len(), 1);
        assert_eq!(unkept["structuredContent"], json!({ "text": text() }));
    }
    // Its revision has no links.
    let mut old = Client::of_handshake(&world, "2025-03-26").await;
    let result = old.call("large").await;
    assert_eq!(result["structuredContent"], json!({ "text": text() }));
    world.end().await;
}

#[tokio::test]
async fn what_a_failed_run_had_is_read_by_its_link() {
    let world = World::serving(large_server()).await;
    for mut client in Client::both(&world).await {
        let result = client.call("failing").await;
        assert_eq!(result["isError"], true);
        let failure = &result["_meta"]["dev.onecall/error"];
        assert_eq!(failure["step_id"], "fail");
        assert!(failure.get("partial").is_none());
        assert!(result.get("structuredContent").is_none());
        let uri = link_of(&result)["uri"].as_str().unwrap();
        let whole = client.read(uri).await;
        assert_eq!(whole["code"], failure["code"]);
        assert_eq!(whole["partial"]["output"], json!({ "all": text() }));
        let step = client.read(&format!("{uri}/steps/fail")).await;
        assert_eq!(step["code"], failure["code"]);
    }
    world.end().await;
}

/// Runs a workflow for somebody, past the gateway.
async fn run_for(world: &World, principal: Option<&str>, tool: &str, arguments: Value) -> RunId {
    let mut request = Request::new(tool, arguments);
    request.principal = principal.map(str::to_owned);
    let Reply::Started(mut handle) = world.runtime.call(request).await else {
        panic!("`{tool}` did not start");
    };
    handle.result().await.unwrap();
    handle.id
}

#[tokio::test]
async fn a_run_of_somebody_else_is_unknown() {
    let world = World::serving(large_server()).await;
    let foreign = run_for(&world, Some("ada"), "large", json!({})).await;
    let own = run_for(&world, None, "secret", json!({ "token": SECRET })).await;
    for mut client in Client::both(&world).await {
        for uri in [
            format!("onecall://runs/{foreign}"),
            format!("onecall://runs/{foreign}/steps/say"),
            format!("onecall://runs/{own}/steps/none"),
            format!("onecall://runs/{own}/other"),
            "onecall://runs/none".to_owned(),
            "onecall://runs/".to_owned(),
        ] {
            client.is_unknown(&uri).await;
        }
        // The caller has its result as it is; what is shown of steps is covered.
        let uri = format!("onecall://runs/{own}");
        assert_eq!(client.read(&uri).await, json!({ "text": SECRET }));
        let step = client.read(&format!("{uri}/steps/say")).await;
        assert_eq!(step, json!({ "text": "•••" }));
    }
    world.end().await;
}

#[tokio::test]
async fn runs_are_resources_where_only_workflows_are_shown() {
    let world = World::serving(Server {
        expose: Expose::Workflows,
        ..large_server()
    })
    .await;
    for mut client in Client::both(&world).await {
        let listed = client.send("resources/list", json!({})).await;
        assert_eq!(listed["result"]["resources"], json!([]));
        let listed = client.send("resources/templates/list", json!({})).await;
        let templates = listed["result"]["resourceTemplates"].as_array().unwrap();
        let uris: Vec<&Value> = templates
            .iter()
            .map(|entry| &entry["uriTemplate"])
            .collect();
        assert_eq!(
            uris,
            [
                "onecall://runs/{run_id}",
                "onecall://runs/{run_id}/steps/{step_id}"
            ]
        );
        let refused = client.send("prompts/list", json!({})).await;
        assert_eq!(refused["error"]["code"], -32601);
        let result = client.call("large").await;
        let uri = link_of(&result)["uri"].as_str().unwrap();
        assert_eq!(client.read(uri).await, json!({ "text": text() }));
        client.is_unknown("demo://notes/n1").await;
    }
    world.end().await;
}

#[tokio::test]
async fn the_large_result_of_a_task_is_a_link_too() {
    let world = World::serving(large_server()).await;
    let run = run_for(&world, None, "large", json!({})).await;
    let mut client = Http::new(world.address);
    let declared = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let get = json!({ "taskId": run.as_str(),
        "_meta": { "io.modelcontextprotocol/clientCapabilities": declared } });
    let task = client.modern_result("tasks/get", get).await;
    assert_eq!(task["status"], "completed");
    let uri = &link_of(&task["result"])["uri"];
    assert_eq!(*uri, format!("onecall://runs/{run}"));
    world.end().await;
}
