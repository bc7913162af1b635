//! Tests of message parsing: shapes real servers send, and hostile ones.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Result<Incoming, ShapeError> {
    parse(text.as_bytes())
}

#[test]
fn the_three_kinds_are_told_apart() {
    let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#).unwrap();
    assert!(matches!(request, Incoming::Request { id: RequestId::Text(id), .. } if id == "a"));
    let note = read(r#"{"jsonrpc":"2.0","method":"n","params":{"x":1}}"#).unwrap();
    assert!(matches!(note, Incoming::Notification { params, .. } if params == json!({"x":1})));
    let null = read(r#"{"result":null,"jsonrpc":"2.0","id":3.0}"#).unwrap();
    let Incoming::Response {
        id,
        outcome: Ok(raw),
    } = null
    else {
        panic!("no response")
    };
    assert_eq!((id, raw.get()), (Some(RequestId::Number(3)), "null"));
    let error = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#).unwrap();
    let Incoming::Response {
        id: None,
        outcome: Err(error),
    } = error
    else {
        panic!("no error")
    };
    assert_eq!(error.code, -32700);
}

#[test]
fn a_result_keeps_every_byte() {
    let result = r#"{"z": 1.0,  "a":123456789012345678901234567890}"#;
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
    let Incoming::Response {
        outcome: Ok(raw), ..
    } = read(&text).unwrap()
    else {
        panic!("no response")
    };
    assert_eq!(raw.get(), result);
}

#[test]
fn what_a_client_says_to_a_backend_is_kept_as_it_wrote_it() {
    let read = |method: &str, params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let Ok((Incoming::Request { params, .. }, written)) = parse_call(text.as_bytes()) else {
            panic!("no request: {text}")
        };
        (params, written)
    };
    let call = r#"{"arguments":{"a":1e400},"name":"t","inputResponses":{"k":1.10}}"#;
    let (params, written) = read("tools/call", call);
    assert_eq!(params, json!({ "name": "t" }));
    assert_eq!(written.arguments.unwrap().get(), r#"{"a":1e400}"#);
    assert_eq!(written.responses.unwrap().get(), r#"{"k":1.10}"#);
    let other = r#"{"z":1e400,"uri":"u","_meta":{"n":1.10}}"#;
    for method in ["resources/read", "prompts/get", "completion/complete"] {
        let (params, written) = read(method, other);
        assert_eq!(params["z"], f64::MAX);
        assert_eq!(written.params.unwrap().text(), other);
    }
    assert!(read("resources/list", "{}").1.params.is_none());
}

#[test]
fn other_texts_are_named_faults() {
    for text in [
        "",
        "hello",
        "[1]",
        "{}",
        r#"{"jsonrpc":"1.0","id":1,"result":1}"#,
        "\u{0}",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(parse(b"\xff\xfe").is_err());
    let no_id = read(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#);
    assert!(matches!(no_id, Err(ShapeError::NotMessage(_))));
}

#[test]
fn deep_nesting_is_refused_before_parsing() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#,
        "[".repeat(1_000_000),
        "]".repeat(1_000_000)
    );
    assert_eq!(
        read(&deep).unwrap_err(),
        ShapeError::TooDeep { limit: NESTING_MAX }
    );
    let brackets_in_text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":"\"{}"}}"#,
        "[".repeat(500)
    );
    assert!(read(&brackets_in_text).is_ok());
}

proptest! {
    #[test]
    fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn what_is_built_is_read_again(id in any::<i64>(), method in "[a-z/]{1,20}", text in ".{0,40}") {
        let built = request(&RequestId::Number(id), &method, &json!({ "t": text })).to_string();
        match parse(built.as_bytes()).unwrap() {
            Incoming::Request { id: read, method: name, params } => {
                prop_assert_eq!(read, RequestId::Number(id));
                prop_assert_eq!(name, method);
                prop_assert_eq!(params, json!({ "t": text }));
            }
            other => panic!("not a request: {other:?}"),
        }
    }
}

#[test]
fn a_batch_is_taken_apart_and_bounded() {
    assert!(batch(b"{}").is_none() && batch(b"nonsense").is_none());
    let texts = |text: &str| {
        let messages = batch(text.as_bytes()).unwrap();
        messages.map(|own| {
            own.iter()
                .map(|one| one.get().to_owned())
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(texts(" [{\"a\":1.50}, 7 ]").unwrap(), ["{\"a\":1.50}", "7"]);
    assert!(matches!(texts("[1,"), Err(ShapeError::NotJson(_))));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert!(matches!(texts(&deep), Err(ShapeError::TooDeep { .. })));
    let many = format!("[{}1]", "1,".repeat(BATCH_MAX));
    assert!(matches!(texts(&many), Err(ShapeError::TooMany { .. })));
}

#[test]
fn only_brackets_outside_of_strings_count_as_depth() {
    for (text, depth) in [
        (r#"{"a":[1,{"b":"[[[["}]}"#, 3),
        (r#"["\"[[[", "\\", []]"#, 2),
        (r#"["[[[""#, 1),
        (r#"["[\"#, 1),
        (r#""[["#, 0),
        ("[]][]", 1),
        ("", 0),
    ] {
        assert!(!exceeds_depth(text, depth), "{text}");
        assert!(depth == 0 || exceeds_depth(text, depth - 1), "{text}");
    }
}
