//! `onecall runs`: watching, carrying a run to another store, cancelling and answering.

use crate::support::{asking, composite, run, serve, until};
use serde_json::Value;

#[test]
fn a_run_is_carried_to_another_store() {
    let home = tempfile::tempdir().unwrap();
    let called = run(home.path(), &["call", "examples/hello", "greet", "who=Ada"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    let exported = run(home.path(), &["runs", "export", "last"]);
    let file = home.path().join("run.json");
    std::fs::write(&file, &exported.out).unwrap();
    let other = home.path().join("other.db");
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    let imported = run(home.path(), &["runs", "import", file, "--store", other]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let here = run(home.path(), &["runs", "show", "last", "--json"]).json();
    let there = run(
        home.path(),
        &["runs", "show", "last", "--json", "--store", other],
    )
    .json();
    assert_eq!(here["steps"], there["steps"]);
    assert_eq!(here["result"], there["result"]);
    let again = run(home.path(), &["runs", "import", file, "--store", other]);
    assert_eq!(again.code, Some(1), "a run is imported once: {again:?}");
    let watched = run(home.path(), &["runs", "watch", "last"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert!(watched.err.contains("✓ letters"), "{}", watched.err);
}

fn asks() -> String {
    let go = "        tool: demo_echo
        arguments: { text: shipped }
        condition: \"{{ .steps.approve.output.content.ok }}\"
        dependsOn: [approve]
";
    asking(("ok", "boolean"), go)
}

#[test]
fn a_question_outlives_the_process_that_asked_it() {
    let home = tempfile::tempdir().unwrap();
    let file = &composite(home.path(), &asks());
    let asked = run(home.path(), &["call", file, "ship"]);
    assert_eq!(asked.code, Some(5), "{asked:?}");
    let wrong = run(
        home.path(),
        &["runs", "answer", "last", "nobody", "ok:=true"],
    );
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let told = run(
        home.path(),
        &["runs", "answer", "last", "approve", "ok:=true"],
    );
    assert_eq!(told.code, Some(0), "{told:?}");
    let (_server, _) = serve(home.path(), &[file]);
    let shown = until("the end of the run", || {
        let shown: Value = run(home.path(), &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    assert_eq!(shown["steps"][1]["output"]["text"], "shipped", "{shown}");
}

#[test]
fn a_waiting_run_is_cancelled_from_another_process() {
    let home = tempfile::tempdir().unwrap();
    let file = &composite(home.path(), &asks());
    assert_eq!(run(home.path(), &["call", file, "ship"]).code, Some(5));
    let (_server, _) = serve(home.path(), &[file]);
    let told = run(home.path(), &["runs", "cancel", "last"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    until("the end of the run", || {
        let runs = run(
            home.path(),
            &["runs", "list", "--state", "cancelled", "--json"],
        );
        (runs.code == Some(0)).then_some(())
    });
}
