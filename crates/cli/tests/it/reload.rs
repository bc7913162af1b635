//! Files that are edited while `serve` serves them.

use crate::http;
use crate::support::{Running, onecall, program, root, serve, until};
use serde_json::{Value, json};

fn greeting(url: &str) -> String {
    let call = json!({ "name": "greet", "arguments": { "who": "Ada" } });
    let answer = http::modern(url, "tools/call", call).result();
    let greeting = answer["structuredContent"]["greeting"].as_str();
    greeting.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn status(url: &str) -> Value {
    let url = url.replace("/mcp", "/status");
    let sent = http::send(&url, "GET", &[], "").unwrap();
    http::read(sent).unwrap().message()
}

#[test]
fn an_edited_file_is_served_and_an_invalid_one_leaves_the_version_before() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("hello.yaml");
    let text = std::fs::read_to_string(root().join("examples/hello/hello.yaml")).unwrap();
    std::fs::write(&file, &text).unwrap();
    let (_server, url) = serve(home.path(), &[home.path().to_str().unwrap(), "--ephemeral"]);
    assert_eq!(greeting(&url), "Hello, Ada!");

    std::fs::write(&file, text.replace("Hello, {{", "Good day, {{")).unwrap();
    until("the new version", || {
        (greeting(&url) == "Good day, Ada!").then_some(())
    });

    std::fs::write(&file, text.replace("type: integer", "type: intger")).unwrap();
    let refused = until("the refusal", || {
        let status = status(&url);
        status["reloads"]["refused"].as_str().map(str::to_owned)
    });
    for part in ["the version before of `greet` stays published: ", "intger"] {
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(greeting(&url), "Good day, Ada!");

    std::fs::write(&file, &text).unwrap();
    until("the first version again", || {
        (greeting(&url) == "Hello, Ada!").then_some(())
    });
    let status = status(&url);
    assert_eq!(status["reloads"], json!({ "count": 3, "refused": null }));
}

const BACKENDS: &str = "backends: {demo: {command: onecall, args: [demo]}}\nworkflows: [.]\n";

fn workflow(tool: &str) -> String {
    format!("workflow: say\nsteps:\n  first: {{tool: {tool}, with: {{text: a}}}}\n")
}

fn unfit(name: &str) -> String {
    workflow("demo.no_such_tool").replace("workflow: say", &format!("workflow: {name}"))
}

#[test]
fn a_reload_names_what_acts_at_the_start_only_and_what_does_not_fit() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::write(at("onecall.yaml"), BACKENDS).unwrap();
    std::fs::write(at("say.workflow.yaml"), workflow("demo.echo")).unwrap();
    let words = ["serve", home.path().to_str().unwrap(), "--port", "0"];
    let command = onecall(home.path(), &words);
    let log = std::fs::File::create(at("log")).unwrap();
    let server = Running::logging(command, log.into());
    let url = server.url();
    let told = |what: &str| {
        until(what, || {
            let text = std::fs::read_to_string(at("log")).unwrap();
            text.contains(what).then_some(())
        });
    };
    let changed = format!(
        "{BACKENDS}store: other.db\nlimits: {{body_bytes: 7, events: 70}}\nquestions: {{links: hidden}}\n"
    );
    std::fs::write(at("onecall.yaml"), changed).unwrap();
    told("start again for: store, questions.links, limits.body_bytes\n");
    std::fs::write(at("new.workflow.yaml"), unfit("new")).unwrap();
    told("withheld  new: ");
    std::fs::remove_file(at("new.workflow.yaml")).unwrap();
    told("removed  new: no file defines it now\n");
    std::fs::write(at("say.workflow.yaml"), unfit("say")).unwrap();
    told("outdated  say (the new version does not fit, the one before stays published): ");
    let status = status(&url);
    let refused = status["reloads"]["refused"].as_str().unwrap();
    let wanted = "the version before of `say` stays published: ";
    assert!(refused.starts_with(wanted), "{refused}");
    assert_eq!(status["outdated"][0]["workflow"], "say", "{status}");
    assert_eq!(status["withheld"], json!([]));
    let call = json!({ "name": "workflow:say", "arguments": {} });
    let answer = http::modern(&url, "tools/call", call).result();
    assert_ne!(answer["isError"], true, "{answer}");
    std::fs::write(at("say.workflow.yaml"), workflow("demo.echo")).unwrap();
    told("no longer outdated  say\n");
}

#[test]
fn over_stdio_what_is_withheld_is_named_from_the_start() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::write(at("onecall.yaml"), BACKENDS).unwrap();
    std::fs::write(at("say.workflow.yaml"), workflow("demo.no_such_tool")).unwrap();
    let words = ["serve", home.path().to_str().unwrap(), "--stdio"];
    let command = onecall(home.path(), &words);
    let log = std::fs::File::create(at("log")).unwrap();
    let _server = Running::logging(command, log.into());
    until("the name of what is withheld", || {
        let text = std::fs::read_to_string(at("log")).unwrap();
        text.contains("withheld  say: ").then_some(())
    });
}

#[test]
fn what_does_not_fit_is_told_at_every_start_and_only_then_is_a_known_backend_started() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let starts = home.join("starts");
    let script = format!("echo s >> {}; exec {} demo", starts.display(), program());
    let backend = json!({ "command": "sh", "args": ["-c", script] });
    let files = |tool: &str| {
        let config = json!({ "backends": { "demo": backend }, "workflows": ["a.workflow.yaml"] });
        std::fs::write(home.join("onecall.yaml"), config.to_string()).unwrap();
        let text =
            format!("workflow: a\nsteps: {{ a: {{ tool: demo.{tool}, with: {{ text: a }} }} }}\n");
        std::fs::write(home.join("a.workflow.yaml"), text).unwrap();
    };
    let file = home.join("onecall.yaml").display().to_string();
    let started = || std::fs::read_to_string(&starts).map_or(0, |text| text.lines().count());
    let printed = || {
        let (mut serving, url) = serve(home, &[&file]);
        serving.line(|line| line.contains("mcpServers"));
        serving.terminate();
        assert_eq!(serving.wait(), Some(0), "{url}");
    };
    files("echo");
    printed();
    assert_eq!(started(), 1, "to learn its tools");
    printed();
    assert_eq!(started(), 1, "they are known");
    files("ech");
    let serving = Running::start(onecall(home, &["serve", &file, "--port", "0"]));
    serving.line(|line| line.starts_with("withheld  a  (from ") && line.contains("demo.ech"));
    assert_eq!(started(), 2);
}
