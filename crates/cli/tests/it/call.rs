//! `onecall call`: the preview, a server elsewhere, and questions in a terminal.

use crate::elsewhere::at_a_terminal;
use crate::screen::Screen;
use crate::setup::at;
use crate::support::{asking, composite, onecall, program, root, run, serve};
use rexpect::session::spawn_command;
use std::process::Command;

#[test]
fn a_dry_run_shows_the_start_and_calls_nothing() {
    let home = tempfile::tempdir().unwrap();
    let words = ["call", "examples/hello", "greet", "who=Ada", "--dry-run"];
    let ran = run(home.path(), &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for line in [
        "`greet` runs 2 steps and asks nobody; nothing was called",
        "  readOnlyHint: ",
        "  1 hello  calls demo.echo",
        "      at once: {\"text\":\"Hello, Ada!\"}",
        "  2 letters  calls demo.add, after hello",
    ] {
        assert!(ran.out.contains(line), "{line:?} is not in\n{}", ran.out);
    }
    let runs = run(home.path(), &["runs", "list"]);
    assert!(!runs.out.contains("greet"), "{runs:?}");
    let wrong = run(
        home.path(),
        &["call", "examples/hello", "greet", "who:=[]", "--dry-run"],
    );
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let absent = run(
        home.path(),
        &["call", "examples/hello", "gret", "--dry-run"],
    );
    assert_eq!(absent.code, Some(4), "{absent:?}");
}

#[test]
fn a_dry_run_says_which_steps_are_mocked() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("m.workflow.yaml");
    let text = "workflow: m\nsteps:\n  a: { tool: x.y, mock: { n: 1 } }\n  q: { ask: ok?, needs: [a], mock: true }\n";
    std::fs::write(&file, text).unwrap();
    let ran = run(
        home.path(),
        &["call", file.to_str().unwrap(), "m", "--dry-run"],
    );
    let steps = "  1 a  is mocked\n      at once completed\n  2 q  is mocked, after a\n      at once completed\n";
    assert!(ran.out.contains(steps), "{ran:?}");
    assert!(ran.out.contains("2 steps and asks nobody"), "{ran:?}");
}

#[test]
fn a_trace_is_written_to_a_file_and_never_over_an_input() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("trace.json");
    let call = ["call", "examples/hello", "greet", "--trace"];
    let words = [&call[..], &[file.to_str().unwrap()]].concat();
    let ran = run(home.path(), &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let trace = std::fs::read_to_string(&file).unwrap();
    assert!(trace.contains("\"order\""), "{trace}");
    let printed = run(home.path(), &call);
    assert!(printed.out.contains("\"order\""), "{printed:?}");
    let swallowed = ["call", "--trace", "examples/hello/hello.yaml", "greet"];
    assert_eq!(run(home.path(), &swallowed).code, Some(2));
}

#[test]
fn a_server_elsewhere_is_called_by_its_url() {
    let home = tempfile::tempdir().unwrap();
    let (_running, url) = serve(home.path(), &["examples/hello", "--ephemeral"]);
    let ran = run(home.path(), &["call", &url, "greet", "who=Ada"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["greeting"], "Hello, Ada!");
    let gone = run(home.path(), &["call", "http://127.0.0.1:9/mcp", "greet"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
}

#[test]
fn without_a_path_the_file_of_the_folder_is_taken() {
    let home = tempfile::tempdir().unwrap();
    let call = ["call", "demo_echo", "text=hi", "--ephemeral"];
    let none = at(home.path(), &call);
    assert_eq!(none.code, Some(2), "{none:?}");
    let told = "there is no `onecall.yaml` here; write `onecall call PATH demo_echo key=value`";
    assert!(none.err.contains(told), "{none:?}");
    let flag = format!("demo={} demo", program());
    let of_flags = at(home.path(), &[&call[..], &["--backend", &flag]].concat());
    assert_eq!(of_flags.code, Some(0), "{of_flags:?}");
    let text = "backends: { demo: { command: onecall, args: [demo] } }\n";
    std::fs::write(home.path().join("onecall.yaml"), text).unwrap();
    let ran = at(home.path(), &call);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out, "hi\n", "{ran:?}");
    for word in [".", "onecall.yaml", "http://127.0.0.1:9/mcp"] {
        let no_tool = at(home.path(), &["call", word]);
        assert_eq!(no_tool.code, Some(2), "{no_tool:?}");
        let told = format!("no tool is named; write `onecall call {word} TOOL key=value`");
        assert!(no_tool.err.contains(&told), "{no_tool:?}");
    }
}

fn asks() -> String {
    let go = "        tool: demo_add
        arguments: { a: \"{{ .steps.approve.output.content.count }}\", b: 1 }
";
    asking(("count", "integer"), go)
}

#[test]
fn a_person_is_asked_in_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    let mut command = Command::new(program());
    command
        .args(["call", &file, "ship", "--ephemeral"])
        .current_dir(root())
        .env("XDG_STATE_HOME", home.path())
        .env("TERM", "xterm");
    let mut session = spawn_command(command, Some(30_000)).unwrap();
    session.exp_string("approve").unwrap();
    session.exp_string("ccept, [d]ecline or [c]ancel?").unwrap();
    session.send_line("a").unwrap();
    session.exp_string("count (integer): ").unwrap();
    session.send_line("many").unwrap();
    session.exp_string("is not of type integer").unwrap();
    session.send_line("41").unwrap();
    session.exp_string("\"sum\": 42").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn a_backend_does_not_reach_the_terminal_through_the_picture_of_the_steps() {
    let home = tempfile::tempdir().unwrap();
    let tool = "  - name: sly
    description: Fails with what a terminal would act on
    steps:
      - id: tell
        tool: demo_fail
        arguments: { message: \"\\e]0;owned\\a here \\e[2J\\e[1Agone\" }
";
    let file = composite(home.path(), tool);
    let mut command = Command::new(program());
    command
        .args(["call", &file, "sly", "--ephemeral"])
        .current_dir(root())
        .env("XDG_STATE_HOME", home.path())
        .env("TERM", "xterm");
    let mut session = spawn_command(command, Some(30_000)).unwrap();
    let written = session.exp_eof().unwrap();
    // The line of the step, and below it the error; what is read here has one character a byte.
    assert!(
        written.matches("here [2J[1Agone").count() > 1,
        "{written:?}"
    );
    for sequence in ["\u{1b}]0;", "\u{7}", "\u{1b}[2J", "\u{1b}[1Agone"] {
        assert!(!written.contains(sequence), "{sequence:?} in {written:?}");
    }
}

#[test]
fn without_a_terminal_the_run_waits() {
    let home = tempfile::tempdir().unwrap();
    let file = composite(home.path(), &asks());
    let words = ["call", &file, "ship"];
    let output = onecall(home.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn one_thing_is_told_as_one() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("one.workflow.yaml");
    let text = "workflow: one\nparameters: { type: object, properties: { n: { type: string, minLength: 1 } } }\n\
        steps: { s: { each: [hi], tool: demo.echo, with: { text: '${{ .item }}' } } }\n";
    std::fs::write(&file, text).unwrap();
    let flag = format!("demo={} demo", program());
    let words = [
        "call",
        file.to_str().unwrap(),
        "one",
        "--ephemeral",
        "--backend",
        &flag,
    ];
    let ahead = run(home.path(), &[&words[..], &["--dry-run"]].concat());
    assert!(ahead.out.contains("runs 1 step and"), "{ahead:?}");
    assert!(ahead.out.contains("over 1 item\n"), "{ahead:?}");
    let called = run(home.path(), &words);
    assert!(called.err.contains("s (1 item)"), "{called:?}");
    let refused = run(home.path(), &[&words[..], &["n="]].concat());
    assert!(refused.err.contains("at least 1 character"), "{refused:?}");
    assert!(!refused.err.contains("1 characters"), "{refused:?}");
}

#[test]
fn log_lines_stand_above_the_picture_of_the_steps() {
    let home = tempfile::tempdir().unwrap();
    // The list of the second backend is stored by the first call, so that it is connected while the next one runs.
    let text = "workflow: two
steps:
  first: {tool: one.slow, with: {ms: 500}}
  second: {tool: two.echo, with: {text: x}, needs: [first]}
  third: {tool: one.slow, with: {ms: 300}, needs: [second]}
";
    let file = home.path().join("two.workflow.yaml");
    std::fs::write(&file, text).unwrap();
    let demo = format!("{} demo", program());
    let (one, two) = (format!("one={demo}"), format!("two={demo}"));
    let file = file.to_str().unwrap();
    let words = ["call", file, "two", "--backend", &one, "--backend", &two];
    assert_eq!(run(home.path(), &words).code, Some(0));
    let words = [&words[..], &["--log-level", "info"]].concat();
    let written = at_a_terminal(home.path(), &words).exp_eof().unwrap();
    // What is read here has one character a byte.
    let bytes: Vec<u8> = written
        .chars()
        .filter_map(|c| u8::try_from(c).ok())
        .collect();
    let lines = Screen::of(&String::from_utf8_lossy(&bytes));
    let of_steps = |line: &&String| line.starts_with("  ├─") || line.starts_with("  └─");
    assert_eq!(lines.iter().filter(of_steps).count(), 3, "{lines:#?}");
    let logged = lines.iter().any(|line| line.contains("a backend is up"));
    assert!(logged, "{lines:#?}");
}

#[test]
fn items_that_failed_are_counted_and_named() {
    let home = tempfile::tempdir().unwrap();
    let tool = "  - name: some
    description: Goes on after a failure
    steps:
      - id: weather
        type: forEach
        collection: '[1, 2, 3]'
        onError: { action: continue }
        step:
          tool: demo_fail
          arguments: { message: no weather }
          condition: \"{{ eq .forEach.index 1 }}\"
          onError: { action: continue }
";
    let file = composite(home.path(), tool);
    let words = ["call", &file, "some"];
    let lines = run(home.path(), &words);
    assert!(lines.err.contains("  ✓ weather 2 of 3 "), "{lines:?}");
    assert!(lines.err.contains(": weather[1] failed: "), "{lines:?}");
    let written = at_a_terminal(home.path(), &words).exp_eof().unwrap();
    let bytes: Vec<u8> = written
        .chars()
        .filter_map(|c| u8::try_from(c).ok())
        .collect();
    let screen = Screen::of(&String::from_utf8_lossy(&bytes)).join("\n");
    assert!(screen.contains("2 of 3 "), "{screen}");
    assert!(screen.contains("weather[1] failed: "), "{screen}");
    let shown = run(home.path(), &["runs", "show", "last"]);
    assert!(shown.out.contains("✓ weather 2 of 3"), "{shown:?}");
    assert!(shown.out.contains("✗ [1]"), "{shown:?}");
}
