//! Tests of the leaves of a raw result: that each is there, and that its expressions read it.

use super::*;
use serde_json::json;

fn templates(result: Value) -> Vec<(String, String)> {
    let Value::Object(object) = result else {
        panic!("an object")
    };
    leaves(&CallOutput::from_object(object))
        .shown
        .into_iter()
        .map(|leaf| (leaf.template, leaf.native))
        .collect()
}

#[test]
fn every_leaf_has_its_spelling() {
    let odd = json!({ "items": [{ "id": 7, "a b": { "c": [[1]] } }], "empty": [] });
    let expected = [
        ("{{ .steps.STEP.output.items }}", "${{ .steps.STEP.items }}"),
        (
            "{{ (index .steps.STEP.output.items 0).id }}",
            "${{ .steps.STEP.items[0].id }}",
        ),
        (
            r#"{{ (index (index .steps.STEP.output.items 0) "a b").c }}"#,
            r#"${{ .steps.STEP.items[0]["a b"].c }}"#,
        ),
    ];
    let found = templates(json!({ "structuredContent": odd, "content": [] }));
    for (own, (template, native)) in found.iter().zip(expected) {
        assert_eq!((own.0.as_str(), own.1.as_str()), (template, native));
    }
    let text = json!({ "content": [{ "type": "text", "text": "hi" }] });
    let found = templates(text);
    assert_eq!(found[0].0, "{{ .steps.STEP.output.text }}");
}

#[test]
fn what_only_the_result_itself_has_is_read_by_workflow_files() {
    let result = json!({
        "content": [{ "type": "text", "text": "hi" }, { "type": "hologram", "z": [1, 2] }],
        "_meta": { "a/b": 1 }, "x-extra": true
    });
    let found = templates(result);
    let found: Vec<(&str, &str)> = found.iter().map(|own| (&*own.0, &*own.1)).collect();
    let of = "${{ .results.STEP.result";
    let native = |rest: &str| format!("{of}{rest} }}}}");
    for rest in [
        ".content[1].type",
        ".content[1].z[0]",
        ".content[1].z[1]",
        r#"._meta["a/b"]"#,
        r#"["x-extra"]"#,
    ] {
        let native = native(rest);
        assert!(
            found.contains(&("-", native.as_str())),
            "{native} {found:?}"
        );
    }
    let twice = native(".content[0].text");
    assert!(!found.iter().any(|own| own.1 == twice), "{found:?}");
}

#[test]
fn what_is_not_shown_is_counted() {
    let numbers: Vec<usize> = (0..LEAVES_MAX + 7).collect();
    let result = json!({ "structuredContent": { "a": numbers, "b": [{ "c": 1 }] } });
    let leaves = leaves(&CallOutput::from_object(
        result.as_object().unwrap().clone(),
    ));
    // The list itself is the first leaf.
    assert_eq!((leaves.shown.len(), leaves.more), (LEAVES_MAX, 8 + 2));
}

/// Results whose leaves stand in every place that a result has.
fn odd_results() -> [Value; 5] {
    [
        json!({
            "content": [{ "type": "odd", "v": 1 }],
            "structuredContent": { "vend": "inner", "content": "text of file", "x-y": [[1], { "a b": null }] },
            "vend": 1, "isError": false, "_meta": { "a/b": [1, { "c": 2 }] }
        }),
        json!({
            "content": [
                { "type": "text", "text": "t", "annotations": { "audience": ["user"] }, "_meta": { "k": 1 }, "vend": "x" },
                { "type": "image", "data": "aa", "mimeType": "image/png" },
                { "type": "audio", "data": "bb", "mimeType": "audio/wav" },
                { "type": "resource_link", "uri": "a:b", "name": "n" },
                { "type": "resource", "resource": { "uri": "a:c", "text": "body", "_meta": { "k": 2 } }, "_meta": {} },
                { "type": "resource", "resource": { "uri": "a:d", "blob": "cc" } },
                { "type": "text", "text": "u" },
                "no block"
            ],
            "structuredContent": null
        }),
        json!({ "content": [{ "type": "text", "text": r#"{"n": [1]}"# }] }),
        json!({ "content": [{ "type": "text", "text": "5" }], "structuredContent": [1, { "n": 2 }] }),
        json!({ "content": [{ "type": "text", "text": "5" }] }),
    ]
}

/// What a step reads with these expressions of an earlier step with this result.
fn read_by(name: &str, head: &str, written: &[&str], result: &Value) -> Vec<Option<Value>> {
    let keys: Vec<String> = (0..written.len()).map(|n| format!("a{n}")).collect();
    let arguments = keys
        .iter()
        .zip(written)
        .map(|(key, own)| (key.clone(), Value::from(*own)));
    let arguments = Value::Object(arguments.collect());
    let text = head.replace("ARGUMENTS", &arguments.to_string());
    let mut sources = onecall_source::SourceMap::new();
    let source = sources.add(name.to_owned(), text);
    let environment = |_: &str| None;
    let options = onecall_config::Options {
        environment: &environment,
        compat: onecall_config::Compat::Page,
    };
    let input = onecall_config::Input {
        source,
        named: true,
    };
    let (settings, diagnostics) = onecall_config::read(&sources, &[input], &options);
    let settings = settings.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let workflow = settings.workflows().next().unwrap();
    let script = json!({ "tools": { "STEP": { "result": result }, "put": { "structured": {} } } });
    let played = onecall_testkit::cases::play(workflow, &script.to_string()).unwrap();
    let put = played.calls.iter().find(|call| call.step == "put");
    let put = put.unwrap_or_else(|| panic!("{result}: {:?}", played.events));
    keys.iter()
        .map(|key| put.arguments.get(key).cloned())
        .collect()
}

#[test]
fn the_expressions_read_what_they_say() {
    let native = "workflow: case\nsteps: {STEP: {tool: t.a}, put: {tool: t.b, with: ARGUMENTS}}\n";
    let toolhive = "name: d\nbackends: [{name: t, url: \"http://t/mcp\"}]\ncompositeTools:\n- {name: case, description: d, \
        steps: [{id: STEP, tool: t.a}, {id: put, tool: t.b, arguments: ARGUMENTS}]}\n";
    for result in odd_results() {
        let output = CallOutput::from_object(result.as_object().unwrap().clone());
        let shown = leaves(&output).shown;
        let all = |leaf: &&Leaf| leaf.template != NO_TEMPLATE;
        let (natives, templates): (Vec<&Leaf>, Vec<&Leaf>) =
            (shown.iter().collect(), shown.iter().filter(all).collect());
        let written: Vec<&str> = natives.iter().map(|leaf| leaf.native.as_str()).collect();
        let found = read_by("case.workflow.yaml", native, &written, &result);
        for (leaf, found) in natives.iter().zip(found) {
            assert_eq!(
                found.as_ref().map(told).as_ref(),
                Some(&leaf.value),
                "{}",
                leaf.native
            );
        }
        let written: Vec<&str> = templates
            .iter()
            .map(|leaf| leaf.template.as_str())
            .collect();
        let found = read_by("toolhive.yaml", toolhive, &written, &result);
        for (leaf, found) in templates.iter().zip(found) {
            assert_eq!(
                found.as_ref().map(told).as_ref(),
                Some(&leaf.value),
                "{}",
                leaf.template
            );
        }
    }
}

/// Every scalar of a result stands there; a text that is JSON stands there once more, as what it says.
#[test]
fn each_leaf_is_there_once() {
    for (result, again) in odd_results().into_iter().zip([0, 0, 2, 0, 1]) {
        let output = CallOutput::from_object(result.as_object().unwrap().clone());
        let found = leaves(&output);
        let natives: std::collections::BTreeSet<&str> = found
            .shown
            .iter()
            .map(|leaf| leaf.native.as_str())
            .collect();
        assert_eq!(natives.len(), found.shown.len(), "{natives:?}");
        assert_eq!(natives.len(), count(&result) + again, "{natives:?}");
    }
}
