//! The simulator by command: `cargo xtask sim [--runs N] [--seed S] [--break NAME]`.

use onecall_testkit::sim::{Options, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match Options::parse(&words) {
        Ok(options) => {
            let report = run(&options);
            say(&report.to_string());
            if report.is_good() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(fault) => {
            say(&format!(
                "error: {fault}\nusage: sim [--runs N] [--seed S] [--break NAME]"
            ));
            ExitCode::from(2)
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
