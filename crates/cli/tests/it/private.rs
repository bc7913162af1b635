//! Files that the program chooses itself are for the user alone; what others planted or can access is refused.

use crate::support::{Ran, run};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn call(home: &Path) -> Ran {
    run(home, &["call", "examples/hello", "greet", "who=Ada"])
}

#[test]
fn a_store_or_key_that_others_can_access_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("onecall");
    let store = directory.join("onecall.db");
    let ran = call(home.path());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!((mode(&directory), mode(&store)), (0o700, 0o600));
    for file in ["onecall.db", "onecall.db.key"] {
        let path = directory.join(file);
        set_mode(&path, 0o644);
        let ran = call(home.path());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let reason = format!(
            "other users can access `{0}` (mode 644); run: chmod 600 {0}",
            path.display()
        );
        assert!(ran.err.contains(&reason), "{ran:?}");
        set_mode(&path, 0o600);
    }
    let planted = home.path().join("planted");
    let key = directory.join("onecall.db.key");
    std::fs::rename(&key, &planted).unwrap();
    symlink(&planted, &key).unwrap();
    let ran = call(home.path());
    assert!(
        ran.err
            .contains("is a symbolic link, which is not followed"),
        "{ran:?}"
    );
    std::fs::remove_file(&key).unwrap();
    std::fs::rename(&planted, &key).unwrap();
    set_mode(&directory, 0o755);
    assert_eq!(call(home.path()).code, Some(0));
    assert_eq!(mode(&directory), 0o700, "closed to others");
    set_mode(&directory, 0o777);
    let ran = call(home.path());
    assert!(ran.err.contains("run: chmod 700"), "{ran:?}");
}

#[test]
fn a_named_store_may_be_a_link_that_a_group_can_access() {
    let home = tempfile::tempdir().unwrap();
    let (real, link) = (home.path().join("real.db"), home.path().join("link.db"));
    symlink(&real, &link).unwrap();
    let real_text = real.to_str().unwrap();
    let list = |store: &Path| {
        run(
            home.path(),
            &["runs", "list", "--store", store.to_str().unwrap()],
        )
    };
    let words = [
        "call",
        "examples/hello",
        "greet",
        "who=Ada",
        "--store",
        real_text,
    ];
    assert_eq!(run(home.path(), &words).code, Some(0));
    set_mode(&real, 0o660);
    let listed = list(&link);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    set_mode(&real, 0o664);
    let listed = list(&link);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(listed.err.contains("run: chmod 600"), "{listed:?}");
}

#[test]
fn what_failed_last_is_remembered_in_a_private_file() {
    let home = tempfile::tempdir().unwrap();
    let suite = home.path().join("suite.yaml");
    let text = "compositions:\n- name: c\n  nodes: [{id: n, tool: t, mock: {result: {a: 1}}}]\n  expect: [{target: nodes.n.output.a, matcher: {exact: 2}}]\n";
    std::fs::write(&suite, text).unwrap();
    let suite = suite.to_str().unwrap();
    assert_eq!(run(home.path(), &["test", suite]).code, Some(1));
    let file = home.path().join("onecall/last-failed.json");
    assert_eq!(mode(&file), 0o600);
    let planted = home.path().join("planted");
    std::fs::rename(&file, &planted).unwrap();
    symlink(&planted, &file).unwrap();
    let ran = run(home.path(), &["test", suite, "--last-failed"]);
    assert!(ran.err.contains("is a symbolic link"), "{ran:?}");
}
