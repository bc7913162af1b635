//! The benchmark of the test runner: the program as it is handed out, from its start to its exit.

use crate::cargo::{Profile, program};
use crate::part::{say, scratch};
use anyhow::{Context as _, ensure};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The best of so many runs counts: others share the machine.
const RUNS: usize = 7;

/// One figure: what is run, how long it may take, how much memory it may use.
struct Figure {
    what: &'static str,
    suite: String,
    time_max: Duration,
    memory_mb_max: Option<u64>,
}

/// Runs the figures and prints a table. Whether all are met.
pub(crate) fn bench() -> anyhow::Result<bool> {
    let program = program(Profile::Dist)?;
    let directory = scratch("bench-suites")?;
    say("| figure | best | allowed | memory | allowed |");
    say("|---|---|---|---|---|");
    let mut are_met = true;
    for (index, figure) in figures().iter().enumerate() {
        let file = directory.join(format!("{index}.yaml"));
        std::fs::write(&file, &figure.suite)?;
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            best = best.min(timed(&program, &file, &directory)?);
        }
        let memory = peak_mb(&program, &file, &directory);
        let is_met = best <= figure.time_max
            && figure
                .memory_mb_max
                .zip(memory)
                .is_none_or(|(max, own)| own <= max);
        are_met &= is_met;
        let memory = memory.map_or("not measured".to_owned(), |own| format!("{own} MB"));
        let max = figure.memory_mb_max;
        let max = max.map_or(String::new(), |max| format!("{max} MB"));
        say(&format!(
            "| {} | {best:.1?} | {:?} | {memory} | {max} |",
            figure.what, figure.time_max
        ));
    }
    Ok(are_met)
}

fn figures() -> [Figure; 3] {
    let one = "compositions:\n- name: c\n  nodes: [{id: a, tool: t, mock: {result: 1}}]\n";
    let items: Vec<String> = (0..200).map(|own| own.to_string()).collect();
    let wide = format!(
        "servers: {{d: {{command: [onecall, demo]}}}}\ncompositions:\n- name: c\n  nodes:\n  - {{id: list, tool: t, mock: {{result: [{}]}}}}\n  - {{id: each, needs: [list], for_each: \"${{list}}\", max_concurrency: 16, tool: echo, args: {{text: x, before_ms: 10}}}}\n  expect: [{{target: nodes.each.status, matcher: {{exact: ok}}}}]\n",
        items.join(", ")
    );
    let mut many = String::from("compositions:\n- name: c\n  nodes:\n");
    for node in 0..10 {
        let needs = match node {
            0 => String::new(),
            node => format!("needs: [n{}], ", node - 1),
        };
        let _ = writeln!(
            many,
            "  - {{id: n{node}, {needs}tool: t, args: {{q: \"${{var.q}}\"}}, mock: {{result: {{x: {node}}}}}}}"
        );
    }
    many.push_str("  expect: [{target: output.x, matcher: {exact: 9}}]\n  cases:\n");
    for case in 0..1_000 {
        let _ = writeln!(many, "  - {{name: c{case}, vars: {{q: {case}}}}}");
    }
    let figure = |what, suite: &str, millis, memory_mb_max| Figure {
        what,
        suite: suite.to_owned(),
        time_max: Duration::from_millis(millis),
        memory_mb_max,
    };
    [
        figure("one mocked composition", one, 20, Some(30)),
        figure("200 calls of 10 ms, 16 wide", &wide, 200, None),
        figure("1,000 cases of 10 mocked nodes", &many, 1_000, None),
    ]
}

fn command(program: &Path, file: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("test").arg(file).env("HOME", home);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn timed(program: &Path, file: &Path, home: &Path) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let status = command(program, file, home).status();
    let status = status.with_context(|| format!("cannot run `{}`", program.display()))?;
    let time = start.elapsed();
    ensure!(status.success(), "the suite `{}` fails", file.display());
    Ok(time)
}

/// The most memory that the program held, as the kernel reports it; `None` if it cannot be measured.
fn peak_mb(program: &Path, file: &Path, home: &Path) -> Option<u64> {
    let code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let mut command = Command::new("python3");
    command
        .args(["-c", code])
        .arg(program)
        .arg("test")
        .arg(file);
    let output = command.env("HOME", home).output().ok()?;
    let kilobytes: u64 = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    Some(kilobytes.div_ceil(1024))
}
