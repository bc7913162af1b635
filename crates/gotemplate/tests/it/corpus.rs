//! Every recorded case answers as Go 1.26 did.

use std::collections::BTreeMap;

use gotemplate::{Mode, lines};
use serde_json::Value;

/// Cases that may answer differently, by id, with the reason. None do.
const EXCEPTIONS: [(&str, &str); 0] = [];

#[test]
fn go_mode_gives_go_s_answers() {
    let mut by_category: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in crate::corpus_text().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let answer: Value = serde_json::from_str(&lines::answer(line, Mode::Go)).unwrap();
        let id = case["id"].as_str().unwrap();
        let got = crate::outcome(&answer);
        let fits = if case["want_error"] == true {
            got.as_ref()
                .is_err_and(|(phase, _)| case["phase"] == phase.as_str())
        } else {
            let want = match case["want_b64"].as_str() {
                Some(text) => crate::decode_base64(text),
                None => case["want"].as_str().unwrap().as_bytes().to_vec(),
            };
            got.as_ref().is_ok_and(|bytes| *bytes == want)
        };
        let counts = by_category
            .entry(case["category"].as_str().unwrap().to_owned())
            .or_default();
        counts.0 += 1;
        if !fits && !EXCEPTIONS.iter().any(|(exception, _)| *exception == id) {
            counts.1 += 1;
            wrong.push(format!(
                "{id}: {} gave {got:?}, want {}",
                case["template"], case["want"]
            ));
        }
    }
    let total: usize = by_category.values().map(|counts| counts.0).sum();
    println!("{total} cases, {} wrong: {by_category:?}", wrong.len());
    assert_eq!(total, 3_812);
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn any_line_is_answered() {
    for line in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "{\"id\":1}",
        "{\"id\":1,\"template\":3}",
        "\u{0}",
        "{\"template\":\"{{\"}",
    ] {
        let answer: Value = serde_json::from_str(&lines::answer(line, Mode::Workflow)).unwrap();
        assert!(answer["error"].is_string(), "{line}: {answer}");
    }
    let missing_key = r#"{"id":"x","template":"{{.a}}","data":{},"missingkey":"odd"}"#;
    let answer: Value = serde_json::from_str(&lines::answer(missing_key, Mode::Go)).unwrap();
    assert_eq!(answer["phase"], "input");
    assert_eq!(answer["id"], "x");
}

/// Found by random comparison with Go and not among the recorded cases.
#[test]
fn a_signed_hexadecimal_number_with_the_digit_e_is_a_float() {
    for (template, want) in [
        ("{{+0x1e}}|{{0x1e}}|{{-0x1E}}|{{-0x1f}}", "30|30|-30|-31"),
        ("{{printf \"%T %T\" -0x1e 0x1e}}", "float64 int"),
    ] {
        let line = serde_json::json!({"id": 1, "template": template, "data": {}}).to_string();
        let answer: Value = serde_json::from_str(&lines::answer(&line, Mode::Go)).unwrap();
        assert_eq!(answer["result"], want, "{template}");
    }
}
