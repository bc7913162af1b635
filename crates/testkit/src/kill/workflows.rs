//! The workflows of the kill test. `append` is the one tool of theirs that may not be called again; everything else
//! is idempotent, read-only or under `onError: retry`.

/// The workflows that are called while servers are killed, those that write most of all.
pub(super) const NAMES: &[&str] = &[
    "chain", "chain", "wide", "loop", "loop", "again", "asks", "reads",
];

/// The tool that may not be repeated when its outcome is unknown.
pub(super) const STRICT: &str = "append";

/// The file with all of them. `near` is a child of the server and ends with it; `far` outlives it.
pub(super) fn file(program: &str, ledger: &str, url: &str) -> String {
    format!(
        "name: kill\n\
         groupRef: demo\n\
         incomingAuth: {{ type: anonymous }}\n\
         outgoingAuth: {{ source: inline, default: {{ type: unauthenticated }} }}\n\
         aggregation:\n  conflictResolution: prefix\n  \
         conflictResolutionConfig: {{ prefixFormat: \"{{workload}}_\" }}\n\
         backends:\n  \
         - {{ name: near, command: \"{program}\", args: [demo, --ledger, \"{ledger}\"] }}\n  \
         - {{ name: far, url: \"{url}\" }}\n\
         {COMPOSITES}"
    )
}

const COMPOSITES: &str = r#"
compositeTools:
  - name: chain
    description: Writes one after the other
    parameters: &parameters
      type: object
      properties: { id: { type: string }, ms: { type: integer } }
      required: [id, ms]
    steps:
      - id: one
        tool: near_put
        arguments: { key: "{{ .params.id }}", value: 1, before_ms: "{{ .params.ms }}" }
      - id: two
        tool: far_append
        arguments: { text: "{{ .params.id }}", after_ms: 3 }
        dependsOn: [one]
      - id: three
        tool: far_put
        arguments: { key: "{{ .params.id }}", value: "{{ .steps.two.output.lines }}", after_ms: "{{ .params.ms }}" }
        dependsOn: [two]
  - name: wide
    description: Writes side by side
    parameters: *parameters
    steps:
      - id: left
        tool: far_put
        arguments: { key: "{{ .params.id }}-left", value: 1, before_ms: "{{ .params.ms }}" }
      - id: middle
        tool: near_append
        arguments: { text: "{{ .params.id }}" }
      - id: right
        tool: near_put
        arguments: { key: "{{ .params.id }}-right", value: 1, after_ms: "{{ .params.ms }}" }
      - id: join
        tool: near_echo
        arguments: { text: "{{ .steps.left.output.key }} {{ .steps.middle.output.lines }} {{ .steps.right.output.key }}" }
  - name: loop
    description: Writes every item of a list
    parameters: *parameters
    steps:
      - id: all
        type: forEach
        collection: '["a", "b", "c", "d", "e"]'
        itemVar: letter
        maxParallel: 2
        step:
          id: each
          type: tool
          tool: far_put
          arguments: { key: "{{ .params.id }}-{{ .forEach.letter }}", value: 1, before_ms: "{{ .params.ms }}" }
      - id: after
        tool: near_append
        arguments: { text: "{{ .params.id }}" }
        dependsOn: [all]
  - name: again
    description: Fails, and is tried again
    parameters: *parameters
    steps:
      - id: stumble
        tool: near_flaky
        arguments: { key: "{{ .params.id }}", fails: 1 }
        onError: { action: retry, retryCount: 10, retryDelay: 30ms }
      - id: after
        tool: far_put
        arguments: { key: "{{ .params.id }}", value: "{{ .steps.stumble.output.calls }}", after_ms: "{{ .params.ms }}" }
        dependsOn: [stumble]
  - name: later
    description: Fails, and is tried again after more time than a run stays in memory
    parameters: *parameters
    steps:
      - id: stumble
        tool: far_flaky
        arguments: { key: "{{ .params.id }}", fails: 1 }
        onError: { action: retry, retryCount: 3, retryDelay: 20s }
  - name: asks
    description: Asks between two writes
    parameters: *parameters
    steps:
      - id: before
        tool: far_append
        arguments: { text: "{{ .params.id }}" }
      - id: approve
        type: elicitation
        message: May {{ .params.id }} go on?
        schema: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
        timeout: 10m
        dependsOn: [before]
      - id: after
        tool: near_put
        arguments: { key: "{{ .params.id }}", value: "{{ .steps.approve.output.content.ok }}", before_ms: "{{ .params.ms }}" }
        dependsOn: [approve]
  - name: reads
    description: Reads twice
    parameters: *parameters
    steps:
      - id: slow
        tool: near_slow
        arguments: { ms: "{{ .params.ms }}", text: "{{ .params.id }}" }
      - id: found
        tool: far_search
        arguments: { query: "" }
        dependsOn: [slow]
"#;
