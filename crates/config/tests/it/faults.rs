//! Faults that must be told, and faults that must not follow from others: one cause is one diagnostic.

use crate::world::{load, tool};
use onecall_config::settings::Transport;

/// Codes and messages of a file, in order.
#[track_caller]
fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let outcome = load(files);
    let faults = outcome.diagnostics.iter();
    faults
        .map(|found| format!("{}: {}", found.code.as_str(), found.message))
        .collect()
}

#[track_caller]
fn of_steps(steps: &str) -> Vec<String> {
    faults(&[("demo.yaml", &tool(steps))])
}

fn native(rest: &str) -> String {
    format!("workflow: demo\n{rest}")
}

#[test]
fn a_retry_of_a_question_says_that_it_does_nothing() {
    let told = "WF033: step `ask` asks a person, and a question is not retried";
    let steps =
        "  - {id: ask, type: elicitation, message: m, onError: {action: retry, retryCount: 2}}\n";
    assert_eq!(of_steps(steps), [told]);
    let file = native("steps:\n  ask: {ask: Go on?, retry: 2}\n");
    assert_eq!(faults(&[("a.workflow.yaml", &file)]), [told]);
    let call = "  - {id: s, tool: b.t, onError: {action: retry, retryCount: 2}}\n";
    assert_eq!(of_steps(call), [""; 0]);
}

#[test]
fn a_default_that_does_not_fit_is_told_at_its_place_in_every_dialect() {
    let steps = "steps:\n  s: {tool: b.t}\n";
    let unfit = [
        ("limit: integer = abc", 3),
        ("limit: {type: string, enum: [a], default: b}", 3),
        (
            "limit: {type: object, properties: {deep: {type: boolean, default: 3}}}",
            3,
        ),
        (
            "limit: {type: array, items: {type: integer, default: x}}",
            3,
        ),
    ];
    for (input, line) in unfit {
        let file = native(&format!("inputs:\n  {input}\n{steps}"));
        let outcome = load(&[("a.workflow.yaml", &file)]);
        assert_eq!(outcome.codes(), ["WF045"], "{input}\n{}", outcome.report());
        let at = format!("a.workflow.yaml:{line}:");
        assert!(outcome.report().contains(&at), "{}", outcome.report());
    }
    for fit in [
        "limit: integer = 5",
        "limit: {type: integer, default: \"5\"}",
        "limit: {type: object, default: {}, required: [a], properties: {a: {type: integer, default: 1}}}",
        "limit: {default: [1, x]}",
    ] {
        let file = native(&format!("inputs:\n  {fit}\n{steps}"));
        let outcome = load(&[("a.workflow.yaml", &file)]);
        assert!(outcome.diagnostics.is_empty(), "{}", outcome.report());
    }
    let whole = native(&format!(
        "parameters: {{type: object, $defs: {{n: {{type: integer}}}}, properties: {{a: {{$ref: \"#/$defs/n\", default: x}}}}}}\n{steps}"
    ));
    assert_eq!(load(&[("a.workflow.yaml", &whole)]).codes(), ["WF045"]);
    let suite = "servers: {b: {url: \"http://h/mcp\"}}\ncompositions:\n- name: c\n  inputs: {type: object, properties: {a: {type: integer, default: x}}}\n  nodes: [{id: s, tool: t}]\n";
    assert_eq!(load(&[("s.yaml", suite)]).faults(), ["WF045"]);
}

#[test]
fn a_step_that_cannot_be_read_is_still_known_to_the_others() {
    let reader =
        "  - {id: r, tool: b.t, dependsOn: [s], arguments: {x: \"{{.steps.s.output.f}}\"}}\n";
    for (broken, code) in [
        ("  - {id: s, arguments: {x: 1}}\n", "WF021"),
        ("  - {id: s, message: Go on?}\n", "WF033"),
        ("  - {id: s, type: nothing}\n", "WF024"),
        ("  - {id: s, type: forEach, collection: \"[1]\"}\n", "WF021"),
        ("  - {id: s, type: forEach, step: {tool: b.t}}\n", "WF021"),
        (
            "  - {id: s, type: forEach, collection: \"[1]\", step: {id: i}}\n",
            "WF021",
        ),
    ] {
        let read = reader.replace("output.f", "status");
        let found = load(&[("demo.yaml", &tool(&format!("{broken}{read}")))]);
        assert_eq!(found.codes(), [code], "{broken}\n{}", found.report());
    }
    let file = native(
        "steps:\n  s: {with: {x: 1}}\n  t: text\n  r: {tool: b.t, needs: [s, t], with: {x: \"${{ .steps.s.f }}\"}}\n",
    );
    let found = load(&[("a.workflow.yaml", &file)]);
    assert_eq!(found.codes(), ["WF021", "WF022"], "{}", found.report());
}

#[test]
fn a_cycle_through_a_step_that_cannot_be_read_is_found() {
    let steps = "  - {id: s, arguments: {x: \"{{.steps.r.output.f}}\"}}\n  - {id: r, tool: b.t, dependsOn: [s]}\n";
    let found = load(&[("demo.yaml", &tool(steps))]);
    assert_eq!(found.codes(), ["WF021", "WF103"], "{}", found.report());
    let file =
        native("steps:\n  s: {with: {x: \"${{ .steps.r.f }}\"}}\n  r: {tool: b.t, needs: [s]}\n");
    let found = load(&[("a.workflow.yaml", &file)]);
    assert_eq!(found.codes(), ["WF021", "WF103"], "{}", found.report());
}

#[test]
fn two_workflows_of_one_name_are_told_of_though_one_is_broken() {
    let file = tool("  - {id: s}\n");
    let second = "- {name: demo_tool, description: d, steps: [{id: s, tool: b.t}]}\n";
    let found = load(&[("demo.yaml", &format!("{file}{second}"))]);
    assert_eq!(found.codes(), ["WF021", "WF041"], "{}", found.report());
    let broken = native("steps: {s: {}}\n");
    let sound = native("steps: {s: {tool: b.t}}\n");
    let found = load(&[("a.workflow.yaml", &broken), ("b.workflow.yaml", &sound)]);
    assert_eq!(found.codes(), ["WF021", "WF041"], "{}", found.report());
    let hidden = native("expose: false\nsteps: {s: {}}\n");
    let found = load(&[("a.workflow.yaml", &hidden), ("b.workflow.yaml", &sound)]);
    assert_eq!(found.codes(), ["WF021"], "{}", found.report());
}

#[test]
fn definitions_of_one_tool_name_are_told_of_though_one_is_broken() {
    let definition = |name: &str, step: &str| {
        format!(
            "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\nmetadata: {{name: {name}}}\nspec: {{name: same, description: d, steps: [{{id: s{step}}}]}}\n---\n"
        )
    };
    let server = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: v}\nspec: {groupRef: g, config: {backends: [{name: b, command: c}], compositeToolRefs: [{name: one}, {name: two}]}}\n";
    let file = format!(
        "{}{}{server}",
        definition("one", ""),
        definition("two", ", tool: b.t")
    );
    let found = load(&[("r.yaml", &file)]);
    assert_eq!(found.faults(), ["WF021", "WF041"], "{}", found.report());
}

const BACKENDS: &str = "name: d\nbackends: [{name: github, command: c}, {name: jira, command: c}]\ncompositeTools: []\n";

#[test]
fn names_of_backends_in_the_aggregation_are_checked() {
    let aggregation = "aggregation: {conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [jira, githb]}, tools: [{workload: jra, filter: [x]}]}\n";
    let outcome = load(&[("d.yaml", &format!("{BACKENDS}{aggregation}"))]);
    assert_eq!(outcome.codes(), ["WF612", "WF612"], "{}", outcome.report());
    for near in [
        "a backend named `github` exists",
        "a backend named `jira` exists",
    ] {
        assert!(outcome.report().contains(near), "{}", outcome.report());
    }
    // Without backends nothing is known of their names.
    let file = format!("name: d\ncompositeTools: []\n{aggregation}");
    assert_eq!(load(&[("d.yaml", &file)]).codes(), [""; 0]);
}

#[test]
fn fields_of_the_run_are_a_closed_list() {
    let read =
        |path: &str| format!("  - {{id: s, tool: b.t, arguments: {{x: \"{{{{{path}}}}}\"}}}}\n");
    assert_eq!(
        of_steps(&read(".workflow.nope")),
        ["WF203: step `s` reads `nope` of `.workflow` in its argument `x`, which it does not have"]
    );
    assert_eq!(
        of_steps(&read(".vars.x")),
        ["WF203: step `s` reads `x` of `.vars` in its argument `x`, which it does not have"]
    );
    assert_eq!(of_steps(&read(".workflow.step_count")), [""; 0]);
    let file = native(
        "steps:\n  s: {tool: b.t, with: {x: \"${{ .run.ide }}\", y: \"${{ .run | keys }}\"}}\n",
    );
    let outcome = load(&[("a.workflow.yaml", &file)]);
    assert_eq!(outcome.codes(), ["WF203"], "{}", outcome.report());
    assert!(
        outcome.report().contains("a field named `id` exists"),
        "{}",
        outcome.report()
    );
}

#[test]
fn messages_use_the_words_of_the_dialect() {
    let file = native(
        "inputs: {a: string}\nsteps:\n  s: {tool: b.t, with: {x: \"${{ .inputs.zzz }}\", y: \"${{ .results.s2.zzz }}\"}}\n  s2: {ask: Well?, answer: {n: integer}, default_answer: {n: x}}\nreturns: \"${{ .steps.gone }}\"\n",
    );
    let report = load(&[("a.workflow.yaml", &file)]).report();
    for words in [
        "declare `zzz` under `inputs`",
        "write `.steps.s2.zzz`",
        "change `default_answer` or the schema",
        "the output reads step `gone` in its value, but",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    let report = load(&[("demo.yaml", &tool("  - {id: s, type: elicitation, message: \"{{.params.zzz}} {{.steps.t.zzz}}\", schema: {type: boolean}, defaultResponse: maybe}\n  - {id: t, tool: b.t}\n"))]).report();
    for words in [
        "declare `zzz` under `parameters.properties`",
        "write `.steps.t.output.zzz`",
        "change `defaultResponse` or the schema",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    let file =
        native("steps:\n  s: {tool: b.t}\noutputs:\n  n: {type: integer, description: how many}\n");
    assert_eq!(
        faults(&[("a.workflow.yaml", &file)]),
        ["WF401: output `n` has neither `value` nor `properties`"]
    );
}

#[test]
fn a_prefix_of_names_can_be_part_of_a_name() {
    let of = |prefix: &str| {
        load(&[(
            "onecall.yaml",
            &format!("names: {{prefix: \"{prefix}\"}}\n"),
        )])
        .codes()
    };
    for prefix in ["", "flow_", "workflow:", "a.b-"] {
        assert_eq!(of(prefix), [""; 0], "{prefix}");
    }
    for prefix in ["my flow ", "a/b", "é", &"a".repeat(65)] {
        assert_eq!(of(prefix), ["WF030"], "{prefix}");
    }
}

#[test]
fn a_question_that_is_not_stored_is_told_of_a_workflow_with_other_faults() {
    let file = "name: d\ncompositeTools: [{name: t, description: d, steps: [\
        {id: q, type: elicitation, message: m}, {id: s, tool: b.t, dependsOn: [nowhere]}]}]\n";
    let store = ("onecall.yaml", "backends: {}\ndurability: none\n");
    let outcome = load(&[store, ("d.yaml", file)]);
    assert_eq!(outcome.faults(), ["WF407", "WF101"], "{}", outcome.report());
}

#[test]
fn one_wrong_value_is_told_once() {
    let wrong = |backend: &str| {
        let file = format!("name: d\ncompositeTools: []\nbackends: [{backend}]\n");
        load(&[("d.yaml", &file)]).faults()
    };
    assert_eq!(wrong("{name: a, url: 7}"), ["WF022"]);
    assert_eq!(wrong("{name: a, command: {}}"), ["WF022"]);
    assert_eq!(wrong("{name: a}"), ["WF604"]);
    let retried = |count: &str| {
        of_steps(&format!(
            "  - {{id: s, tool: b.t, onError: {{action: retry, retryCount: {count}}}}}\n"
        ))
    };
    assert_eq!(
        retried("1.5"),
        ["WF022: `retryCount` must be a whole number, but is 1.5"]
    );
    assert_eq!(
        retried("99999999999999999999")
            .iter()
            .filter(|told| !told.starts_with("WF011"))
            .map(|told| &told[..5])
            .collect::<Vec<_>>(),
        ["WF025"]
    );
    for with in ["[1]", "7"] {
        let file = native(&format!("steps:\n  s: {{tool: b.t, with: {with}}}\n"));
        let outcome = load(&[("w.workflow.yaml", &file)]);
        assert_eq!(outcome.faults(), ["WF022"], "{}", outcome.report());
    }
}

#[test]
fn every_document_and_file_that_is_named_must_be_known() {
    let group = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: {name: g}\n";
    let lost = format!("{group}---\nkind: MCPGroup\nmetadata: {{name: h}}\n");
    let outcome = load(&[("g.yaml", &lost)]);
    assert_eq!(outcome.faults(), ["WF601"], "{}", outcome.report());
    assert!(
        outcome.report().contains("g.yaml:5:1"),
        "{}",
        outcome.report()
    );
    let outcome = load(&[("a.yaml", "name: x\nname: y\n"), ("b.yaml", "")]);
    assert_eq!(
        outcome.faults().last(),
        Some(&"WF601"),
        "{}",
        outcome.report()
    );
}

/// What is said about a file of these lines, in order: `CODE: message = help`.
fn helped(files: &[(&str, &str)]) -> Vec<String> {
    let outcome = load(files);
    let told = outcome.diagnostics.iter();
    told.map(|found| {
        let help: Vec<&str> = found.help.iter().map(String::as_str).collect();
        format!(
            "{}: {} = {}",
            found.code.as_str(),
            found.message,
            help.join(" ")
        )
    })
    .collect()
}

#[test]
fn a_file_that_is_not_known_is_told_what_it_may_have_been_meant_as() {
    let [told] = &helped(&[("a.yaml", "backend: {}\n")])[..] else {
        panic!("one fault")
    };
    assert!(
        told.ends_with("= a key named `backends` would tell what it is"),
        "{told}"
    );
    let [told] = &helped(&[("mcp.json", r#"{"inputs": [], "servers": {}}"#)])[..] else {
        panic!("one fault")
    };
    assert!(told.contains("`onecall init mcp.json` makes"), "{told}");
    for text in ["", "# nothing\n", "\n\n"] {
        let [told] = &helped(&[("onecall.yaml", text)])[..] else {
            panic!("one fault")
        };
        assert!(
            told.starts_with("WF601: `onecall.yaml` is empty = "),
            "{told}"
        );
    }
}

#[test]
fn a_backend_in_one_text_is_told_how_it_is_written() {
    for (backend, help) in [
        (
            "npx -y server",
            "WF604: a backend is a mapping with `command` or `url`, not a text = write `{ command: npx, args: [-y, server] }`",
        ),
        (
            "https://a.example/mcp",
            "WF604: a backend is a mapping with `command` or `url`, not a text = write `{ url: https://a.example/mcp }`",
        ),
        (
            "{command: npx -y server}",
            "WF604: `command` names a program, and `npx -y server` is several words = write `command: npx, args: [-y, server]`",
        ),
    ] {
        let text = format!("backends:\n  b: {backend}\n");
        assert_eq!(helped(&[("onecall.yaml", &text)]), [help]);
    }
    let named = "backends:\n  a: {command: /opt/my tools/run}\n  b: {command: [run, it]}\n";
    assert_eq!(faults(&[("onecall.yaml", named)]), [""; 0]);
}

#[test]
fn variables_are_read_as_editors_write_them() {
    let server = |token: &str| {
        format!(
            r#"{{"mcpServers": {{"a": {{"url": "http://a/mcp", "headers": {{"A": "{token}"}}}}}}}}"#
        )
    };
    let settings = load(&[("mcp.json", &server("Bearer ${env:TOKEN}"))]).sound();
    let Transport::StreamableHttp { headers, .. } = &settings.servers[0].backends[0].transport
    else {
        panic!("over HTTP")
    };
    assert_eq!(headers[0].1, "Bearer secret");
    let [told] = &helped(&[("mcp.json", &server("${input:tok}"))])[..] else {
        panic!("one fault")
    };
    assert!(
        told.contains("is asked for by an editor") && told.contains("`${TOKEN}`"),
        "{told}"
    );
    for name in ["workspaceFolder", "config:a.b"] {
        let [told] = &helped(&[("mcp.json", &server(&format!("${{{name}}}")))])[..] else {
            panic!("one fault")
        };
        let filled = format!("`${{{name}}}` is filled in by an editor");
        assert!(told.contains(&filled), "{told}");
    }
}

#[test]
fn a_text_stands_in_for_a_variable_that_is_not_set() {
    let headers = "{A: \"${TOKEN:-none}\", B: \"${GONE:-none}\", C: \"${GONE:-}\"}";
    let file = format!("backends:\n  a: {{url: \"http://a/mcp\", headers: {headers}}}\n");
    let settings = load(&[("onecall.yaml", &file)]).sound();
    let Transport::StreamableHttp { headers, .. } = &settings.servers[0].backends[0].transport
    else {
        panic!("over HTTP")
    };
    let values: Vec<&str> = headers.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["secret", "none", ""]);
}

#[test]
fn two_files_may_not_name_different_stores() {
    let (one, two) = ("store: a.db\ntemplates: {mode: go}\n", "store: b.db\n");
    let told = "WF034: two files name different stores";
    assert_eq!(faults(&[("onecall.yaml", one), ("b.yaml", two)]), [told]);
    let settings = load(&[("onecall.yaml", one), ("b.yaml", "store: a.db\n")]).sound();
    assert!(settings.store.is_some());
}

#[test]
fn every_fault_of_a_schema_is_told() {
    let file = native(
        "parameters:\n  type: object\n  properties: {a: {type: integr}, b: {minimum: x}}\n  required: a\n\
         steps:\n  s: {tool: b.t}\n  q: {ask: Well?, answer_schema: {type: objct, required: 3}}\n",
    );
    let told = faults(&[("a.workflow.yaml", &file)]);
    assert_eq!(
        told.iter()
            .filter(|told| told.starts_with("WF037: "))
            .count(),
        5,
        "{told:#?}"
    );
    for part in [
        "/properties/a/type",
        "/properties/b/minimum",
        ": /required",
        "step `q`",
    ] {
        assert!(
            told.iter().any(|told| told.contains(part)),
            "{part}: {told:#?}"
        );
    }
}

#[test]
fn a_prefix_that_no_name_can_have_is_told_where_it_stands() {
    let desktop = |name: &str| format!(r#"{{"mcpServers": {{"{name}": {{"command": "c"}}}}}}"#);
    let codes = |name: &str, config: &str| {
        let mcp = desktop(name);
        load(&[("mcp.json", &mcp), ("d.yaml", config)]).codes()
    };
    let prefix = |format: &str| {
        format!(
            "name: d\naggregation: {{conflictResolution: prefix, conflictResolutionConfig: {{prefixFormat: \"{format}\"}}}}\n"
        )
    };
    let plain = "name: d\ncompositeTools: []\n";
    let (odd, long) = ("github.com/x/y", "x".repeat(128));
    assert_eq!(codes(odd, plain), ["WF614"]);
    assert_eq!(codes(&long, plain), ["WF614"]);
    assert_eq!(codes("github.com-x-y", plain), [""; 0]);
    // One cause is told once.
    assert_eq!(codes(odd, &prefix("{workload}/")), ["WF614"]);
    assert_eq!(codes("gh", &prefix("{backend}_")), ["WF614"]);
    assert_eq!(codes(odd, &prefix("all.")), [""; 0]);
    // Where no tool is listed, no name is needed.
    let hidden = "name: d\naggregation: {excludeAllTools: true}\n";
    assert_eq!(codes(odd, hidden), [""; 0]);
    let rule =
        format!("name: d\naggregation: {{tools: [{{workload: {odd}, excludeAll: true}}]}}\n");
    assert_eq!(codes(odd, &rule), [""; 0]);
    assert_eq!(codes(odd, "backends: {}\nexpose: workflows\n"), [""; 0]);
    let bare = "name: d\naggregation: {conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [gh]}}\n";
    assert_eq!(codes("gh", bare), [""; 0]);
}

/// What is said of one backend, by code and message.
fn of_backend(backend: &str) -> Vec<String> {
    let outcome = load(&[("onecall.yaml", &format!("backends: {{b: {backend}}}\n"))]);
    let told = outcome.diagnostics.iter();
    told.map(|found| format!("{} {}", found.code.as_str(), found.message))
        .collect()
}

#[test]
fn what_no_backend_can_be_called_with_is_told_before_the_start() {
    let of = |rest: &str| of_backend(&format!("{{url: \"https://b/mcp\", {rest}}}"));
    let bearer = "auth: {type: bearer, token: \"${TOKEN}\"}";
    let twice = ["WF615 backend `b` is called with two headers `Authorization`"];
    assert_eq!(
        of(&format!(
            "headers: {{authorization: \"${{TOKEN}}\"}}, {bearer}"
        )),
        twice
    );
    let tokens = |url: &str| {
        format!("auth: {{type: client_credentials, token_url: \"{url}\", client_id: c}}")
    };
    let safe = tokens("https://login.example/t");
    assert_eq!(
        of(&format!(
            "headers: {{Authorization: \"${{TOKEN}}\"}}, {safe}"
        )),
        twice
    );
    assert_eq!(
        of("headers: {bad header: x}"),
        ["WF615 no header can be named `bad header`"]
    );
    assert_eq!(
        of("headers: {Content-Length: '1'}"),
        ["WF615 the header `Content-Length` belongs to the connection and cannot be set"]
    );
    let value = ["WF615 no header can have this value: it has '\\n' in it"];
    assert_eq!(of("headers: {X: \"a\\nb\"}"), value);
    assert_eq!(of("auth: {type: bearer, token: \"a\\nb${TOKEN}\"}"), value);
    assert_eq!(
        of(&tokens("http://login.example/t")),
        ["WF616 credentials go to a token server over https, or within this machine"]
    );
    for fine in [
        of(&safe),
        of(&tokens("http://127.0.0.1:9/t")),
        of(&tokens("http://[::1]:9/t")),
        of(&tokens("http://localhost/t")),
        of(&format!("headers: {{X: \"ü\\t\", Y-1: y}}, {bearer}")),
    ] {
        assert_eq!(fine, [""; 0]);
    }
    for url in ["http://", "https://me:secret@b/mcp", "http:///mcp"] {
        let told = of_backend(&format!("{{url: \"{url}\"}}"));
        assert!(told.len() == 1 && told[0].starts_with("WF604"), "{told:?}");
    }
    for url in ["http://exa mple/mcp", "http://h/mcp\\n", "http://h/<mcp>"] {
        let told = of_backend(&format!("{{url: \"{url}\"}}"));
        let is_told = told.len() == 1 && told[0].ends_with("in it, which stands in no URL");
        assert!(is_told, "{told:?}");
    }
    let blank = of(&tokens("https://login.example/t t"));
    assert!(
        blank.len() == 1 && blank[0].starts_with("WF616"),
        "{blank:?}"
    );
    let exchange = "{type: token_exchange, tokenExchange: {tokenUrl: \"http://t/\"}}";
    let header = "{type: header_injection, headerInjection: {headerName: \"a b\", headerValue: v}}";
    for (way, code) in [(exchange, "WF616"), (header, "WF615")] {
        let file = format!(
            "name: d\nbackends: [{{name: b, url: \"https://b/mcp\", transport: sse}}]\ncompositeTools: []\noutgoingAuth: {{default: {way}}}\n"
        );
        let outcome = load(&[("d.yaml", &file)]);
        assert!(outcome.codes().contains(&code), "{}", outcome.report());
    }
}

#[test]
fn keys_of_the_other_way_to_reach_a_backend_are_told() {
    let with_url =
        |key: &str| format!("WF604 `{key}` goes with a `command`, and this backend has a `url`");
    for (key, value) in [("args", "[x]"), ("env", "{A: b}"), ("cwd", "/x")] {
        let told = of_backend(&format!("{{url: \"https://b/mcp\", {key}: {value}}}"));
        assert_eq!(told, [with_url(key)]);
    }
    assert_eq!(
        of_backend("{command: c, headers: {X: y}}"),
        ["WF604 `headers` goes with a `url`, and this backend has a `command`"]
    );
    // As editors write them.
    let empty = of_backend("{url: \"https://b/mcp\", args: [], env: {}, cwd: null}");
    assert_eq!(empty, [""; 0]);
    assert_eq!(of_backend("{command: c, headers: {}}"), [""; 0]);
}
