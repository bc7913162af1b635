//! Setting up: entering files in a client's configuration, the doctor, completions.

use crate::support::{Ran, Running, onecall, program, root, run};
use serde_json::{Value, json};
use std::path::Path;

/// The binary in a folder that is home and project at once.
pub(crate) fn at(home: &Path, words: &[&str]) -> Ran {
    let mut command = onecall(home, words);
    command
        .current_dir(home)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME");
    Ran::from(command.output().unwrap())
}

fn hello() -> String {
    root().join("examples/hello").display().to_string()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_client_is_told_once_and_its_old_file_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let file = home
        .path()
        .join(".config/Claude/claude_desktop_config.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"mcpServers": {"time": {"command": "uvx"}}}"#).unwrap();
    let ran = at(home.path(), &["connect", "claude", &hello()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let servers = &read(&file)["mcpServers"];
    assert_eq!(servers["time"]["command"], "uvx");
    assert_eq!(servers["onecall"]["command"], program());
    assert_eq!(servers["onecall"]["args"][2], hello());
    let kept = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let kept: Vec<_> = kept
        .filter(|entry| entry.as_ref().unwrap().path().extension().unwrap() == "bak")
        .collect();
    assert_eq!(kept.len(), 1);
    let again = at(home.path(), &["connect", "claude", &hello()]);
    assert!(again.err.contains("nothing changed"), "{again:?}");
}

#[test]
fn each_client_has_its_own_file_and_shape() {
    let home = tempfile::tempdir().unwrap();
    let url = "http://127.0.0.1:4483/mcp";
    for (client, file, key) in [
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
        ("claude-code", ".mcp.json", "mcpServers"),
    ] {
        let ran = at(home.path(), &["connect", client, "--url", url]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(read(&home.path().join(file))[key]["onecall"]["url"], url);
    }
    let refused = at(home.path(), &["connect", "claude", "--url", url]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let broken = at(home.path(), &["connect", "cursor", "no-such-file.yaml"]);
    assert_ne!(broken.code, Some(0), "{broken:?}");
}

#[test]
fn the_doctor_finds_what_is_broken() {
    let home = tempfile::tempdir().unwrap();
    let well = at(home.path(), &["doctor", &hello()]);
    assert_eq!(well.code, Some(0), "{well:?}");
    assert!(
        well.out.contains("✓ backend   `demo` answers"),
        "{}",
        well.out
    );
    assert!(well.out.contains("! client"), "{}", well.out);

    let broken = home.path().join("broken.json");
    let servers = r#"{"mcpServers": {"gone": {"command": "/nowhere/server"}}}"#;
    std::fs::write(&broken, servers).unwrap();
    let away = at(home.path(), &["doctor", "broken.json"]);
    assert_eq!(away.code, Some(3), "no more than a backend: {away:?}");

    let entry =
        r#"{"mcpServers": {"onecall": {"command": "/nowhere/onecall", "args": ["serve"]}}}"#;
    std::fs::write(home.path().join(".mcp.json"), entry).unwrap();
    let ill = at(home.path(), &["doctor", "broken.json", "--json"]);
    assert_eq!(ill.code, Some(1), "{ill:?}");
    let findings = ill.json();
    let bad: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["verdict"] == "bad")
        .map(|finding| finding["subject"].as_str().unwrap())
        .collect();
    assert_eq!(bad, ["backend", "tools", "client"], "{findings}");
}

#[test]
fn shells_are_taught_the_commands() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let ran = run(home.path(), &["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains("doctor"), "{shell}");
    }
}

#[test]
fn every_command_shows_examples() {
    let home = tempfile::tempdir().unwrap();
    let all = run(home.path(), &["--help"]).out;
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands = commands.filter_map(|line| line.split_whitespace().next());
    let mut seen = 0;
    for command in commands.filter(|command| *command != "help") {
        let help = run(home.path(), &[command, "--help"]);
        assert_eq!(help.code, Some(0), "{command}: {help:?}");
        assert!(
            help.out.contains("Examples:\n  "),
            "{command}: {}",
            help.out
        );
        seen += 1;
    }
    assert!(seen > 10, "{all}");
}

#[test]
fn serving_says_what_comes_from_where_and_what_does_not_work() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("onecall.yaml");
    let text = "backends:\n  demo: { command: onecall, args: [demo] }\n  gone: { command: /nowhere/server }\n  slow: { command: sleep, args: ['60'] }\nworkflows: [a.workflow.yaml, b.workflow.yaml]\n";
    std::fs::write(&file, text).unwrap();
    let fits = "workflow: fits\nsteps: { a: { tool: demo.echo, with: { text: a } } }\n";
    std::fs::write(home.path().join("a.workflow.yaml"), fits).unwrap();
    let unfit = "workflow: unfit\nsteps: { a: { tool: demo.nothing } }\n";
    std::fs::write(home.path().join("b.workflow.yaml"), unfit).unwrap();
    let words = [
        "serve",
        file.to_str().unwrap(),
        "--port",
        "0",
        "--ephemeral",
    ];
    let serving = Running::start(onecall(home.path(), &words));
    let mut printed = Vec::new();
    serving.line(|line| {
        printed.push(line.to_owned());
        line.contains("mcpServers")
    });
    let printed = printed.join("\n");
    for part in [
        "workflow  workflow:fits  (from ",
        "a.workflow.yaml)",
        "tool      demo_echo  (from demo)",
        "tool      workflow_result  ",
        "withheld  unfit  (from ",
        "b.workflow.yaml): step `a`: no tool `demo.nothing`",
        "down      gone: cannot start `/nowhere/server`",
        "awaited   slow: ",
    ] {
        assert!(printed.contains(part), "{part} is not in\n{printed}");
    }
    // Whoever is slow does not hold this up.
    let (first, _) = printed.split_once('\n').unwrap();
    assert!(first.contains(" at http://127.0.0.1:"), "{printed}");
}

#[test]
fn the_files_of_every_client_give_a_first_workflow() {
    let demo = serde_json::json!({ "command": program(), "args": ["demo"] });
    for (file, key) in [
        ("claude_desktop_config.json", "mcpServers"),
        ("mcp.json", "mcpServers"),
        (".claude.json", "mcpServers"),
        (".cursor/mcp.json", "mcpServers"),
        (".vscode/mcp.json", "servers"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let servers = serde_json::json!({ key: { "mine": demo } });
        std::fs::write(&path, servers.to_string()).unwrap();
        let made = at(home.path(), &["init", path.to_str().unwrap()]);
        assert_eq!(made.code, Some(0), "{file}: {made:?}");
        assert!(made.err.contains("1 backend from"), "{file}: {}", made.err);
        assert_tried(home.path(), &made);
    }
}

#[test]
fn a_list_that_lies_in_the_folder_is_found() {
    let home = tempfile::tempdir().unwrap();
    let entry = serde_json::json!({ "type": "stdio", "command": program(), "args": ["demo"], "envFile": ".env" });
    let servers = serde_json::json!({ "mcpServers": { "mine": entry } });
    written(home.path(), "mcp.json", &servers);
    let made = at(home.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("1 backend from `./mcp.json`"), "{made:?}");
    let told = "set what `mine` needs of `.env` (`envFile`), which is not read here";
    assert!(made.err.contains(told), "{made:?}");
    assert_tried(home.path(), &made);
}

/// The line that says what to try is true.
fn assert_tried(home: &Path, made: &Ran) {
    let mut lines = made.err.lines();
    let line = lines.find_map(|line| line.strip_prefix("try: onecall "));
    let words = line.unwrap().replace('…', "a");
    let words: Vec<&str> = words.split(' ').collect();
    let called = at(home, &words);
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn a_first_workflow_is_made_from_what_a_client_lists() {
    let home = tempfile::tempdir().unwrap();
    let cursor = home.path().join(".cursor/mcp.json");
    std::fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    let servers = serde_json::json!({ "mcpServers": {
        "notes": { "command": program(), "args": ["demo"], "env": { "API_KEY": "s3cret" } },
        "gone": { "command": "/nowhere/server" },
    }});
    std::fs::write(&cursor, servers.to_string()).unwrap();
    let made = at(home.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("set API_KEY"), "{}", made.err);
    assert!(made.err.contains("warning: backend `gone`"), "{}", made.err);
    let yaml = std::fs::read_to_string(home.path().join("onecall.yaml")).unwrap();
    assert!(!yaml.contains("s3cret"), "{yaml}");
    let again = at(home.path(), &["init"]);
    assert_eq!(
        again.code,
        Some(2),
        "what is there is not replaced: {again:?}"
    );

    let demo = tempfile::tempdir().unwrap();
    let made = at(demo.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let checked = at(demo.path(), &["check", "."]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_tried(demo.path(), &made);
}

/// A file of servers in the folder, as a client writes it.
fn written(home: &Path, name: &str, text: &Value) -> String {
    let path = home.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn ordinary_files_of_clients_are_taken_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let demo = serde_json::json!({ "command": program(), "args": ["demo"], "env": { "K": "${input:api-key}" } });
    let flags = serde_json::json!({
        "command": program(), "args": ["demo", "--token", "sk-0123", "--api-key=abc", "ghp_0123"],
    });
    let servers = serde_json::json!({ "servers": { "weird name!": demo, "io.github.x/y": flags } });
    let file = written(home.path(), ".vscode/mcp.json", &servers);
    let made = at(home.path(), &["init", "--from", &file]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for line in [
        "`weird name!` is called `weird-name` here",
        "`io.github.x/y` is called `io-github-x-y` here",
        "set API_KEY, which stands for the input `api-key` of `weird-name`",
        "set IO_GITHUB_X_Y_TOKEN, which stands for `--token` of `io-github-x-y`",
    ] {
        assert!(made.err.contains(line), "{line} is not in {}", made.err);
    }
    let yaml = std::fs::read_to_string(home.path().join("onecall.yaml")).unwrap();
    for secret in ["sk-0123", "abc", "ghp_0123", "input:"] {
        assert!(!yaml.contains(secret), "{yaml}");
    }
    let copied = at(
        home.path(),
        &["init", "--from", &file, "--force", "--copy-secrets"],
    );
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let yaml = std::fs::read_to_string(home.path().join("onecall.yaml")).unwrap();
    assert!(yaml.contains("sk-0123"), "{yaml}");
}

#[test]
fn nothing_is_written_from_a_file_without_servers() {
    let home = tempfile::tempdir().unwrap();
    let empty = written(
        home.path(),
        "empty.json",
        &serde_json::json!({ "mcpServers": {} }),
    );
    for (file, code) in [("nowhere.json", 1), (empty.as_str(), 4)] {
        for words in [&["init", "--from", file][..], &["init", file][..]] {
            let ran = at(home.path(), words);
            assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
            assert!(!home.path().join("onecall.yaml").exists(), "{words:?}");
        }
    }
}

#[test]
fn a_broken_file_of_a_client_stops_nobody_who_did_not_name_it() {
    let home = tempfile::tempdir().unwrap();
    let mine = serde_json::json!({ "mine": { "command": program(), "args": ["demo"] } });
    let broken = written(home.path(), ".cursor/mcp.json", &Value::Null);
    std::fs::write(&broken, "{ broken").unwrap();
    let alone = at(home.path(), &["init", "alone"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.err.contains("built-in demo backend"), "{alone:?}");
    let list = serde_json::json!({ "mcpServers": mine });
    written(home.path(), "mcp.json", &list);
    let made = at(home.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("1 backend from `./mcp.json`"), "{made:?}");
    let told = "warning: Cursor is left out: `";
    assert!(made.err.contains(told), "{made:?}");
    let named = at(home.path(), &["init", "--from", &broken, "--force"]);
    assert_eq!(named.code, Some(1), "{named:?}");
}

#[test]
fn servers_of_one_folder_are_seen_and_the_first_workflow_gives_the_bare_result() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap();
    let mine = serde_json::json!({ "mine": { "command": program(), "args": ["demo"] } });
    let projects = serde_json::json!({ folder.to_str().unwrap(): { "mcpServers": mine } });
    written(
        &folder,
        ".claude.json",
        &serde_json::json!({ "projects": projects }),
    );
    let made = at(&folder, &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.err.contains("1 backend from"), "{made:?}");
    let line = made
        .err
        .lines()
        .find_map(|line| line.strip_prefix("try: onecall "));
    let words = line.unwrap().replace('…', "a");
    let called = at(&folder, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(!called.out.contains("_meta"), "{called:?}");
}

#[test]
fn a_client_is_given_the_variables_that_the_files_name() {
    let home = tempfile::tempdir().unwrap();
    let env = serde_json::json!({ "A": "${SET_ONE}", "B": "${UNSET_ONE}", "C": "${OTHER:-x}" });
    let demo = serde_json::json!({ "command": program(), "args": ["demo"], "env": env });
    let file = written(
        home.path(),
        "mcp.json",
        &serde_json::json!({ "mcpServers": { "d": demo } }),
    );
    for (client, shown, key, set, unset) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "mcpServers",
            "${env:SET_ONE}",
            "${env:UNSET_ONE}",
        ),
        (
            "vscode",
            ".vscode/mcp.json",
            "servers",
            "${env:SET_ONE}",
            "${env:UNSET_ONE}",
        ),
        (
            "claude-code",
            ".mcp.json",
            "mcpServers",
            "${SET_ONE}",
            "${UNSET_ONE}",
        ),
        (
            "claude",
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
            "one",
            "",
        ),
    ] {
        let mut command = onecall(home.path(), &["connect", client, &file]);
        command.current_dir(home.path()).env("HOME", home.path());
        command.env_remove("XDG_CONFIG_HOME").env("SET_ONE", "one");
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("UNSET_ONE"), "{ran:?}");
        let entry = &read(&home.path().join(shown))[key]["onecall"];
        let expected = serde_json::json!({ "SET_ONE": set, "UNSET_ONE": unset });
        assert_eq!(entry["env"], expected, "{client}");
        #[cfg(unix)]
        if client == "claude" {
            use std::os::unix::fs::PermissionsExt as _;
            let made = std::fs::metadata(home.path().join(shown)).unwrap();
            assert_eq!(made.permissions().mode() & 0o777, 0o600, "it holds a value");
        }
    }
    let wrong = at(home.path(), &["connect", "vscode", "--url", "foo"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn a_server_that_is_its_own_backend_is_noticed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().to_str().unwrap();
    let own = serde_json::json!({ "command": "onecall", "args": ["serve", "--stdio", folder] });
    let hidden = serde_json::json!({ "command": "sh", "args": ["-c", format!("exec {} serve --stdio --ephemeral {folder}", program())] });
    let demo = serde_json::json!({ "command": program(), "args": ["demo"] });
    let servers = serde_json::json!({ "mcpServers": { "own": own, "demo": demo } });
    let file = written(home.path(), "mcp.json", &servers);
    let ran = at(
        home.path(),
        &["call", folder, "demo_echo", "text=hi", "--ephemeral"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let notice = "backend `own` is this program serving these files; it is left out";
    assert!(ran.err.contains(notice), "{ran:?}");

    let servers = serde_json::json!({ "mcpServers": { "own": hidden } });
    std::fs::write(&file, servers.to_string()).unwrap();
    let mut command = onecall(home.path(), &["backends", folder]);
    command.env("ONECALL_DEPTH", "4");
    let deep = Ran::from(command.output().unwrap());
    assert_eq!(deep.code, Some(1), "{deep:?}");
    assert!(
        deep.err.contains("names its own server as a backend"),
        "{deep:?}"
    );
    let mut command = onecall(home.path(), &["backends", folder]);
    command.env("ONECALL_DEPTH", "3");
    let last = Ran::from(command.output().unwrap());
    assert!(last.out.contains("stand above this one"), "{last:?}");
}

#[test]
fn every_command_about_runs_shows_examples_and_describes_the_run() {
    let home = tempfile::tempdir().unwrap();
    for command in [
        "list", "show", "answer", "cancel", "watch", "export", "import", "retry", "diff",
    ] {
        let help = run(home.path(), &["runs", command, "--help"]);
        assert!(
            help.out.contains("Examples:\n  onecall runs "),
            "{command}: {}",
            help.out
        );
        if help.out.contains("\n  <RUN>") {
            assert!(help.out.contains("or `last`"), "{command}: {}", help.out);
        }
    }
    let serve = run(home.path(), &["serve", "--help"]).out;
    assert!(serve.contains("The port to listen on"), "{serve}");
}

#[test]
fn the_doctor_takes_backends_of_flags() {
    let home = tempfile::tempdir().unwrap();
    let flag = format!("mine={} demo", program());
    let ran = at(home.path(), &["doctor", "--backend", &flag]);
    assert!(ran.out.contains("✓ backend   `mine` answers"), "{ran:?}");
}

#[test]
fn checking_says_what_was_not_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let checked = at(home.path(), &["check", &hello()]);
    let hello = hello();
    let (save, check) = (
        format!("onecall tools {hello} --save tools.json"),
        format!("onecall check {hello} --tools tools.json"),
    );
    let note = format!("tools were not looked at; to check them: {save} && {check}\n");
    assert!(checked.out.contains(&note), "{checked:?}");
    // What is advised works as it stands.
    for command in [save, check] {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let ran = at(home.path(), &words);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    }
    let file = home.path().join("t.workflow.yaml");
    std::fs::write(&file, "workflow: x\nsteps:\n  a: { tol: demo.echo }\n").unwrap();
    let slip = at(home.path(), &["check", file.to_str().unwrap()]);
    assert!(slip.err.contains("a key named `tool` exists"), "{slip:?}");
}

#[test]
fn what_init_writes_is_published_under_names_that_every_host_takes() {
    let home = tempfile::tempdir().unwrap();
    let ran = at(home.path(), &["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(home.path().join("onecall.yaml")).unwrap();
    assert!(text.contains("names: {prefix: workflow_}"), "{text}");
    let checked = at(home.path(), &["check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(!checked.out.contains("is refused by"), "{checked:?}");
}

#[test]
fn connect_lists_the_servers_that_the_client_still_starts_itself() {
    let home = tempfile::tempdir().unwrap();
    let program = program();
    let wrapped = json!({ "command": program, "args": ["demo"] });
    let servers = json!({ "mcpServers": { "demo": wrapped, "time": { "command": "uvx", "args": ["time"] } } });
    let file = home.path().join(".mcp.json");
    std::fs::write(&file, servers.to_string()).unwrap();
    let text = format!("backends:\n  demo: {{command: \"{program}\", args: [demo]}}\n");
    std::fs::write(home.path().join("onecall.yaml"), text).unwrap();
    let ran = at(home.path(), &["connect", "claude-code"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "the client still loads the tools of `demo` itself, so nothing is saved yet",
        "delete these entries under `mcpServers` in `",
        "  or: claude mcp remove demo\n",
    ] {
        assert!(ran.err.contains(part), "{part} is not in {ran:?}");
    }
    assert!(!ran.err.contains("time"), "{ran:?}");
}

#[test]
fn one_tool_is_shown_with_its_parameters_and_a_call_that_works() {
    let home = tempfile::tempdir().unwrap();
    let hello = hello();
    for (name, signature) in [
        ("demo_add", "demo_add(a: "),
        ("demo.add", "demo_add(a: "),
        ("greet", "greet(who?: string = \"world\")"),
    ] {
        let ran = at(home.path(), &["tools", &hello, name]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.starts_with(signature), "{ran:?}");
        let example = ran.out.lines().last().unwrap();
        let words = example.strip_prefix("example: onecall ").unwrap();
        let words = shlex_words(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let called = at(home.path(), &[&words[..], &["--ephemeral"]].concat());
        assert_eq!(called.code, Some(0), "{example}: {called:?}");
    }
    let near = at(home.path(), &["tools", &hello, "demo_ad"]);
    assert!(
        near.err.contains("a tool named `demo_add` exists"),
        "{near:?}"
    );
}

/// Words of a command line without quotes.
fn shlex_words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
