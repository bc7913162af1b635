//! Times the benchmark's templates here and, where a Go toolchain is at hand, in Go, and prints the ratios.
//! Argument: the folder with templates, data and the Go program (`bench/gotemplate` of the workspace by default).

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gotemplate::{Mode, ParseOptions, RenderOptions, Template, parse};
use serde_json::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gotemplate");
    let folder = std::env::args().nth(1).map_or(default, PathBuf::from);
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("templates.json"))?)?;
    let data: Value = serde_json::from_slice(&std::fs::read(folder.join("data.json"))?)?;
    let theirs = go_times(&folder);
    if theirs.is_empty() {
        print("no Go toolchain at hand: only our own times");
    }
    print(&format!(
        "{:<28} {:>10} {:>10} {:>7}   {:>10} {:>10} {:>7}",
        "template", "Go", "ours", "ratio", "Go p+r", "ours p+r", "ratio"
    ));
    let mut ratios: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for case in &cases {
        let name = case["name"].as_str().unwrap_or_default();
        let source = case["template"].as_str().unwrap_or_default();
        let template = parse(source, &ParseOptions::default())?;
        let times = [
            measure(|| render(&template, &data)),
            measure(|| {
                parse(source, &ParseOptions::default())
                    .map_or(0, |template| render(&template, &data))
            }),
        ];
        let go = theirs.iter().find(|line| line["name"] == case["name"]);
        let go_time = |key: &str| go.and_then(|line| line[key].as_f64()).unwrap_or(f64::NAN);
        let pair = [
            go_time("render") / times[0],
            go_time("parse_render") / times[1],
        ];
        ratios[0].push(pair[0]);
        ratios[1].push(pair[1]);
        print(&format!(
            "{name:<28} {:>10.0} {:>10.0} {:>7.1}   {:>10.0} {:>10.0} {:>7.1}",
            go_time("render"),
            times[0],
            pair[0],
            go_time("parse_render"),
            times[1],
            pair[1]
        ));
    }
    for (name, ratios) in ["render only", "parse and render"].iter().zip(&ratios) {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        print(&format!(
            "{name}: geometric mean {:.1}x Go, least {least:.1}x",
            geometric_mean(ratios)
        ));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn print(line: &str) {
    println!("{line}");
}

fn render(template: &Template, data: &Value) -> usize {
    let options = RenderOptions {
        mode: Mode::Go,
        ..RenderOptions::default()
    };
    template
        .render(black_box(data), &options)
        .map_or(0, |rendered| black_box(rendered).bytes.len())
}

/// The least time of several rounds, in nanoseconds a call.
fn measure(mut call: impl FnMut() -> usize) -> f64 {
    let mut time = |count: u32| {
        let start = Instant::now();
        for _ in 0..count {
            black_box(call());
        }
        start.elapsed()
    };
    let mut count = 1;
    while time(count) < Duration::from_millis(5) {
        count *= 2;
    }
    let least = (0..15).map(|_| time(count)).min().unwrap_or_default();
    least.as_secs_f64() * 1e9 / f64::from(count)
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let logs: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    #[expect(clippy::cast_precision_loss, reason = "there are eleven of them")]
    let count = ratios.len() as f64;
    (logs / count).exp()
}

/// Builds and runs the Go program; nothing where there is no toolchain.
fn go_times(folder: &Path) -> Vec<Value> {
    let binary = std::env::temp_dir().join(format!("gotemplate-bench-{}", std::process::id()));
    let built = Command::new("go")
        .arg("build")
        .arg("-o")
        .arg(&binary)
        .arg(folder.join("main.go"))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Vec::new();
    }
    let files = [folder.join("templates.json"), folder.join("data.json")];
    let output = Command::new(&binary).args(files).output();
    let _ = std::fs::remove_file(&binary);
    let text = output.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
