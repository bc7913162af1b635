//! What is done wrong at first, and what is said about it: each message tells what is wrong and what to do next.

use crate::elsewhere::at_a_terminal;
use crate::support::{Ran, composite, onecall, root, run, serve};
use std::path::Path;

fn hello() -> String {
    root().join("examples/hello").display().to_string()
}

fn written(home: &Path, name: &str, text: &str) -> String {
    let file = home.join(name);
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// Runs it, and holds its exit code and what it says on stderr against what is expected.
fn told(home: &Path, words: &[&str], code: i32, parts: &[&str]) -> Ran {
    let ran = run(home, words);
    assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
    for part in parts {
        assert!(
            ran.err.contains(part),
            "{part} is not in {words:?}: {ran:?}"
        );
    }
    ran
}

#[test]
fn a_path_that_is_not_there_does_not_hide_the_faults_of_others() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let broken = written(
        home,
        "broken.workflow.yaml",
        "workflow: x\nsteps: { a: { tol: b.c } }\n",
    );
    let missing = home.join("brokn.workflow.yaml").display().to_string();
    let both = told(
        home,
        &["check", &missing, &broken],
        1,
        &[
            "error[WF601]: ",
            "brokn.workflow.yaml` cannot be read: ",
            "= help: a file named `broken.workflow.yaml` is there",
            "a key named `tool` exists",
        ],
    );
    assert!(both.err.contains(" in 2 files"), "{both:?}");
    told(home, &["check", &missing], 1, &["cannot be read: "]);
    let parts = ["= help: a server is named by its URL, `http://localhost:4483/mcp`"];
    told(home, &["tools", "localhost:4483/mcp"], 1, &parts);
    let parts = ["a server is named by its URL, `http://localhost:4483`"];
    told(home, &["call", "localhost:4483", "greet"], 2, &parts);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_in_a_directory_is_left_out() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let folder = home.join("files");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.join("gone.yaml")).unwrap();
    written(
        &folder,
        "a.workflow.yaml",
        "workflow: a\nsteps: { a: { tool: b.c } }\n",
    );
    let parts = ["warning[WF601]: ", "gone.yaml` cannot be read: "];
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket.yaml")).unwrap();
    let ran = told(home, &["check", folder.to_str().unwrap()], 0, &parts);
    assert!(ran.out.contains("1 workflow"), "{ran:?}");
    assert!(!ran.err.contains("socket.yaml"), "{ran:?}");
}

#[test]
fn arguments_of_a_tool_are_no_flags() {
    let home = tempfile::tempdir().unwrap();
    let (home, hello) = (home.path(), hello());
    let parts = ["arguments of the tool are written `who=VALUE`"];
    told(home, &["call", &hello, "greet", "--who", "Ada"], 2, &parts);
    told(home, &["call", &hello, "greet", "--who=Ada"], 2, &parts);
    let near = ["a similar argument exists: '--dry-run'"];
    told(home, &["call", &hello, "greet", "--dryrun"], 2, &near);
    let parts = ["write what follows as `key=value`, not `Ada`"];
    told(home, &["call", &hello, "greet", "Ada"], 2, &parts);
    let parts = ["--args-json is not JSON", "`-` to read it from stdin"];
    told(
        home,
        &["call", &hello, "greet", "--args-json", "@x"],
        2,
        &parts,
    );
}

#[test]
fn a_tool_is_called_under_the_name_that_steps_use() {
    let home = tempfile::tempdir().unwrap();
    let (home, hello) = (home.path(), hello());
    let ran = told(home, &["call", &hello, "demo.echo", "text=hi"], 0, &[]);
    assert_eq!(ran.out, "hi\n");
    let parts = ["`demo_echo` has no parameter `txt`; did you mean `text`?"];
    told(home, &["call", &hello, "demo.echo", "txt=hi"], 1, &parts);
}

#[test]
fn a_trace_that_cannot_be_written_stops_the_call_before_it_is_made() {
    let home = tempfile::tempdir().unwrap();
    let (home, hello) = (home.path(), hello());
    let file = home.join("no/trace.json").display().to_string();
    let words = ["call", &hello, "greet", "--trace", &file];
    told(home, &words, 2, &["there is no folder `"]);
    told(home, &["runs", "list"], 4, &[]);
    let words = ["call", &hello, "demo_echo", "text=hi", "--trace"];
    told(home, &words, 0, &["warning: there is no trace: "]);
}

#[test]
fn whoever_has_no_files_is_told_how_to_begin() {
    let home = tempfile::tempdir().unwrap();
    let empty = home.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    let parts = [
        "the paths hold no backends and no workflows",
        "`onecall init` makes a first",
    ];
    for words in [
        &["serve", empty][..],
        &["tools", empty],
        &["call", empty, "x"],
    ] {
        told(home.path(), words, 4, &parts);
    }
}

#[test]
fn a_port_that_is_taken_is_told_with_a_way_out() {
    let home = tempfile::tempdir().unwrap();
    let (_serving, url) = serve(home.path(), &["--demo"]);
    let port = url
        .rsplit(':')
        .next()
        .unwrap()
        .strip_suffix("/mcp")
        .unwrap();
    let words = ["serve", "--demo", "--port", port];
    let ran = told(
        home.path(),
        &words,
        1,
        &["error: cannot listen on 127.0.0.1:"],
    );
    assert!(ran.err.contains("`--port 0` takes a free one"), "{ran:?}");
    let gone = told(home.path(), &["tools", "http://127.0.0.1:1/mcp"], 3, &[]);
    assert!(
        gone.err
            .contains("`http://127.0.0.1:1/mcp` cannot be reached"),
        "{gone:?}"
    );
}

#[test]
fn an_answer_that_does_not_fit_is_refused_before_it_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let go = "        tool: demo_put\n        arguments: { key: a, value: 1 }\n";
    let file = composite(home, &crate::support::asking(("ok", "boolean"), go));
    told(home, &["call", &file, "ship"], 5, &[" approve ok:=true"]);
    for fields in [&[][..], &["ok=maybe"]] {
        let mut words = vec!["runs", "answer", "last", "approve"];
        words.extend(fields);
        told(
            home,
            &words,
            1,
            &["the answer does not fit: ", " approve ok:=true"],
        );
    }
    let kept = told(
        home,
        &["runs", "answer", "last", "approve", "ok=true"],
        0,
        &[],
    );
    assert!(kept.out.contains("kept for run"), "{kept:?}");
}

#[test]
fn whoever_watches_a_run_that_nobody_drives_is_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let hello = hello();
    told(home, &["call", &hello, "greet"], 0, &[]);
    let words = ["runs", "retry", "last", "--from", "hello", "--yes"];
    told(home, &words, 0, &[]);
    let mut watching = at_a_terminal(home, &["runs", "watch", "last"]);
    watching.exp_string("no server drives run r").unwrap();
    watching.send_control('c').unwrap();
    watching.exp_eof().unwrap();
}

#[test]
fn the_doctor_looks_at_the_file_of_the_folder() {
    let home = tempfile::tempdir().unwrap();
    let at = |folder: &Path| {
        let mut command = onecall(home.path(), &["doctor"]);
        command.current_dir(folder).env("HOME", home.path());
        Ran::from(command.output().unwrap())
    };
    let none = at(home.path());
    assert!(none.out.contains("! files     none was named"), "{none:?}");
    let text = "backends: { demo: { command: onecall, args: [demo] } }\nstore: runs.db\n";
    written(home.path(), "onecall.yaml", text);
    written(
        home.path(),
        "a.workflow.yaml",
        "workflow: a\nsteps: { a: { tool: demo.echo } }\n",
    );
    let found = at(home.path());
    assert!(
        found.out.contains("✓ backend   `demo` answers"),
        "{found:?}"
    );
    assert!(found.out.contains("runs.db` can be opened"), "{found:?}");
}

#[test]
fn a_name_that_hosts_refuse_comes_with_another() {
    let home = tempfile::tempdir().unwrap();
    let text = "workflow: a\nsteps: { a: { tool: demo.echo, with: { text: a } } }\n";
    let file = written(home.path(), "a.workflow.yaml", text);
    let checked = run(home.path(), &["check", &file]);
    let help = "= help: `serve --stdio`, which `onecall connect` enters, names it `workflow_a`";
    assert!(checked.out.contains(help), "{checked:?}");
}

#[test]
fn a_token_and_a_log_level_are_named_where_they_are_wrong() {
    let home = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:1/mcp";
    let parts = ["error: --token-env names `NO_SUCH_TOKEN`, which is not set"];
    let token = ["--token-env", "NO_SUCH_TOKEN"];
    told(home.path(), &["tools", url, token[0], token[1]], 2, &parts);
    told(
        home.path(),
        &["call", url, "x", token[0], token[1]],
        2,
        &parts,
    );
    let parts = ["error: `a=b=c` is no log level; write error, warn"];
    told(
        home.path(),
        &["--log-level", "a=b=c", "explain", "WF101"],
        2,
        &parts,
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_no_success() {
    let home = tempfile::tempdir().unwrap();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = onecall(home.path(), &["explain", "WF101"]);
    let ran = Ran::from(command.stdout(full).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("error: the result cannot be written: "),
        "{ran:?}"
    );
}

#[test]
fn whoever_interrupts_is_told_what_became_of_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let go = "        tool: demo_put\n        arguments: { key: a, value: 1 }\n";
    let file = composite(home, &crate::support::asking(("ok", "boolean"), go));
    let mut asked = at_a_terminal(home, &["call", &file, "ship"]);
    asked.exp_string("[c]ancel? ").unwrap();
    asked.send_control('c').unwrap();
    // On a line of its own, behind neither the prompt nor a picture of the steps.
    asked.exp_regex("\\nrun r[0-9a-f]+ was cancelled").unwrap();

    let hello = hello();
    let words = ["call", &hello, "side_by_side", "--ephemeral"];
    let mut drawn = at_a_terminal(home, &words);
    drawn.exp_string("left").unwrap();
    drawn.send_control('c').unwrap();
    // The picture stays as it was: drawn anew below the `^C` of a terminal, a line of it would stand there twice. The
    // sign of a line that moves no more; what is read here has one character a byte.
    let (after, _) = drawn.exp_regex("run r[0-9a-f]+ was cancelled").unwrap();
    let still: String = "▸".bytes().map(char::from).collect();
    assert!(!after.contains(&still), "{after:?}");
    let rest = drawn.exp_eof().unwrap();
    assert!(!rest.contains("├─"), "drawn over what was told: {rest}");

    let words = ["call", &hello, "demo_slow", "ms:=20000", "--ephemeral"];
    let mut passed = at_a_terminal(home, &words);
    passed.exp_string("1 of 4").unwrap();
    passed.send_control('c').unwrap();
    let told = "interrupted: `demo_slow` was told to stop, and may have acted";
    passed.exp_string(told).unwrap();
}

#[test]
fn codes_and_workflows_are_found_by_less_or_told() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    for code in ["WF101", "wf101", "101"] {
        let ran = told(home, &["explain", code], 0, &[]);
        assert!(ran.out.starts_with("# WF101: "), "{ran:?}");
    }
    told(home, &["explain", "WF9"], 4, &["such as `WF101`"]);
    let hello = hello();
    let parts = [
        "no workflow is named `gret`",
        "there are: greet, side_by_side",
    ];
    told(home, &["graph", &hello, "gret"], 4, &parts);
    let mut homeless = onecall(home, &["runs", "list"]);
    homeless
        .env_remove("XDG_STATE_HOME")
        .env("HOME", "")
        .current_dir(home);
    let ran = Ran::from(homeless.output().unwrap());
    assert!(ran.err.contains("no home folder is known"), "{ran:?}");
}

#[test]
fn a_person_who_serves_over_stdio_is_told_who_is_awaited() {
    let home = tempfile::tempdir().unwrap();
    let mut session = at_a_terminal(home.path(), &["serve", "--demo", "--stdio", "--ephemeral"]);
    session
        .exp_string("waiting for an MCP client on standard input")
        .unwrap();
}

#[test]
fn a_wrong_tool_is_answered_with_the_nearest_the_workflows_and_where_the_rest_is() {
    let home = tempfile::tempdir().unwrap();
    let text =
        "expose: all\nbackends: {demo: {command: onecall, args: [demo]}}\nworkflows: [w.yaml]\n";
    let file = written(home.path(), "onecall.yaml", text);
    let workflow = "workflow: greet\nsteps: {a: {tool: demo.echo, with: {text: x}}}\n";
    written(home.path(), "w.yaml", workflow);
    let rest = format!("… and the tools of the backends: onecall tools {file}");
    let near = ["a tool named `greet` exists", "workflows: greet\n", &rest];
    let ran = told(home.path(), &["call", &file, "gret", "who=Ada"], 4, &near);
    assert!(!ran.err.contains("demo_"), "{ran:?}");
    told(home.path(), &["call", &file, "zzzz"], 4, &near[1..]);
    // The name is one of the backend's, so that it is asked.
    let rest = format!(" tools: onecall tools {file}");
    let near = [
        "a tool named `demo_add` exists",
        "workflows: greet\n",
        &rest,
    ];
    let ran = told(home.path(), &["call", &file, "demo_ad"], 4, &near);
    assert!(ran.err.lines().count() == 4, "{ran:?}");
}

#[test]
fn a_hint_about_arguments_needs_an_argument_of_another_type() {
    let home = tempfile::tempdir().unwrap();
    let text = "workflow: publish\ninputs: {text: string}\n\
                steps: {a: {tool: demo.append, with: {text: \"${{ .inputs.text }}\"}}}\n";
    let file = written(home.path(), "publish.workflow.yaml", text);
    let lacks = ["--backend 'demo=COMMAND'"];
    let ran = told(
        home.path(),
        &["call", &file, "publish", "text=1"],
        1,
        &lacks,
    );
    assert!(!ran.err.contains("sends JSON"), "{ran:?}");
    let text = text.replace(
        "{text: string}",
        "{text: string, more: {type: string, minLength: 3}}",
    );
    let file = written(home.path(), "publish.workflow.yaml", &text);
    let words = [
        "call",
        &file,
        "publish",
        "text=x",
        "more=1",
        "--backend",
        "demo=onecall demo",
    ];
    let ran = told(home.path(), &words, 1, &["input.invalid"]);
    // It is too short, whatever its type.
    assert!(!ran.err.contains("sends JSON"), "{ran:?}");
}

#[test]
fn a_tool_that_was_meant_is_named_as_the_step_writes_it() {
    let home = tempfile::tempdir().unwrap();
    for (written_as, meant) in [("own.ech", "own.echo"), ("own_ech", "own_echo")] {
        let text = "backends: {own: {command: onecall, args: [demo]}}\nworkflows: [w.yaml]\n";
        let file = written(home.path(), "onecall.yaml", text);
        let workflow =
            format!("workflow: pay\nsteps: {{a: {{tool: {written_as}, with: {{text: x}}}}}}\n");
        written(home.path(), "w.yaml", &workflow);
        let tools = home.path().join("tools.json").display().to_string();
        told(home.path(), &["tools", &file, "--save", &tools], 0, &[]);
        let near = format!("a tool named `{meant}` exists");
        told(
            home.path(),
            &["check", &file, "--tools", &tools],
            1,
            &[&near],
        );
        let reason = format!("no tool `{written_as}`");
        told(home.path(), &["call", &file, "pay"], 1, &[&reason, &near]);
    }
}

#[test]
fn a_store_at_a_url_is_refused_and_nothing_is_made() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let hello = hello();
    let here = || std::fs::read_dir(home).unwrap().count();
    let before = here();
    for url in ["postgres://me:s3cret@db/x", "mysql://h/x", "sqlite:runs.db"] {
        let scheme = url.split(':').next().unwrap();
        for words in [
            &["serve", &hello, "--port", "0", "--store", url][..],
            &["call", &hello, "greet", "--store", url],
            &["runs", "list", "--store", url],
        ] {
            let ran = run(home, words);
            assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
            let text = format!("a store at a `{scheme}:` URL is not supported");
            assert!(ran.err.contains(&text), "{ran:?}");
            assert!(ran.err.contains("SQLite file"), "{ran:?}");
            assert!(!ran.err.contains("s3cret"), "{ran:?}");
        }
        let mut command = onecall(home, &["runs", "list"]);
        command.env("ONECALL_STORE", url);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert_eq!(here(), before);
}
