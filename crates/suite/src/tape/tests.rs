//! Tests of tapes: what is found, what is kept, what a miss says.

use super::*;

fn tape(exchanges: &Value) -> Tape {
    let text =
        json!({"version": "1", "mcptest_version": "1.3.0", "meta": {}, "exchanges": exchanges});
    Tape::parse(&text.to_string(), &Scrub::default()).unwrap()
}

fn exchange(tool: &str, arguments: &Value, result: &Value) -> Value {
    json!({
        "request": {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        "response": {"jsonrpc": "2.0", "id": 7, "result": result},
    })
}

fn found(tape: &Tape, tool: &str, arguments: &Value, used: usize) -> Result<Value, usize> {
    let outcome = tape.find(&key(tool, arguments, &Scrub::default()), used)?;
    Ok(Value::clone(outcome.result().unwrap()))
}

#[test]
fn records_are_found_by_content_and_by_order_among_the_same() {
    let tape = tape(&json!([
        {"request": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}, "response": {"result": {}}},
        exchange("b", &json!({"y": 2, "x": 1.0}), &json!(1)),
        exchange("a", &json!(null), &json!(2)),
        exchange("b", &json!({"x": 1, "y": 2}), &json!(3)),
    ]));
    assert_eq!(found(&tape, "a", &json!({}), 0), Ok(json!(2)));
    assert_eq!(found(&tape, "b", &json!({"x": 1, "y": 2}), 0), Ok(json!(1)));
    assert_eq!(found(&tape, "b", &json!({"x": 1, "y": 2}), 1), Ok(json!(3)));
    assert_eq!(found(&tape, "b", &json!({"x": 1, "y": 2}), 2), Err(2));
    assert_eq!(found(&tape, "b", &json!({"x": 1}), 0), Err(0));
}

#[test]
fn a_miss_shows_the_nearest_record() {
    let tape = tape(&json!([
        exchange("b", &json!({"q": "x", "n": 1}), &json!(1)),
        exchange("b", &json!({"q": "far", "m": 1}), &json!(2)),
    ]));
    let miss = |tool, arguments| {
        let arguments = &arguments;
        tape.miss(&Call { tool, arguments }, 0, &Scrub::default())
    };
    assert_eq!(
        miss("b", json!({"q": "x", "n": 2})),
        "no record of `b` with {\"q\":\"x\",\"n\":2}; the nearest record differs: `arguments.n` is 2, expected 1"
    );
    assert_eq!(
        miss("c", json!({})),
        "no record of `c`; there are records of `b`"
    );
}

#[test]
fn what_is_recorded_is_scrubbed_and_found_again() {
    let scrub = Scrub::new(["my-secret-value".to_owned()]);
    let mut tape = Tape::empty("s");
    let arguments = json!({"password": "p", "q": "with my-secret-value"});
    let call = Call {
        tool: "login",
        arguments: &arguments,
    };
    let result = json!({"content": [], "structuredContent": {"token": "t", "n": 1}});
    tape.record(&call, &Outcome::Returned(Arc::new(result)), &scrub);
    assert!(tape.is_changed());
    let text = tape.text();
    assert!(!text.contains("my-secret") && !text.contains("\"p\"") && !text.contains("\"t\""));
    let again = Tape::parse(&text, &scrub).unwrap();
    assert!(again.find(&key("login", &arguments, &scrub), 0).is_ok());
    assert!(!again.is_changed());
}

#[test]
fn errors_of_tools_are_kept_and_lost_connections_are_not() {
    let scrub = Scrub::default();
    let mut tape = Tape::empty("s");
    let arguments = json!({});
    let call = Call {
        tool: "t",
        arguments: &arguments,
    };
    let failed = |code| Outcome::Failed {
        failure: Failure::new(code, "no"),
        result: None,
    };
    tape.record(&call, &failed(Code::TransportUnavailable), &scrub);
    assert!(!tape.is_changed());
    tape.record(&call, &failed(Code::ToolArguments), &scrub);
    let Ok(Outcome::Failed { failure, .. }) = tape.find(&key("t", &arguments, &scrub), 0) else {
        panic!("the error is recorded");
    };
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (Code::ToolArguments, "no")
    );
}

#[test]
fn what_is_not_a_tape_is_refused() {
    let reason = |text: &str| {
        Tape::parse(text, &Scrub::default())
            .unwrap_err()
            .to_string()
    };
    assert!(reason("{").starts_with("it is not JSON"));
    assert!(reason("[]").contains("`exchanges`"));
    assert!(reason(r#"{"version": "2", "exchanges": []}"#).contains("\"2\""));
    assert!(reason(r#"{"version": "1", "exchanges": [{"request": {}}]}"#).contains("exchange 0"));
}
