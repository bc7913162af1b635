//! Lists of tools that are odd: what is left out is said, and the other tools are not touched.

use onecall_backends::{BackendOptions, BackendStatus};
use onecall_mcp::{Era, Tool};
use onecall_testkit::faulty::{Reply, Server, answer, done, modern};
use serde_json::json;

use crate::world::{PATIENCE, start};

/// The names listed by a child that answers every `tools/list` with this, where `$n` counts, and its status.
async fn listed(result: &str) -> (Vec<String>, BackendStatus) {
    let script = format!(
        r#"
        answer() {{ id="${{line#*\"id\":}}"; printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "${{id%%,*}}" "$1"; }}
        read -r line; answer '{{"protocolVersion":"2025-06-18","capabilities":{{}}}}'
        read -r line; n=1
        while read -r line; do n=$((n + 1)); answer "{}"; done
        "#,
        result.replace('"', "\\\"")
    );
    let mut options = BackendOptions::stdio("b", "sh", &["-c", &script]);
    options.era = Some(Era::Legacy);
    let backends = start(vec![options]);
    let lists = backends.settle(PATIENCE).await;
    let status = backends.status().remove(0);
    backends.shutdown().await;
    let tools = lists.lists.first().map(|(_, tools)| tools.iter());
    let names = tools.into_iter().flatten().map(Tool::name);
    (names.map(str::to_owned).collect(), status)
}

#[tokio::test]
async fn an_endless_list_is_cut_and_said_to_be() {
    let (names, status) = listed(r#"{"tools":[{"name":"t$n"}],"nextCursor":"c$n"}"#).await;
    assert_eq!(names.len(), 1_000);
    let [remark] = &status.remarks[..] else {
        panic!("{status:?}")
    };
    assert!(remark.ends_with("goes on after 1000 pages"), "{remark}");
}

#[tokio::test]
async fn a_list_that_leads_back_is_cut_and_said_to_be() {
    // Two cursors in turn: neither is that of the page before.
    let turning = r#"{"tools":[{"name":"t$n"}],"nextCursor":"c$((n % 2))"}"#;
    let (names, status) = listed(turning).await;
    assert_eq!(names, ["t2", "t3", "t4"]);
    let [remark] = &status.remarks[..] else {
        panic!("{status:?}")
    };
    assert!(
        remark.ends_with("its page 3 leads back to the cursor `c0`"),
        "{remark}"
    );
}

#[tokio::test]
async fn odd_entries_are_told_by_name() {
    let long = "x".repeat(200);
    let tools = format!(
        r#"{{"tools":[{{"name":"dup"}},{{"name":"dup"}},{{"name":"has space"}},{{"name":"a/b"}},{{"name":"{long}"}},7,{{"name":"ok"}},{{"name":"w:ok-2.x"}}]}}"#
    );
    let (names, status) = listed(&tools).await;
    assert_eq!(names, ["dup", "has space", "a/b", &long, "ok", "w:ok-2.x"]);
    let remarks = &status.remarks;
    assert_eq!(remarks.len(), 5, "{remarks:#?}");
    for said in [
        "`dup` is listed more than once",
        "`has space` is not published",
        "`a/b` is not published",
        "`xxx",
        "a tool must be an object",
    ] {
        let is_said = remarks.iter().any(|remark| remark.contains(said));
        assert!(is_said, "{said}: {remarks:#?}");
    }
    assert!(remarks.iter().all(|remark| remark.len() < 250));
    assert_eq!(status.to_json()["remarks"][0], remarks[0].as_str());
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_does_not_hide_the_others() {
    let tools = r#"{"tools":[{"name":"a","description":"d \ud800 e"},{"name":"b"},{"name":"c","x":1e999},{"name":7}]}"#;
    let (names, status) = listed(tools).await;
    assert_eq!(names, ["a", "b", "c"], "{status:?}");
    let [remark] = &status.remarks[..] else {
        panic!("{status:?}")
    };
    assert!(remark.starts_with("an entry is left out: "), "{remark}");
}

#[tokio::test]
async fn an_entry_that_is_nested_too_deeply_does_not_hide_the_others() {
    let deep = format!("{}1{}", r#"{"x":"#.repeat(400), "}".repeat(400));
    let tools = format!(
        r#"{{"tools":[{{"name":"a"}},{{"name":"deep","inputSchema":{deep}}},{{"name":"b"}}]}}"#
    );
    let (names, status) = listed(&tools).await;
    assert_eq!(names, ["a", "b"], "{status:?}");
    let wanted = r#"an entry is left out: the entry "deep" must be nested less deeply"#;
    assert_eq!(status.remarks, [wanted]);
    for is_stream in [false, true] {
        let tools = tools.clone();
        let server = Server::start(move |seen| {
            if seen.body["method"] != "tools/list" {
                return modern(done)(seen);
            }
            let head = format!(r#"{{"jsonrpc":"2.0","id":{}"#, seen.body["id"]);
            let text = format!(r#"{head},"result":{tools}}}"#);
            if is_stream {
                return Reply::Events(vec![format!("data: {text}\n\n")]);
            }
            let head = "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length";
            Reply::Raw(format!("{head}: {}\r\n\r\n{text}", text.len()).into_bytes())
        })
        .await;
        let backends = start(vec![BackendOptions::http("b", &server.url)]);
        backends.settle(PATIENCE).await;
        let status = backends.status().remove(0);
        assert_eq!(status.remarks, [wanted], "{status:?}");
        backends.shutdown().await;
    }
}

#[tokio::test]
async fn a_list_of_endless_length_is_given_up() {
    let server = Server::start(|seen| {
        if seen.body["method"] != "tools/list" {
            return modern(done)(seen);
        }
        let cursor = seen.body["params"]["cursor"].as_str().unwrap_or_default();
        let filler = "x".repeat(15 * 1024 * 1024);
        let page = json!({ "tools": [], "filler": filler, "nextCursor": format!("{cursor}c") });
        Reply::Json(200, Vec::new(), answer(seen, "result", page))
    })
    .await;
    let backends = start(vec![BackendOptions::http("b", &server.url)]);
    backends.settle(PATIENCE).await;
    let status = backends.status().remove(0);
    let reason = status.state.reason().unwrap_or_default();
    assert!(
        reason.ends_with("more than 67108864 bytes in one list"),
        "{status:?}"
    );
    backends.shutdown().await;
}
