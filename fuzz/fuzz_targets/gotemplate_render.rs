//! Any template over any data renders to a result or an error, in both modes, within its limits.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::fuzz::gotemplate_render(bytes), None));
