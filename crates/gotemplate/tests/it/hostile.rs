//! Templates made to hurt end as ordinary errors or results, soon and small. Each runs in a process of its own with a
//! stack of 2 MiB and 200 MB of address space: this test program again, told which case to run.

use std::process::Command;
use std::time::{Duration, Instant};

use gotemplate::{Mode, ParseOptions, RenderOptions, parse};
use serde_json::{Value, json};

/// Names the case to the child.
const CASE: &str = "GOTEMPLATE_HOSTILE_CASE";
/// Unoptimised code is given more time.
const MILLISECONDS_MAX: u128 = if cfg!(debug_assertions) { 5_000 } else { 100 };
const KILOBYTES_MAX: u64 = 64 * 1024;

/// What must come out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Fails,
    Renders,
    Either,
}

fn cases() -> Vec<(&'static str, Want, String)> {
    let doubling: String = (0..40).map(|_| "{{$s = print $s $s}}").collect();
    let floor = |at: usize| {
        let call = format!("{{{{template \"d{}\"}}}}", at + 1);
        format!("{{{{define \"d{at}\"}}}}{call}{call}{{{{end}}}}")
    };
    let tower = (0..30).map(floor).collect::<Vec<_>>().concat();
    let nested_ranges = format!("{}x{}", "{{range 1000}}".repeat(50), "{{end}}".repeat(50));
    vec![
        ("define calls itself", Want::Fails, "{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}".to_owned()),
        (
            "the same inside if and with",
            Want::Fails,
            "{{define \"a\"}}{{if true}}{{with 1}}{{template \"a\"}}{{end}}{{end}}{{end}}{{template \"a\"}}".to_owned(),
        ),
        (
            "defines that call each other",
            Want::Fails,
            "{{define \"a\"}}{{template \"b\" .}}{{end}}{{define \"b\"}}{{range 2}}{{template \"a\" .}}{{end}}{{end}}{{template \"a\"}}".to_owned(),
        ),
        ("30 defines, each the next twice", Want::Fails, format!("{tower}{{{{define \"d30\"}}}}x{{{{end}}}}{{{{template \"d0\"}}}}")),
        ("string doubled 40 times", Want::Fails, format!("{{{{$s := \"xxxxxxxxxx\"}}}}{doubling}{{{{len $s}}}}")),
        ("range 1000000000", Want::Fails, "{{range 1000000000}}{{end}}".to_owned()),
        ("nested ranges", Want::Fails, nested_ranges),
        ("%1000000000d", Want::Renders, "{{printf \"%1000000000d\" 1}}".to_owned()),
        ("%10000000d", Want::Renders, "{{printf \"%10000000d\" 1}}".to_owned()),
        ("%.1000000f", Want::Renders, "{{printf \"%.1000000f\" 1.5}}".to_owned()),
        ("100 times width 1e6", Want::Fails, "{{printf \"%1000000d\" 1}}".repeat(100)),
        ("100 widths in one format", Want::Fails, format!("{{{{printf \"{}\" {}}}}}", "%1000000d".repeat(100), "1 ".repeat(100))),
        ("widths inside a list", Want::Fails, "{{printf \"%1000000v\" .l}}".to_owned()),
        ("5,000 parentheses", Want::Renders, format!("{{{{{}1{}}}}}", "(".repeat(5_000), ")".repeat(5_000))),
        ("100,000 parentheses", Want::Fails, format!("{{{{{}1{}}}}}", "(".repeat(100_000), ")".repeat(100_000))),
        ("100,000 open parentheses", Want::Fails, format!("{{{{{}", "(".repeat(100_000))),
        ("10,000 nested ifs", Want::Renders, format!("{}x{}", "{{if 1}}".repeat(10_000), "{{end}}".repeat(10_000))),
        ("100,000 nested ifs", Want::Fails, format!("{}x{}", "{{if 1}}".repeat(100_000), "{{end}}".repeat(100_000))),
        ("else if x 10,000", Want::Renders, format!("{{{{if 0}}}}{}{{{{end}}}}", "{{else if 0}}".repeat(10_000))),
        ("100,000 pipeline stages", Want::Either, format!("{{{{1{}}}}}", " | print".repeat(100_000))),
        ("100,000 arguments", Want::Renders, format!("{{{{print{}}}}}", " 1".repeat(100_000))),
        ("100,000 actions", Want::Renders, "{{.x}}".repeat(100_000)),
        ("100,000 variables", Want::Renders, (0..100_000).map(|_| "{{$x := 1}}").collect()),
        ("5 MB comment", Want::Renders, format!("{{{{/*{}*/}}}}", "c".repeat(5 << 20))),
        ("unfinished escape", Want::Fails, "{{\"\\u12\"}}".to_owned()),
        ("fromJson nested 100,000 deep", Want::Fails, "{{fromJson .deep}}".to_owned()),
        ("fromJson nested 9,000 deep, printed", Want::Renders, "{{fromJson .n9000}}".to_owned()),
        ("fromJson in a loop", Want::Fails, "{{range 1000000}}{{$x := fromJson $.text}}{{end}}".to_owned()),
        ("long strings compared in a loop", Want::Fails, "{{range 1000000}}{{$x := eq $.text $.text2}}{{end}}".to_owned()),
        ("html of a long text, often", Want::Fails, "{{range 1000}}{{$x := html $.angle}}{{end}}".to_owned()),
    ]
}

fn data() -> Value {
    let text = format!("[{}0]", "1234567,".repeat(20_000));
    json!({
        "l": vec![1; 1_000],
        "deep": "[".repeat(100_000),
        "n9000": format!("{}1{}", "[".repeat(9_000), "]".repeat(9_000)),
        "text2": text.clone(),
        "text": text,
        "angle": "<".repeat(1 << 20),
    })
}

/// Runs one case, if this process was started for it.
#[test]
fn child() {
    let Ok(wanted) = std::env::var(CASE) else {
        return;
    };
    let (_, _, template) = cases()
        .into_iter()
        .find(|(name, ..)| *name == wanted)
        .unwrap();
    let data = data();
    // What it took to make the case is not counted.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (start, worked) = (Instant::now(), worked());
    let options = RenderOptions {
        mode: Mode::Go,
        ..RenderOptions::default()
    };
    let outcome = match parse(&template, &ParseOptions::default()) {
        Ok(template) => match template.render(&data, &options) {
            Ok(rendered) => format!("rendered {} bytes", rendered.bytes.len()),
            Err(error) => format!("error: {}", error.message),
        },
        Err(error) => format!("error: {}", error.message),
    };
    println!(
        "\nHOSTILE {} {} {outcome}",
        worked
            .map_or_else(|| start.elapsed(), before_to_now)
            .as_millis(),
        peak_kilobytes()
    );
}

/// How long this thread has worked, not counting what it waited for a processor.
fn worked() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace()
        .next()?
        .parse()
        .ok()
        .map(Duration::from_nanos)
}

fn before_to_now(before: Duration) -> Duration {
    worked().unwrap_or(before).saturating_sub(before)
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[test]
fn every_case_ends_soon_and_small() {
    let program = std::env::current_exe().unwrap();
    let mut faults = Vec::new();
    for (name, want, _) in cases() {
        let output = Command::new("sh")
            .args(["-c", "ulimit -s 2048; ulimit -v 200000; exec \"$0\" --exact hostile::child --nocapture --test-threads=1"])
            .arg(&program)
            .env(CASE, name)
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let Some(line) = stdout
            .lines()
            .find_map(|line| line.strip_prefix("HOSTILE "))
        else {
            faults.push(format!(
                "{name}: {} {stdout} {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ));
            continue;
        };
        let mut parts = line.splitn(3, ' ');
        let milliseconds: u128 = parts.next().unwrap().parse().unwrap();
        let kilobytes: u64 = parts.next().unwrap().parse().unwrap();
        let shown: String = parts.next().unwrap().chars().take(90).collect();
        println!("{name:<36} {milliseconds:>5} ms {kilobytes:>6} kB  {shown}");
        let failed = shown.starts_with("error");
        if (want == Want::Fails && !failed) || (want == Want::Renders && failed) {
            faults.push(format!("{name}: wanted {want:?}, {shown}"));
        }
        if !output.status.success() || milliseconds > MILLISECONDS_MAX || kilobytes > KILOBYTES_MAX
        {
            faults.push(format!(
                "{name}: {} {milliseconds} ms, {kilobytes} kB",
                output.status
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
