//! Servers that ask who calls, as the binary serves them and as its own commands call them.

use crate::http::{Answer, read, send};
use crate::support::{Ran, Running, onecall, run, serving, until};
use std::fs::File;
use std::path::Path;
use std::process::Command;

const ADA: &str = "ada-0123456789abcdef0123456789";
const BOB: &str = "bob-0123456789abcdef0123456789";

const BACKENDS: &str = "backends:\n  demo: { command: onecall, args: [demo] }\n";

const LISTED: &str = "auth:\n  tokens:\n    - { principal: ada, token: \"${ADA_TOKEN}\" }\n    - { principal: bob, token_file: bob.token }\n";

/// The binary in a folder with these settings, where two tokens are known.
fn at(home: &Path, words: &[&str]) -> Command {
    let mut command = onecall(home, words);
    command.current_dir(home);
    command.env("ADA_TOKEN", ADA).env("BOB_TOKEN", BOB);
    command
}

fn ran(home: &Path, words: &[&str]) -> Ran {
    let ran = Ran::from(at(home, words).output().unwrap());
    for token in [ADA, BOB] {
        assert!(
            !ran.out.contains(token) && !ran.err.contains(token),
            "{ran:?}"
        );
    }
    ran
}

fn settle(home: &Path, auth: &str) {
    std::fs::write(home.join("onecall.yaml"), format!("{BACKENDS}{auth}")).unwrap();
    let file = home.join("bob.token");
    std::fs::write(&file, format!("{BOB}\n")).unwrap();
    set_mode(&file, 0o600);
}

fn set_mode(file: &Path, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(file, permissions).unwrap();
}

#[test]
fn token_files_are_refused_if_others_can_write_and_reported_if_they_can_read() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), LISTED);
    let mounted = home.path().join("mounted");
    let file = home.path().join("bob.token");
    std::fs::rename(&file, &mounted).unwrap();
    std::os::unix::fs::symlink(&mounted, &file).unwrap();
    let words = ["serve", ".", "--port", "0", "--ephemeral"];
    for mode in [0o600, 0o640, 0o440] {
        set_mode(&mounted, mode);
        let checked = ran(home.path(), &["check", "."]);
        assert!(!checked.err.contains("WF635"), "{mode:o} {checked:?}");
    }
    set_mode(&mounted, 0o644);
    let checked = ran(home.path(), &["check", "."]);
    let warning = "other users can read the token file `./bob.token` (mode 644)";
    assert!(checked.err.contains(warning), "{checked:?}");
    assert!(
        checked.err.contains("run: chmod 600 ./bob.token"),
        "{checked:?}"
    );
    assert_eq!(checked.code, Some(0), "a warning");
    for mode in [0o620, 0o602, 0o666] {
        set_mode(&mounted, mode);
        let refused = ran(home.path(), &words);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let reason = format!("others can write to `./bob.token` (mode {mode:o})");
        assert!(refused.err.contains(&reason), "{refused:?}");
    }
}

#[test]
fn a_token_in_a_file_is_reported_without_its_line() {
    let home = tempfile::tempdir().unwrap();
    let literal = format!("auth: {{ tokens: [{{ principal: ada, token: {ADA} }}] }}\n");
    settle(home.path(), &literal);
    let checked = ran(home.path(), &["check", "."]);
    assert!(
        checked.err.contains("WF619") && checked.err.contains("`token: ${TOKEN}`"),
        "{checked:?}"
    );
}

fn shown(url: &str, authorization: Option<&str>) -> Answer {
    let authorization = authorization.map(|value| ("Authorization", value));
    let headers: Vec<(&str, &str)> = authorization.into_iter().collect();
    read(send(url, "POST", &headers, "{}").unwrap()).unwrap()
}

#[test]
fn callers_of_the_list_are_let_in_and_nobody_else() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), LISTED);
    let (_server, url) = serving(at(home.path(), &["serve", ".", "--port", "0"]));

    let nobody = shown(&url, None);
    assert_eq!(nobody.status, 401, "{nobody:?}");
    assert_eq!(
        nobody.header("www-authenticate"),
        Some("bearer realm=\"onecall\"")
    );
    let stranger = shown(&url, Some("Bearer somebody-else-0123456789"));
    assert_eq!(stranger.status, 401, "{stranger:?}");
    let challenge = stranger.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");

    for variable in ["ADA_TOKEN", "BOB_TOKEN"] {
        let call = [
            "call",
            &url,
            "demo_add",
            "a:=1",
            "b:=2",
            "--token-env",
            variable,
        ];
        let added = ran(home.path(), &call);
        assert_eq!(added.code, Some(0), "{added:?}");
        assert_eq!(added.json()["sum"], 3);
    }
    let listed = ran(home.path(), &["tools", &url, "--token-env", "ADA_TOKEN"]);
    assert!(listed.out.contains("demo_add"), "{listed:?}");
    for words in [&["tools", &url][..], &["call", &url, "demo_add"]] {
        let refused = ran(home.path(), words);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(refused.err.contains("wants a bearer token"), "{refused:?}");
        assert!(
            refused.err.contains("help: `--token-env NAME`"),
            "{refused:?}"
        );
    }

    std::fs::remove_file(home.path().join("bob.token")).unwrap();
    until("the token of bob to be withdrawn", || {
        (shown(&url, Some(&format!("Bearer {BOB}"))).status == 401).then_some(())
    });
    assert_eq!(shown(&url, Some(&format!("Bearer {ADA}"))).status, 400);
}

#[test]
fn a_token_is_named_and_goes_with_a_url() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), LISTED);
    let url = "http://127.0.0.1:1/mcp";
    for (words, code, text) in [
        (
            ["tools", url, "--token-env", "NO_SUCH_TOKEN"],
            2,
            "`NO_SUCH_TOKEN`, which is not set",
        ),
        (
            ["tools", url, "--token-env", "ab-cd"],
            2,
            "the name of a variable",
        ),
        (
            ["tools", ".", "--token-env", "ADA_TOKEN"],
            2,
            "goes with a URL",
        ),
    ] {
        let refused = ran(home.path(), &words);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(text), "{refused:?}");
    }
}

#[test]
fn other_machines_are_served_only_if_callers_are_asked_or_need_not_be() {
    let home = tempfile::tempdir().unwrap();
    settle(home.path(), "");
    let words = ["serve", ".", "--port", "0", "--host", "0.0.0.0"];
    let refused = ran(home.path(), &words);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("`--allow-anonymous`"), "{refused:?}");

    settle(home.path(), LISTED);
    let (_server, url) = serving(at(home.path(), &words));
    // What is printed can be called.
    assert!(!url.contains("0.0.0.0"), "{url}");
    assert_eq!(shown(&url, None).status, 401);
}

#[test]
fn a_public_url_is_printed_and_lets_its_name_in() {
    let home = tempfile::tempdir().unwrap();
    let stated = "server: {url: 'http://other.example', hosts: [inside.example]}\n";
    settle(home.path(), stated);
    let public = "http://tools.example/team/mcp";
    let words = ["serve", ".", "--port", "0", "--public-url", public];
    let (server, url) = serving(at(home.path(), &words));
    assert_eq!(url, public);
    server.line(|line| line.contains("\"url\": \"http://tools.example/team/mcp\""));
    let unfit = ["serve", ".", "--public-url", "tools.example"];
    assert_eq!(ran(home.path(), &unfit).code, Some(2));
    settle(home.path(), "server: {hosts: ['http://inside.example']}\n");
    let refused = ran(home.path(), &["check", "."]);
    assert!(refused.err.contains("WF620"), "{refused:?}");
}

#[test]
fn a_challenge_leads_to_the_identity_provider() {
    let home = tempfile::tempdir().unwrap();
    let auth = "auth:\n  oidc:\n    issuer: http://127.0.0.1:1/realm\n    audience: onecall\n    scopes: [call]\n";
    settle(home.path(), auth);
    let (_server, url) = serving(at(home.path(), &["serve", ".", "--port", "0"]));
    let nobody = shown(&url, None);
    assert_eq!(nobody.status, 401, "{nobody:?}");
    let challenge = nobody.header("www-authenticate").unwrap();
    let (_, rest) = challenge.split_once("resource_metadata=\"").unwrap();
    let described = read(send(rest.trim_end_matches('"'), "GET", &[], "").unwrap()).unwrap();
    let described = described.message();
    assert_eq!(described["resource"], url.as_str());
    assert_eq!(
        described["authorization_servers"][0],
        "http://127.0.0.1:1/realm"
    );
    assert_eq!(described["scopes_supported"][0], "call");
}

#[test]
fn clients_that_have_gone_are_no_errors_of_the_server() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("log.txt");
    let level = "onecall=info,rmcp=info";
    let words = ["serve", "--demo", "--port", "0", "--log-level", level];
    let logs = File::create(&path).unwrap();
    let mut server = Running::logging(onecall(home.path(), &words), logs.into());
    let url = server.url();
    let added = run(home.path(), &["call", &url, "demo_add", "a:=1", "b:=2"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let logs = std::fs::read_to_string(&path).unwrap();
    assert!(logs.contains("rmcp"), "{logs}");
    assert!(!logs.contains("ERROR"), "{logs}");
}
