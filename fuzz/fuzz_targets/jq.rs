//! Any jq program is refused at its place or ends within its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::fuzz::jq(bytes), None));
