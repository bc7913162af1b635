//! The simulator by command: `cargo xtask sim --runs N --seed S [--break NAME]`.

use onecall_testkit::sim::{Break, Options, run};
use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "usage: sim [--runs N] [--seed S] [--break NAME]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = options(&words) else {
        let guards = Break::ALL.map(Break::as_str).join(", ");
        say(&format!("{USAGE}\nguards to break: {guards}"));
        return ExitCode::from(2);
    };
    let report = run(&options);
    say(&report.to_string());
    if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn options(words: &[String]) -> Option<Options> {
    let mut options = Options {
        runs: 20_000,
        seed: 1,
        broken: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--runs" => options.runs = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--break" => options.broken = Some(Break::parse(value)?),
            _ => return None,
        }
    }
    Some(options)
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
