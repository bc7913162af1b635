//! The example of the guide, and what each spelling lowers to. `tests/cases/native` runs workflow files.

use super::{read, schema};
use onecall_source::{Diagnostics, SourceMap, parse, render};
use onecall_workflow::coerce::Coercer;
use onecall_workflow::print::print;
use serde_json::Value;
use std::collections::BTreeSet;

const RELEASE_NOTES: &str = r#"
workflow: release-notes
version: 1.2.0
description: Collect merged changes, draft notes, publish after approval
inputs:
  repo: string
  limit: integer = 50
  tags: string[]?
  channel: { type: string, enum: [blog, chat], default: blog }   # full JSON Schema side by side
steps:
  pulls:
    tool: github.list_pull_requests
    with: { repo: "${{ .inputs.repo }}", limit: "${{ .inputs.limit }}" }
  details:
    each: ${{ .steps.pulls.items }}
    as: pull
    parallel: 8
    tool: github.get_pull_request
    with: { number: "${{ .pull.number }}" }
    on_error: continue
  approve:
    ask: Publish notes for ${{ .steps.details | length }} changes?
    answer: { ok: boolean }
    timeout: 10m
  publish:
    if: ${{ .steps.approve.ok }}
    tool: blog.create_post
    with: { body: '${{ [.steps.details[].title] | join("\n") }}' }
    retry: { times: 3, delay: 2s, on: [transport, timeout] }
outputs:
  url: ${{ .steps.publish.url }}
"#;

/// The printed form, or the report of what is wrong.
fn printed(text: &str) -> Result<String, String> {
    let mut sources = SourceMap::new();
    let id = sources.add("case.workflow.yaml".to_owned(), text.to_owned());
    let (documents, mut diagnostics) = parse(&sources, id);
    let root = &documents[0].root;
    let workflow = read(root, &mut diagnostics).and_then(|own| own.built.sound());
    let report = |diagnostics: &Diagnostics| {
        render::report(diagnostics, &sources, render::TextOptions::default())
    };
    match workflow {
        Some(workflow) if diagnostics.is_empty() => Ok(print(&workflow)),
        _ => Err(report(&diagnostics)),
    }
}

#[test]
fn the_example_of_the_guide() {
    let expected = r#"workflow release-notes
  version "1.2.0"
  description "Collect merged changes, draft notes, publish after approval"
  input {"type":"object","properties":{"repo":{"type":"string"},"limit":{"type":"integer","default":50},"tags":{"type":"array","items":{"type":"string"}},"channel":{"type":"string","enum":["blog","chat"],"default":"blog"}},"required":["repo"]}
  timeout none
  parallel unlimited
  if every step failed: completes
  if any step failed: completes
  durability as configured
  on disconnect cancel
  step pulls
    call github.list_pull_requests reading payload
      repo = path input.repo
      limit = path input.limit
    timeout none
    on error abort
    after a skipped step: is skipped too
  step details
    needs pulls
    for each pull in path steps.pulls.output.items
      parallel 8
      items at most 10000
      output a list
      failed item does what on error says
      call github.get_pull_request reading payload
        number = path item.pull.number
      timeout none
      on error abort
      after a skipped step: is skipped too
    timeout none
    on error continue
    after a skipped step: is skipped too
  step approve
    needs details
    ask mixed ["Publish notes for ", jq ".steps.details | length", " changes?"]
      for {"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}
      on decline fail
      on cancel fail
      output the answer
    timeout 10m
    on error abort
    after a skipped step: is skipped too
  step publish
    needs approve, details
    when (jq truth) path steps.approve.output.ok
    call blog.create_post reading payload
      body = jq "[.steps.details[].title] | join(\"\\n\")"
    timeout none
    on error retry 3 times after 2s on transport, timeout, then abort
    after a skipped step: is skipped too
  output
    url: any = path steps.publish.output.url
  output without a value is left out
"#;
    assert_eq!(
        printed(RELEASE_NOTES).unwrap_or_else(|report| panic!("{report}")),
        expected
    );
}

/// The line of the printed form that begins with these words.
#[track_caller]
fn line(step: &str, begins: &str) -> String {
    let text = format!(
        "workflow: case\nparameters: {{type: object, additionalProperties: true}}\nsteps:\n  other: {{tool: a.b}}\n  own:\n{step}"
    );
    let printed = printed(&text).unwrap_or_else(|report| panic!("{report}"));
    let own = printed.split_once("step own\n").unwrap().1;
    let found = own
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with(begins));
    found
        .unwrap_or_else(|| panic!("no `{begins}` in\n{own}"))
        .to_owned()
}

#[test]
fn paths_and_programs_of_arguments() {
    let cases = [
        ("${{ .inputs.a.b }}", "path input.a.b"),
        ("${{.inputs[\"a b\"]}}", "path input[\"a b\"]"),
        (
            "${{ .steps.other.items[0].x }}",
            "path steps.other.output.items[0].x",
        ),
        ("${{ .steps.other[-1] }}", "path steps.other.output[-1]"),
        (
            "${{ .steps.other[*].x ?? 1 }}",
            "path steps.other.output[*].x ?? 1",
        ),
        ("${{ .results.other.status }}", "path steps.other.status"),
        (
            "${{ .results.other.result.isError }}",
            "path steps.other.result.isError",
        ),
        (
            "${{ .results.other.output_or_result.isError }}",
            "path steps.other.output_or_result.isError",
        ),
        ("${{ .run.id }}", "path run.id"),
        ("${{ .inputs.a-b }}", "path input.a-b"),
        ("${{ .inputs.a - 1 }}", "jq \".inputs.a - 1\""),
        ("${{ .inputs.a // 1 }}", "jq \".inputs.a // 1\""),
        (
            "a ${{ .inputs.a }} b",
            "mixed [\"a \", path input.a, \" b\"]",
        ),
        (
            "${{ .inputs.a }}${{ .inputs.b }}",
            "mixed [path input.a, path input.b]",
        ),
        ("${{ {a: {b: 1}} }}", "jq \"{a: {b: 1}}\""),
        ("${{ \"}}\" }}", "jq \"\\\"}}\\\"\""),
        ("${{ \"\\(\"}}\")\" }}", "jq \"\\\"\\\\(\\\"}}\\\")\\\"\""),
        ("$${{ .a }}", "json \"${{ .a }}\""),
        ("$x {{ a }}", "json \"$x {{ a }}\""),
    ];
    for (written, expected) in cases {
        let quoted = serde_json::to_string(written).unwrap();
        let found = line(
            &format!("    tool: c.d\n    with: {{v: {quoted}}}\n"),
            "v =",
        );
        assert_eq!(found, format!("v = {expected}"), "{written}");
    }
}

/// A step, the beginning of the line it prints, and that line.
const SAID: [(&str, &str, &str); 14] = [
    (
        "    tool: c.d\n    with: {v: {$go: 'x {{.params.a}}'}}\n",
        "v =",
        "v = go \"x {{.params.a}}\"",
    ),
    (
        "    tool: c.d\n    with: {v: {$go: '{{.params.a}}', mode: go, missing: go}}\n",
        "v =",
        "v = go go mode go missing \"{{.params.a}}\"",
    ),
    (
        "    tool: c.d\n    with: {v: {$value: {$go: x}}}\n",
        "v =",
        "v = json {\"$go\":\"x\"}",
    ),
    (
        "    tool: c.d\n    if: {$jq: '.parents.other.n > 0', view: parents, parents: [other]}\n",
        "when",
        "when (jq truth) jq over parents other \".parents.other.n > 0\"",
    ),
    (
        "    tool: c.d\n    if: ${{ .steps.other.ok }}\n    truth: words\n    after_skip: run\n",
        "when",
        "when (true or false) path steps.other.output.ok",
    ),
    (
        "    tool: c.d\n    transform: .result.hits\n",
        "transform",
        "transform jq over the result \".result.hits\"",
    ),
    (
        "    tool: c.d\n    read: content_map\n",
        "call",
        "call c.d reading content map",
    ),
    ("    tool: c.d\n    mock: null\n", "mock", "mock null"),
    (
        "    tool: c.d\n    after_skip: skip_after_failure\n",
        "after",
        "after a skipped step: is skipped too, and after a failed one",
    ),
    (
        "    tool: c.d\n    needs: [other?]\n",
        "needs",
        "needs other (optional)",
    ),
    (
        "    tool: c.d\n    retry: 2\n    on_error: continue\n",
        "on error",
        "on error retry 2 times after 1s on what is retryable, then continue",
    ),
    (
        "    ask: go?\n    answer_schema: {type: boolean}\n    default_answer: true\n",
        "without",
        "without an answer {\"value\":true}",
    ),
    (
        "    ask: go?\n    on_decline: skip_remaining\n    on_cancel: continue\n    report: true\n",
        "on decline",
        "on decline skip the remaining steps",
    ),
    (
        "    each: [1, 2]\n    report: true\n    max_items: 5\n    do: {name: inner, tool: c.d, with: {v: '${{ .item }}'}, if: '${{ .index }}', timeout: 1s}\n",
        "for each",
        "for each item in text \"[1,2]\"",
    ),
];

#[test]
fn what_other_dialects_say_can_be_said() {
    for (written, begins, expected) in SAID {
        assert_eq!(line(written, begins), expected, "{written}");
    }
}

#[test]
fn faults_are_told_all_at_once() {
    let report = printed(
        "workflow: a b\nversion: 1.0.0\ninputs: {a: strin, b: 1}\nsteps:\n  x:\n    tool: 'no tool'\n    with: {v: '${{ .inputs.c '}\n  y:\n    ask: q\n    tool: a.b\n  z: {retry: {delay: 1s}, tool: a.b, if: 'yes it is', unknown: 1}\noutputs: {a: {value: '${{ .stesp.x }}', properties: {}}}\n",
    )
    .unwrap_err();
    for code in [
        "WF030", "WF024", "WF022", "WF032", "WF201", "WF034", "WF035", "WF208", "WF020", "WF401",
    ] {
        assert!(report.contains(code), "{code} is not in\n{report}");
    }
}

/// What is refused is what the text says, and what the schema for editors says.
#[test]
fn the_length_of_a_name_is_told_as_it_is_checked() {
    use crate::limits::NAME_CHARACTERS_MAX;
    let named = |length| {
        let name = "a".repeat(length);
        printed(&format!("workflow: {name}\nsteps: {{x: {{tool: a.b}}}}\n"))
    };
    // Which some clients refuse: a warning.
    let most = named(NAME_CHARACTERS_MAX).unwrap_err();
    assert!(!most.contains("error["), "{most}");
    let report = named(NAME_CHARACTERS_MAX + 1).unwrap_err();
    let most = format!("more than {NAME_CHARACTERS_MAX}");
    let help = format!("{NAME_CHARACTERS_MAX} at most");
    assert!(report.contains(&most) && report.contains(&help), "{report}");
    let pattern = schema()["properties"]["workflow"]["pattern"].to_string();
    assert!(
        pattern.contains(&format!("{{1,{NAME_CHARACTERS_MAX}}}")),
        "{pattern}"
    );
}

#[test]
fn advice_names_all_that_may_be_written() {
    let looping = |reads: &str| {
        let step = format!("{{each: [1, 2], tool: a.b, with: {{a: '${{{{ {reads} }}}}'}}}}");
        printed(&format!("workflow: w\nsteps:\n  x: {step}\n")).unwrap_err()
    };
    let near = looping(".itme");
    assert!(near.contains("did you mean `.item`?"), "{near}");
    let far = looping(".zzz");
    assert!(far.contains("`.index` and `.item`"), "{far}");
    let outside = printed("workflow: w\nsteps:\n  x: {tool: a.b, with: {a: '${{ .zzz }}'}}\n");
    assert!(!outside.unwrap_err().contains("`.item`"));
    let retried = |key: &str| printed(&format!("workflow: w\nsteps:\n  x: {{tool: a.b, {key}}}\n"));
    let text = retried("retry: '5'").unwrap_err();
    assert!(
        text.contains("`retry` must be a number or a mapping"),
        "{text}"
    );
    assert!(text.contains("write `retry: 5`, or"), "{text}");
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    let plural = retried("retries: 3").unwrap_err();
    assert!(plural.contains("`retry`"), "{plural}");
    retried("retry: 3").unwrap();
}

/// What is told of a file, by code.
fn codes_of(file: &str) -> Vec<String> {
    let report = printed(file).err().unwrap_or_default();
    let heads = report.lines().filter_map(|line| {
        let (severity, rest) = line.split_once('[')?;
        matches!(severity, "error" | "warning").then(|| rest.split(']').next())?
    });
    heads.map(str::to_owned).collect()
}

#[test]
fn arguments_are_an_object_or_a_template() {
    let with = |value: &str| {
        codes_of(&format!(
            "workflow: a\nsteps: {{s: {{tool: x.y, with: {value}}}}}\n"
        ))
    };
    for wrong in ["[1]", "5", "text"] {
        assert_eq!(with(wrong), ["WF022"], "{wrong}");
        let bound = codes_of(&format!("workflow: a\ntool: x.y\nbind: {wrong}\n"));
        assert_eq!(bound, ["WF022"], "{wrong}");
    }
    assert!(with("'${{ .inputs }}'").is_empty());
}

#[test]
fn one_mistake_is_told_once() {
    let none = "workflow: a\nsteps: []\n";
    assert_eq!(codes_of(none), ["WF022"], "not a missing step too");
    let unreadable = "workflow: a\nsteps: {s: {tool: x.y, if: '${{ .inputs | }}'}}\n";
    assert_eq!(codes_of(unreadable), ["WF210"], "not a constant too");
    let both = "workflow: a\ntool: x.y\nsteps: {s: {tool: x.y}}\n";
    assert_eq!(codes_of(both), ["WF034"]);
}

#[test]
fn a_derived_tool_with_inputs_of_its_own() {
    let file = |hidden: &str| {
        printed(&format!(
            "workflow: a\ninputs: {{q: string, n: integer}}\ntool: x.y\nbind: {{n: '${{{{ .inputs.n + 1 }}}}'}}\nhide: [{hidden}]\n"
        ))
    };
    let sound = file("").unwrap();
    assert_eq!(sound.matches(".inputs.n").count(), 1, "{sound}");
    let report = file("q").unwrap_err();
    assert!(
        report.contains("WF034") && report.contains("`q` is both stated as an input and hidden"),
        "{report}"
    );
    let report = file("page").unwrap_err();
    assert!(
        report.contains("warning[WF033]: `page` is hidden, but only the inputs"),
        "{report}"
    );
}

#[test]
fn what_stands_in_for_an_answer_is_one() {
    let asking = |keys: &str| {
        printed(&format!(
            "workflow: a\nsteps: {{q: {{ask: ok?, answer: {{ok: boolean, why: string}}, {keys}}}}}\n"
        ))
    };
    let fine = [
        "mock: {ok: true, why: x}",
        "default: {ok: false}",
        "default: null",
        "report: true, mock: {action: decline}",
        "report: true, mock: {action: accept, content: {ok: true, why: x}}",
    ];
    for keys in fine {
        asking(keys).unwrap_or_else(|report| panic!("{keys}\n{report}"));
    }
    let refused = [
        (
            "mock: {ok: maybe, why: x}",
            "error[WF406]: the mock of step `q` is no answer",
        ),
        (
            "mock: {ok: true}",
            "error[WF406]: the mock of step `q` is no answer",
        ),
        (
            "report: true, mock: {action: accept, content: {ok: 1}}",
            "error[WF406]: the mock of step `q` is no answer",
        ),
        (
            "default: {ok: maybe}",
            "warning[WF406]: the default of step `q` is no answer",
        ),
    ];
    for (keys, expected) in refused {
        let report = asking(keys).unwrap_err();
        assert!(report.contains(expected), "{keys}\n{report}");
    }
    let two = asking("answer_schema: {type: boolean}").unwrap_err();
    assert!(two.contains("WF034"), "{two}");
}

#[test]
fn budgets_are_not_below_zero() {
    let report = printed("workflow: a\nbudget: {cost_usd: -1}\ntool: x.y\n").unwrap_err();
    assert!(
        report.contains("error[WF025]: `cost_usd` cannot be -1"),
        "{report}"
    );
}

#[test]
fn an_escaped_template_is_text_at_every_depth() {
    let file = "workflow: a\nsteps: {s: {tool: x.y, with: {list: [\"$${{ a }}\"], map: {k: \"$${{ b }}\"}}}}\n";
    let form = printed(file).unwrap();
    assert!(form.contains("list = json [\"${{ a }}\"]"), "{form}");
    assert!(form.contains("map = json {\"k\":\"${{ b }}\"}"), "{form}");
}

#[test]
fn a_list_with_a_question_mark_is_told_its_spelling() {
    for inputs in [
        "inputs:\n  tags: [string]?\n",
        "inputs: {tags: [string]?}\n",
        "inputs: {n: integer, tags: [string]?, more: string}\n",
    ] {
        let report = printed(&format!("workflow: a\n{inputs}tool: x.y\n")).unwrap_err();
        assert!(report.contains("write `string[]?`"), "{report}");
    }
    let quoted =
        |written: &str| format!("workflow: a\ninputs: {{tags: \"{written}\"}}\ntool: x.y\n");
    let one = printed(&quoted("string[]?")).unwrap();
    assert_eq!(one, printed(&quoted("[string]?")).unwrap());
}

/// The files that the guide shows.
fn shown() -> Vec<String> {
    let page = include_str!("../../../../docs/workflow-file.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("```"));
    blocks.map(|(block, _)| block.to_owned()).collect()
}

fn json_of(text: &str) -> Value {
    let mut sources = SourceMap::new();
    let id = sources.add("shown.workflow.yaml".to_owned(), text.to_owned());
    parse(&sources, id).0[0].root.to_json()
}

#[test]
fn every_file_of_the_guide_is_sound_and_fits_the_schema() {
    let schema = Coercer::new(schema());
    let files = shown();
    assert!(files.len() > 8);
    for text in files {
        printed(&text).unwrap_or_else(|report| panic!("{text}\n{report}"));
        let faults = schema.validate(&json_of(&text));
        assert!(faults.is_empty(), "{text}\n{faults:?}");
    }
}

/// The keys of a mapping, with those of what it holds under the part's own name.
fn keys(part: &str, value: &Value, found: &mut BTreeSet<String>) {
    let Value::Object(entries) = value else {
        return;
    };
    for (key, value) in entries {
        found.insert(format!("{part}.{key}"));
        match (part, key.as_str()) {
            ("file", "steps") => {
                for step in value
                    .as_object()
                    .into_iter()
                    .flat_map(|steps| steps.values())
                {
                    keys("step", step, found);
                }
            }
            ("file", "outputs") | ("outputLong", "properties") => {
                for output in value.as_object().into_iter().flat_map(|all| all.values()) {
                    keys("outputLong", output, found);
                }
            }
            ("step", "do") => keys("body", value, found),
            ("step" | "body", "retry") => keys("retryLong", value, found),
            ("file", "timeout") => keys("runTimeout", value, found),
            ("file", "budget" | "annotations") => keys(key, value, found),
            _ => {}
        }
    }
}

/// Definitions of the schema that have keys of their own.
const PARTS: [&str; 7] = [
    "step",
    "body",
    "retryLong",
    "runTimeout",
    "budget",
    "annotations",
    "outputLong",
];

#[test]
fn every_key_of_the_schema_is_shown_in_the_guide() {
    let mut found = BTreeSet::new();
    for text in shown() {
        keys("file", &json_of(&text), &mut found);
    }
    // Told apart from `inputs` by its name alone.
    found.insert("file.parameters".to_owned());
    for (part, keys) in schema_keys() {
        for key in keys {
            assert!(
                found.contains(&format!("{part}.{key}")),
                "`{part}.{key}` is not shown"
            );
        }
    }
}

/// The parts of the schema with keys of their own.
fn schema_keys() -> Vec<(&'static str, Vec<String>)> {
    let schema = schema();
    let keys = |own: &Value| {
        own["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    let mut parts = vec![("file", keys(&schema))];
    for part in PARTS {
        parts.push((part, keys(&schema["$defs"][part])));
    }
    parts
}

#[test]
fn every_key_of_the_schema_is_described_in_the_guide() {
    let page = include_str!("../../../../docs/workflow-file.md");
    let prose: Vec<&str> = page.split("```").step_by(2).collect();
    let prose = prose.concat();
    let quoted: BTreeSet<&str> = prose
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|quoted| quoted.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    for (part, keys) in schema_keys() {
        for key in keys {
            assert!(
                quoted.contains(key.as_str()),
                "`{part}.{key}` is not described"
            );
        }
    }
}

#[test]
fn the_schema_has_every_key_of_the_reader() {
    let file = |keys: &str| format!("workflow: a\n{keys}");
    let step = |keys: &str| file(&format!("steps: {{s: {{{keys}}}}}\n"));
    let odd = "qqqqqqqqqq: 1";
    let read = [
        ("file", file(&format!("{odd}\ntool: a.b\n"))),
        (
            "file",
            file(&format!("{odd}\nsteps: {{s: {{tool: a.b}}}}\n")),
        ),
        ("step", step(&format!("tool: a.b, {odd}"))),
        ("step", step(&format!("ask: q, {odd}"))),
        ("step", step(&format!("each: [1], tool: a.b, {odd}"))),
        (
            "body",
            step(&format!("each: [1], do: {{tool: a.b, {odd}}}")),
        ),
        (
            "retryLong",
            step(&format!("tool: a.b, retry: {{times: 1, {odd}}}")),
        ),
        (
            "runTimeout",
            file(&format!("timeout: {{limit: 1s, {odd}}}\ntool: a.b\n")),
        ),
        ("budget", file(&format!("budget: {{{odd}}}\ntool: a.b\n"))),
        (
            "annotations",
            file(&format!("annotations: {{{odd}}}\ntool: a.b\n")),
        ),
    ];
    let schema = schema_keys();
    for (part, text) in read {
        let report = printed(&text).unwrap_err();
        let (_, known) = report.split_once("known keys: ").expect(&report);
        let known = known.lines().next().unwrap().split('`').skip(1).step_by(2);
        let (_, own) = schema.iter().find(|(name, _)| *name == part).unwrap();
        for key in known {
            assert!(
                own.iter().any(|own| own == key),
                "`{part}.{key}` is not in the schema"
            );
        }
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = Coercer::new(schema());
    for text in [
        "workflow: a b\nsteps: {a: {tool: a.b}}\n",
        "workflow: a\nsteps: {a: {tool: a.b, unknown: 1}}\n",
        "workflow: a\nsteps: {a: {tool: a.b, retry: 0}}\n",
        "workflow: a\nsteps: {a: {tool: a.b, timeout: soon}}\n",
        "workflow: a\nsteps: {a: {tool: a.b, on_error: explode}}\n",
        "workflow: a\nbudget: {money: 1}\nsteps: {a: {tool: a.b}}\n",
    ] {
        assert!(printed(text).is_err(), "{text}");
        assert!(!schema.validate(&json_of(text)).is_empty(), "{text}");
    }
}
