//! Any text is a tree of nodes or faults, and every fault can be drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::fuzz::source_parse(bytes), None));
