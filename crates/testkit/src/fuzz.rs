//! What the fuzzer does with bytes, as plain functions: the targets in `fuzz/` only call these, and a test feeds each
//! with damaged examples, so that all of it is compiled and run without the fuzzer.
//! None of them may panic; what they return is a broken promise in words.

use crate::sim::dice::Dice;
use gotemplate::{Mode, ParseOptions, RenderLimits, RenderOptions};
use onecall_dialects::{mcptest, native, toolhive};
use onecall_source::render::{TextOptions, text};
use onecall_source::{Diagnostics, Node, SourceMap, parse};
use onecall_workflow::draft::Built;
use onecall_workflow::expression::{JqProgram, View};
use onecall_workflow::limits::Bounds;
use onecall_workflow::print::print;
use onecall_workflow::workflow::Workflow;
use serde_json::{Value, json};

/// A function over bytes; the broken promise, if any.
pub type Target = fn(&[u8]) -> Option<String>;

/// Every target by the name of its file, with examples to damage.
pub const TARGETS: &[(&str, Target, &[&str])] = &[
    ("engine_decide", crate::sim::feed, &[]),
    (
        "source_parse",
        source_parse,
        &[TOOLHIVE, MCPTEST, NATIVE, YAML],
    ),
    ("lower_toolhive", lower_toolhive, &[TOOLHIVE]),
    ("lower_mcptest", lower_mcptest, &[MCPTEST]),
    ("lower_native", lower_native, &[NATIVE]),
    ("jq", jq, JQ),
    ("gotemplate_parse", gotemplate_parse, GO),
    ("gotemplate_render", gotemplate_render, GO),
];

const TOOLHIVE: &str = r#"
name: release
description: Makes a release.
parameters: {type: object, properties: {tag: {type: string, default: v1}}, required: [tag]}
timeout: 10m
failureMode: continue
steps:
  - id: build
    tool: ci.build
    arguments: {tag: "{{ .params.tag }}", deep: [{a: "{{ len .params.tag }}"}]}
    onError: {action: retry, retryCount: 2, retryDelay: 1s}
  - id: each
    type: forEach
    collection: "{{ .steps.build.output.files }}"
    maxParallel: 3
    step: {type: tool, tool: ci.sign, arguments: {file: "{{ .forEach.item }}"}}
  - id: ask
    type: elicitation
    message: "Publish {{ .params.tag }}?"
    schema: {type: object, properties: {ok: {type: boolean}}}
    onDecline: {action: skip_remaining}
  - id: publish
    tool: ci.publish
    condition: "{{ .steps.ask.output.content.ok }}"
    dependsOn: [ask]
    defaultResults: {url: none}
output:
  properties:
    url: {type: string, description: Where., value: "{{ .steps.publish.output.url }}", default: none}
  required: [url]
"#;

const MCPTEST: &str = r#"
compositions:
  - name: search
    publish: true
    budget: {max_calls: 5, max_cost_usd: 0.5}
    nodes:
      - {id: find, tool: search, args: {q: "${var.q}"}, transform: ".result.hits"}
      - {id: one, needs: [find], fan_out: {over: "${find}", max_concurrency: 2}, tool: fetch, args: {id: "${item.id}"}}
      - {id: sum, needs: [one], when: ".parents.one | length > 0", assemble: "{n: (.nodes.one | length)}"}
"#;

const NATIVE: &str = r#"
workflow: notes
description: Finds and keeps notes.
inputs: {q: string, limit: {type: integer, default: 3}}
steps:
  find: {tool: demo.search, with: {query: "${{ .inputs.q }}"}, retry: {times: 2, delay: 1s}}
  keep:
    tool: demo.put
    each: "${{ .steps.find.hits }}"
    with: {id: "${{ .item.id }}", text: "note ${{ .index }}"}
  ask: {ask: "Go on with ${{ .steps.find.count }}?", schema: {type: boolean}}
output: {kept: "${{ .steps.keep }}"}
"#;

const YAML: &str = "a: &x [1, 0x1f, ~, 'q''s', \"\\u00e9\"]\nb: *x\n? c\n: |+\n  text\n\n---\n{d: !!str 1, e: >-\n  folded}\n";

const JQ: &[&str] = &[
    ".result.hits | map({id, n: (.name | ascii_upcase)}) | sort_by(.id)",
    "reduce range(0; 10) as $i ({}; .[\"k\\($i)\"] = $i) | to_entries",
    "def f(g): if . > 3 then . else (. + 1 | f(g)) end; .n | f(.)",
    "[.. | numbers] | add // empty | tostring | test(\"^[0-9]+$\")",
    "try error(\"x\") catch . as [$a, {b: $c}] | $a",
];

const GO: &[&str] = &[
    "{{ range $i, $x := .l }}{{ $i }}={{ printf \"%v|%6.2f|%q\" $x 1.5 .s }}{{ else }}-{{ end }}",
    "{{- with .m }}{{ .a | html | len }}{{ end -}} {{ if and (eq .n 1) (lt .s \"b\") }}x{{ end }}",
    "{{ define \"t\" }}{{ . }}{{ end }}{{ template \"t\" .m }}{{ index .l 2 \"k\" 0 }}",
    "{{ fromJson .j }}{{ json .m }}{{ slice .s 0 1 }}{{/* c */}}{{ break }}",
];

/// Any text is a tree of nodes or faults, and every place lies inside the text.
pub fn source_parse(bytes: &[u8]) -> Option<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.yaml", String::from_utf8_lossy(bytes));
    let (_, diagnostics) = parse(&sources, id);
    drawn(&diagnostics, &sources)
}

/// Every fault can be drawn.
fn drawn(diagnostics: &Diagnostics, sources: &SourceMap) -> Option<String> {
    let mut all = diagnostics.iter();
    all.find(|one| text(one, sources, TextOptions::default()).is_empty())
        .map(|one| format!("nothing is drawn of {one:?}"))
}

pub fn lower_toolhive(bytes: &[u8]) -> Option<String> {
    lowered(bytes, |node, faults| {
        let options = toolhive::Options::default();
        let read = toolhive::read(node, &options, faults).into_iter();
        read.filter_map(Built::sound).collect()
    })
}

pub fn lower_mcptest(bytes: &[u8]) -> Option<String> {
    lowered(bytes, |node, faults| {
        let options = mcptest::Options {
            backends: &["b".to_owned()],
            environment: &|_| None,
            compat: mcptest::Compat::Page,
        };
        let read = mcptest::read(node, &options, faults).into_iter();
        read.filter_map(|own| own.built.sound()).collect()
    })
}

pub fn lower_native(bytes: &[u8]) -> Option<String> {
    lowered(bytes, |node, faults| {
        let read = native::read(node, faults).into_iter();
        read.filter_map(|own| own.built.sound()).collect()
    })
}

/// Any document is a workflow that can be printed, or faults that can be drawn.
fn lowered(
    bytes: &[u8],
    read: impl Fn(&Node, &mut Diagnostics) -> Vec<Workflow>,
) -> Option<String> {
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz.yaml", String::from_utf8_lossy(bytes));
    let (documents, _) = parse(&sources, id);
    for document in documents {
        let mut diagnostics = Diagnostics::new();
        let workflows = read(&document.root, &mut diagnostics);
        if workflows.iter().any(|workflow| print(workflow).is_empty()) {
            return Some("a workflow prints as nothing".to_owned());
        }
        if let Some(fault) = drawn(&diagnostics, &sources) {
            return Some(fault);
        }
    }
    None
}

/// Any program is refused at its place or ends within its bounds.
pub fn jq(bytes: &[u8]) -> Option<String> {
    let code = String::from_utf8_lossy(bytes);
    match JqProgram::compile(&code, View::Result) {
        Ok(program) => {
            let bounds = Bounds {
                operations: 20_000,
                ..Bounds::default()
            };
            let result = json!({ "hits": [{ "id": 2, "name": "b" }, { "id": 1, "name": "a" }] });
            // Its result and its failure are both fine; a panic would not be.
            let _ = program.transform(&result, &json!({ "n": 1 }), bounds);
            None
        }
        Err(error) => {
            let mut places = error.faults.iter().map(|fault| &fault.range);
            let stray = places.find(|range| range.start > range.end || range.end > code.len());
            stray.map(|range| format!("a fault at {range:?} of {} bytes", code.len()))
        }
    }
}

/// Any text parses to a template or a fault with a place inside the text; its analysis has places inside too.
pub fn gotemplate_parse(bytes: &[u8]) -> Option<String> {
    let source = String::from_utf8_lossy(bytes);
    let is_inside = |range: std::ops::Range<usize>| source.get(range).is_some();
    match gotemplate::parse(&source, &ParseOptions::default()) {
        Ok(template) => {
            let analysis = template.analysis();
            let mut reads = analysis.reads.iter();
            let stray = reads.find(|read| !is_inside(read.span.range()));
            stray.map(|read| format!("{:?} is outside", read.span))
        }
        Err(error) => {
            let is_placed = error.span.start <= error.span.end && error.span.end <= source.len();
            (!is_placed).then(|| format!("{:?} is outside", error.span))
        }
    }
}

/// Any template over any data renders twice to the same, in both modes, within its limits.
/// The input is a template, a zero byte, and JSON; without the latter a fixed document is used.
pub fn gotemplate_render(bytes: &[u8]) -> Option<String> {
    let input = String::from_utf8_lossy(bytes);
    let (source, data) = input.split_once('\0').unwrap_or((&input, ""));
    let template = gotemplate::parse(source, &ParseOptions::default()).ok()?;
    let data: Value = serde_json::from_str(data).unwrap_or_else(|_| {
        json!({
            "s": "a\"<é>", "n": 1e21, "l": [1, null, { "k": [true] }],
            "m": { "b": 2, "a": "x" }, "j": "{\"a\":[1,2]}",
        })
    });
    for mode in [Mode::Go, Mode::Workflow] {
        let options = RenderOptions {
            mode,
            limits: RenderLimits {
                operations_max: 50_000,
                output_bytes_max: 1 << 20,
                produced_bytes_max: 1 << 22,
                ..RenderLimits::default()
            },
            ..RenderOptions::default()
        };
        let first = template.render(&data, &options);
        if first != template.render(&data, &options) {
            return Some(format!(
                "{mode:?} renders to something else the second time"
            ));
        }
        if first.is_ok_and(|rendered| rendered.bytes.len() > 1 << 20) {
            return Some(format!("{mode:?} renders to more than is allowed"));
        }
        let _ = template.value(&data, &options);
    }
    None
}

/// Signs that mean something in one of the languages.
const SIGNS: &[u8] = b" \n:-{}[]()\"'&*|$.#,!%\t\0";

/// The n-th damaged form of an example, or bytes without any meaning where there is none.
pub fn damaged(examples: &[&str], number: u64) -> Vec<u8> {
    let mut dice = Dice::of(&[71, number]);
    let mut below = |limit: usize| usize::try_from(dice.below(limit as u64)).unwrap_or(0);
    let mut bytes = match examples.len() {
        0 => (0..below(120)).map(|_| byte(below(256))).collect(),
        count => examples[below(count)].as_bytes().to_vec(),
    };
    for _ in 0..=below(4) {
        let at = below(bytes.len() + 1);
        let end = (at + below(12)).min(bytes.len());
        match below(4) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, SIGNS[below(SIGNS.len())]),
            2 => {
                let copied = bytes[at..end].to_vec();
                let to = below(bytes.len() + 1);
                bytes.splice(to..to, copied);
            }
            _ => bytes.insert(at, byte(below(256))),
        }
    }
    bytes
}

fn byte(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}
