//! Answers cases from standard input, one a line, in the mode the first argument names (`go` or `workflow`).

use std::io::{BufRead as _, Write as _};

use gotemplate::{Mode, lines};

fn main() -> std::io::Result<()> {
    let mode = match std::env::args().nth(1).as_deref() {
        Some("workflow") => Mode::Workflow,
        _ => Mode::Go,
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", lines::answer(&line?, mode))?;
    }
    Ok(())
}
