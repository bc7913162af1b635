//! Faults of whole processes: the gateway is told to leave, is killed, or its client goes, in the middle of runs.

use crate::http::{self, Answer, Session};
use crate::support::{Ran, asking, composite, onecall, run, serve, until};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the backend did, one line a call that took effect.
fn effects(home: &Path) -> usize {
    let text = std::fs::read_to_string(home.join("ledger.txt")).unwrap_or_default();
    text.lines().count()
}

fn runs(home: &Path) -> Vec<Value> {
    let ran = run(home, &["runs", "list", "--limit", "1000", "--json"]);
    ran.json().as_array().cloned().unwrap_or_default()
}

fn phase_of(home: &Path, id: &str) -> String {
    let shown = run(home, &["runs", "show", id, "--json"]).json();
    shown["summary"]["phase"]
        .as_str()
        .unwrap_or("none")
        .to_owned()
}

fn comes_to(home: &Path, id: &str, phase: &str) {
    until(phase, || (phase_of(home, id) == phase).then_some(()));
}

/// The id of the only run, once it is stored.
fn only_run(home: &Path) -> String {
    until("the run", || {
        let runs = runs(home);
        Some(runs.first()?["id"].as_str()?.to_owned())
    })
}

fn slow(home: &Path, ms: u32) -> String {
    composite(
        home,
        &format!(
            "  - name: slow
    description: Writes after a while
    parameters: {{ type: object, properties: {{ key: {{ type: string }} }} }}
    steps:
      - id: write
        tool: demo_put
        arguments: {{ key: \"{{{{ .params.key }}}}\", value: 1, before_ms: {ms} }}
"
        ),
    )
}

/// What a client of a gateway that leaves was given.
#[derive(Debug)]
enum Given {
    Result,
    /// The run goes on; this is its id.
    Handle(String),
    /// The gateway took nothing: it had stopped listening, or was about to.
    Nothing,
}

fn given(answer: Option<Answer>) -> Given {
    let Some(answer) = answer.filter(|answer| answer.status == 200) else {
        return Given::Nothing;
    };
    let result = answer.result();
    if result["isError"] != true {
        return Given::Result;
    }
    let failure = &result["_meta"]["dev.onecall/error"];
    assert_eq!(failure["code"], "pending.running", "{result}");
    Given::Handle(failure["run_id"].as_str().unwrap().to_owned())
}

#[test]
fn no_accepted_call_is_lost_when_the_gateway_is_told_to_leave() {
    let home = tempfile::tempdir().unwrap();
    let (home, clients) = (home.path(), 12);
    let file = slow(home, 100);
    let (mut server, url) = serve(home, &[&file]);
    let answered = AtomicU32::new(0);
    let all: Vec<Given> = std::thread::scope(|scope| {
        let one = |client: u32| {
            let (url, answered) = (&url, &answered);
            move || {
                let mut all = Vec::new();
                for call in 0.. {
                    let arguments = json!({ "key": format!("{client}-{call}") });
                    let params = json!({ "name": "slow", "arguments": arguments });
                    let sent = http::send_modern(url, "tools/call", params);
                    let given = given(sent.ok().and_then(http::read));
                    answered.fetch_add(1, Ordering::Relaxed);
                    if matches!(given, Given::Nothing) {
                        return all;
                    }
                    all.push(given);
                }
                all
            }
        };
        let calling: Vec<_> = (0..clients)
            .map(|client| scope.spawn(one(client)))
            .collect();
        until("calls under way", || {
            (answered.load(Ordering::Relaxed) > 3 * clients).then_some(())
        });
        server.terminate();
        assert_eq!(server.wait(), Some(0), "the gateway leaves by itself");
        calling
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    // What was stored was answered, and what was answered is stored and took effect.
    let stored = runs(home);
    assert_eq!(
        stored.len(),
        all.len(),
        "a call that was taken was not answered"
    );
    assert!(
        stored.iter().all(|run| run["phase"] == "completed"),
        "{stored:?}"
    );
    assert_eq!(effects(home), all.len());
}

#[test]
fn a_call_that_outlasts_the_grace_time_leaves_with_a_handle() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    // Longer than calls in flight may take, shorter than runs may.
    let file = slow(home, 6_500);
    let (mut server, url) = serve(home, &[&file]);
    let params = json!({ "name": "slow", "arguments": { "key": "a" } });
    let sent = http::send_modern(&url, "tools/call", params).unwrap();
    let id = only_run(home);
    server.terminate();
    let Given::Handle(told) = given(http::read(sent)) else {
        panic!("no handle");
    };
    assert_eq!(told, id);
    assert_eq!(server.wait(), Some(0));
    let (_server, url) = serve(home, &[&file]);
    let params = json!({ "name": "workflow_result", "arguments": { "run_id": id } });
    let fetched = http::modern(&url, "tools/call", params).message();
    assert_ne!(fetched["result"]["isError"], true, "{fetched}");
    assert_eq!(
        fetched["result"]["structuredContent"]["key"], "a",
        "{fetched}"
    );
    assert_eq!(effects(home), 1);
}

/// Without a store the run ends with the process, so nobody is sent to fetch its result.
#[test]
fn a_run_that_is_not_stored_is_not_said_to_go_on_without_its_server() {
    for (more, flag) in [("", Some("--ephemeral")), ("durability: none\n", None)] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let text = "workflow: slow\nsteps:\n  wait: {tool: demo.slow, with: {ms: 60000}}\n";
        let file = home.join("slow.workflow.yaml");
        std::fs::write(file, text).unwrap();
        let backends = "backends: {demo: {command: onecall, args: [demo]}}";
        let text = format!("{backends}\nworkflows: [slow.workflow.yaml]\n{more}");
        let file = home.join("onecall.yaml");
        std::fs::write(&file, text).unwrap();
        let words = [file.to_str(), flag].into_iter().flatten();
        let (mut server, url) = serve(home, &words.collect::<Vec<_>>());
        let params = json!({ "name": "workflow:slow", "arguments": {} });
        let sent = http::send_modern(&url, "tools/call", params).unwrap();
        until("the call at its backend", || {
            let status = http::send(&url.replace("/mcp", "/status"), "GET", &[], "");
            let status = http::read(status.unwrap()).unwrap().message();
            (status["backends"][0]["in_flight"] == 1).then_some(())
        });
        server.terminate();
        let answer = http::read(sent).unwrap().message();
        let failure = &answer["result"]["_meta"]["dev.onecall/error"];
        assert_eq!(failure["code"], "unknown_outcome.unanswered", "{answer}");
        assert_eq!(failure["retryable"], false, "{answer}");
        let text = failure["message"].as_str().unwrap();
        assert!(text.contains("ends with it"), "{text}");
        assert!(!text.contains("workflow_result"), "{text}");
        assert_eq!(server.wait(), Some(0));
    }
}

/// Told to stop or killed: the run goes on with the next server, and nobody has to answer anything.
#[test]
fn a_caller_whose_server_leaves_is_told_how_to_follow_the_run() {
    for is_killed in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let (file, settings) = (slow(home, 60_000), home.join("onecall.yaml"));
        // Whoever waits for a server that is killed must have the id of the run by then.
        let patience = if is_killed { "500ms" } else { "45s" };
        std::fs::write(&settings, format!("limits: {{patience: {patience}}}\n")).unwrap();
        let store = home.join("own.db");
        let store = store.to_str().unwrap();
        let settings = settings.to_str().unwrap();
        let (mut server, url) = serve(home, &[&file, settings, "--store", store]);
        let call = onecall(home, &["call", &url, "slow", "key=a"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let listed = || run(home, &["runs", "list", "--json", "--store", store]);
        let id = until("the run", || {
            let listed = listed();
            let runs = (listed.code == Some(0)).then(|| listed.json())?;
            Some(runs[0]["id"].as_str()?.to_owned())
        });
        if is_killed {
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            server.kill();
        } else {
            server.terminate();
        }
        let told = Ran::from(call.wait_with_output().unwrap());
        assert_eq!(told.code, Some(3), "{told:?}");
        let flag = if is_killed {
            String::new()
        } else {
            format!(" --store {store}")
        };
        let watch = format!("onecall runs watch {id}{flag}");
        assert!(told.err.contains(&watch), "{told:?}");
        assert_eq!(told.json()["code"], "pending.running", "{told:?}");
    }
}

/// Whoever is told that trying again is worth it tries again, and pays twice.
#[test]
fn a_caller_of_a_killed_server_is_not_told_to_try_again() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let file = slow(home, 60_000);
    let (mut server, url) = serve(home, &[&file]);
    let call = onecall(home, &["call", &url, "slow", "key=a"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the run", || (!runs(home).is_empty()).then_some(()));
    server.kill();
    let told = Ran::from(call.wait_with_output().unwrap());
    assert_eq!(told.code, Some(1), "{told:?}");
    let failure = told.json();
    assert_eq!(failure["code"], "unknown_outcome.unanswered", "{told:?}");
    assert_eq!(failure["retryable"], false, "{told:?}");
    let help = "onecall runs list --state running --state held";
    assert!(told.err.contains(help), "{told:?}");
}

fn asks() -> String {
    let go = "        tool: demo_put
        arguments: { key: shipped, value: \"{{ .steps.approve.output.content.ok }}\" }
";
    asking(("ok", "boolean"), go)
}

/// Calls `ship` and carries the question away: what to send back, with the answer in it.
fn asked(url: &str) -> Value {
    let mut params = json!({ "name": "ship", "arguments": {} });
    let asked = http::modern(url, "tools/call", params.clone()).result();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let answer = json!({ "approve": { "action": "accept", "content": { "ok": true } } });
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = answer;
    params
}

#[test]
fn an_answer_reaches_the_process_that_follows_a_killed_one() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    let (mut server, url) = serve(home.path(), &[&file]);
    let answer = asked(&url);
    let id = only_run(home.path());
    server.kill();
    let (_server, url) = serve(home.path(), &[&file]);
    let told = http::modern(&url, "tools/call", answer.clone()).result();
    assert_eq!(told["structuredContent"]["value"], true, "{told}");
    // The same answer attaches to the run; nothing happens twice.
    let again = http::modern(&url, "tools/call", answer).result();
    assert_eq!(again["structuredContent"], told["structuredContent"]);
    assert_eq!(phase_of(home.path(), &id), "completed");
    assert_eq!(effects(home.path()), 1);
}

#[test]
fn an_answer_reaches_another_process_on_the_same_store() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    let (mut first, url) = serve(home.path(), &[&file]);
    let (_second, other) = serve(home.path(), &[&file]);
    // While the one that asked is alive, and once it is not.
    let told = http::modern(&other, "tools/call", asked(&url)).result();
    assert_eq!(told["structuredContent"]["value"], true, "{told}");
    let answer = asked(&url);
    first.kill();
    let told = http::modern(&other, "tools/call", answer).result();
    assert_eq!(told["structuredContent"]["value"], true, "{told}");
    assert_eq!(effects(home.path()), 2);
}

#[test]
fn a_modern_client_that_goes_cancels_its_run_and_the_call_in_flight() {
    let home = tempfile::tempdir().unwrap();
    let file = slow(home.path(), 3_000);
    let (_server, url) = serve(home.path(), &[&file]);
    let params = json!({ "name": "slow", "arguments": { "key": "a" } });
    let sent = http::send_modern(&url, "tools/call", params).unwrap();
    let id = only_run(home.path());
    drop(sent);
    comes_to(home.path(), &id, "cancelled");
    // The backend heard of it: a call made after this one takes effect, and this one never does.
    let ran = run(
        home.path(),
        &[
            "call",
            &url,
            "demo_put",
            "key=b",
            "value:=1",
            "before_ms:=3500",
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(effects(home.path()), 1);
}

#[test]
fn a_legacy_client_that_goes_leaves_its_run_to_itself() {
    let home = tempfile::tempdir().unwrap();
    let file = slow(home.path(), 500);
    let (_server, url) = serve(home.path(), &[&file]);
    let params = json!({ "name": "slow", "arguments": { "key": "a" } });
    let sent = Session::open(&url).send("tools/call", &params);
    let id = only_run(home.path());
    drop(sent);
    comes_to(home.path(), &id, "completed");
    let params = json!({ "name": "workflow_result", "arguments": { "run_id": id } });
    let fetched = http::modern(&url, "tools/call", params).result();
    assert_eq!(fetched["structuredContent"]["key"], "a", "{fetched}");
    assert_eq!(effects(home.path()), 1);
}

#[test]
fn a_stdio_client_that_goes_leaves_its_run_to_end_within_the_grace_time() {
    let home = tempfile::tempdir().unwrap();
    let file = slow(home.path(), 500);
    let command = crate::support::onecall(home.path(), &["serve", &file, "--stdio"]);
    let mut server = crate::support::Running::start(command);
    let params = json!({ "name": "slow", "arguments": { "key": "a" }, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    server.write(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let id = only_run(home.path());
    server.stdin = None;
    assert_eq!(server.wait(), Some(0));
    assert_eq!(phase_of(home.path(), &id), "completed");
    assert_eq!(effects(home.path()), 1);
}
