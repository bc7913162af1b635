//! Characters that people do not see: reported by name, left out of what people read, kept in what programs read.

use crate::support::{onecall, run};
use serde_json::json;

/// A server in a few lines of shell, whose one tool hides something.
const SERVER: &str = r#"while read -r line; do
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case "$line" in
*'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
*'"tools/list"'*) r='{"tools":[{"name":"read","description":"Reads'"$HIDE"' it","inputSchema":{"type":"object"}}]}' ;;
*'"tools/call"'*) r='{"content":[{"type":"text","text":"x'"$HIDE"'y"}],"structuredContent":{"a":"x'"$HIDE"'y"}}' ;;
*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
*) continue ;;
esac
printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done"#;

const HIDDEN: &str = "\u{202e}\u{e0041}\u{9b}";

#[test]
fn what_a_backend_hides_is_reported_and_not_shown_to_people() {
    let home = tempfile::tempdir().unwrap();
    let backend = json!({ "command": "sh", "args": ["-c", SERVER.replace("${", "$${")], "env": { "HIDE": HIDDEN } });
    let file = home.path().join("onecall.yaml");
    std::fs::write(
        &file,
        json!({ "backends": { "notes": backend } }).to_string(),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let tools = home.path().join("tools.json");
    let tools = tools.to_str().unwrap();
    let warning = "warning[WF313]: tool `notes.read` has hidden characters in `description`: U+009B, U+202E, U+E0041";

    let backends = run(home.path(), &["backends", file]);
    assert!(backends.out.contains(warning), "{backends:?}");
    let saved = run(home.path(), &["tools", file, "--save", tools]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    assert!(
        std::fs::read_to_string(tools).unwrap().contains(HIDDEN),
        "as it was sent"
    );
    let checked = run(home.path(), &["check", file, "--tools", tools]);
    assert!(checked.err.contains(warning), "{checked:?}");

    let listed = run(home.path(), &["tools", file]);
    assert!(listed.out.contains("Reads it"), "{listed:?}");
    let call = ["call", file, "notes_read", "--ephemeral"];
    let called = run(home.path(), &call);
    assert!(
        called.out.contains(&format!("x{HIDDEN}y")),
        "JSON is verbatim: {called:?}"
    );
    let mut logged = onecall(home.path(), &call);
    logged.env("ONECALL_LOG", "trace");
    let logged = String::from_utf8(logged.output().unwrap().stderr).unwrap();
    assert!(
        !logged.contains(['\u{202e}', '\u{e0041}', '\u{9b}']),
        "{logged}"
    );
}

#[test]
fn a_loop_that_makes_more_calls_than_its_backend_takes_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("vmcp.yaml");
    let text = |limit: &str| {
        format!(
            "name: v\ngroupRef: g\nbackends:\n- {{name: demo, command: onecall, args: [demo]{limit}}}\ncompositeTools:\n- name: many\n  description: d\n  parameters: {{type: object, properties: {{ms: {{type: array, items: {{type: integer}}}}}}}}\n  steps:\n  - id: all\n    type: forEach\n    collection: \"{{{{ json .params.ms }}}}\"\n    maxParallel: 50\n    step: {{id: one, type: tool, tool: demo.slow, arguments: {{ms: 300}}}}\n"
        )
    };
    std::fs::write(&path, text(", max_in_flight: 8")).unwrap();
    let path_text = path.to_str().unwrap();
    let checked = run(home.path(), &["check", path_text]);
    let warning = "warning[WF314]: step `all` makes 50 calls at once, and backend `demo` takes 8";
    assert!(checked.err.contains(warning), "{checked:?}");
    assert!(
        checked.err.contains("set `max_in_flight: 50` for `demo`"),
        "{checked:?}"
    );
    std::fs::write(&path, text("")).unwrap();
    let checked = run(home.path(), &["check", path_text]);
    assert!(!checked.err.contains("WF314"), "{checked:?}");
}
