//! The kill test by command: `cargo xtask kill [--kills N] [--seed S]`.

use onecall_testkit::kill::{Options, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let options = match Options::parse(&words) {
        Ok(options) => options,
        Err(fault) => {
            say(&format!(
                "error: {fault}\nusage: kill --program FILE [--kills N] [--seed S]"
            ));
            return ExitCode::from(2);
        }
    };
    say(&format!("seed {}", options.seed));
    match run(&options) {
        Ok(report) => {
            say(&report.to_string());
            if report.is_good() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(fault) => {
            say(&format!("error: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
