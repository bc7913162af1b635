//! Runs that need a person: every command that meets one says what it needs, and how to go on.

use crate::support::{Ran, Running, composite, onecall, run, serve, until};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A workflow whose only call has acted and does not answer, over a backend that is reached like this.
fn pay(home: &Path) -> String {
    let step = "      - id: charge
        tool: demo_append
        arguments: { text: paid, after_ms: 60000 }
";
    composite(
        home,
        &format!("  - name: pay\n    description: Pays\n    steps:\n{step}"),
    )
}

fn started(mut command: Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn until_paid(home: &Path) {
    until("the effect", || {
        let ledger = std::fs::read_to_string(home.join("ledger.txt")).unwrap_or_default();
        (!ledger.is_empty()).then_some(())
    });
}

/// A run that is held since its server was killed in the middle of its call; the server that has taken it up.
fn held(home: &Path, more: &[&str]) -> Running {
    let file = pay(home);
    let words = [&[file.as_str()], more].concat();
    let (mut server, url) = serve(home, &words);
    let call = started(onecall(home, &["call", &url, "pay"]));
    until_paid(home);
    server.kill();
    call.wait_with_output().unwrap();
    let (server, _) = serve(home, &words);
    until("the run to be held", || {
        let mut words = vec!["runs", "list", "--state", "held"];
        words.extend(more);
        (run(home, &words).code == Some(0)).then_some(())
    });
    server
}

/// All three choices are named with the step and the store, each with its meaning.
fn names_all_choices(text: &str, flag: &str) {
    for (choice, meaning) in [
        ("--result JSON", "it has acted"),
        ("--fail", "counts as failed"),
        ("--retry", "may act twice"),
    ] {
        let line = text.lines().find(|line| line.contains(choice));
        let line = line.unwrap_or_else(|| panic!("{choice} is not in {text}"));
        let command = format!(" charge {choice}{flag}  # ");
        assert!(line.contains(&command), "{line}");
        assert!(line.contains("onecall runs answer r"), "{line}");
        assert!(line.contains(meaning), "{line}");
    }
}

#[test]
fn whoever_looks_at_a_held_run_is_told_every_choice() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let store = home.join("own.db");
    let store = ["--store", store.to_str().unwrap()];
    let _server = held(home, &store);
    let flag = format!(" {}", store.join(" "));
    let shown = run(home, &[&["runs", "show", "last"][..], &store].concat());
    names_all_choices(&shown.out, &flag);
    let watched = run(home, &[&["runs", "watch", "last"][..], &store].concat());
    assert_eq!(watched.code, Some(5), "{watched:?}");
    names_all_choices(&watched.err, &flag);
}

#[test]
fn a_call_that_is_held_names_every_choice() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let ledger = home.join("ledger.txt");
    let words = ["demo", "--http", "0", "--ledger", ledger.to_str().unwrap()];
    let mut demo = Running::start(onecall(home, &words));
    let line = demo.line(|line| line.contains(" at http://"));
    let url = line.split(" at ").nth(1).unwrap();
    let file = pay(home);
    let text = std::fs::read_to_string(&file).unwrap();
    let backend = text.lines().find(|line| line.contains("command:")).unwrap();
    let there = format!("  - {{ name: demo, url: \"{url}\" }}");
    std::fs::write(&file, text.replace(backend, &there)).unwrap();
    let call = started(onecall(home, &["call", &file, "pay"]));
    until_paid(home);
    demo.kill();
    let told = Ran::from(call.wait_with_output().unwrap());
    assert_eq!(told.code, Some(5), "{told:?}");
    names_all_choices(&told.err, "");
}

#[test]
fn whoever_looks_at_a_waiting_run_is_told_how_to_answer() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let go = "        tool: demo_echo\n        arguments: { text: hi }\n";
    let file = composite(home, &crate::support::asking(("ok", "boolean"), go));
    assert_eq!(run(home, &["call", &file, "ship"]).code, Some(5));
    let watched = run(home, &["runs", "watch", "last"]);
    assert_eq!(watched.code, Some(5), "{watched:?}");
    let shown = run(home, &["runs", "show", "last"]);
    for text in [watched.err, shown.out] {
        assert!(text.contains(" waits for a person: Ship it?"), "{text}");
        let help = text.lines().find(|line| line.contains("= help: onecall"));
        let help = help.unwrap_or_else(|| panic!("no help in {text}"));
        assert!(help.ends_with(" approve ok:=true"), "{help}");
    }
}

#[test]
fn a_server_and_the_doctor_tell_of_runs_that_need_a_person() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let file = pay(home);
    let (mut server, url) = serve(home, &[&file]);
    let call = started(onecall(home, &["call", &url, "pay"]));
    until_paid(home);
    server.kill();
    call.wait_with_output().unwrap();
    let doctor = || run(home, &["doctor", &file]);
    let left = doctor();
    assert!(
        left.out.contains("! runs      no server drives 1 run"),
        "{left:?}"
    );
    let (server, _) = serve(home, &[&file]);
    let told = server.line(|line| line.starts_with("runs "));
    let list = "onecall runs list --state held --state waiting";
    assert_eq!(told, format!("runs      resumed 1 run; 1 is held: {list}"));
    let held = doctor();
    assert_eq!(held.code, Some(0), "{held:?}");
    let line = format!("! runs      1 is held\n            = help: {list}\n");
    assert!(held.out.contains(&line), "{held:?}");
    let words = ["runs", "answer", "last", "charge", "--fail"];
    assert_eq!(run(home, &words).code, Some(0));
    until("the end of the run", || {
        let ended = run(home, &["runs", "list", "--state", "failed"]);
        (ended.code == Some(0)).then_some(())
    });
    let well = doctor();
    assert!(!well.out.contains("runs"), "{well:?}");
}

#[test]
fn a_store_that_was_named_must_be_there_and_is_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let typo = home.join("typo.db");
    let typo = typo.to_str().unwrap();
    for words in [
        &["runs", "list", "--store", typo][..],
        &["runs", "show", "r1", "--store", typo],
    ] {
        let ran = run(home, words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{ran:?}");
        let told = format!("there is no store at `{typo}`");
        assert!(ran.err.contains(&told), "{ran:?}");
    }
    let store = home.join("own.db");
    let store = store.to_str().unwrap();
    let words = ["call", "examples/hello", "greet", "--store", store];
    assert_eq!(run(home, &words).code, Some(0));
    let absent = run(home, &["runs", "show", "r51f8", "--store", store]);
    assert_eq!(absent.code, Some(4), "{absent:?}");
    let told = format!("no run `r51f8` is in the store `{store}`");
    assert!(absent.err.contains(&told), "{absent:?}");
    let list = format!("`onecall runs list --store {store}`");
    assert!(absent.err.contains(&list), "{absent:?}");
}

#[test]
fn hints_name_the_store_of_the_files() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let text = "store: own.db\nbackends: { demo: { command: onecall, args: [demo] } }\nworkflows: [a.workflow.yaml]\n";
    std::fs::write(home.join("onecall.yaml"), text).unwrap();
    let workflow = "workflow: asks\nsteps:\n  ok: { ask: Really? }\n";
    std::fs::write(home.join("a.workflow.yaml"), workflow).unwrap();
    let here = |words: &[&str]| {
        let mut command = onecall(home, words);
        Ran::from(command.current_dir(home).output().unwrap())
    };
    let called = here(&["call", "asks"]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let shown = here(&["runs", "show", "last"]);
    let store = home.canonicalize().unwrap().join("own.db");
    let flag = format!(" --store {}", store.display());
    for text in [called.err, shown.out] {
        let help = text.lines().find(|line| line.contains("= help: onecall"));
        assert!(help.is_some_and(|help| help.ends_with(&flag)), "{text}");
    }
}

#[test]
fn whoever_answers_what_does_not_ask_is_told_why() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let text = "store: own.db\nbackends: { demo: { command: onecall, args: [demo] } }\nworkflows: [a.workflow.yaml]\n";
    std::fs::write(home.join("onecall.yaml"), text).unwrap();
    let workflow = "workflow: asks\nsteps:\n  first: { ask: Now? }\n  later: { ask: Later?, needs: [first] }\n";
    std::fs::write(home.join("a.workflow.yaml"), workflow).unwrap();
    let here = |words: &[&str]| {
        let mut command = onecall(home, words);
        Ran::from(command.current_dir(home).output().unwrap())
    };
    let refused = |step: &str, parts: &[&str]| {
        let ran = here(&["runs", "answer", "last", step]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for part in parts {
            assert!(ran.err.contains(part), "{part} is not in {ran:?}");
        }
    };
    assert_eq!(here(&["call", "asks"]).code, Some(5));
    refused(
        "frist",
        &[
            "no step `frist`",
            "one named `first`",
            "these wait: `first`",
        ],
    );
    refused(
        "later",
        &["step `later` asks nothing now; these wait: `first`"],
    );
    let mut command = onecall(home, &["serve", "onecall.yaml", "--port", "0"]);
    command.current_dir(home);
    let (_server, _) = crate::support::serving(command);
    assert_eq!(here(&["runs", "answer", "last", "first"]).code, Some(0));
    until("the second question", || {
        let shown = here(&["runs", "show", "last"]);
        shown.out.contains("Later?").then_some(())
    });
    refused(
        "first",
        &[
            "asks nothing any more: it was answered at 2",
            "these wait: `later`",
        ],
    );
    assert_eq!(
        here(&["runs", "answer", "last", "later", "--decline"]).code,
        Some(0)
    );
    until("the end of the run", || {
        let ended = here(&["runs", "list", "--state", "failed"]);
        (ended.code == Some(0)).then_some(())
    });
    refused(
        "later",
        &[
            "it was declined at 2",
            "the run has ended: failed, declined.question",
        ],
    );
}

#[test]
fn an_answered_run_does_not_ask_again_before_a_server_takes_the_answer() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let go = "        tool: demo_echo\n        arguments: { text: hi }\n";
    let file = composite(home, &crate::support::asking(("ok", "boolean"), go));
    assert_eq!(run(home, &["call", &file, "ship"]).code, Some(5));
    let words = ["runs", "answer", "last", "approve", "ok:=true"];
    assert_eq!(run(home, &words).code, Some(0));
    let shown = run(home, &["runs", "show", "last"]);
    for asks in [
        "waits for a person",
        "asks: Ship it?",
        "onecall runs answer",
    ] {
        assert!(!shown.out.contains(asks), "{shown:?}");
    }
    assert!(
        shown
            .out
            .contains("has been answered; it resumes once a server"),
        "{shown:?}"
    );
    let listed = run(home, &["runs", "list"]);
    assert!(
        listed.out.contains("answered, waits for a server"),
        "{listed:?}"
    );
    let doctor = run(home, &["doctor", &file]);
    assert!(
        doctor
            .out
            .contains("! runs      1 has been answered and waits for a server"),
        "{doctor:?}"
    );
    assert!(!doctor.out.contains("waits for an answer"), "{doctor:?}");
    // The run ends while the server is still counting.
    let (server, _) = serve(home, &[&file]);
    let told = server.line(|line| line.starts_with("runs "));
    assert_eq!(told, "runs      resumed 1 run");
}
