//! `onecall doctor`: servers that clients reach by their URL.

use crate::setup::at;
use crate::support::serve;

#[test]
fn a_server_that_a_client_reaches_by_its_url_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let (mut server, url) = serve(home, &["examples/hello", "--ephemeral"]);
    for words in [
        &["connect", "claude-code", "--url", &url][..],
        &["connect", "cursor", "--url", &url, "--name", "work"],
        // Whoever listens there is none of ours, and nobody listens.
        &[
            "connect",
            "vscode",
            "--url",
            "http://127.0.0.1:9/mcp",
            "--name",
            "other",
        ],
    ] {
        let ran = at(home, words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let well = at(home, &["doctor", "--ephemeral"]);
    assert_eq!(well.code, Some(0), "{well:?}");
    for line in [
        "✓ client    Claude Code: `onecall` in ",
        "✓ client    Cursor: `work` in ",
    ] {
        assert!(well.out.contains(line), "{well:?}");
    }
    assert!(
        well.out
            .contains(&format!("leads to `{url}`, which answers")),
        "{well:?}"
    );
    assert!(!well.out.contains("`other`"), "{well:?}");
    server.kill();
    let gone = at(home, &["doctor", "--ephemeral"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    let told = format!("leads to `{url}`, which does not answer: ");
    assert!(gone.out.contains(&told), "{gone:?}");
}
