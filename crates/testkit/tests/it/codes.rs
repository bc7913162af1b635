//! Every code a failure can carry is produced by a case of the engine or by a test that is named here.

use super::tidy::root;
use onecall_engine::failure::{Category, Code};
use onecall_testkit::cases::{Case, read_folder};
use std::collections::BTreeSet;
use std::fs;

/// Codes that no scripted run can show, with the file and the test that does.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("transport.unavailable", CALLS, UNSENT),
    ("limit.arguments", CALLS, UNSENT),
    ("transport.protocol", CALLS, FAILED),
    ("denied.call", CALLS, FAILED),
    ("limit.result", CALLS, FAILED),
    ("tool.arguments", CALLS, FAILED),
    ("tool.unknown", CALLS, FAILED),
    (
        "denied.locked",
        "crates/cli/tests/it/catalog.rs",
        "a_changed_tool_withholds_its_workflow_until_the_lock_is_updated",
    ),
    (
        "limit.events",
        "crates/engine/tests/it/bounds.rs",
        "a_run_ends_when_it_has_too_many_events",
    ),
    (
        "limit.data",
        "crates/engine/tests/it/bounds.rs",
        "a_run_ends_when_it_holds_too_much_data",
    ),
    (
        "limit.open_runs",
        "crates/runtime/tests/it/open_runs.rs",
        "a_caller_above_its_share_is_refused_and_others_are_not",
    ),
    (
        "internal.fault",
        "crates/engine/tests/it/driver.rs",
        "a_panic_in_one_run_ends_that_run_only",
    ),
    (
        "internal.store",
        "crates/runtime/tests/it/refused.rs",
        "a_run_that_cannot_be_stored_is_refused",
    ),
    (
        "pending.running",
        "crates/gateway/tests/it/questions.rs",
        "impatient_clients_get_a_handle_and_the_run_goes_on",
    ),
    (
        "limit.patterns",
        "crates/runtime/tests/it/limits.rs",
        "patterns",
    ),
    (
        "pending.input",
        "crates/gateway/tests/it/questions.rs",
        "a_handle_leads_to_the_page_and_to_the_result",
    ),
];

const CALLS: &str = "crates/runtime/tests/it/codes.rs";
const FAILED: &str = "every_way_a_call_fails_has_its_code";
const UNSENT: &str = "a_call_that_was_never_sent_has_its_code";

#[test]
fn every_code_is_produced_by_a_test() {
    let cases = read_folder(&root(), "tests/cases/engine").unwrap();
    let mut produced: BTreeSet<Code> = cases.iter().flat_map(Case::produced).collect();
    let by_cases = produced.len();
    for (text, file, test) in ELSEWHERE {
        let code = Code::ALL.iter().find(|code| code.as_str() == *text);
        let code = *code.unwrap_or_else(|| panic!("there is no code `{text}`"));
        let source = fs::read_to_string(root().join(file)).unwrap();
        let body = source.split(&format!("fn {test}()")).nth(1);
        let body = body.unwrap_or_else(|| panic!("{file} has no test `{test}`"));
        let body = body.split("\n}\n").next().unwrap_or(body);
        assert!(
            body.contains(text) || body.contains(&format!("Code::{code:?}")),
            "`{test}` does not speak of `{text}`"
        );
        produced.insert(code);
    }
    let lacking: Vec<&Code> = Code::ALL
        .iter()
        .filter(|code| !produced.contains(code))
        .collect();
    assert!(
        lacking.is_empty(),
        "codes that no test produces: {lacking:?}"
    );
    let categories: BTreeSet<Category> = produced.iter().map(|code| code.category()).collect();
    println!(
        "codes: {} in {} categories · by cases {by_cases} · by other tests {}",
        produced.len(),
        categories.len(),
        ELSEWHERE.len()
    );
}
