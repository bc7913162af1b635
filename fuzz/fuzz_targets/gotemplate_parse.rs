//! Any text parses to a template or a fault with a place inside the text.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::fuzz::gotemplate_parse(bytes), None));
