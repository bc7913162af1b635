//! The pages of the codes that the test runner raises: the bad file gives exactly the output of the page, the fixed one
//! gives nothing. `ONECALL_UPDATE=1` writes the outputs into the pages.

use onecall_config::{Compat, Input, Options, survey};
use onecall_source::render::{self, TextOptions};
use onecall_source::{Diagnostics, SourceMap};
use onecall_suite::Composition;
use std::path::Path;

const CODES: [&str; 5] = ["WF511", "WF512", "WF513", "WF514", "WF515"];

/// What `check` prints of a suite, without the summary.
fn report(name: &str, text: &str) -> String {
    let mut sources = SourceMap::default();
    let source = sources.add(name, text.to_owned());
    let inputs = [Input {
        source,
        named: true,
    }];
    let options = Options {
        environment: &|_| None,
        compat: Compat::Program,
    };
    let (settings, mut diagnostics): (_, Diagnostics) = survey(&sources, &inputs, &options);
    for tests in &settings.tests {
        Composition::read(tests, &mut diagnostics);
    }
    diagnostics.sort();
    let shown = diagnostics.iter().map(|own| {
        let text = render::text(own, &sources, TextOptions::default());
        text.trim_end().to_owned()
    });
    shown.collect::<Vec<_>>().join("\n\n")
}

/// The fenced blocks of a page with this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let start = format!("```{language}\n");
    let parts = page.split(&start).skip(1);
    parts.filter_map(|part| part.split("```").next()).collect()
}

#[test]
fn pages_show_what_is_printed_and_the_fix_works() {
    let mut problems = Vec::new();
    for code in CODES {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/diagnostics/{code}.md"));
        let page = std::fs::read_to_string(&path).unwrap();
        let (yaml, shown) = (blocks(&page, "yaml"), blocks(&page, "text"));
        let name = format!("{code}.yaml");
        let found = report(&name, yaml[0]);
        if std::env::var_os("ONECALL_UPDATE").is_some() {
            let page = page.replace(shown[0].trim_end(), &found);
            std::fs::write(&path, page).unwrap();
        } else if shown[0].trim_end() != found {
            problems.push(format!("the page of {code} does not show:\n{found}"));
        }
        if !found.contains(&format!("[{code}]")) {
            problems.push(format!("{code} is not raised:\n{found}"));
        }
        let fixed = report(&name, yaml[1]);
        if !fixed.is_empty() {
            problems.push(format!("{code}, fixed, gives:\n{fixed}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n---\n"));
}
