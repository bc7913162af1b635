//! A workflow printed and drawn.

use crate::world::{load, tool};
use onecall_workflow::graph;
use onecall_workflow::print::print;
use onecall_workflow::workflow::Workflow;

const FILE: &str = r#"
name: demo
compositeTools:
- name: release
  description: releases a build
  parameters: {type: object, properties: {build: {type: string}}, required: [build]}
  steps:
  - id: fetch
    tool: ci.fetch
    arguments: {build: "{{.params.build}}", tags: [a, "b {{.params.build}}"], depth: 2}
    onError: {action: retry, maxRetries: 3, retryDelay: 500ms}
  - id: ask
    type: elicitation
    message: "Release {{.params.build}}?"
    schema: {type: boolean}
    dependsOn: [fetch]
  - id: publish
    type: forEach
    collection: "{{json .steps.fetch.output.files}}"
    itemVar: file
    condition: "{{.steps.ask.output.content}}"
    step: {tool: store.put, arguments: {name: "{{.forEach.file.name}}"}}
    onError: {action: continue}
    defaultResults: {count: 0}
  output:
    properties:
      count: {type: integer, description: how many, value: "{{.steps.publish.output.count}}"}
    required: [count]
"#;

fn release() -> Workflow {
    load(&[("release.yaml", FILE)])
        .sound()
        .servers
        .remove(0)
        .workflows
        .remove(0)
}

#[test]
fn the_printed_form_spells_out_every_policy() {
    let expected = r#"workflow release
  description "releases a build"
  input {"type":"object","properties":{"build":{"type":"string"}},"required":["build"]}
  timeout 30m, stands while asking
  parallel 10
  if every step failed: completes
  if any step failed: completes
  durability as configured
  on disconnect cancel
  step fetch
    call ci.fetch reading content map
      build = path input.build
      tags[0] = json "a"
      tags[1] = go "b {{.params.build}}"
      depth = json 2
    timeout 5m
    on error retry 3 times after 500ms on what is retryable, then abort
    after a skipped step: runs
  step ask
    needs fetch
    ask go "Release {{.params.build}}?"
      for one value {"type":"object","properties":{"value":{"type":"boolean"}},"required":["value"]}
      on decline fail
      on cancel fail
      output a report
    timeout 5m
    on error abort
    after a skipped step: runs
  step publish
    needs ask, fetch
    when (true or false) path steps.ask.output.content
    for each file in go "{{json .steps.fetch.output.files}}"
      parallel 10
      items at most 100
      output a report
      failed item does what on error says
      call store.put reading content map
        name = path item.file.name
      timeout none
      on error abort
      after a skipped step: runs
    timeout 5m
    on error continue
    after a skipped step: runs
    default {"count":0}
  output
    count: integer = path steps.publish.output.count
      description "how many"
  output requires count
  output without a value fails
"#;
    assert_eq!(print(&release()), expected);
}

#[test]
fn pictures_mark_inferred_edges() {
    let workflow = release();
    assert_eq!(
        graph::text(&workflow, ""),
        "release\n  fetch (ci.fetch)\n    ask (question) after fetch\n      publish (for each file: store.put) if its condition holds after fetch (read), ask (read)\n"
    );
    assert!(graph::text(&workflow, "└─ ").contains("\n    └─ ask (question) after fetch\n"));
    assert_eq!(
        graph::mermaid(&workflow),
        "flowchart TD\n  s0[\"fetch<br/>ci.fetch\"]\n  s1{{\"ask<br/>question\"}}\n  s2[[\"publish<br/>for each file: store.put\"]]\n  s0 --> s1\n  s0 -.-> s2\n  s1 -.-> s2\n"
    );
    let dot = graph::dot(&workflow);
    assert!(dot.starts_with("digraph \"release\" {\n"), "{dot}");
    assert!(
        dot.contains("  s1 -> s2 [style=dashed, label=\"read\"];\n"),
        "{dot}"
    );
    assert!(dot.contains("  s0 -> s1;\n"), "{dot}");
}

#[test]
fn the_stored_form_of_a_workflow_reads_back() {
    let workflow = release();
    let stored = serde_json::to_string(&workflow).unwrap();
    let read: Workflow = serde_json::from_str(&stored).unwrap();
    assert_eq!(print(&read), print(&workflow));
    assert_eq!(
        onecall_workflow::stored::workflow_hash(&read),
        onecall_workflow::stored::workflow_hash(&workflow)
    );
}

/// Two steps before a third; where the third waits for them is what differs.
fn third(depends_on: &str, arguments: &str) -> Workflow {
    let steps = format!(
        "  - {{id: one, tool: b.t}}\n  - {{id: two, tool: b.t}}\n  - {{id: three, tool: b.t, dependsOn: [{depends_on}], arguments: {arguments}}}\n"
    );
    let settings = load(&[("t.yaml", &tool(&steps))]).sound();
    settings.servers[0].workflows[0].clone()
}

#[test]
fn the_hash_does_not_tell_how_an_edge_came_to_be() {
    let reads = r#"{a: "{{.steps.two.output.x}}", b: "{{.steps.one.output.x}}"}"#;
    let hash = |depends_on| onecall_workflow::stored::workflow_hash(&third(depends_on, reads));
    assert_eq!(hash(""), hash("one, two"));
    assert_eq!(hash("two, one"), hash("one"));
    let unread = |depends_on| onecall_workflow::stored::workflow_hash(&third(depends_on, "{}"));
    assert_ne!(
        unread("one"),
        unread("one, two"),
        "an edge is part of the meaning"
    );
}

#[test]
fn a_plan_stored_with_the_origin_of_its_edges_is_read() {
    let workflow = third("one", "{}");
    let stored = serde_json::to_string(&workflow).unwrap();
    let old = stored.replace(r#"{"step":"one"}"#, r#"{"step":"one","origin":"inferred"}"#);
    assert_ne!(stored, old);
    let read: Workflow = serde_json::from_str(&old).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), stored);
}
