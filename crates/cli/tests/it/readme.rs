//! The README is true: its first workflow is checked and run as written.

use crate::support::{root, run};
use serde_json::json;

#[test]
fn the_first_workflow_of_the_readme_runs_as_written() {
    let home = tempfile::tempdir().unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let yaml = readme
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let file = home.path().join("mine.yaml");
    std::fs::write(&file, yaml.expect("the README shows a workflow")).unwrap();
    let file = file.to_str().unwrap();
    let checked = run(home.path(), &["check", file, "--deny-warnings"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let called = run(home.path(), &["call", file, "count_hits", "what=a"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(called.json(), json!({ "sum": 5 }));
}
