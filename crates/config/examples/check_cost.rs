//! Checks 1,000 generated composite tools of 20 steps, and tells time and memory: `cargo xtask bench check`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use onecall_config::{Compat, Input, Options, read};
use onecall_source::SourceMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

const FILES: usize = 10;
const TOOLS_PER_FILE: usize = 100;
const STEPS: usize = 20;
const ROUNDS: usize = 5;

fn main() {
    let texts: Vec<String> = (0..FILES).map(text).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let rounds = (0..ROUNDS).map(|_| round(&texts));
    let best = rounds.min().unwrap_or(Duration::ZERO);
    println!("{:<28} {:>10}", "composite tools", FILES * TOOLS_PER_FILE);
    println!("{:<28} {:>10}", "steps", FILES * TOOLS_PER_FILE * STEPS);
    println!("{:<28} {:>7} KiB", "text", bytes / 1024);
    println!("{:<28} {:>7} ms", "time, best of 5", best.as_millis());
    match peak_kib() {
        Some(peak) => println!("{:<28} {:>7} MiB", "memory, highest", peak / 1024),
        None => println!("memory is not known on this system"),
    }
}

/// Reads and checks all files as `onecall check` does.
fn round(texts: &[String]) -> Duration {
    let begin = Instant::now();
    let mut sources = SourceMap::new();
    let mut inputs = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        inputs.push(Input {
            source: sources.add(format!("tools-{at}.yaml"), text.clone()),
            named: true,
        });
    }
    let environment = |_: &str| None;
    let options = Options {
        environment: &environment,
        compat: Compat::Page,
    };
    let (settings, diagnostics) = read(&sources, &inputs, &options);
    let servers = settings.iter().flat_map(|settings| &settings.servers);
    let count: usize = servers.map(|server| server.workflows.len()).sum();
    assert_eq!((count, diagnostics.len()), (FILES * TOOLS_PER_FILE, 0));
    begin.elapsed()
}

fn text(file: usize) -> String {
    let mut text = "name: bench\ncompositeTools:\n".to_owned();
    for tool in 0..TOOLS_PER_FILE {
        let _ = write!(
            text,
            "- name: tool_{file}_{tool}\n  description: generated\n  parameters: {{type: object, properties: {{id: {{type: string}}}}}}\n  steps:\n"
        );
        for step in 0..STEPS {
            let before = match step {
                0 => "{{.params.id}}".to_owned(),
                _ => format!("{{{{.steps.s{}.output.id}}}}", step - 1),
            };
            let _ = write!(
                text,
                "  - id: s{step}\n    tool: backend.call_{step}\n    arguments: {{id: \"{before}\", note: \"step {step} of {{{{.workflow.id}}}}\"}}\n    onError: {{action: retry, retryCount: 2}}\n"
            );
        }
    }
    text
}

/// The most memory this process ever held.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
