//! `onecall runs` on finished runs: lists, the drawn history, repeating a run and comparing two.

use crate::support::{Running, onecall, run, serve, until};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A demo backend that outlives its callers, with its ledger, and a file that reaches it.
struct Backend {
    home: tempfile::TempDir,
    _demo: Running,
    file: PathBuf,
}

impl Backend {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let ledger = home.path().join("ledger.txt");
        let words = ["demo", "--http", "0", "--ledger", ledger.to_str().unwrap()];
        let demo = Running::start(onecall(home.path(), &words));
        let line = demo.line(|line| line.contains(" at http://"));
        let url = line.split(" at ").nth(1).unwrap();
        let file = home.path().join("again.yaml");
        std::fs::write(&file, workflows(url)).unwrap();
        Self {
            home,
            _demo: demo,
            file,
        }
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn run(&self, words: &[&str]) -> crate::support::Ran {
        run(self.home(), words)
    }

    fn call(&self, words: &[&str]) -> crate::support::Ran {
        let mut all = vec!["call", self.file.to_str().unwrap()];
        all.extend(words);
        self.run(&all)
    }

    /// How often each tool was executed.
    fn executed(&self, tool: &str) -> usize {
        let text = std::fs::read_to_string(self.home().join("ledger.txt")).unwrap_or_default();
        let tools = text.lines().filter_map(|line| line.split(' ').nth(2));
        tools.filter(|name| *name == tool).count()
    }
}

fn workflows(url: &str) -> String {
    format!(
        "name: again\ngroupRef: demo\nincomingAuth: {{ type: anonymous }}\n\
         outgoingAuth: {{ source: inline, default: {{ type: unauthenticated }} }}\n\
         aggregation: {{ conflictResolution: prefix, conflictResolutionConfig: {{ prefixFormat: \"{{workload}}_\" }} }}\n\
         backends:\n  - {{ name: demo, url: \"{url}\" }}\n\
         {COMPOSITES}"
    )
}

const COMPOSITES: &str = "\
compositeTools:
  - name: ship
    description: Writes, stumbles, tells
    parameters: { type: object, properties: { what: { type: string } }, required: [what] }
    steps:
      - id: write
        tool: demo_append
        arguments: { text: \"{{ .params.what }}\" }
      - id: stumble
        tool: demo_flaky
        arguments: { key: \"{{ .params.what }}\", fails: 1 }
        dependsOn: [write]
      - id: tell
        tool: demo_echo
        arguments: { text: \"{{ .steps.write.output.lines }} after {{ .steps.stumble.output.calls }} calls\" }
        dependsOn: [stumble]
  - name: loop
    description: A loop and a step after it
    steps:
      - id: all
        type: forEach
        collection: '[\"a\", \"b\"]'
        itemVar: one
        step: { id: each, type: tool, tool: demo_slow, arguments: { ms: 20, text: \"{{ .forEach.one }}\" } }
      - id: after
        tool: demo_echo
        arguments: { text: done }
        dependsOn: [all]
";

#[test]
fn a_list_before_the_first_run_is_empty_and_no_error() {
    let home = tempfile::tempdir().unwrap();
    let listed = run(home.path(), &["runs", "list"]);
    assert_eq!(
        (listed.code, listed.out.as_str()),
        (Some(4), ""),
        "{listed:?}"
    );
    let place = home.path().join("onecall/onecall.db");
    assert_eq!(
        listed.err.trim(),
        format!("no runs in `{}`", place.display())
    );
    assert!(
        !home.path().join("onecall").exists(),
        "a look makes no store"
    );
    let json = run(home.path(), &["runs", "list", "--json"]);
    assert_eq!((json.code, json.out.trim()), (Some(4), "[]"));
}

#[test]
fn lists_are_narrowed_by_label_time_workflow_and_state() {
    let home = tempfile::tempdir().unwrap();
    let call = |who: &str, label: &str| {
        let words = ["call", "examples/hello", "greet", who, "--label", label];
        assert_eq!(run(home.path(), &words).code, Some(0));
    };
    call("who=Ada", "team=red");
    call("who=Bob", "team=blue");
    let count = |words: &[&str]| {
        let mut all = vec!["runs", "list", "--json"];
        all.extend(words);
        let listed = run(home.path(), &all);
        listed.json().as_array().map(Vec::len)
    };
    assert_eq!(count(&[]), Some(2));
    assert_eq!(count(&["--label", "team=red"]), Some(1));
    assert_eq!(
        count(&["--label", "team=red", "--label", "tier=1"]),
        Some(0)
    );
    assert_eq!(count(&["--since", "1h"]), Some(2));
    assert_eq!(count(&["--until", "1h"]), Some(0));
    assert_eq!(count(&["--since", "2199-01-01"]), Some(0));
    assert_eq!(count(&["--until", "2199-01-01T00:00:00+02:00"]), Some(2));
    assert_eq!(
        count(&["--workflow", "greet", "--state", "completed"]),
        Some(2)
    );
    assert_eq!(count(&["--workflow", "other"]), Some(0));
    for wrong in [["--since", "soon"], ["--label", "team"], ["--state", "odd"]] {
        let mut all = vec!["runs", "list"];
        all.extend(wrong);
        assert_eq!(run(home.path(), &all).code, Some(2), "{wrong:?}");
    }
    let text = run(home.path(), &["runs", "list", "--label", "team=blue"]).out;
    assert!(text.trim_end().ends_with("team=blue"), "{text}");
}

#[test]
fn the_steps_of_a_run_are_drawn_as_a_tree() {
    let backend = Backend::start();
    assert_eq!(backend.call(&["loop"]).code, Some(0));
    let text = backend.run(&["runs", "show", "last"]).out;
    let shape: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("─ "))
        .map(|line| line.split("  completed").next().unwrap().trim_end())
        .collect();
    let expected = [
        "  └─ ✓ all",
        "     ├─ ✓ [0]",
        "     ├─ ✓ [1]",
        "     └─ ✓ after",
    ];
    assert_eq!(shape, expected, "{text}");
    let after = text.lines().find(|line| line.contains("✓ after")).unwrap();
    for part in ["1 attempt", "wait ", "work ", "█", "·"] {
        assert!(after.contains(part), "{part} is missing: {after}");
    }
    let shown = backend.run(&["runs", "show", "last", "--json"]).json();
    let work = shown["steps"][0]["items"][0]["spent"]["work_ms"].as_f64();
    assert!(work.unwrap() >= 20.0, "{shown}");
    let events = backend.run(&["runs", "show", "last", "--events"]).out;
    let last = events.lines().last().unwrap();
    assert!(last.contains("run_ended"), "{events}");
}

#[test]
fn a_repeated_run_calls_nothing_that_completed() {
    let backend = Backend::start();
    assert_eq!(backend.call(&["ship", "what=a"]).code, Some(1));
    let failed = backend.run(&["runs", "show", "last", "--json"]).json();
    let old = failed["summary"]["id"].as_str().unwrap().to_owned();

    let preview = backend.run(&["runs", "retry", "last"]);
    assert_eq!(preview.code, Some(0), "{preview:?}");
    assert!(
        preview.out.contains("= write  kept  {\"lines\":1}"),
        "{preview:?}"
    );
    assert!(preview.out.contains("▸ stumble  runs again  (was failed)"));
    assert!(
        preview.out.contains("▸ tell  runs  (was pending)"),
        "{preview:?}"
    );
    assert!(preview.err.contains("nothing was done"));
    assert_eq!(
        backend.run(&["runs", "list", "--json"]).json()[1],
        Value::Null
    );

    // Made while no server is up, and taken up by the next one.
    let made = backend.run(&["runs", "retry", "last", "--yes"]);
    assert!(made.out.contains("made run r"), "{made:?}");
    let unfinished = backend.run(&["runs", "retry", "last", "--yes"]);
    assert!(unfinished.err.contains("has not ended"), "{unfinished:?}");
    let (_server, _) = serve(backend.home(), &[backend.file.to_str().unwrap()]);
    let shown = until("the end of the repeat", || {
        let shown: Value = backend.run(&["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    assert_eq!(shown["summary"]["retry_of"], old.as_str());
    assert_eq!(shown["steps"][0]["kept"], true);
    assert_eq!(shown["steps"][0]["attempts"], serde_json::json!([]));
    assert_eq!(shown["steps"][2]["output"]["text"], "1 after 2 calls");
    assert_eq!(
        (backend.executed("append"), backend.executed("flaky")),
        (1, 2)
    );
    let text = backend.run(&["runs", "show", "last"]).out;
    assert!(text.contains(&format!("retry of {old}")), "{text}");
    let text = backend.run(&["runs", "show", &old]).out;
    assert!(text.contains("retried  as r"), "{text}");

    // The server is up: a repeat from a step runs it and what comes after, and nothing before.
    let nothing = backend.run(&["runs", "retry", "last"]);
    assert!(nothing.err.contains("--from STEP"), "{nothing:?}");
    let unknown = backend.run(&["runs", "retry", "last", "--from", "nowhere"]);
    assert!(
        unknown.err.contains("it has write, stumble, tell"),
        "{unknown:?}"
    );
    let words = ["runs", "retry", "last", "--from", "tell", "--yes", "--json"];
    let made = backend.run(&words).json();
    let new = made["run"].as_str().unwrap();
    until("the end of the second repeat", || {
        let shown: Value = backend.run(&["runs", "show", new, "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(())
    });
    assert_eq!(
        (backend.executed("append"), backend.executed("echo")),
        (1, 2)
    );
}

#[test]
fn two_runs_are_compared() {
    let backend = Backend::start();
    assert_eq!(backend.call(&["ship", "what=a"]).code, Some(1));
    assert_eq!(backend.call(&["ship", "what=a"]).code, Some(0));
    let runs = backend.run(&["runs", "list", "--json"]).json();
    let (a, b) = (
        runs[1]["id"].as_str().unwrap(),
        runs[0]["id"].as_str().unwrap(),
    );
    let text = backend.run(&["runs", "diff", a, b]).out;
    for part in [
        "  state\n    - \"failed\"\n    + \"completed\"",
        "step write\n  output.lines\n    - 1\n    + 2",
        "step stumble\n  status\n    - \"failed\"\n    + \"completed\"",
        "  failure\n    - \"call 1 of `a` fails, 1 do\"\n    + null",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(!text.contains("input"), "{text}");
    let json = backend.run(&["runs", "diff", a, b, "--json"]).json();
    let steps = json["difference"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3, "{json}");
    let same = backend.run(&["runs", "diff", a, a]);
    assert!(same.out.ends_with("no difference\n"), "{same:?}");
}
