//! Any text parses to a template or a fault with a place inside the text; its analysis has places inside too.
#![no_main]

use gotemplate::{ParseOptions, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    match parse(source, &ParseOptions::default()) {
        Ok(template) => {
            for read in template.analysis().reads {
                assert!(source.get(read.span.range()).is_some());
            }
        }
        Err(error) => assert!(error.span.start <= error.span.end && error.span.end <= source.len()),
    }
});
