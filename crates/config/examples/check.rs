//! Reads the files given and prints what is wrong with them, with the time it took: for measuring.
#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::unwrap_used, reason = "an example may stop")]

use onecall_config::{Compat, Input, Options, read};
use onecall_source::SourceMap;
use onecall_source::render::{self, TextOptions};

fn main() {
    let mut sources = SourceMap::new();
    let inputs: Vec<Input> = std::env::args()
        .skip(1)
        .map(|path| Input {
            source: sources.add(path.clone(), std::fs::read_to_string(&path).unwrap()),
            named: true,
        })
        .collect();
    let begin = std::time::Instant::now();
    let environment = |name: &str| std::env::var(name).ok();
    let options = Options {
        environment: &environment,
        compat: Compat::Page,
    };
    let (settings, diagnostics) = read(&sources, &inputs, &options);
    let took = begin.elapsed();
    let workflows: usize = settings
        .iter()
        .flat_map(|settings| &settings.servers)
        .map(|server| server.workflows.len())
        .sum();
    let text = TextOptions {
        color: false,
        unicode: false,
        width: 120,
    };
    println!("{}", render::report(&diagnostics, &sources, text));
    println!("{workflows} workflows in {took:?}");
}
