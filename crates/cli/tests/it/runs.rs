//! `onecall runs`: watching, carrying a run to another store, cancelling and answering.

use crate::support::{Ran, Running, asking, composite, onecall, run, serve, serving, until};
use serde_json::Value;
use std::path::Path;

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
    assert!(told.out.contains("no server on this store"), "{told:?}");
    assert!(told.out.contains("demo: stdio "), "{told:?}");
    let (_server, _) = serve(home.path(), &[file]);
    let shown = until("the end of the run", || {
        let shown: Value = run(home.path(), &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    assert_eq!(shown["steps"][1]["output"]["text"], "shipped", "{shown}");
}

#[test]
fn another_answer_is_refused_while_the_first_is_only_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = &composite(home.path(), &asks());
    assert_eq!(run(home.path(), &["call", file, "ship"]).code, Some(5));
    let answer = |word: &str| run(home.path(), &["runs", "answer", "last", "approve", word]);
    assert_eq!(answer("ok:=true").code, Some(0));
    for (other, how) in [
        ("ok:=false", "with other fields"),
        ("--decline", "(accepted"),
    ] {
        let other = answer(other);
        assert_eq!(other.code, Some(1), "{other:?}");
        assert!(other.err.contains("answered otherwise"), "{other:?}");
        assert!(other.err.contains(how), "{other:?}");
        assert_eq!(other.out, "", "{other:?}");
    }
    let same = answer("ok:=true");
    assert_eq!(same.code, Some(0), "{same:?}");
    let (_server, _) = serve(home.path(), &[file]);
    let shown = until("the end of the run", || {
        let shown: Value = run(home.path(), &["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(shown)
    });
    assert_eq!(shown["steps"][1]["output"]["text"], "shipped", "{shown}");
    assert_eq!(shown["notes"], serde_json::json!([]), "none came late");
}

#[test]
fn whoever_answers_is_told_what_came_of_it() {
    let home = tempfile::tempdir().unwrap();
    let file = &composite(home.path(), &asks());
    assert_eq!(run(home.path(), &["call", file, "ship"]).code, Some(5));
    let (_server, _) = serve(home.path(), &[file]);
    let answer = |field: &str| run(home.path(), &["runs", "answer", "last", "approve", field]);
    let unfit = answer("ok=perhaps");
    assert_eq!(unfit.code, Some(1), "{unfit:?}");
    let reason = "the answer does not fit: `ok` must be a boolean";
    assert!(unfit.err.contains(reason), "{unfit:?}");
    let taken = answer("ok:=true");
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert!(taken.out.starts_with("answered; run "), "{taken:?}");
    let late = answer("ok:=true");
    assert_eq!(late.code, Some(1), "{late:?}");
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

/// The command that a text tells a person to type, less the name of the program.
fn told(text: &str) -> Vec<String> {
    let (_, rest) = text.split_once("`onecall ").unwrap();
    let (command, _) = rest.split_once('`').unwrap();
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_command_that_is_told_finds_the_run() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    let store = home.path().join("own.db");
    let (_running, url) = serve(home.path(), &[&file, "--store", store.to_str().unwrap()]);
    let called = run(home.path(), &["call", &url, "ship"]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let mut words = told(&called.err);
    words.insert(4, "ok:=true".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answered = run(home.path(), &words);
    assert_eq!(answered.code, Some(0), "{words:?}: {answered:?}");

    let here = run(
        home.path(),
        &["call", &file, "ship", "--store", store.to_str().unwrap()],
    );
    assert_eq!(here.code, Some(5), "{here:?}");
    assert!(here.err.contains(" approve ok:=true --store "), "{here:?}");

    let (_running, url) = serve(home.path(), &[&file, "--ephemeral"]);
    let kept_nowhere = run(home.path(), &["call", &url, "ship"]);
    assert_eq!(kept_nowhere.code, Some(5), "{kept_nowhere:?}");
    assert!(kept_nowhere.err.contains("/answer/"), "{kept_nowhere:?}");
    assert!(
        !kept_nowhere.err.contains("runs answer"),
        "{kept_nowhere:?}"
    );
}

#[test]
fn the_store_of_the_folder_is_looked_into() {
    let home = tempfile::tempdir().unwrap();
    let text = "store: own.db\nbackends: { demo: { command: onecall, args: [demo] } }\nworkflows: [h.workflow.yaml]\n";
    std::fs::write(home.path().join("onecall.yaml"), text).unwrap();
    let workflow = "workflow: hi\nsteps: { a: { tool: demo.echo, with: { text: hi } } }\n";
    std::fs::write(home.path().join("h.workflow.yaml"), workflow).unwrap();
    let here = |words: &[&str]| {
        let mut command = onecall(home.path(), words);
        Ran::from(command.current_dir(home.path()).output().unwrap())
    };
    assert_eq!(here(&["call", "onecall.yaml", "hi"]).code, Some(0));
    let shown = here(&["runs", "show", "last"]);
    assert!(shown.out.contains("workflow hi"), "{shown:?}");
    for command in [["show", "r0000"], ["cancel", "r0000"], ["watch", "r0000"]] {
        let ran = here(&[&["runs"][..], &command].concat());
        assert_eq!(ran.code, Some(4), "{ran:?}");
    }
    let answered = here(&["runs", "answer", "r0000", "a"]);
    assert_eq!(answered.code, Some(4), "{answered:?}");
}

#[test]
fn the_flag_wins_over_the_store_of_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let store = home.path().join("named.db");
    let words = ["call", "examples/hello", "greet", "--ephemeral"];
    let mut command = onecall(home.path(), &words);
    let ran = Ran::from(command.env("ONECALL_STORE", &store).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!store.exists());
    let both = [&words[..], &["--store", "x.db"]].concat();
    assert_eq!(run(home.path(), &both).code, Some(2));
}

#[test]
fn a_server_tells_an_interrupt_from_an_orderly_end() {
    let home = tempfile::tempdir().unwrap();
    let (mut running, _) = serve(home.path(), &["examples/hello", "--ephemeral"]);
    running.interrupt();
    assert_eq!(running.wait(), Some(130));
    let (mut running, _) = serve(home.path(), &["examples/hello", "--ephemeral"]);
    running.terminate();
    assert_eq!(running.wait(), Some(0));
}

#[test]
fn a_server_that_stops_says_what_it_waits_for() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let logged = |name: &str| std::fs::File::create(home.join(name)).unwrap().into();
    let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
    let words = ["serve", "examples/hello", "--ephemeral", "--port", "0"];
    let mut server = Running::logging(onecall(home, &words), logged("server.txt"));
    let url = server.url();
    let words = ["call", &url, "demo_slow", "ms:=20000"];
    let _call = Running::logging(onecall(home, &words), logged("call.txt"));
    until("progress", || {
        read("call.txt").contains("1 of 4").then_some(())
    });
    server.interrupt();
    let told =
        "stopping: up to 10 s for 1 call under way; a second Ctrl-C, or signal, ends at once\n";
    until("the word", || {
        read("server.txt").contains(told).then_some(())
    });
    server.interrupt();
    assert_eq!(server.wait(), Some(130));

    let words = ["serve", "examples/hello", "--ephemeral", "--port", "0"];
    let mut idle = Running::logging(onecall(home, &words), logged("idle.txt"));
    idle.url();
    idle.terminate();
    assert_eq!(idle.wait(), Some(0));
    assert_eq!(read("idle.txt"), "stopping\n");
}

#[test]
fn an_imported_run_is_cancelled_by_a_server_of_other_backends() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    assert_eq!(run(home.path(), &["call", &file, "ship"]).code, Some(5));
    let text = run(home.path(), &["runs", "export", "last"]).out;
    let exported = home.path().join("run.json");
    std::fs::write(&exported, text).unwrap();
    let other = tempfile::tempdir().unwrap();
    let words = ["runs", "import", exported.to_str().unwrap()];
    let imported = run(other.path(), &words);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    // Its backend has another ledger, so it is not the one that the run was bound to.
    let (_server, _) = serve(other.path(), &[&composite(other.path(), &asks())]);
    let told = run(
        other.path(),
        &["runs", "answer", "last", "approve", "ok:=true"],
    );
    assert!(told.out.contains("with its backends, demo: "), "{told:?}");
    let told = run(other.path(), &["runs", "cancel", "last"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let listed = until("the end of the run", || {
        let listed = run(other.path(), &["runs", "list", "--json"]).json();
        (listed[0]["phase"] != "waiting").then_some(listed)
    });
    assert_eq!(listed[0]["phase"], "cancelled", "{listed}");
}

#[test]
fn a_beginning_that_fits_several_runs_names_them() {
    let home = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let called = run(home.path(), &["call", "examples/hello", "greet", "who=Ada"]);
        assert_eq!(called.code, Some(0), "{called:?}");
    }
    let shown = run(home.path(), &["runs", "show", "r"]);
    assert_eq!(shown.code, Some(2), "{shown:?}");
    assert!(shown.err.contains("2 runs begin with `r`"), "{shown:?}");
    let listed = run(home.path(), &["runs", "list", "--json"]).json();
    for one in listed.as_array().unwrap() {
        let id = one["id"].as_str().unwrap();
        assert!(shown.err.contains(id), "{shown:?}");
        let found = run(home.path(), &["runs", "show", &id[..20]]);
        assert_eq!(found.code, Some(0), "{found:?}");
    }
    let none = run(home.path(), &["runs", "show", "x"]);
    assert!(none.err.contains("no run `x`"), "{none:?}");
}

#[test]
fn a_run_goes_on_at_a_server_of_its_own_folder_alone() {
    let home = tempfile::tempdir().unwrap();
    let backends = "backends: {own: {command: onecall, args: [demo, --ledger, ledger]}}\n";
    let folder = |name: &str, workflow: &str| {
        let folder = home.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let file = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        file(
            "onecall.yaml",
            &format!("{backends}workflows: [own.workflow.yaml]\n"),
        );
        file("own.workflow.yaml", workflow);
        folder
    };
    let pays = "workflow: pay\ndescription: pays\nsteps:\n  sure: {ask: Sure?}\n  \
                pay: {tool: own.append, with: {text: paid}, needs: [sure]}\n";
    let other =
        "workflow: other\ndescription: other\nsteps:\n  add: {tool: own.add, with: {a: 1, b: 2}}\n";
    let (one, two) = (folder("one", pays), folder("two", other));
    let store = home.path().join("runs.db");
    let store = store.to_str().unwrap();
    let within = |folder: &Path, words: &[&str]| {
        let mut command = onecall(home.path(), words);
        command.current_dir(folder).args(["--store", store]);
        command
    };
    let done = |words: &[&str]| Ran::from(within(&one, words).output().unwrap());
    let asked = done(&["call", "onecall.yaml", "pay"]);
    assert_eq!(asked.code, Some(5), "{asked:?}");
    let answered = done(&["runs", "answer", "last", "sure"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    // The server of the other folder starts the same program in the same words, and could have taken the run.
    let strangers = serving(within(&two, &["serve", "onecall.yaml", "--port", "0"]));
    let own = serving(within(&one, &["serve", ".", "--port", "0"]));
    until("the run has ended", || {
        let shown = done(&["runs", "show", "last", "--json"]).json();
        (shown["summary"]["phase"] == "completed").then_some(())
    });
    let wrote = |folder: &Path| {
        std::fs::read_to_string(folder.join("ledger")).is_ok_and(|text| text.contains("append"))
    };
    assert!(wrote(&one) && !wrote(&two));
    drop((strangers, own));
}
