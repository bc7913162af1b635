//! The simulator in the normal tests: many runs hold every promise, and each guard switched off is noticed.

use onecall_testkit::sim::{Break, Options, run};

#[test]
fn promises_hold_through_crashes_and_two_owners() {
    let report = run(&Options {
        runs: 20_000,
        seed: 1,
        broken: None,
    });
    assert!(report.is_good(), "\n{report}");
    println!("{report}");
}

#[test]
fn every_guard_is_missed_when_it_is_off() {
    for guard in Break::ALL {
        let report = run(&Options {
            runs: 5_000,
            seed: 1,
            broken: Some(guard),
        });
        let name = guard.as_str();
        let Some(violation) = &report.violation else {
            panic!("nothing noticed that `{name}` is off\n{report}");
        };
        println!("{name}: run {}: {}", violation.run, violation.fault);
        let expected: &[&str] = match guard {
            Break::AppendBeforePerform => &["effect of"],
            Break::Fence => &["happened twice", "after the end of the run"],
            Break::SingleAnswer => &["happened twice"],
            Break::Deadline => &["deadline", "without an end"],
            Break::DefaultOnFailure => &["shows"],
        };
        assert!(
            expected.iter().any(|word| violation.fault.contains(word)),
            "`{name}` was noticed by chance: {}",
            violation.fault
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_runs() {
    let options = Options {
        runs: 300,
        seed: 42,
        broken: None,
    };
    assert_eq!(run(&options).to_string(), run(&options).to_string());
}
