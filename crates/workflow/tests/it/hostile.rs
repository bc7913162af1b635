//! jq programs made to hurt end as ordinary errors or results, soon and small. Each runs in a process of its own with a
//! stack of 2 MiB and 200 MB of address space: this test program again, told which case to run.

use onecall_workflow::expression::{JqProgram, View};
use onecall_workflow::limits::Bounds;
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Names the case to the child.
const CASE: &str = "JQ_HOSTILE_CASE";
/// Unoptimised code is given more time.
const MILLISECONDS_MAX: u128 = if cfg!(debug_assertions) { 5_000 } else { 100 };
const KILOBYTES_MAX: u64 = 64 * 1024;

/// What must come out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Fails,
    Gives,
}

const WRITTEN: [(&str, Want, &str); 36] = [
    ("halt", Want::Fails, "halt"),
    ("halt_error", Want::Fails, "\"x\" | halt_error"),
    ("env", Want::Fails, "env"),
    ("$ENV", Want::Fails, "$ENV"),
    ("now", Want::Fails, "now"),
    ("input", Want::Fails, "input"),
    ("repeat(.)", Want::Fails, "[repeat(1)]"),
    ("last(repeat(.))", Want::Fails, "last(repeat(1))"),
    ("def f: f; f", Want::Fails, "def f: f; f"),
    ("until(false; .)", Want::Fails, "until(false; .)"),
    ("[range(1e12)]", Want::Fails, "[range(1e12)]"),
    ("last(range(1e12))", Want::Fails, "last(range(1e12))"),
    (
        "skip(1e12; range(1e13))",
        Want::Fails,
        "[skip(1e12; range(1e13))]",
    ),
    ("\"a\" * 1e10", Want::Fails, "\"a\" * 1e10"),
    (
        "string doubled 60 times",
        Want::Fails,
        "reduce range(60) as $i (\"aa\"; . + .)",
    ),
    (
        "array doubled 60 times",
        Want::Fails,
        "reduce range(60) as $i ([0]; . + .)",
    ),
    (
        "3 squared 30 times",
        Want::Fails,
        "reduce range(30) as $i (3; . * .)",
    ),
    ("def f: 1 + f; f", Want::Fails, "def f: 1 + f; f"),
    (
        "nested 100,000 deep",
        Want::Fails,
        "reduce range(100000) as $i (null; [.])",
    ),
    (
        "nested and printed",
        Want::Fails,
        "reduce range(100000) as $i (null; [.]) | tojson",
    ),
    (
        "shared 40 levels, printed",
        Want::Fails,
        "reduce range(40) as $i ([]; [., .]) | tojson",
    ),
    (
        "shared 40 levels, compared",
        Want::Fails,
        "reduce range(40) as $i ([]; [., .]) | . == .",
    ),
    (
        "shared 40 levels, returned",
        Want::Fails,
        "reduce range(40) as $i ([]; [., .])",
    ),
    (
        "shared 40 levels, as an error",
        Want::Fails,
        "reduce range(40) as $i ([]; [., .]) | error",
    ),
    (
        "3,000,000 open brackets read",
        Want::Fails,
        "\"[\" * 3000000 | fromjson",
    ),
    (
        "a long text, exploded",
        Want::Fails,
        "\"a\" * 3000000 | explode",
    ),
    (
        "a long text, made often",
        Want::Fails,
        "[range(100000) | \"x\" * 1000000 | length]",
    ),
    (
        "a long text, matched often",
        Want::Fails,
        "\"a\" * 100000 | [range(1000) as $i | test(\"b\")]",
    ),
    (
        "a long text, found in a longer one",
        Want::Fails,
        "(\"a\" * 100000) as $part | \"a\" * 200000 | indices($part)",
    ),
    (
        "a catastrophic pattern",
        Want::Gives,
        "\"a\" * 30000 | test(\"(a*)*(a*)*b\")",
    ),
    (
        "a huge pattern",
        Want::Fails,
        "\"a\" | test(\"((a{100}){100}){100}\")",
    ),
    (
        "an item far behind the end",
        Want::Fails,
        "[] | .[1000000000] = 1",
    ),
    (
        "combinations",
        Want::Fails,
        "[range(20) | [0, 1]] | [combinations]",
    ),
    (
        "sorting what is compared slowly",
        Want::Fails,
        "[range(2000) | \"x\" * 20000] | sort | length",
    ),
    (
        "a large object",
        Want::Fails,
        "reduce range(1000000) as $i ({}; .[$i | tostring] = $i)",
    ),
    (
        "10,000 items",
        Want::Gives,
        "[range(10000) | {n: ., t: \"item \\(.)\"}] | map(select(.n % 2 == 0)) | length",
    ),
];

fn cases() -> Vec<(&'static str, Want, String)> {
    let nested = |open: &str, count: usize, close: &str| {
        format!("{}1{}", open.repeat(count), close.repeat(count))
    };
    let written = WRITTEN.into_iter();
    let mut cases: Vec<_> = written
        .map(|(name, want, code)| (name, want, code.to_owned()))
        .collect();
    cases.extend([
        ("200 parentheses", Want::Gives, nested("(", 200, ")")),
        ("200 arrays", Want::Fails, nested("[", 200, "]")),
        ("4,000 parentheses", Want::Fails, nested("(", 4_000, ")")),
        ("8,000 open brackets", Want::Fails, "[".repeat(8_000)),
        ("4,000 minus signs", Want::Fails, nested("- ", 4_000, "")),
        ("2,000 tries", Want::Fails, nested("try ", 2_000, "")),
        ("4,000 pipes", Want::Fails, nested("1|", 4_000, "")),
        ("300 variables", Want::Gives, nested("1 as $a | ", 300, "")),
        (
            "300 definitions",
            Want::Gives,
            nested("def f: 1; ", 300, ""),
        ),
        (
            "300 ifs",
            Want::Gives,
            nested("if 1 then ", 300, " else 2 end"),
        ),
        ("100,000 blanks", Want::Fails, " ".repeat(100_000)),
    ]);
    cases
}

pub(crate) fn outcome(code: &str) -> String {
    let input = json!({});
    match JqProgram::compile(code, View::Result) {
        Err(error) => format!("error: {error}"),
        Ok(program) => match program.transform(&input, &input, Bounds::default()) {
            Ok(Value::Number(number)) => format!("gave {number}"),
            Ok(value) => format!("gave {} bytes", value.to_string().len()),
            Err(fault) => format!("error: {fault}"),
        },
    }
}

/// Runs one case, if this process was started for it.
#[test]
fn child() {
    let Ok(wanted) = std::env::var(CASE) else {
        return;
    };
    let (_, _, code) = cases()
        .into_iter()
        .find(|(name, ..)| *name == wanted)
        .unwrap();
    // What is done once a process is not counted.
    outcome("1");
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (start, worked) = (Instant::now(), worked());
    let outcome = outcome(&code);
    let took = worked.map_or_else(
        || start.elapsed(),
        |before| self::worked().unwrap_or(before).saturating_sub(before),
    );
    println!(
        "\nHOSTILE {} {} {outcome}",
        took.as_millis(),
        peak_kilobytes()
    );
}

/// How long this thread has worked, not counting what it waited for a processor.
fn worked() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

/// One test of this program, in a process of its own with little stack and memory.
pub(crate) fn confined(test: &str, variable: &str, value: &str) -> Output {
    let program = std::env::current_exe().unwrap();
    Command::new("sh")
        .args(["-c", "ulimit -s 2048; ulimit -v 200000; exec \"$0\" --exact \"$1\" --nocapture --test-threads=1"])
        .arg(&program)
        .arg(test)
        .env(variable, value)
        .output()
        .unwrap()
}

#[test]
fn every_case_ends_soon_and_small() {
    let mut faults = Vec::new();
    for (name, want, _) in cases() {
        let output = confined("hostile::child", CASE, name);
        let stdout = String::from_utf8_lossy(&output.stdout);
        let Some(line) = stdout
            .lines()
            .find_map(|line| line.strip_prefix("HOSTILE "))
        else {
            let stderr = String::from_utf8_lossy(&output.stderr);
            faults.push(format!("{name}: {} {stdout} {stderr}", output.status));
            continue;
        };
        let mut parts = line.splitn(3, ' ');
        let milliseconds: u128 = parts.next().unwrap().parse().unwrap();
        let kilobytes: u64 = parts.next().unwrap().parse().unwrap();
        let shown: String = parts.next().unwrap().chars().take(90).collect();
        println!("{name:<32} {milliseconds:>5} ms {kilobytes:>6} kB  {shown}");
        let failed = shown.starts_with("error");
        if (want == Want::Fails) != failed {
            faults.push(format!("{name}: wanted {want:?}, {shown}"));
        }
        if milliseconds > MILLISECONDS_MAX || kilobytes > KILOBYTES_MAX {
            faults.push(format!("{name}: {milliseconds} ms, {kilobytes} kB"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
