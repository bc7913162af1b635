//! The server that the protocol's conformance suite is run against: a test backend passed through under bare names,
//! and workflows where a workflow can play the part. Prints its URL; ends when interrupted.

use onecall_config::settings::{Aggregation, Backend, Server, Session, Strategy, Transport};
use onecall_engine::identity::Timestamp;
use onecall_gateway::{HttpOptions, Mount, serve_http};
use onecall_journal::MemoryStore;
use onecall_runtime::runtime::{Options, Runtime};
use onecall_workflow::policy::Durability;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = std::env::current_exe()?.with_file_name("backend");
    let backend = Backend {
        name: "fixture".into(),
        transport: Transport::Stdio {
            command: program.display().to_string(),
            args: vec!["conformance".to_owned()],
            env: Vec::new(),
            cwd: None,
        },
        timeout: None,
        max_in_flight: None,
        eager: true,
        session: Session::Shared,
        tokens: None,
        place: onecall_workflow::expression::nowhere(),
    };
    let options = Options {
        server: Server {
            name: "conformance".to_owned(),
            backends: vec![backend],
            workflows: workflows::all(),
            aggregation: Aggregation {
                strategy: Strategy::Prefix {
                    format: String::new(),
                },
                ..Aggregation::default()
            },
            ..Server::default()
        },
        journal: Arc::new(
            MemoryStore::default().open(Timestamp::from_micros(1), Duration::from_hours(1)),
        ),
        durability: Durability::Async,
        version: "0".to_owned(),
        first_list_wait: Duration::from_secs(10),
        this_program: None,
        resumes: true,
    };
    let runtime = Runtime::start(options).await?;
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let options = HttpOptions::new("127.0.0.1", port.unwrap_or(0), "0");
    serve_http(
        vec![Mount::root(runtime)],
        options,
        CancellationToken::new(),
        announce,
    )
    .await?;
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "whoever runs the suite reads the address"
)]
fn announce(address: std::net::SocketAddr) {
    println!("http://{address}/mcp");
}

mod workflows {
    //! Workflows that ask what the suite answers.

    use onecall_workflow::expression::{Expression, ValueTemplate, nowhere};
    use onecall_workflow::policy;
    use onecall_workflow::step::{Action, Ask, Shape, Step};
    use onecall_workflow::workflow::{Annotations, Output, Workflow};
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    pub(super) fn all() -> Vec<Workflow> {
        let text = json!({ "type": "string" });
        let name =
            json!({ "type": "object", "required": ["name"], "properties": { "name": text } });
        let contact = json!({ "type": "object", "required": ["username", "email"],
            "properties": { "username": text, "email": { "type": "string", "format": "email" } } });
        let defaults = json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true } } });
        let titled = json!([{ "const": "value1", "title": "First" }, { "const": "value2", "title": "Second" },
            { "const": "value3", "title": "Third" }]);
        let enums = json!({ "type": "object", "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"] },
            "untitledMulti": { "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } } } });
        let free = json!({ "type": "object", "properties": {} });
        let rounds = [("step1", "What is your name?"), ("step2", "Which colour?")];
        vec![
            workflow("test_elicitation", &[("ask", "Who are you?", &contact)]),
            workflow(
                "test_elicitation_sep1034_defaults",
                &[("ask", "Check.", &defaults)],
            ),
            workflow(
                "test_elicitation_sep1330_enums",
                &[("ask", "Choose.", &enums)],
            ),
            workflow(
                "test_streaming_elicitation",
                &[("user_name", "Who are you?", &name)],
            ),
            workflow(
                "test_input_required_result_elicitation",
                &[("user_name", "What is your name?", &name)],
            ),
            workflow(
                "test_input_required_result_request_state",
                &[("confirm", "Confirm.", &free)],
            ),
            workflow(
                "test_input_required_result_tampered_state",
                &[("confirm", "Sure?", &name)],
            ),
            workflow(
                "test_input_required_result_multi_round",
                &[
                    (rounds[0].0, rounds[0].1, &free),
                    (rounds[1].0, rounds[1].1, &free),
                ],
            ),
        ]
    }

    fn workflow(name: &str, asks: &[(&str, &str, &Value)]) -> Workflow {
        let mut steps: Vec<Step> = Vec::new();
        for (step, message, schema) in asks {
            steps.push(asking(step, message, schema, steps.last()));
        }
        Workflow {
            name: name.into(),
            version: None,
            title: None,
            description: Some("Conformance.".to_owned()),
            labels: BTreeMap::new(),
            annotations: Annotations::default(),
            inputs: json!({ "type": "object", "properties": {} }),
            steps,
            output: Output::Value(ValueTemplate::Literal(json!({ "answer": "state-ok" }))),
            policy: policy::Run::default(),
            derives: None,
            place: nowhere(),
        }
    }

    fn asking(name: &str, message: &str, schema: &Value, after: Option<&Step>) -> Step {
        let ask = Ask {
            message: Expression::text(message),
            schema: Some(schema.clone()),
            bare: false,
            on_decline: policy::Refusal::Continues,
            on_cancel: policy::Refusal::Continues,
            default_response: None,
            output: Shape::Report,
        };
        let need = |step: &Step| onecall_workflow::step::Need {
            step: step.name.clone(),
            origin: onecall_workflow::step::NeedOrigin::Declared,
            optional: false,
            place: nowhere(),
        };
        Step {
            name: name.into(),
            title: None,
            description: None,
            needs: after.map(need).into_iter().collect(),
            when: None,
            action: Action::Ask(ask),
            timeout: None,
            on_error: policy::OnError::ABORT,
            skipped_need: policy::SkippedNeed::Runs,
            default: None,
            mock: None,
            place: nowhere(),
        }
    }
}
