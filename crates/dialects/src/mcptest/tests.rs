//! Every load error and warning that mcptest knows, one test each: its code, and the words it points at.

use super::{Compat, Options, read};
use onecall_source::{Diagnostics, Severity, SourceMap, parse};

/// What is wrong with a composition that has these keys: severity, code, and the text of the first place.
fn faults(keys: &str) -> Vec<String> {
    faults_of(&format!("- name: c\n{keys}"))
}

/// What is wrong with these compositions.
fn faults_of(compositions: &str) -> Vec<String> {
    let text = format!("servers: {{s: {{command: [x]}}}}\ncompositions:\n{compositions}");
    let mut sources = SourceMap::new();
    let id = sources.add("suite.yaml".to_owned(), text.clone());
    let (documents, mut diagnostics) = parse(&sources, id);
    let options = Options {
        backends: &[],
        environment: &|_| None,
        compat: Compat::Page,
    };
    read(&documents[0].root, &options, &mut diagnostics);
    told(&diagnostics, &text)
}

fn told(diagnostics: &Diagnostics, text: &str) -> Vec<String> {
    let faults = diagnostics
        .iter()
        .filter(|fault| fault.severity != Severity::Note);
    let faults = faults.map(|fault| {
        let span = fault.labels[0].place.span().unwrap();
        let pointed = &text[span.start as usize..span.end as usize];
        format!("{} {} {pointed}", fault.severity.as_str(), fault.code)
    });
    faults.collect()
}

#[track_caller]
fn is(keys: &str, expected: &[&str]) {
    assert_eq!(faults(keys), expected, "{keys}");
}

#[test]
fn a_sound_composition_has_no_faults() {
    is(
        "  nodes:\n  - {id: a, tool: t}\n  - {id: b, needs: [a], tool: t, args: {v: \"${a.x}\"}}\n",
        &[],
    );
}

#[test]
fn a_value_of_another_type() {
    is("  nodes: [{id: a, tool: 1}]\n", &["error WF022 1"]);
    is("  nodes: {}\n", &["error WF022 {}"]);
}

#[test]
fn an_unknown_key() {
    is(
        "  nodes: [{id: a, tool: t, retries: 1}]\n",
        &["error WF020 retries"],
    );
    is("  nodez: []\n", &["error WF020 nodez"]);
}

#[test]
fn a_composition_without_a_name_is_checked_all_the_same() {
    assert_eq!(
        faults_of("- nodes: [{id: a, tool: t}]\n  output: b\n"),
        ["error WF021 nodes", "error WF101 b"]
    );
}

#[test]
fn a_duplicate_id() {
    is(
        "  nodes: [{id: a, tool: t}, {id: a, tool: u}]\n",
        &["error WF102 a"],
    );
}

#[test]
fn an_unknown_need() {
    is(
        "  nodes: [{id: a, tool: t, needs: [gone]}]\n",
        &["error WF101 gone"],
    );
}

#[test]
fn a_read_outside_of_needs() {
    let nodes =
        |args: &str| format!("  nodes: [{{id: a, tool: t}}, {{id: b, tool: t, args: {args}}}]\n");
    is(&nodes("{v: \"${a.x}\"}"), &["error WF107 a"]);
    is(&nodes("{v: {w: [\"x ${a}\"]}}"), &["error WF107 a"]);
    is(&nodes("{v: \"${b.x}\"}"), &["error WF103 b"]);
    is(&nodes("{v: \"${gone.x}\"}"), &["error WF101 gone"]);
}

#[test]
fn ids_with_hyphens_can_be_read() {
    is(
        "  nodes: [{id: get-user, tool: t}, {id: b, needs: [get-user], tool: t, args: {v: \"${get-user.n}\"}}]\n",
        &[],
    );
}

#[test]
fn an_unknown_output_node() {
    is(
        "  nodes: [{id: a, tool: t}]\n  output: gone\n",
        &["error WF101 gone"],
    );
}

#[test]
fn an_assembly_that_is_no_jq() {
    is(
        "  nodes: [{id: a, tool: t}]\n  output: {assemble: \"{a: }\"}\n",
        &["error WF210 }"],
    );
}

#[test]
fn a_transform_that_is_no_jq() {
    is(
        "  nodes: [{id: a, tool: t, transform: {jq: \".a | nope\"}}]\n",
        &["error WF211 nope"],
    );
}

#[test]
fn a_condition_that_is_no_jq() {
    is(
        "  nodes: [{id: a, tool: t, when: \".parents |\"}]\n",
        &["error WF210 "],
    );
}

#[test]
fn iterations_without_a_loop() {
    is(
        "  nodes: [{id: a, tool: t, max_iterations: 5}]\n",
        &["error WF033 5"],
    );
    is(
        "  nodes: [{id: a, tool: t, max_concurrency: 5}]\n",
        &["warning WF033 5"],
    );
}

/// A node that loops over another.
fn looping(keys: &str) -> String {
    format!(
        "  nodes: [{{id: a, tool: t}}, {{id: b, needs: [a], for_each: \"${{a}}\", tool: t, args: {{v: \"${{item}}\"}}, {keys}}}]\n"
    )
}

#[test]
fn iterations_out_of_range() {
    is(&looping("max_iterations: 100000"), &[]);
    for number in ["0", "100001", "-1"] {
        let expected = format!("error WF025 {number}");
        is(&looping(&format!("max_iterations: {number}")), &[&expected]);
    }
    is(&looping("max_concurrency: 0"), &["error WF025 0"]);
}

#[test]
fn a_loop_over_no_node() {
    let nodes = |each: &str| {
        format!(
            "  nodes: [{{id: a, tool: t}}, {{id: b, needs: [a], for_each: \"{each}\", tool: t}}]\n"
        )
    };
    is(&nodes("${a[*]}"), &[]);
    let unfit = ["${a.items}", "a", "${a} ${a}", "${a ?? []}", "${a"];
    for each in unfit {
        let expected = format!("error WF501 \"{each}\"");
        is(&nodes(each), &[&expected]);
    }
}

#[test]
fn a_loop_over_a_node_outside_of_needs() {
    is(
        "  nodes: [{id: a, tool: t}, {id: b, for_each: \"${a}\", tool: t}]\n",
        &["error WF107 a"],
    );
    is(
        "  nodes: [{id: b, for_each: \"${gone}\", tool: t}]\n",
        &["error WF101 gone"],
    );
}

#[test]
fn a_cycle() {
    is(
        "  nodes: [{id: a, needs: [b], tool: t, args: {v: \"${b}\"}}, {id: b, needs: [a], tool: t, args: {v: \"${a}\"}}]\n",
        &["error WF103 b"],
    );
    is(
        "  nodes: [{id: a, needs: [a], tool: t}]\n",
        &["error WF103 a"],
    );
}

/// A composition with judged metrics.
fn judged(eval: &str) -> String {
    format!("  nodes: [{{id: a, tool: t}}]\n  eval: {{{eval}}}\n")
}

/// The same with a rubric of one criterion.
fn criterion(keys: &str) -> String {
    judged(&format!("rubric: {{criteria: [{{name: n{keys}}}]}}"))
}

#[test]
fn an_unknown_metric() {
    is(&judged("mcp_use: {}"), &[]);
    is(&judged("mcp_uses: {}"), &["error WF508 mcp_uses"]);
}

#[test]
fn a_rubric_without_criteria() {
    is(&judged("rubric: {}"), &["error WF508 {}"]);
    is(&judged("rubric: {tree: {}}"), &[]);
    is(&criterion(""), &[]);
}

#[test]
fn a_criterion_without_a_name() {
    is(
        &judged("rubric: {criteria: [{description: d}]}"),
        &["error WF021 description"],
    );
}

#[test]
fn an_unknown_scale() {
    let scale = |scale: &str| judged(&format!("rubric: {{tree: {{}}, scale: {scale}}}"));
    for sound in ["unit", "boolean", "letter", "{likert: {min: 1, max: 5}}"] {
        is(&scale(sound), &[]);
    }
    for unfit in ["stars", "{likert: {min: 5, max: 5}}", "{}"] {
        let expected = format!("error WF508 {unfit}");
        is(&scale(unfit), &[&expected]);
    }
}

#[test]
fn an_unknown_aggregation() {
    is(
        &judged("rubric: {tree: {}, aggregation: max}"),
        &["error WF024 max"],
    );
}

#[test]
fn a_criterion_that_applies_by_no_test_or_a_broken_one() {
    is(&criterion(", when: {contains: x}"), &[]);
    is(&criterion(", when: {}"), &["error WF508 {}"]);
    is(
        &criterion(", when: {regex: \"a(\"}"),
        &["error WF508 \"a(\""],
    );
    is(&criterion(", weight: -1"), &["error WF025 -1"]);
}

#[test]
fn caps_below_zero() {
    let budget = |keys: &str| format!("  nodes: [{{id: a, tool: t}}]\n  budget: {{{keys}}}\n");
    is(
        &budget("max_cost_usd: 0, max_tokens: 0, max_duration_ms: 1"),
        &[],
    );
    is(&budget("max_cost_usd: -1"), &["error WF025 -1"]);
    is(&budget("max_tokens: -1"), &["error WF025 -1"]);
    is(&budget("max_duration_ms: 0"), &["error WF025 0"]);
    let node = |keys: &str| format!("  nodes: [{{id: a, tool: t, {keys}}}]\n");
    is(&node("max_cost_per_call_usd: 0.1"), &[]);
    is(&node("max_cost_per_call_usd: -0.1"), &["error WF025 -0.1"]);
    is(&node("max_tokens_per_call: many"), &["error WF022 many"]);
}

#[test]
fn a_need_that_is_never_read() {
    is(
        "  nodes: [{id: a, tool: t}, {id: b, needs: [a], tool: t}]\n",
        &["warning WF109 a"],
    );
    // Unlike there, a condition and a loop read what they name.
    is(&looping("when: .parents.a"), &[]);
}

#[test]
fn templates_that_are_sent_as_they_stand() {
    let args = |args: &str| {
        format!(
            "  nodes: [{{id: a, tool: t}}, {{id: b, needs: [a], tool: t, args: {{v: \"${{a}}\", {args}}}}}]\n"
        )
    };
    is(&args("w: \"x ${b\""), &["warning WF201 ${"]);
    is(&args("w: \"$${b\""), &[]);
    is(&args("\"${zz.k}\": 1"), &["warning WF201 ${zz.k}"]);
    is(&args("w: [{\"k ${b\": 1}]"), &["warning WF201 ${b"]);
    is(&args("w: \"${a..b}\""), &["error WF201 ."]);
}

#[test]
fn optional_parents() {
    let needs = |needs: &str| {
        format!(
            "  nodes: [{{id: a, tool: t}}, {{id: b, needs: [{needs}], tool: t, args: {{v: \"${{a}}\"}}}}]\n"
        )
    };
    is(&needs("{id: a, optional: true, default: 1}"), &[]);
    is(&needs("{id: a}"), &[]);
    is(&needs("{id: a, default: 1}"), &["error WF033 1"]);
    is(
        &needs("{optional: true}"),
        &["error WF021 optional", "error WF107 a"],
    );
    is(&needs("{id: a, else: 1}"), &["error WF020 else"]);
}

#[test]
fn assertions_that_always_hold() {
    let expect = |matcher: &str| {
        format!(
            "  nodes: [{{id: a, tool: t}}]\n  expect: [{{target: output, matcher: {matcher}}}]\n"
        )
    };
    for empty in ["{}", "[]", "\"\""] {
        let expected = format!("warning WF510 {empty}");
        is(&expect(&format!("{{contains: {empty}}}")), &[&expected]);
    }
    is(&expect("{contains: x}"), &[]);
    is(&expect("{icontains: \"\"}"), &["warning WF510 \"\""]);
    is(&expect("{starts-with: \"\"}"), &["warning WF510 \"\""]);
    is(&expect("{subset: {}}"), &["warning WF510 {}"]);
    is(&expect("{contains-all: []}"), &["warning WF510 []"]);
    is(&expect("{regex: \"a*\"}"), &["warning WF510 \"a*\""]);
    is(&expect("{regex: \"^a+$\"}"), &[]);
    is(&expect("{anyOf: [{contains: {}}]}"), &["warning WF510 {}"]);
    is(&expect("{not: {contains: {}}}"), &[]);
}
