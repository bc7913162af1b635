//! `backends`, `lock`, `tools URL` and `call --raw` with the real binary over the demo backend.

use crate::support::{PATIENCE, Ran, Running, onecall, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const WORKFLOW: &str = r"
name: test
groupRef: demo
incomingAuth: {type: anonymous}
outgoingAuth: {source: inline}
aggregation: {conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [demo]}}
backends:
- {name: demo, command: onecall, args: [demo]}
compositeTools:
- name: greet
  description: Says hello.
  steps:
  - {id: say, tool: demo.echo, arguments: {text: hello}}
";

/// A folder with a configuration of one demo backend and one workflow.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tools.yaml");
    std::fs::write(&path, WORKFLOW).unwrap();
    (folder, path)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn backends_are_shown_with_state_and_numbers() {
    let (home, path) = folder();
    let shown = run(home.path(), &["backends", text(&path), "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let demo = &shown.json()[0];
    let words = [
        &demo["state"],
        &demo["breaker"],
        &demo["era"],
        &demo["transport"],
    ];
    assert_eq!(words, ["ready", "closed", "modern", "stdio"]);
    assert!(
        demo["tools"].as_u64() > Some(5) && demo["latency_ms"].as_f64() > Some(0.0),
        "{demo}"
    );
    let table = run(home.path(), &["backends", text(&path)]).out;
    let mut lines = table.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("NAME  STATE  TRANSPORT  ERA"),
        "{table}"
    );
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("demo  ready  stdio      modern"),
        "{table}"
    );

    let broken = WORKFLOW.replace("command: onecall", "command: no-such-program");
    std::fs::write(&path, broken).unwrap();
    let shown = run(home.path(), &["backends", text(&path)]);
    assert_eq!(shown.code, Some(3), "{shown:?}");
    assert!(
        shown.out.contains("down") && shown.out.contains("open"),
        "{shown:?}"
    );
    assert!(
        shown.out.contains("demo: cannot start `no-such-program`"),
        "{shown:?}"
    );
    assert!(
        shown
            .out
            .contains("is it installed, and on the PATH of this process?"),
        "{shown:?}"
    );
}

/// The command that accepts a changed tool, as it can be typed. Callers are not told paths of this machine.
fn each_names_the_way_out(home: &Path, path: &str, ran: [&Ran; 3]) {
    let command = format!("`onecall lock {path} --update`");
    let served = run(home, &["serve", path, "--stdio"]);
    let looked = run(home, &["doctor", path]);
    let told = ran.map(|ran| &ran.err).into_iter();
    for told in told.chain([&served.err, &looked.out]) {
        assert!(told.contains(&command), "{command}: {told}");
    }
    assert!(ran.iter().all(|ran| !ran.out.contains(&command)));
}

/// Under its own name or with `--raw`.
fn clients_cannot_call_it(home: &Path, path: &str, reason: &str) {
    for words in [&["echo", "text=hi"][..], &["demo.echo", "text=hi", "--raw"]] {
        let direct = run(home, &[&["call", path][..], words].concat());
        assert_eq!(direct.code, Some(1), "{direct:?}");
        let said = format!("{}{}", direct.out, direct.err);
        assert!(
            said.contains("denied.locked") && said.contains(reason),
            "{direct:?}"
        );
    }
}

/// Changes the tools of a lock file.
fn edit(lock: &Path, change: impl FnOnce(&mut Value)) {
    let mut content: Value = serde_json::from_str(&std::fs::read_to_string(lock).unwrap()).unwrap();
    change(&mut content["tools"]);
    std::fs::write(lock, content.to_string()).unwrap();
}

#[test]
fn a_changed_tool_withholds_its_workflow_until_the_lock_is_updated() {
    let (home, path) = folder();
    let lock_path = home.path().join("onecall.lock");
    let tools = home.path().join("tools.json");
    let saved = run(home.path(), &["tools", text(&path), "--save", text(&tools)]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let unlocked = run(home.path(), &["lock", text(&path), "--check"]);
    assert_eq!(
        (unlocked.code, lock_path.exists()),
        (Some(1), false),
        "{unlocked:?}"
    );
    let locked = run(home.path(), &["lock", text(&path)]);
    assert_eq!(locked.code, Some(0), "{locked:?}");
    assert!(locked.err.contains("locked 11 tools in"), "{locked:?}");
    let called = ["call", text(&path), "greet"];
    assert_eq!(run(home.path(), &called).code, Some(0));
    assert_eq!(
        run(home.path(), &["lock", text(&path), "--check"]).code,
        Some(0)
    );

    // As if the backend had said something else when it was locked.
    edit(&lock_path, |tools| {
        tools["demo.echo"]["hash"] = "other".into();
        tools["demo.echo"]["definition"]["description"] = "Before.".into();
    });
    let withheld = run(home.path(), &called);
    assert_eq!(withheld.code, Some(1), "{withheld:?}");
    let reason = "tool `demo.echo` is not as it was locked: description is";
    assert!(withheld.err.contains(reason), "{withheld:?}");
    assert!(withheld.out.contains("denied.locked"), "{withheld:?}");
    assert!(withheld.err.contains("was \"Before.\""), "{withheld:?}");
    let checked = run(
        home.path(),
        &["check", text(&path), "--tools", text(&tools)],
    );
    assert!(
        checked.code == Some(1) && checked.err.contains("WF310"),
        "{checked:?}"
    );
    clients_cannot_call_it(home.path(), text(&path), reason);
    let kept = run(home.path(), &["lock", text(&path)]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    each_names_the_way_out(home.path(), text(&path), [&withheld, &checked, &kept]);
    assert!(
        kept.out.starts_with("~ demo.echo\n    description is"),
        "{kept:?}"
    );
    assert_eq!(
        run(home.path(), &["lock", text(&path), "--update"]).code,
        Some(0)
    );
    assert_eq!(run(home.path(), &called).code, Some(0));

    edit(&lock_path, |tools| {
        tools.as_object_mut().unwrap().remove("demo.slow");
    });
    let other = WORKFLOW.replace("tool: demo.echo", "tool: demo.slow");
    std::fs::write(&path, other.replace("{text: hello}", "{ms: 1}")).unwrap();
    let withheld = run(home.path(), &called);
    assert!(
        withheld
            .err
            .contains("tool `demo.slow` is not in the lock file"),
        "{withheld:?}"
    );
    std::fs::write(&lock_path, "{}").unwrap();
    let unreadable = run(home.path(), &called);
    assert!(
        unreadable.code == Some(1) && unreadable.err.contains("WF311"),
        "{unreadable:?}"
    );
}

#[test]
fn a_raw_call_shows_the_result_as_received_and_how_to_read_it() {
    let (home, path) = folder();
    let shown = run(
        home.path(),
        &["call", text(&path), "demo.search", "query=tea", "--raw"],
    );
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let mut lines = shown.out.lines();
    let raw: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(raw["structuredContent"]["total"], 1);
    assert!(
        raw["_meta"].is_object(),
        "what the backend adds is there: {raw}"
    );
    let rest: Vec<&str> = lines.collect();
    let id = "{{ (index .steps.STEP.output.results 0).id }}";
    let jq = "${{ .steps.STEP.results[0].id }}  # \"n1\"";
    let line = rest.iter().find(|line| line.contains(id));
    assert!(line.is_some_and(|line| line.contains(jq)), "{rest:?}");

    let json = run(
        home.path(),
        &["call", text(&path), "demo.fetch", "id=n2", "--raw"],
    );
    assert!(
        json.out.contains("{{ .steps.STEP.json.title }}"),
        "{json:?}"
    );
    let unknown = run(home.path(), &["call", text(&path), "greet", "--raw"]);
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
}

/// A server of the handshake whose only tool `t` answers with this.
fn answering(home: &Path, result: &str) -> PathBuf {
    let script = format!(
        r#"
        answer() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
        while read -r line; do
            id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case $line in
            *'"server/discover"'*) answer '"error":{{"code":-32601,"message":"no"}}' ;;
            *'"initialize"'*) answer '"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}}}}' ;;
            *'"tools/list"'*) answer '"result":{{"tools":[{{"name":"t"}}]}}' ;;
            *'"tools/call"'*) answer '"result":{result}' ;;
            esac
        done
        "#
    );
    let servers = json!({ "mcpServers": { "s": { "command": "sh", "args": ["-c", script] } } });
    let path = home.join("mcp.json");
    std::fs::write(&path, servers.to_string()).unwrap();
    path
}

#[test]
fn a_raw_call_of_a_tool_that_failed_says_so_whatever_its_result_holds() {
    let home = tempfile::tempdir().unwrap();
    let call = |result: &str| {
        let path = answering(home.path(), result);
        let shown = run(home.path(), &["call", text(&path), "s.t", "--raw"]);
        assert_eq!(shown.code, Some(1), "{shown:?}");
        assert!(shown.out.starts_with(result), "{shown:?}");
        shown.out
    };
    let half = call(r#"{"isError":true,"content":[{"type":"text","text":"a \ud800 b"}]}"#);
    let leaf = "{{ .steps.STEP.output.text }}";
    assert!(half.contains(leaf), "{half}");
    let huge = call(r#"{"isError":true,"content":[],"structuredContent":{"n":1e999}}"#);
    assert!(huge.contains("1.7976931348623157e+308"), "{huge}");
}

#[test]
fn a_call_of_a_tool_prints_numbers_as_they_came() {
    let home = tempfile::tempdir().unwrap();
    let result = r#"{"content":[],"structuredContent":{"n":12345678901234567890123,"f":1.10}}"#;
    let path = answering(home.path(), result);
    let shown = run(home.path(), &["call", text(&path), "s.t"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let wanted = "{\n  \"n\": 12345678901234567890123,\n  \"f\": 1.10\n}\n";
    assert_eq!(shown.out, wanted);
}

/// What `--raw` prints of a leaf: the template, the expression of workflow files, the value.
fn leaves(out: &str) -> Vec<(String, String, String)> {
    let lines = out.lines().filter(|line| line.starts_with("  {{"));
    let leaf = |line: &str| {
        let (template, rest) = line.split_once("  ${{").unwrap();
        let (native, value) = rest.split_once("  # ").unwrap();
        let named = |text: String| text.trim().replace("STEP", "look");
        let native = named(format!("${{{{{native}"));
        (named(template.to_owned()), native, value.to_owned())
    };
    lines.map(leaf).collect()
}

/// Whether a value is the one that was shown, which may be cut or be the length of a list.
fn is_shown(value: &Value, shown: &str) -> bool {
    let text = value.to_string();
    match (value, shown.strip_suffix('…')) {
        (Value::Array(items), _) if items.len() == 1 => shown == "1 item",
        (Value::Array(items), _) => shown == format!("{} items", items.len()),
        (_, Some(beginning)) => text.starts_with(beginning),
        (_, None) => text == shown,
    }
}

#[test]
fn what_a_raw_call_prints_reads_the_leaf_in_both_kinds_of_files() {
    for (tool, arguments) in [
        ("search", serde_json::json!({ "query": "tea" })),
        ("fetch", serde_json::json!({ "id": "n2" })),
        ("images", serde_json::json!({})),
        ("echo", serde_json::json!({ "text": "hi" })),
    ] {
        let (home, path) = folder();
        let name = format!("demo.{tool}");
        let given = arguments.to_string();
        let words = ["call", text(&path), &name, "--args-json", &given, "--raw"];
        let raw = run(home.path(), &words);
        let leaves = leaves(&raw.out);
        assert!(!leaves.is_empty(), "{raw:?}");
        let mut outputs = serde_json::Map::new();
        let mut properties = serde_json::Map::new();
        for (number, (template, native, _)) in leaves.iter().enumerate() {
            outputs.insert(format!("o{number}"), native.as_str().into());
            let value =
                serde_json::json!({ "type": "string", "description": "d", "value": template });
            properties.insert(format!("o{number}"), value);
        }
        let native = serde_json::json!({
            "workflow": "probe", "outputs": outputs,
            "steps": { "look": { "tool": name, "with": arguments } }
        });
        let native_path = home.path().join("probe.workflow.yaml");
        std::fs::write(&native_path, native.to_string()).unwrap();
        let read = run(
            home.path(),
            &["call", text(&path), text(&native_path), "probe"],
        );
        let step = serde_json::json!({ "id": "look", "tool": name, "arguments": arguments });
        let templates = serde_json::json!({
            "name": "templates", "description": "d", "steps": [step], "output": { "properties": properties }
        });
        let toolhive = format!("{WORKFLOW}- {templates}\n");
        std::fs::write(&path, toolhive).unwrap();
        let rendered = run(home.path(), &["call", text(&path), "templates"]);
        assert_eq!(
            (read.code, rendered.code),
            (Some(0), Some(0)),
            "{read:?} {rendered:?}"
        );
        let (read, rendered) = (read.json(), rendered.json());
        for (number, (template, native, shown)) in leaves.iter().enumerate() {
            let key = format!("o{number}");
            let value = &read[&key];
            assert!(is_shown(value, shown), "{tool} {native}: {value}, {shown}");
            let text = rendered[&key].as_str().unwrap();
            let is_same = value
                .as_str()
                .map_or(!text.contains("no value"), |own| own == text);
            assert!(is_same, "{tool} {template}: {text}");
        }
    }
}

#[test]
fn the_tools_of_a_url_are_listed_and_saved() {
    let home = tempfile::tempdir().unwrap();
    let demo = Running::start(onecall(home.path(), &["demo", "--http", "0"]));
    let line = demo.lines.recv_timeout(PATIENCE).unwrap();
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let listed = run(home.path(), &["tools", url]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(
        listed.out.lines().any(|line| line.starts_with("add ")),
        "{listed:?}"
    );
    let file = home.path().join("saved.json");
    let saved = run(home.path(), &["tools", url, "--save", text(&file)]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(saved["server"]["tools"].as_array().unwrap().len() > 5);
}

#[test]
fn tools_that_clients_do_not_see_are_marked() {
    let (home, path) = folder();
    let only = "conflictResolution: priority, tools: [{workload: demo, filter: [add]}]";
    let filtered = WORKFLOW.replace("conflictResolution: priority", only);
    std::fs::write(&path, filtered).unwrap();
    let listed = run(home.path(), &["tools", text(&path)]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let line = |tool: &str| listed.out.lines().find(|line| line.contains(tool));
    assert!(line("demo.add ").is_some_and(|line| !line.contains("(hidden)")));
    assert!(line("demo.echo ").is_some_and(|line| line.contains("(hidden)")));
}

#[test]
fn a_tool_that_no_backend_has_is_a_fault_and_not_an_unreachable_backend() {
    let (home, path) = folder();
    std::fs::write(&path, WORKFLOW.replace("demo.echo", "demo.none")).unwrap();
    let locked = run(home.path(), &["lock", text(&path)]);
    assert_eq!(locked.code, Some(1), "{locked:?}");
    assert!(locked.err.contains("no backend has the tool `demo.none`"));
}
