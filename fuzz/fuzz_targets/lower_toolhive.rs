//! Any document is a composite tool or faults that can be drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::fuzz::lower_toolhive(bytes), None));
