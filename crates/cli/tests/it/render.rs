//! `onecall render`: templates tried by hand and rendered by the line.

use crate::support::{onecall, run};
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_template_is_rendered_over_a_file() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data.json");
    std::fs::write(&data, r#"{"n": 1234567}"#).unwrap();
    let data = data.to_str().unwrap();
    let workflow = run(home.path(), &["render", "n is {{.n}}", "--data", data]);
    assert_eq!(workflow.out, "n is 1234567\n", "{workflow:?}");
    let go = run(
        home.path(),
        &["render", "n is {{.n}}", "--data", data, "--mode", "go"],
    );
    assert_eq!(go.out, "n is 1.234567e+06\n", "{go:?}");
    let broken = run(home.path(), &["render", "{{.n", "--data", data]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
}

#[test]
fn lines_survive_any_line() {
    let home = tempfile::tempdir().unwrap();
    let mut child = onecall(home.path(), &["render", "--lines", "--mode", "go"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(
            b"not json\n{\"id\":\"a\",\"template\":\"{{.x}}\",\"data\":{\"x\":1}}\n\xff\xfe\n",
        )
        .unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.lines().nth(1).unwrap().contains("\"result\":\"1\""),
        "{text}"
    );
}
