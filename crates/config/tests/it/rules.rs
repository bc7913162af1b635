//! Rules that more than one file is needed to show: what is skippable, which reads need a default, edges, limits.

use crate::world::{load, tool};

/// The codes of a composite tool with these steps.
#[track_caller]
fn codes(steps: &str) -> Vec<&'static str> {
    load(&[("demo.yaml", &tool(steps))]).codes()
}

#[track_caller]
fn sound(steps: &str) {
    let outcome = load(&[("demo.yaml", &tool(steps))]);
    assert!(outcome.diagnostics.is_empty(), "{}", outcome.report());
}

const SKIPPABLE: &str = "  - {id: s, tool: b.t, condition: \"{{.params.flag}}\"DEFAULT}\n";

fn reader(default: &str, read: &str) -> String {
    let first = SKIPPABLE.replace("DEFAULT", default);
    format!("{first}  - {{id: r, tool: b.t, arguments: {{x: {{deep: [\"{read}\"]}}}}}}\n")
}

#[test]
fn a_read_at_any_depth_needs_the_field_in_an_object_default() {
    assert_eq!(codes(&reader("", "{{.steps.s.output.f}}")), ["WF106"]);
    assert_eq!(
        codes(&reader(", defaultResults: {g: 1}", "{{.steps.s.output.f}}")),
        ["WF106"]
    );
    sound(&reader(
        ", defaultResults: {f: 1}",
        "{{.steps.s.output.f.g}}",
    ));
    sound(&reader(", defaultResults: text", "{{.steps.s.output.f}}"));
    sound(&reader(", defaultResults: null", "{{.steps.s.output.f}}"));
}

#[test]
fn a_read_of_the_whole_output_needs_any_default() {
    for part in ["output", "content", "structured", "json"] {
        assert_eq!(
            codes(&reader("", &format!("{{{{json .steps.s.{part}}}}}"))),
            ["WF106"],
            "{part}"
        );
        sound(&reader(
            ", defaultResults: {}",
            &format!("{{{{json .steps.s.{part}}}}}"),
        ));
    }
}

#[test]
fn status_and_error_need_no_default() {
    sound(&reader("", "{{.steps.s.status}}"));
    sound(&reader("", "{{if .steps.s.error}}failed{{end}}"));
}

#[test]
fn reads_through_index_with_and_variables_are_seen() {
    for read in [
        r#"{{index .steps \"s\" \"output\" \"f\"}}"#,
        "{{with .steps.s}}{{.output.f}}{{end}}",
        "{{$s := .steps.s.output}}{{$s.f}}",
    ] {
        let found = codes(&reader("", read));
        assert!(found.contains(&"WF106"), "{read}: {found:?}");
    }
}

#[test]
fn conditions_messages_collections_and_inner_steps_are_readers() {
    let first = SKIPPABLE.replace("DEFAULT", "");
    let readers = [
        "  - {id: r, tool: b.t, condition: \"{{.steps.s.output.f}}\"}\n",
        "  - {id: r, type: elicitation, message: \"{{.steps.s.output.f}}\"}\n",
        "  - {id: r, type: forEach, collection: \"{{.steps.s.output.f}}\", step: {tool: b.t}}\n",
        "  - {id: r, type: forEach, collection: \"[1]\", step: {tool: b.t, arguments: {x: \"{{.steps.s.output.f}}\"}}}\n",
    ];
    for reader in readers {
        assert_eq!(codes(&format!("{first}{reader}")), ["WF106"], "{reader}");
    }
}

#[test]
fn an_output_property_needs_a_default_of_the_step_or_its_own() {
    let first = SKIPPABLE.replace("DEFAULT", "");
    let output = |default: &str| {
        format!(
            "{first}  output: {{properties: {{p: {{type: string, description: d, value: \"{{{{.steps.s.output.f}}}}\"{default}}}}}}}\n"
        )
    };
    assert_eq!(codes(&output("")), ["WF106"]);
    sound(&output(", default: none"));
}

#[test]
fn continue_after_retries_and_refused_questions_make_a_step_skippable() {
    let reads = "  - {id: r, tool: b.t, arguments: {x: \"{{.steps.s.output.content}}\", a: \"{{.steps.s.output.action}}\"}}\n";
    let steps = [
        ("  - {id: s, tool: b.t, onError: {action: continue}}\n", 1),
        (
            "  - {id: s, tool: b.t, onError: {action: retry, retryCount: 1, then: continue}}\n",
            1,
        ),
        (
            "  - {id: s, tool: b.t, onError: {action: retry, retryCount: 1}}\n",
            0,
        ),
        (
            "  - {id: s, type: elicitation, message: m, onDecline: {action: continue}}\n",
            1,
        ),
        (
            "  - {id: s, type: elicitation, message: m, onCancel: {action: continue}}\n",
            1,
        ),
        (
            "  - {id: s, type: elicitation, message: m, onDecline: {action: skip_remaining}}\n",
            0,
        ),
        ("  - {id: s, type: elicitation, message: m}\n", 0),
    ];
    for (step, count) in steps {
        assert_eq!(codes(&format!("{step}{reads}")).len(), count, "{step}");
    }
    // What a person did is always known.
    sound(
        "  - {id: s, type: elicitation, message: m, onDecline: {action: continue}}\n  - {id: r, tool: b.t, arguments: {a: \"{{.steps.s.output.action}}\"}}\n",
    );
}

#[test]
fn failure_mode_alone_only_warns() {
    let file = tool("  - {id: s, tool: b.t}\n  - {id: r, tool: b.t, arguments: {x: \"{{.steps.s.output.f}}\"}}\n")
        .replace("  steps:", "  failureMode: continue\n  steps:");
    let outcome = load(&[("demo.yaml", &file)]);
    assert_eq!(outcome.codes(), ["WF106"]);
    assert!(outcome.settings.is_some(), "{}", outcome.report());
}

#[test]
fn fields_of_questions_and_loops_are_known_without_tools() {
    let read = |of: &str, field: &str| {
        format!(
            "  - {{id: s, {of}}}\n  - {{id: r, tool: b.t, arguments: {{x: \"{{{{json .steps.s.output.{field}}}}}\"}}}}\n"
        )
    };
    let ask = "type: elicitation, message: m";
    let each = "type: forEach, collection: \"[1]\", step: {tool: b.t}";
    assert_eq!(codes(&read(ask, "approved")), ["WF305"]);
    sound(&read(ask, "content.approved"));
    assert_eq!(codes(&read(each, "results")), ["WF305"]);
    sound(&read(each, "iterations"));
}

#[test]
fn a_loop_may_not_read_itself() {
    let steps = "  - {id: l, type: forEach, collection: \"[1]\", step: {tool: b.t, arguments: {x: \"{{json .steps.l.output}}\"}}}\n";
    let outcome = load(&[("demo.yaml", &tool(steps))]);
    assert_eq!(outcome.codes(), ["WF103"]);
    assert!(outcome.report().contains("step `l` waits for itself"));
}

#[test]
fn two_cycles_are_two_faults() {
    let steps = "  - {id: a, tool: b.t, dependsOn: [b]}\n  - {id: b, tool: b.t, dependsOn: [a]}\n  - {id: c, tool: b.t, dependsOn: [c]}\n  - {id: d, tool: b.t, dependsOn: [a, c]}\n";
    assert_eq!(codes(steps), ["WF103", "WF103"]);
}

#[test]
fn the_item_of_a_loop_is_not_there_for_its_collection_or_other_steps() {
    assert_eq!(
        codes("  - {id: s, tool: b.t, arguments: {x: \"{{.forEach.item}}\"}}\n"),
        ["WF204"]
    );
    assert_eq!(
        codes("  - {id: s, type: forEach, collection: \"{{.forEach.item}}\", step: {tool: b.t}}\n"),
        ["WF204"]
    );
    sound(
        "  - {id: s, type: forEach, collection: \"[1]\", step: {tool: b.t, condition: \"{{.forEach.item.on}}\", arguments: {x: \"{{.forEach.index}} {{.forEach.item}}\"}}}\n",
    );
}

#[test]
fn loop_arithmetic_warns_only_where_an_item_has_its_own_time() {
    let each = |inner: &str| {
        format!(
            "  - {{id: s, type: forEach, collection: \"[1]\", maxIterations: 1000, step: {{tool: b.t{inner}}}}}\n"
        )
    };
    sound(&each(""));
    assert_eq!(codes(&each(", timeout: 1m")), ["WF108"]);
    sound(&each(", timeout: 10s"));
}

#[test]
fn a_question_may_outlast_a_default_time_out_of_the_run_but_not_a_stated_one() {
    let asks = "  - {id: s, type: elicitation, message: Go?, timeout: 24h}\n";
    sound(asks);
    assert_eq!(codes(&format!("{asks}  timeout: 1h\n")), ["WF108"]);
}

#[test]
fn zero_means_the_default_everywhere() {
    sound(
        "  - {id: s, tool: b.t, timeout: 0s}\n  - {id: l, type: forEach, collection: \"[1]\", maxParallel: 0, maxIterations: 0, step: {tool: b.t}}\n",
    );
    assert_eq!(
        codes("  - {id: s, tool: b.t, onError: {action: retry, retryCount: 0}}\n"),
        ["WF035"]
    );
}

#[test]
fn clamped_numbers_warn_and_impossible_ones_err() {
    let each = |key: &str| {
        format!("  - {{id: l, type: forEach, collection: \"[1]\", {key}, step: {{tool: b.t}}}}\n")
    };
    assert_eq!(codes(&each("maxParallel: 51")), ["WF036"]);
    assert_eq!(codes(&each("maxParallel: -1")), ["WF025"]);
    assert_eq!(codes(&each("maxIterations: 1001")), ["WF025"]);
}

#[test]
fn parameters_that_a_schema_lets_in_may_be_read() {
    let file = |more: &str| {
        format!(
            "name: d\ncompositeTools:\n- name: d\n  description: d\n  parameters: {{type: object{more}}}\n  steps:\n  - {{id: s, tool: b.t, arguments: {{x: \"{{{{.params.any}}}}\"}}}}\n"
        )
    };
    for more in [
        ", additionalProperties: true",
        ", patternProperties: {\"^a\": {}}",
        ", anyOf: [{}]",
    ] {
        load(&[("d.yaml", &file(more))]).sound();
    }
    assert_eq!(load(&[("d.yaml", &file(""))]).codes(), ["WF202"]);
}

#[test]
fn names_are_held_to_the_guide_in_resources_only() {
    let config = |name: &str| {
        format!(
            "name: d\ncompositeTools: [{{name: {name}, description: d, steps: [{{id: s, tool: b.t}}]}}]\n"
        )
    };
    assert_eq!(load(&[("d.yaml", &config("Upper"))]).codes(), ["WF042"]);
    assert_eq!(
        load(&[("d.yaml", &config(&"a".repeat(65)))]).codes(),
        ["WF042"]
    );
    assert_eq!(
        load(&[("d.yaml", &config(&"a".repeat(129)))]).codes(),
        ["WF030"]
    );
    assert_eq!(load(&[("d.yaml", &config("a/b"))]).codes(), ["WF030"]);
    let resource = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\nmetadata: {name: d}\nspec: {name: Upper, description: d, steps: [{id: s, tool: b.t}]}\n";
    assert_eq!(load(&[("d.yaml", resource)]).codes(), ["WF030", "WF608"]);
}

#[test]
fn a_file_found_in_a_directory_is_left_out_when_nothing_reads_it() {
    let outcome =
        crate::world::load_found(&[("notes.yaml", "title: notes\n"), ("bad.yaml", "a: [\n")]);
    assert!(!outcome.diagnostics.has_errors(), "{}", outcome.report());
    assert_eq!(
        outcome.diagnostics.warning_count(),
        1,
        "{}",
        outcome.report()
    );
    assert!(outcome.settings.is_some());
    let ours = crate::world::load_found(&[("bad.yaml", "name: \"x\ncompositeTools: [\n")]);
    assert!(ours.diagnostics.has_errors(), "{}", ours.report());
}

#[test]
fn a_name_with_a_dash_is_read_with_index() {
    let read = |how: &str| {
        format!("  - {{id: a-b, tool: b.t}}\n  - {{id: r, tool: b.t, arguments: {{x: '{how}'}}}}\n")
    };
    let outcome = load(&[("demo.yaml", &tool(&read("{{.steps.a-b.output.f}}")))]);
    assert_eq!(outcome.codes(), ["WF201"]);
    assert!(
        outcome.report().contains("is read with `index`"),
        "{}",
        outcome.report()
    );
    sound(&read("{{index .steps \"a-b\" \"output\" \"f\"}}"));
}

#[test]
fn what_works_here_only_is_told_on_request() {
    let file = tool("  - {id: s, tool: b.t, onError: {action: retry, maxRetries: 2}}\n  - {id: l, type: forEach, collection: \"[1]\", step: {tool: b.t}}\n")
        .replace("  steps:", "  failureMode: continue\n  steps:")
        .replace("name: demo\n", "name: demo\ngroupRef: g\nincomingAuth: {}\noutgoingAuth: {}\naggregation: {}\nbackends: [{name: b, command: c}]\n");
    assert_eq!(
        crate::world::portability_of(&[("demo.yaml", &file)]),
        [
            "`command` works here only",
            "`failureMode` works here only",
            "`maxRetries` works here only",
            "the step of a loop has no `id`",
        ]
    );
}

#[test]
fn template_modes_of_the_configuration_hold_for_every_file() {
    let file = tool("  - {id: s, tool: b.t, arguments: {x: \"{{.params.a}}\"}}\n");
    let settings = load(&[
        ("d.yaml", &file),
        ("onecall.yaml", "templates: {missing: go}\n"),
    ])
    .sound();
    let printed = onecall_workflow::print::print(&settings.servers[0].workflows[0]);
    assert!(
        printed.contains("x = go go missing \"{{.params.a}}\""),
        "{printed}"
    );
}

/// The codes and messages of a file with these steps of a composite tool.
fn messages(steps: &str, more: &str) -> Vec<String> {
    let file = format!(
        "name: d\nbackends: [{{name: t, command: x}}]\ncompositeTools:\n- name: c\n  description: d\n{more}  steps:\n{steps}"
    );
    let outcome = load(&[("c.yaml", &file)]);
    let all = outcome.diagnostics.iter();
    all.map(|own| format!("{} {}", own.code.as_str(), own.message))
        .collect()
}

#[test]
fn a_mistake_in_a_loop_is_one_error() {
    let each = "  - id: each\n    type: forEach\n    collection: '[1]'\n";
    for inner in [
        "{type: elicitation, message: \"sure?\", schema: {type: object}}",
        "{message: \"sure?\"}",
    ] {
        let steps = format!("{each}    step: {inner}\n");
        let expected = ["WF033 the step of a loop cannot be a question"];
        assert_eq!(messages(&steps, ""), expected, "{inner}");
    }
    let steps = format!(
        "{each}    itemVar: index\n    step: {{tool: t.a, arguments: {{x: \"{{{{.forEach.item}}}}\"}}}}\n"
    );
    let expected = ["WF038 `itemVar: index` is taken by the number of the item"];
    assert_eq!(messages(&steps, ""), expected);
}

#[test]
fn timeouts_are_compared_only_if_the_file_sets_them() {
    let step = |timeout: &str| format!("  - {{id: a, tool: t.a, {timeout}arguments: {{}}}}\n");
    assert_eq!(messages(&step(""), "  timeout: 1m\n"), [""; 0]);
    let both = messages(&step("timeout: 2m, "), "  timeout: 1m\n");
    assert_eq!(
        both,
        ["WF108 step `a` may take 2m, but the whole run only 1m"]
    );
}

#[test]
fn an_action_without_its_mapping_is_shown_with_it() {
    let steps = "  - {id: a, tool: t.a, arguments: {}, onError: continue}\n";
    let file = format!(
        "name: d\nbackends: [{{name: t, command: x}}]\ncompositeTools:\n- name: c\n  description: d\n  steps:\n{steps}"
    );
    let report = load(&[("c.yaml", &file)]).report();
    assert!(
        report.contains("= help: write `onError: {action: continue}`"),
        "{report}"
    );
}

#[test]
fn a_read_of_the_output_alone_may_be_served_by_a_default_of_the_output() {
    let more = "  output: {properties: {x: {type: string, description: d, value: \"{{.steps.a.output.text}}\"}}}\n";
    let steps = "  - {id: a, tool: t.a, arguments: {}, condition: \"{{eq 1 2}}\"}\n";
    let file = format!(
        "name: d\nbackends: [{{name: t, command: x}}]\ncompositeTools:\n- name: c\n  description: d\n{more}  steps:\n{steps}"
    );
    let report = load(&[("c.yaml", &file)]).report();
    assert!(
        report.contains("= help: or give property `x` of the output a `default`"),
        "{report}"
    );
}
