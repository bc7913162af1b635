//! Questions that backends ask: inside a step they are questions of the run, in a call that is passed through they
//! reach the client that made it. Never another.

use crate::client::{Answer, Http};
use crate::world::World;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Filter, Phase};
use onecall_journal::MemoryStore;
use serde_json::{Value, json};

const DECLARED: &str = "io.modelcontextprotocol/clientCapabilities";

fn asks(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments,
        "_meta": { DECLARED: { "elicitation": { "form": {} } } } })
}

fn answered(mut call: Value, asked: &Value, key: &str, content: &Value) -> Value {
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ key: { "action": "accept", "content": content } });
    call
}

/// The next question on the stream of a call in a session.
async fn question(answer: &mut Answer) -> Value {
    loop {
        let message = answer.next().await.expect("a question before the end");
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

#[tokio::test]
async fn a_question_inside_a_step_outlives_the_process_and_reaches_the_tool() {
    let store = MemoryStore::default();
    let first = World::start_on(&store).await;
    let mut client = Http::new(first.address);
    let call = asks("consult", &json!({}));
    let asked = client.modern_result("tools/call", call.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(asked["inputRequests"]["ask"]["params"]["message"], "Which?");
    first.end().await;
    let second = World::start_on(&store).await;
    let mut client = Http::new(second.address);
    let given = answered(
        call,
        &asked,
        "ask",
        &json!({ "answer": "this", "sure": true }),
    );
    let result = client.modern_result("tools/call", given).await;
    assert_eq!(result["structuredContent"]["content"]["answer"], "this");
    second.end().await;
}

#[tokio::test]
async fn an_answer_to_a_call_that_was_lost_is_told_what_became_of_its_run() {
    let store = MemoryStore::default();
    let first = World::start_on(&store).await;
    let mut client = Http::new(first.address);
    let call = asks("interview", &json!({}));
    let asked = client.modern_result("tools/call", call.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    first.end().await;
    let second = World::start_on(&store).await;
    second.newest_comes_to("interview", Phase::Held).await;
    let runs = second.runtime.journal().list(Filter::default()).await;
    let run = runs.unwrap()[0].id.clone();
    let mut client = Http::new(second.address);
    let given = answered(call, &asked, "who", &json!({ "name": "Ada" }));
    let result = client.modern_result("tools/call", given).await;
    let failure = &result["_meta"]["dev.onecall/error"];
    assert_eq!(failure["code"], "unknown_outcome.held", "{result}");
    assert_eq!(failure["run_id"], run.as_str(), "{result}");
    second.end().await;
}

#[tokio::test]
async fn two_clients_with_two_questions_at_once_never_cross() {
    let world = World::start().await;
    // Inside a workflow, and passed through.
    for tool in ["interview", "asking_ask"] {
        let mut clients = Vec::new();
        for name in ["Ada", "Bob"] {
            let mut client = Http::new(world.address);
            let capabilities = json!({ "elicitation": {} });
            client.initialize("2025-11-25", capabilities).await;
            let call = json!({ "name": tool, "arguments": {} });
            let mut answer = client.legacy("tools/call", call).await;
            let asked = question(&mut answer).await;
            clients.push((client, name, answer, asked));
        }
        // Both are open now; each is asked by a process of its own.
        let messages: Vec<&Value> = clients
            .iter()
            .map(|(_, _, _, asked)| &asked["params"]["message"])
            .collect();
        assert_ne!(messages[0], messages[1], "{tool}");
        for (client, name, answer, asked) in clients.iter_mut().rev() {
            let accept = json!({ "action": "accept", "content": { "name": name } });
            client.respond(&asked["id"], &accept).await;
            let result = answer.response().await["result"].clone();
            let told = &result["structuredContent"];
            assert_eq!(told["answer"]["content"]["name"], *name, "{tool}: {result}");
            assert_eq!(
                told["asked"], asked["params"]["message"],
                "{tool}: {result}"
            );
        }
    }
    world.end().await;
}

#[tokio::test]
async fn a_modern_backend_asks_through_a_call_that_is_passed_through() {
    let world = World::start().await;
    let arguments = json!({ "question": "Which?" });
    let call = asks("demo_ask", &arguments);
    let mut client = Http::new(world.address);
    let asked = client.modern_result("tools/call", call.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    let content = json!({ "answer": "that", "sure": true });
    let given = answered(call, &asked, "answer", &content);
    let result = client.modern_result("tools/call", given.clone()).await;
    assert_eq!(result["structuredContent"]["content"], content);
    // The state is of this call and of no other.
    let mut other = given;
    other["arguments"]["question"] = json!("What else?");
    let mut refused = client.modern("tools/call", other).await;
    assert_eq!(refused.response().await["error"]["code"], -32602);
    // A session is asked on the stream of its call.
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let call = json!({ "name": "demo_ask", "arguments": arguments });
    let mut answer = client.legacy("tools/call", call).await;
    let asked = question(&mut answer).await;
    assert_eq!(asked["params"]["message"], "Which?");
    let accept = json!({ "action": "accept", "content": content });
    client.respond(&asked["id"], &accept).await;
    let result = answer.response().await["result"].clone();
    assert_eq!(result["structuredContent"]["content"], content);
    // A client that cannot be asked is not: the backend says what it needs.
    let mut client = Http::new(world.address);
    client.initialize("2025-11-25", json!({})).await;
    let call = json!({ "name": "demo_ask", "arguments": arguments });
    let mut answer = client.legacy("tools/call", call).await;
    assert_eq!(answer.response().await["error"]["code"], -32021);
    world.end().await;
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_passed_call_waits_for_its_modern_client() {
    let world = World::start().await;
    let call = asks("asking_ask", &json!({}));
    let mut asked = Vec::new();
    for name in ["Ada", "Bob"] {
        let mut client = Http::new(world.address);
        let question = client.modern_result("tools/call", call.clone()).await;
        assert_eq!(question["resultType"], "input_required", "{question}");
        asked.push((client, name, question));
    }
    let message =
        |question: &Value| question["inputRequests"]["question"]["params"]["message"].clone();
    assert_ne!(message(&asked[0].2), message(&asked[1].2));
    // Without an answer the call waits on.
    let (client, _, question) = &mut asked[0];
    let mut empty = call.clone();
    empty["requestState"] = question["requestState"].clone();
    let again = client.modern_result("tools/call", empty).await;
    assert_eq!(message(&again), message(question));
    *question = again;
    for (client, name, question) in asked.iter_mut().rev() {
        let content = json!({ "name": name });
        let given = answered(call.clone(), question, "question", &content);
        let result = client.modern_result("tools/call", given.clone()).await;
        let told = &result["structuredContent"];
        assert_eq!(told["answer"]["content"], content, "{result}");
        assert_eq!(told["asked"], message(question), "{result}");
        // It has ended; its state is good for nothing more.
        let mut spent = client.modern("tools/call", given).await;
        assert_eq!(spent.response().await["error"]["code"], -32602);
    }
    world.end().await;
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_a_question_of_its_run() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    // Nobody at the client: the run waits and says how to answer.
    let handle = client
        .modern_result(
            "tools/call",
            json!({ "name": "interview", "arguments": {} }),
        )
        .await;
    let failure = &handle["_meta"]["dev.onecall/error"];
    assert_eq!(failure["code"], "pending.input", "{handle}");
    world.newest_comes_to("interview", Phase::Waiting).await;
    let run = RunId::new(failure["run_id"].as_str().unwrap());
    let given = onecall_runtime::questions::Given {
        step: "who".to_owned(),
        round: None,
        action: onecall_engine::event::AnswerAction::Accept,
        content: Some(json!({ "name": "Eve" })),
    };
    world.runtime.answer(&run, given).await.unwrap();
    world.newest_comes_to("interview", Phase::Completed).await;
    world.end().await;
}

#[tokio::test]
async fn a_call_ends_although_its_question_is_not_answered() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let call = json!({ "name": "asking_ask", "arguments": { "hurry": true } });
    let mut stream = client.legacy("tools/call", call).await;
    let answer = stream.response().await;
    let content = &answer["result"]["structuredContent"];
    assert!(content["asked"].is_string(), "{answer}");
    world.end().await;
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_any_body_whatever_is_in_it() {
    let limit = 16 * 1024;
    let world = World::start_with(|options| options.body_bytes_max = limit).await;
    let mut client = Http::new(world.address);
    client
        .initialize("2025-11-25", json!({ "elicitation": {} }))
        .await;
    let call = json!({ "name": "asking_ask", "arguments": {} });
    let mut stream = client.legacy("tools/call", call).await;
    let asked = question(&mut stream).await;
    let accept = |name: &str| {
        let result = json!({ "action": "accept", "content": { "name": name } });
        json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })
    };
    // A quote takes two bytes.
    let room = limit - accept("").to_string().len();
    let name = "\"".repeat(room / 2);
    let longer = accept(&"\"".repeat(room / 2 + 1));
    let refused = client.post(&client.session_headers(), &longer).await;
    assert_eq!(refused.status, 413);
    let taken = client.post(&client.session_headers(), &accept(&name)).await;
    assert_eq!(taken.status, 202);
    let result = stream.response().await["result"].clone();
    let told = &result["structuredContent"]["answer"]["content"];
    assert!(told["name"] == name.as_str());
    world.end().await;
}

#[tokio::test]
async fn a_state_of_a_backend_is_good_for_one_answer() {
    let world = World::start().await;
    let mut client = Http::new(world.address);
    let call = asks("demo_ask", &json!({ "question": "Who?" }));
    let asked = client.modern_result("tools/call", call.clone()).await;
    let requests = asked["inputRequests"].as_object().unwrap();
    let key = requests.keys().next().unwrap();
    let given = |name: &str| {
        let content = json!({ "answer": name, "sure": true });
        answered(call.clone(), &asked, key, &content)
    };
    // Sent twice, since its answer may have been lost on the way.
    for _ in 0..2 {
        let result = client.modern_result("tools/call", given("Ada")).await;
        let content = &result["structuredContent"]["content"];
        assert_eq!(content["answer"], "Ada", "{result}");
    }
    let mut nothing = given("Ada");
    nothing["inputResponses"] = json!({});
    for other in [given("Eve"), nothing] {
        let refused = client.modern("tools/call", other).await.response().await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.contains("was answered otherwise"), "{text}");
    }
    world.end().await;
}
