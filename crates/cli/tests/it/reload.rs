//! Files that are edited while `serve` serves them.

use crate::http;
use crate::support::{root, serve, until};
use serde_json::{Value, json};

fn greeting(url: &str) -> String {
    let call = json!({ "name": "greet", "arguments": { "who": "Ada" } });
    let answer = http::modern(url, "tools/call", call).result();
    let greeting = answer["structuredContent"]["greeting"].as_str();
    greeting.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn status(url: &str) -> Value {
    let url = url.replace("/mcp", "/status");
    let sent = http::send(&url, "GET", &[], "").unwrap();
    http::read(sent).unwrap().message()
}

#[test]
fn an_edited_file_is_served_and_a_broken_one_is_not() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("hello.yaml");
    let text = std::fs::read_to_string(root().join("examples/hello/hello.yaml")).unwrap();
    std::fs::write(&file, &text).unwrap();
    let (_server, url) = serve(home.path(), &[home.path().to_str().unwrap(), "--ephemeral"]);
    assert_eq!(greeting(&url), "Hello, Ada!");

    std::fs::write(&file, text.replace("Hello, {{", "Good day, {{")).unwrap();
    until("the new version", || {
        (greeting(&url) == "Good day, Ada!").then_some(())
    });

    std::fs::write(&file, text.replace("type: integer", "type: intger")).unwrap();
    let refused = until("the refusal", || {
        let status = status(&url);
        status["reloads"]["refused"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("1 error"), "{refused}");
    assert_eq!(greeting(&url), "Good day, Ada!");

    std::fs::write(&file, &text).unwrap();
    until("the first version again", || {
        (greeting(&url) == "Hello, Ada!").then_some(())
    });
    let status = status(&url);
    assert_eq!(status["reloads"], json!({ "count": 2, "refused": null }));
}
