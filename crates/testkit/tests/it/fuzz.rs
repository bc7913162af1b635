//! The targets of the fuzzer, fed with damaged examples; and that the fuzzer has these targets and no others.

use super::tidy::root;
use onecall_testkit::fuzz::{TARGETS, damaged};
use std::collections::BTreeSet;
use std::fs;

/// Inputs of each target.
const INPUTS: u64 = 1_500;

#[test]
fn no_damaged_example_breaks_a_promise() {
    for (name, target, examples) in TARGETS {
        for example in *examples {
            assert_eq!(target(example.as_bytes()), None, "{name}");
        }
        for number in 0..INPUTS {
            let bytes = damaged(examples, number);
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(target(&bytes), None, "{name} {number}: {shown}");
        }
    }
    let inputs = INPUTS * TARGETS.len() as u64;
    println!("fuzz: {} targets, {inputs} inputs", TARGETS.len());
}

#[test]
fn the_fuzzer_only_calls_these_targets() {
    let folder = root().join("fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut files = BTreeSet::new();
    for file in fs::read_dir(folder.join("fuzz_targets")).unwrap() {
        files.insert(file.unwrap().file_name().into_string().unwrap());
    }
    for (name, _, _) in TARGETS {
        let file = format!("{name}.rs");
        let text = fs::read_to_string(folder.join("fuzz_targets").join(&file)).unwrap();
        let body = text.split("fuzz_target!").nth(1).unwrap();
        let called = if *name == "engine_decide" {
            "sim::feed".to_owned()
        } else {
            format!("fuzz::{name}")
        };
        assert_eq!(
            body,
            format!("(|bytes: &[u8]| assert_eq!(onecall_testkit::{called}(bytes), None));\n")
        );
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{file}\"")));
        assert!(files.remove(&file));
    }
    assert_eq!(files, BTreeSet::new());
}
