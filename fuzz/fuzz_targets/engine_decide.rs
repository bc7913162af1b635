//! No order of inputs breaks the decider, and folding what was stored gives the same state byte for byte.
//! Two bytes choose a workflow of the simulator, every four after them are an input.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| assert_eq!(onecall_testkit::sim::feed(bytes), None));
