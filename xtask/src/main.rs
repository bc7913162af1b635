//! Automation of this repository. `cargo xtask test` runs everything CI runs.

mod bench;
mod built;
mod cargo;
mod conformance;
mod node;
mod obtain;
mod part;
mod python;
mod real;
mod skips;
mod suites;
mod table;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

  test [PART…]   run everything CI runs, or only these parts
  test --list    name the parts
  bench NAME     measure speed or memory: gotemplate, backends, engine, journal, check, gateway, suites
  sim …          simulate runs: --runs N --seed S [--break NAME]
  kill …         kill the real program: [--kills N] [--seed S]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.split_first() {
        Some((&"test", ["--list"])) => {
            test::list();
            Ok(true)
        }
        Some((&"test", parts)) => test::run(parts),
        Some((&"bench", [name, words @ ..])) => bench::run(name, words),
        Some((&"sim", words)) => bench::sim(words),
        Some((&"kill", words)) => test::kill(words).map(|outcome| outcome.is_ok),
        _ => {
            part::say(HELP);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            part::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
