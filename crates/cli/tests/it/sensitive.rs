//! Sensitive values: covered in every output, sealed in the store, and there again when the run goes on.

use crate::support::{Ran, composite, onecall, run, serve, until};
use serde_json::Value;
use std::path::Path;

const TOKEN: &str = "hunter22-token";
const PIN: &str = "pin-90210";

const WORKFLOW: &str = "  - name: login
    description: Uses a token and asks for a pin
    parameters:
      type: object
      properties: { user: { type: string }, token: { type: string, format: password } }
      required: [user, token]
    steps:
      - id: use
        tool: demo_put
        arguments: { key: \"{{ .params.user }}\", value: \"Bearer {{ .params.token }}\" }
      - id: ask
        type: elicitation
        message: The pin of {{ .params.user }} for {{ .params.token }}?
        schema: { type: object, properties: { pin: { type: string, writeOnly: true } }, required: [pin] }
        dependsOn: [use]
      - id: tell
        tool: demo_echo
        arguments: { text: \"{{ .params.user }} came in with {{ .steps.ask.output.content.pin }}\" }
        dependsOn: [ask]
";

struct Home {
    folder: tempfile::TempDir,
    file: String,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = composite(folder.path(), WORKFLOW);
        Self { folder, file }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, words: &[&str]) -> Ran {
        run(self.path(), words)
    }

    /// Starts a run, answers its question and lets a server finish it.
    fn log_in(&self) -> Value {
        let token = format!("token={TOKEN}");
        let file = &self.file;
        let asked = self.run(&["call", file, "login", "user=ada", &token]);
        assert_eq!(asked.code, Some(5), "{asked:?}");
        assert!(!asked.err.contains(TOKEN), "{}", asked.err);
        let told = self.run(&["runs", "answer", "last", "ask", &format!("pin={PIN}")]);
        assert_eq!(told.code, Some(0), "{told:?}");
        let (_server, _) = serve(self.path(), &[file]);
        until("the end of the run", || {
            let shown = self.run(&["runs", "show", "last", "--json"]).json();
            (shown["summary"]["phase"] == "completed").then_some(shown)
        })
    }
}

/// Every byte of every file of the store, but for its key.
fn store_bytes(home: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(home.join("onecall")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .flat_map(|file| std::fs::read(file).unwrap())
        .collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

#[test]
fn sensitive_values_are_covered_in_every_output_and_sealed_in_the_store() {
    let home = Home::new();
    let shown = home.log_in();
    assert_eq!(shown["input"]["token"], "•••");
    assert_eq!(
        shown["steps"][0]["attempts"][0]["arguments"]["value"],
        "Bearer •••"
    );
    assert_eq!(shown["steps"][2]["output"]["text"], "ada came in with •••");
    for words in [
        &["runs", "show", "last"][..],
        &["runs", "show", "last", "--json"],
        &["runs", "show", "last", "--events"],
        &["runs", "watch", "last"],
        &["runs", "export", "last"],
        &["runs", "diff", "last", "last", "--json"],
        &["runs", "retry", "last", "--from", "tell"],
        &["runs", "list", "--json"],
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for secret in [TOKEN, PIN] {
            assert!(
                !ran.out.contains(secret) && !ran.err.contains(secret),
                "{ran:?}"
            );
        }
    }
    let bytes = store_bytes(home.path());
    assert!(holds(&bytes, "login"), "the store is there");
    for secret in [TOKEN, PIN] {
        assert!(!holds(&bytes, secret), "`{secret}` lies in the store");
    }
    let revealed = home.run(&["runs", "export", "last", "--reveal"]).out;
    assert!(
        revealed.contains(TOKEN) && revealed.contains(PIN),
        "{revealed}"
    );
}

#[test]
fn a_call_shows_no_sensitive_value_in_its_preview_nor_in_its_trace() {
    let home = Home::new();
    let token = format!("token={TOKEN}");
    let trace = home.path().join("trace.json");
    let call = ["call", &home.file, "login", "user=ada", &token];
    let file = trace.to_str().unwrap();
    for (flags, code) in [
        (&["--dry-run"][..], 0),
        (&["--trace"], 5),
        (&["--trace", file], 5),
        (&["--ephemeral", "--trace", file], 5),
    ] {
        let _ = std::fs::remove_file(&trace);
        let ran = home.run(&[&call[..], flags].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let written = std::fs::read_to_string(&trace).unwrap_or_default();
        let told = format!("{}{}{written}", ran.out, ran.err);
        assert!(told.contains("Bearer •••"), "{flags:?}: {told}");
        assert!(!told.contains(TOKEN), "{flags:?}: {told}");
    }
}

#[test]
fn an_answer_that_is_covered_is_known_by_what_it_is() {
    let home = Home::new();
    let (_server, url) = serve(home.path(), &[&home.file]);
    let token = format!("token={TOKEN}");
    let asked = home.run(&["call", &url, "login", "user=ada", &token]);
    assert_eq!(asked.code, Some(5), "{asked:?}");
    let told = home.run(&["runs", "answer", "last", "ask", &format!("pin={PIN}")]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.out.starts_with("answered; "), "{told:?}");
}

#[test]
fn a_run_that_came_without_its_values_is_not_repeated() {
    let home = Home::new();
    home.log_in();
    let carry = |name: &str, words: &[&str]| {
        let file = home.path().join(format!("{name}.json"));
        let store = home.path().join(format!("{name}.db"));
        let text = home.run(&[&["runs", "export", "last"], words].concat()).out;
        std::fs::write(&file, text).unwrap();
        let store = store.to_str().unwrap().to_owned();
        let imported = home.run(&["runs", "import", file.to_str().unwrap(), "--store", &store]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        store
    };
    let retry = ["runs", "retry", "last", "--from", "use", "--yes", "--store"];
    let store = carry("covered", &[]);
    let refused = home.run(&[&retry[..], &[&store]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.err.contains("without its sensitive values") && refused.err.contains("--reveal"),
        "{refused:?}"
    );
    let shown = home.run(&["runs", "show", "last", "--store", &store]);
    assert!(
        shown.out.contains("lacks    its sensitive values"),
        "{shown:?}"
    );
    let store = carry("whole", &["--reveal"]);
    let made = home.run(&[&retry[..], &[&store]].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
}

#[test]
fn another_key_opens_nothing_and_loses_nothing() {
    let home = Home::new();
    home.log_in();
    let with = |key: &str| {
        let mut command = onecall(home.path(), &["runs", "show", "last", "--json"]);
        Ran::from(command.env("ONECALL_SEAL_KEY", key).output().unwrap())
    };
    let other = with("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.err.contains("sealed with another key"), "{other:?}");
    let wrong = with("short");
    assert!(wrong.err.contains("openssl rand -base64 32"), "{wrong:?}");
    let key = std::fs::read_to_string(home.path().join("onecall/onecall.db.key")).unwrap();
    assert_eq!(with(key.trim()).code, Some(0));
}

#[cfg(unix)]
#[test]
fn only_the_user_may_read_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.log_in();
    let key = std::fs::metadata(home.path().join("onecall/onecall.db.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
}
