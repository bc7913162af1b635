//! Runs whose files change under them: bound to other backends, and repeated with another definition.

use crate::support::{Ran, Running, onecall, serving, until};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;

const ASK: &str = "workflow: ask\nsteps:\n  sure: { ask: 'Sure?' }\n  say: { tool: demo.echo, needs: [sure], with: { text: done } }\noutputs:\n  said: ${{ .steps.say.text }}\n";

/// A directory with a configuration whose backend has these arguments.
fn configure(home: &Path, args: &str) {
    let text = format!(
        "backends: {{ demo: {{ command: onecall, args: [{args}] }} }}\nworkflows: [.]\nnames: {{ prefix: workflow_ }}\n"
    );
    std::fs::write(home.join("onecall.yaml"), text).unwrap();
}

fn run(home: &Path, words: &[&str]) -> Ran {
    onecall(home, words)
        .current_dir(home)
        .output()
        .unwrap()
        .into()
}

fn served(home: &Path, logs: Stdio) -> Running {
    let mut command = onecall(home, &["serve", "--port", "0"]);
    command.current_dir(home);
    let server = Running::logging(command, logs);
    server.url();
    server
}

#[test]
fn a_run_that_other_args_strand_says_so_and_is_bound_anew() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, "demo");
    std::fs::write(home.join("ask.workflow.yaml"), ASK).unwrap();
    let called = run(home, &["call", "onecall.yaml", "workflow_ask"]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let why = "bound to other backends: `args` of `demo` differ";
    let shown = run(home, &["runs", "show", "last"]).out;
    assert!(!shown.contains("bound to other backends"), "{shown}");

    configure(home, "demo, --ledger, calls.txt");
    let shown = run(home, &["runs", "show", "last"]).out;
    assert!(
        shown.contains(why) && shown.contains("onecall runs rebind r"),
        "{shown}"
    );
    let json = run(home, &["runs", "show", "last", "--json"]).json();
    assert_eq!(json["stranded"], why);
    let doctor = run(home, &["doctor"]).out;
    assert!(doctor.contains(why), "{doctor}");
    let log = home.join("log.txt");
    let server = served(home, std::fs::File::create(&log).unwrap().into());
    server.line(|line| line.contains(why));
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains(why), "{log}");
    let kept = run(home, &["runs", "answer", "last", "sure"]);
    assert!(kept.out.contains("kept for run"), "{kept:?}");
    assert!(
        kept.out.contains(why) && kept.out.contains("onecall runs rebind r"),
        "{kept:?}"
    );

    let told = run(home, &["runs", "rebind", "last"]);
    assert!(told.out.contains("`args` of `demo` differ"), "{told:?}");
    assert!(told.err.contains("nothing was done"), "{told:?}");
    let bound = run(home, &["runs", "rebind", "last", "--yes"]);
    assert!(bound.out.contains("to these backends"), "{bound:?}");
    let shown = until("the end of the run", || {
        let shown: Value = run(home, &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    let output = shown["steps"][1]["output"].to_string();
    assert!(output.contains("done"), "{output}");
    let again = run(home, &["runs", "rebind", "last", "--yes"]);
    assert!(again.err.contains("has ended"), "{again:?}");
}

#[test]
fn a_run_is_not_bound_to_files_that_lack_a_backend() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, "demo");
    std::fs::write(home.join("ask.workflow.yaml"), ASK).unwrap();
    run(home, &["call", "onecall.yaml", "workflow_ask"]);
    let bound = run(home, &["runs", "rebind", "last", "--yes"]);
    assert!(bound.out.contains("already"), "{bound:?}");
    std::fs::write(
        home.join("onecall.yaml"),
        "backends: { other: { command: onecall, args: [demo] } }\n",
    )
    .unwrap();
    let refused = run(home, &["runs", "rebind", "last", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.err.contains("no backend is named `demo`"),
        "{refused:?}"
    );
}

const SHIP: &str = "workflow: ship\nsteps:\n  write: { tool: demo.append, with: { text: a } }\n  stumble: { tool: demo.fail, needs: [write], with: { message: 'no' } }\n";
const MENDED: &str = "workflow: ship\nsteps:\n  write: { tool: demo.append, with: { text: a } }\n  stumble: { tool: demo.echo, needs: [write], with: { text: mended } }\n  more: { tool: demo.echo, needs: [stumble], with: { text: more } }\n";

#[test]
fn a_repeat_takes_the_present_definition_when_told_to() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, "demo");
    let file = home.join("ship.workflow.yaml");
    std::fs::write(&file, SHIP).unwrap();
    let called = run(home, &["call", "onecall.yaml", "workflow_ship"]);
    assert_eq!(called.code, Some(1), "{called:?}");
    let failed = run(home, &["runs", "show", "last", "--json"]).json();
    let old = failed["summary"]["id"].as_str().unwrap().to_owned();
    let same = run(home, &["runs", "retry", &old]);
    assert!(!same.err.contains("has changed"), "{same:?}");

    std::fs::write(&file, MENDED).unwrap();
    let hint = run(home, &["runs", "retry", &old]);
    assert!(hint.err.contains("the definition has changed"), "{hint:?}");
    assert!(hint.err.contains("--with-current"), "{hint:?}");
    let preview = run(home, &["runs", "retry", &old, "--with-current"]);
    assert!(preview.out.contains("= write  kept"), "{preview:?}");
    assert!(preview.out.contains("more  runs"), "{preview:?}");
    let made = run(home, &["runs", "retry", &old, "--with-current", "--yes"]);
    assert!(made.out.contains("made run r"), "{made:?}");
    // Looking at it before a server has taken it does no harm.
    assert_eq!(run(home, &["runs", "show", "last"]).code, Some(0));
    let mut command = onecall(home, &["serve", "--port", "0"]);
    command.current_dir(home);
    let (_server, _) = serving(command);
    let shown = until("the end of the repeat", || {
        let shown: Value = run(home, &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    assert_eq!(shown["summary"]["retry_of"], old.as_str());
    assert_eq!(shown["steps"][0]["kept"], true);
    for (step, text) in [(1, "mended"), (2, "more")] {
        let output = shown["steps"][step]["output"].to_string();
        assert!(output.contains(text), "{output}");
    }
}

#[test]
fn a_repeat_whose_workflow_is_gone_says_so_and_can_be_cancelled() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, "demo, --ledger, calls.txt");
    let file = home.join("ship.workflow.yaml");
    std::fs::write(&file, SHIP).unwrap();
    run(home, &["call", "onecall.yaml", "workflow_ship"]);
    std::fs::remove_file(&file).unwrap();
    // A server without any workflow loads nothing.
    std::fs::write(home.join("ask.workflow.yaml"), ASK).unwrap();
    let old = run(home, &["runs", "show", "last", "--json"]).json();
    let old = old["summary"]["id"].as_str().unwrap();
    let _server = served(home, Stdio::inherit());
    let made = run(home, &["runs", "retry", old, "--with-current", "--yes"]);
    assert!(made.out.contains("made run r"), "{made:?}");
    let shown = run(home, &["runs", "show", "last"]).out;
    assert!(
        shown.contains("waits for a server that has workflow `ship`")
            && shown.contains("onecall runs cancel r"),
        "{shown}"
    );
    run(home, &["runs", "cancel", "last"]);
    let shown = until("the end of the repeat", || {
        let shown: Value = run(home, &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "cancelled").then_some(shown)
    });
    assert_eq!(shown["summary"]["retry_of"], old);
}

#[test]
fn a_repeat_is_refused_if_a_step_that_it_must_reuse_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    configure(home, "demo");
    let file = home.join("ship.workflow.yaml");
    std::fs::write(&file, SHIP).unwrap();
    run(home, &["call", "onecall.yaml", "workflow_ship"]);
    let failed = run(home, &["runs", "show", "last", "--json"]).json();
    let old = failed["summary"]["id"].as_str().unwrap().to_owned();
    let other = MENDED.replace("write", "wrote");
    std::fs::write(&file, &other).unwrap();
    let refused = run(home, &["runs", "retry", &old, "--with-current", "--yes"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.err.contains("step `write`") && refused.err.contains("--from"),
        "{refused:?}"
    );

    // The server refuses too: it may have loaded other files than those that the command saw.
    std::fs::write(&file, MENDED).unwrap();
    run(home, &["runs", "retry", &old, "--with-current", "--yes"]);
    std::fs::write(&file, &other).unwrap();
    let _server = served(home, Stdio::inherit());
    let shown = until("the end of the repeat", || {
        let shown: Value = run(home, &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "failed").then_some(shown)
    });
    assert_eq!(shown["summary"]["failure"], "input.invalid");
    let text = shown["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("step `write`"), "{text}");
}
