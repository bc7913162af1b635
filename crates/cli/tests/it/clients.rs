//! Clients that are not ours, against the real gateway: list, call, progress, and a person who accepts, declines,
//! cancels, takes too long, or answers only after the gateway was killed and started again.
//!
//! The test command obtains the programs and names them in `ONECALL_TEST_*`.

use crate::support::{Running, onecall, program, root, run};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const CASES: &[&str] = &[
    "list", "call", "progress", "accept", "decline", "cancel", "timeout",
];

#[derive(Clone, Copy)]
enum Transport {
    Http,
    Stdio,
}

/// A client as it is started: the words before era and server.
struct Client {
    words: Vec<PathBuf>,
    cases: &'static [&'static str],
}

fn from_environment(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set; run `cargo xtask test clients`"))
        .into()
}

fn script(name: &str) -> PathBuf {
    root().join("tests/clients").join(name)
}

fn python(variable: &str) -> Client {
    Client {
        words: vec![from_environment(variable), script("calls.py")],
        cases: CASES,
    }
}

fn typescript() -> Client {
    Client {
        words: vec![from_environment("ONECALL_TEST_NODE"), script("calls.mjs")],
        cases: CASES,
    }
}

fn command(name: &str, cases: &'static [&'static str]) -> Client {
    let node = from_environment("ONECALL_TEST_NODE");
    Client {
        words: vec![node, script("commands.mjs"), name.into()],
        cases,
    }
}

/// What each case must come to.
fn expected(case: &str) -> Value {
    match case {
        "list" => json!(["greet", "hurry", "ship", "slowly"]),
        "call" => json!({ "greeting": "Hello, Ada!", "letters": 11 }),
        "progress" => json!(true),
        "accept" | "restart" => json!({ "text": "shipped true" }),
        "decline" => json!("declined.question"),
        "cancel" => json!("cancelled.question"),
        "timeout" => json!("timeout.question"),
        other => panic!("no case is named {other}"),
    }
}

/// The gateway, and how to start it again where it was.
struct Gateway {
    running: Running,
    home: tempfile::TempDir,
    url: String,
}

impl Gateway {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let running = Self::serve(home.path(), "0");
        let line = running.line(|line| line.contains(" at http://"));
        let url = line.split(" at ").nth(1).unwrap().trim().to_owned();
        Self { running, home, url }
    }

    fn serve(home: &Path, port: &str) -> Running {
        let file = script("server.yaml");
        let store = home.join("store.db");
        let words = ["serve", file.to_str().unwrap(), "--port", port, "--store"];
        let mut command = onecall(home, &words);
        command.arg(store);
        Running::start(command)
    }

    fn kill_and_start_again(&mut self) {
        self.running.kill();
        let port = self.url.rsplit(':').next().unwrap();
        let port = port.split('/').next().unwrap();
        self.running = Self::serve(self.home.path(), port);
        self.running.line(|line| line.contains(" at http://"));
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the part of the test run shows these lines"
)]
fn goes_through(client: &Client, era: &str, transport: Transport) {
    let mut gateway = Gateway::start();
    let file = script("server.yaml");
    let server = match transport {
        Transport::Http => gateway.url.clone(),
        Transport::Stdio => {
            let words = [program(), "serve", file.to_str().unwrap(), "--stdio"];
            json!([words[0], words[1], words[2], words[3], "--ephemeral"]).to_string()
        }
    };
    let mut command = Command::new(&client.words[0]);
    command
        .args(&client.words[1..])
        .args([era, &server])
        .env("XDG_STATE_HOME", gateway.home.path());
    let mut running = Running::start(command);
    let report = loop {
        let line = running.line(|line| line == "restart" || line.starts_with('{'));
        if line.starts_with('{') {
            break serde_json::from_str::<Value>(&line).unwrap();
        }
        gateway.kill_and_start_again();
        let stdin = running.stdin.as_mut().unwrap();
        writeln!(stdin, "go").unwrap();
    };
    let is_restarted =
        matches!(transport, Transport::Http) && era != "legacy" && client.cases.contains(&"accept");
    let restart = is_restarted.then_some(&"restart");
    for case in client.cases.iter().chain(restart) {
        assert_eq!(report["cases"][*case], expected(case), "{case}: {report}");
    }
    let cases = report["cases"].as_object().unwrap();
    let text = |key: &str| report[key].as_str().unwrap_or("?").to_owned();
    let cases: Vec<&str> = cases.keys().map(String::as_str).collect();
    let transport = match transport {
        Transport::Http => "http",
        Transport::Stdio => "stdio",
    };
    println!(
        "client: {:<11} {:<8} {:<11} {transport:<6} {}",
        text("client"),
        text("version"),
        text("protocol"),
        cases.join(" ")
    );
}

fn in_every_way(client: &Client, newest: &str) {
    for era in [newest, "legacy"] {
        for transport in [Transport::Http, Transport::Stdio] {
            goes_through(client, era, transport);
        }
    }
}

#[test]
fn python_mcp() {
    in_every_way(&python("ONECALL_TEST_PYTHON"), "auto");
}

#[test]
fn fastmcp() {
    in_every_way(&python("ONECALL_TEST_FASTMCP"), "auto");
}

#[test]
fn node_typescript() {
    in_every_way(&typescript(), "auto");
}

#[test]
fn node_mcpdo() {
    let cases = &["list", "call", "accept", "decline", "cancel"];
    in_every_way(&command("mcpdo", cases), "modern");
}

#[test]
fn node_inspector() {
    in_every_way(&command("inspector", &["list", "call"]), "modern");
}

/// Four servers that are not ours under one workflow: two of npm, two of PyPI, a hundred calls of one of them.
#[test]
fn node_and_python_servers() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    for number in 0..100 {
        let file = folder.join(format!("{number:03}.txt"));
        std::fs::write(file, format!("number {number}")).unwrap();
    }
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .arg(&folder)
        .status();
    assert!(made.unwrap().success());
    let node = from_environment("ONECALL_TEST_NODE");
    let modules = from_environment("ONECALL_TEST_MODULES").join("@modelcontextprotocol");
    let python = from_environment("ONECALL_TEST_PYTHON");
    let text = std::fs::read_to_string(script("survey.yaml")).unwrap();
    let text = [
        ("NODE", node.as_path()),
        ("MODULES", modules.as_path()),
        ("PYTHON", python.parent().unwrap()),
        ("FOLDER", folder.as_path()),
    ]
    .iter()
    .fold(text, |text, (name, path)| {
        text.replace(&format!("@{name}@"), path.to_str().unwrap())
    });
    let file = home.path().join("survey.yaml");
    std::fs::write(&file, text).unwrap();
    let ran = run(
        home.path(),
        &[
            "call",
            file.to_str().unwrap(),
            "survey",
            &format!("folder={}", folder.display()),
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = ran.json();
    assert_eq!(result["files"], 100);
    assert_eq!(result["last"], "number 99");
    assert_eq!(result["remembered"][0], "100 files");
    println!("servers: filesystem, memory, time, git under one workflow: {result}");
}
