//! jq programs that repeat one thing as often as the limits allow, and once more, in a process of its own each: an overflow
//! of the stack ends the process. What such programs give is left to the tests of jq programs.

use crate::hostile::{confined, outcome};
use onecall_workflow::limits::JQ_CODE_BYTES_MAX;

/// Names the shape to the child.
const SHAPE: &str = "JQ_SHAPE";

/// What is repeated before the middle, the middle, and what is repeated after it.
const SHAPES: [(&str, &str, &str); 47] = [
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{a:", "1", "}"),
    ("{(\"a\"):", "1", "}"),
    ("{a:1,", "a:1", ""),
    ("(", "", ""),
    ("[", "", ""),
    ("{", "", ""),
    ("(\")\"+", "1", ")"),
    ("(#)\n", "1", ")"),
    ("-", "1", ""),
    ("- ", "1", ""),
    (".|", ".", ""),
    ("1+", "1", ""),
    ("1-", "1", ""),
    ("1*", "1", ""),
    ("1==", "1", ""),
    ("try ", "1", ""),
    ("try error catch ", "1", ""),
    (",", "", ""),
    ("1,", "1", ""),
    ("1//", "1", ""),
    ("null//", "1", ""),
    ("1 and ", "1", ""),
    ("0 or ", "1", ""),
    (".a=", "1", ""),
    (".a|=", "1", ""),
    (".a+=", "1", ""),
    (".a//=", "1", ""),
    ("label $x|", "1", ""),
    ("label $x|", "break $x", ""),
    ("if ", "1", ""),
    ("if 1 then ", "1", " else 2 end"),
    ("if 0 then 1 el", "if 1 then 1 end", ""),
    ("reduce ", ".", ""),
    ("reduce 1 as $x (1;", "1", ")"),
    ("foreach 1 as $x (1;1;", "1", ")"),
    ("def f:", "1", ";1"),
    ("def f:1;", "f", ""),
    ("1 as $x|", "$x", ""),
    ("1 as [", "$x", "]"),
    ("first(", "1", ")"),
    ("\"\\(", "1", ")\""),
    (".[", "1", "]"),
    (".a[0]", ".a", ""),
    (".a", "", ""),
    ("?", "", ""),
];

fn repeated((before, middle, after): (&str, &str, &str), count: usize) -> String {
    format!("{}{middle}{}", before.repeat(count), after.repeat(count))
}

fn is_too_large(outcome: &str) -> bool {
    ["it is longer", "it has more", "its brackets"]
        .iter()
        .any(|start| outcome.starts_with(&format!("error: {start}")))
}

/// Tries one shape, if this process was started for it.
#[test]
fn child() {
    let Some(number) = std::env::var(SHAPE)
        .ok()
        .and_then(|text| text.parse::<usize>().ok())
    else {
        return;
    };
    let shape = SHAPES[number];
    let (mut fits, mut exceeds) = (0, JQ_CODE_BYTES_MAX + 1);
    let mut at_most = String::new();
    while exceeds - fits > 1 {
        let count = fits.midpoint(exceeds);
        let outcome = outcome(&repeated(shape, count));
        if is_too_large(&outcome) {
            exceeds = count;
        } else {
            (fits, at_most) = (count, outcome);
        }
    }
    assert!(is_too_large(&outcome(&repeated(shape, fits + 1))));
    println!("\nSHAPE {fits} times: {at_most}");
}

#[test]
fn no_shape_overflows_the_stack_at_its_limit() {
    let mut faults = Vec::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        let output = confined("shapes::child", SHAPE, &number.to_string());
        let stdout = String::from_utf8_lossy(&output.stdout);
        match stdout.lines().find_map(|line| line.strip_prefix("SHAPE ")) {
            Some(line) => println!("{shape:?} {}", line.chars().take(120).collect::<String>()),
            None => faults.push(format!("{shape:?}: {} {stdout}", output.status)),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
