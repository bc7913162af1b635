//! Workflow mode differs from Go mode in the ways that are listed here, and in no other.

use std::collections::BTreeMap;

use gotemplate::{Mode, ParseOptions, RenderOptions, lines, parse};
use serde_json::{Value, json};

/// Why an answer differs between the modes.
fn class(
    case: &Value,
    go: &Result<Vec<u8>, (String, String)>,
    workflow: &Result<Vec<u8>, (String, String)>,
) -> &'static str {
    match (go, workflow) {
        (Ok(go), Ok(_)) if go.windows(2).any(|pair| pair == b"%!") => {
            "%d prints a whole number; %v inside an error marker"
        }
        (Ok(_), Ok(_)) => "a JSON number prints as JSON",
        (Err((_, error)), _) if error.contains("incompatible types for comparison") => {
            "numbers compare by value"
        }
        (Err((_, error)), _) if error.contains("cannot index slice/array with type") => {
            "whole numbers are indexes"
        }
        // A message shows the number itself.
        (Err(_), Err(_)) => "an error text shows a number",
        _ => panic!("{case}: {go:?} against {workflow:?}"),
    }
}

#[test]
fn every_difference_has_a_class() {
    let mut classes: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for line in crate::corpus_text().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let answers = [Mode::Go, Mode::Workflow]
            .map(|mode| crate::outcome(&serde_json::from_str(&lines::answer(line, mode)).unwrap()));
        if answers[0] != answers[1] {
            let entry = classes
                .entry(class(&case, &answers[0], &answers[1]))
                .or_default();
            entry.0 += 1;
            if entry.1.is_empty() {
                entry.1 = case["template"].to_string();
            }
        }
    }
    for (class, (count, example)) in &classes {
        println!("{count:>5} {class}, such as {example}");
    }
    assert!(classes.len() >= 4, "{classes:?}");
    assert!(
        classes.values().map(|entry| entry.0).sum::<usize>() < 700,
        "{classes:?}"
    );
}

fn render(template: &str, data: &Value, mode: Mode) -> String {
    let options = RenderOptions {
        mode,
        ..RenderOptions::default()
    };
    match parse(template, &ParseOptions::default())
        .unwrap()
        .render(data, &options)
    {
        Ok(rendered) => rendered.into_string(),
        Err(error) => format!("error: {}", error.message),
    }
}

#[test]
fn workflow_mode_is_kind_about_numbers() {
    let data = json!({
        "id": 1_234_567, "big": 9_007_199_254_740_993_i64, "huge": 18_446_744_073_709_551_615_u64, "f": 1.5, "w": 3.0,
        "l": ["a", "b", "c"], "i": 1, "tiny": 1e-7, "in": [1e6, {"n": 2e6}]
    });
    for (template, want) in [
        ("{{.id}}", "1234567"),
        ("{{.w}} {{.f}} {{.tiny}}", "3 1.5 1e-7"),
        (
            "{{.big}} {{.huge}}",
            "9007199254740993 18446744073709551615",
        ),
        ("{{json .big}}", "9007199254740993"),
        ("{{.in}}", "[1000000 map[n:2000000]]"),
        (
            "{{print .id \"x\" .id}}{{html .id}}{{js .id}}{{urlquery .id}}",
            "1234567x1234567123456712345671234567",
        ),
        (
            "{{printf \"%v|%8v|%d|%5d\" .id .id .id .w}}",
            "1234567| 1234567|1234567|    3",
        ),
        ("{{printf \"%d\" .f}}", "%!d(float64=1.5)"),
        (
            "{{printf \"%T %f %g %e\" .id .id .id .id}}",
            "float64 1234567.000000 1.234567e+06 1.234567e+06",
        ),
        (
            "{{eq .id 1234567}} {{eq .w 3}} {{lt .f 2}} {{ge .i 1}} {{eq .i 1.0}}",
            "true true true true true",
        ),
        (
            "{{eq .big 9007199254740992.0}} {{gt .big 9007199254740992.0}} {{eq .huge 18446744073709551615}}",
            "error: 18446744073709551615 overflows int",
        ),
        (
            "{{eq .big 9007199254740992.0}} {{gt .big 9007199254740992.0}}",
            "false true",
        ),
        ("{{index .l .i}} {{slice .l .i 2.0}}", "b [b]"),
        (
            "{{index .l .f}}",
            "error: error calling index: cannot index slice/array with type float64",
        ),
        // What is no JSON number follows Go.
        ("{{1e6}} {{print 2e6}}", "1e+06 2e+06"),
        (
            "{{range .id}}x{{end}}",
            "error: range can't iterate over 1234567",
        ),
    ] {
        assert_eq!(render(template, &data, Mode::Workflow), want, "{template}");
    }
    assert_eq!(render("{{.id}} {{.w}}", &data, Mode::Go), "1.234567e+06 3");
    assert!(
        render("{{eq .i 1}}", &data, Mode::Go)
            .contains("incompatible types for comparison: float64 and int")
    );
}
