//! Every row of the key table: a file with the key differs from one without it in the way the table says.

use crate::world::{Outcome, load};
use onecall_config::key_table::{Effect, KEYS};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What can be seen of an outcome, without places.
fn seen(outcome: &Outcome) -> String {
    let mut text = outcome.codes().join(",");
    let Some(settings) = &outcome.settings else {
        return text;
    };
    let _ = write!(text, "{:?}{:?}", settings.store, settings.durability);
    for server in &settings.servers {
        let _ = write!(
            text,
            "{}{:?}{:?}",
            server.name, server.expose, server.aggregation
        );
        for backend in &server.backends {
            let _ = write!(
                text,
                "{}{:?}{:?}{:?}{:?}{}",
                backend.name,
                backend.transport,
                backend.timeout,
                backend.max_in_flight,
                backend.session,
                backend.eager
            );
        }
        for workflow in &server.workflows {
            text.push_str(&onecall_workflow::print::print(workflow));
        }
    }
    text
}

/// A row with a file without the key and one with it; `…` separates several files.
struct Case {
    of: &'static str,
    key: &'static str,
    without: String,
    with: String,
}

fn case(
    of: &'static str,
    key: &'static str,
    without: impl Into<String>,
    with: impl Into<String>,
) -> Case {
    Case {
        of,
        key,
        without: without.into(),
        with: with.into(),
    }
}

/// A composite tool with this line changed for another.
fn tool(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        let body = "- name: NAME\n  description: d\n  steps:\n  - {id: s, tool: b.t}\n";
        let name = own.strip_prefix("name: ").unwrap_or("t");
        let body = match key {
            "name" => body.replace("NAME", name),
            "description" => body.replace("NAME", "t").replace("description: d", own),
            "steps" => body
                .replace("NAME", "t")
                .replace("  - {id: s, tool: b.t}\n", own),
            _ => format!("{}{own}\n", body.replace("NAME", "t")),
        };
        format!("name: d\ncompositeTools:\n{body}")
    };
    case("composite tool", key, file(without), file(with))
}

/// A step, after another one.
fn step(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        format!(
            "name: d\ncompositeTools:\n- name: t\n  description: d\n  parameters: {{type: object, properties: {{f: {{type: boolean}}}}}}\n  steps:\n  - {{id: first, tool: b.t}}\n  - {{{own}}}\n"
        )
    };
    case("step", key, file(without), file(with))
}

fn output(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        format!(
            "name: d\ncompositeTools:\n- name: t\n  description: d\n  steps: [{{id: s, tool: b.t}}]\n  output: {{{own}}}\n"
        )
    };
    case("output", key, file(without), file(with))
}

/// A ToolHive configuration with one backend.
fn config(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        if key.starts_with("backends[]") {
            return format!("name: d\nbackends:\n- {{{own}}}\n");
        }
        let name = if own.starts_with("name:") {
            ""
        } else {
            "name: d\n"
        };
        let backends = if key == "groupRef" {
            ""
        } else {
            "backends: [{name: b, url: \"http://h/mcp\"}]\n"
        };
        format!("{name}compositeTools: []\n{backends}{own}\n")
    };
    case("toolhive config", key, file(without), file(with))
}

const TOOLHIVE: &str = "apiVersion: toolhive.stacklok.dev/v1beta1\n";

fn entry(spec: &str) -> String {
    format!(
        "{TOOLHIVE}kind: MCPServerEntry\nmetadata: {{name: e}}\nspec: {{groupRef: g, {spec}}}\n"
    )
}

fn server(spec: &str) -> String {
    format!("{TOOLHIVE}kind: VirtualMCPServer\nmetadata: {{name: v}}\nspec: {{{spec}}}\n")
}

fn definition(metadata: &str) -> String {
    format!(
        "{TOOLHIVE}kind: VirtualMCPCompositeToolDefinition\nmetadata: {{name: d{metadata}}}\nspec: {{name: d, description: d, steps: [{{id: s, tool: e.t}}]}}\n"
    )
}

const ENTRY: &str = "remoteUrl: \"http://h/mcp\", transport: streamable-http";

fn of_server(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        let group = if key == "groupRef" {
            ""
        } else {
            "groupRef: g, "
        };
        let files = [
            entry(ENTRY),
            definition(""),
            server(&format!("{group}{own}")),
        ];
        files.join("---\n")
    };
    case("VirtualMCPServer", key, file(without), file(with))
}

fn of_entry(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        let auth = format!(
            "{TOOLHIVE}kind: MCPExternalAuthConfig\nmetadata: {{name: a}}\nspec: {{type: headerInjection, headerInjection: {{headerName: X, headerValue: v}}}}\n"
        );
        [entry(own), auth, server("groupRef: g")].join("---\n")
    };
    case("MCPServerEntry", key, file(without), file(with))
}

fn of_mcp_server(key: &'static str, without: &str, with: &str) -> Case {
    let file = |own: &str| {
        let config = format!(
            "{TOOLHIVE}kind: MCPToolConfig\nmetadata: {{name: c}}\nspec: {{toolsFilter: [x]}}\n"
        );
        let own = format!(
            "{TOOLHIVE}kind: MCPServer\nmetadata: {{name: m}}\nspec: {{groupRef: g{own}}}\nstatus: {{url: \"http://h/mcp\"}}\n"
        );
        [own, config, server("groupRef: g")].join("---\n")
    };
    case("MCPServer", key, file(without), file(with))
}

fn composite_cases() -> Vec<Case> {
    vec![
        tool("name", "name: a", "name: b"),
        tool("description", "description: d", "description: e"),
        tool(
            "parameters",
            "",
            "  parameters: {type: object, properties: {a: {}}}",
        ),
        tool("timeout", "", "  timeout: 1h"),
        tool("failureMode", "", "  failureMode: continue"),
        tool(
            "steps",
            "  - {id: s, tool: b.t}\n",
            "  - {id: s, tool: b.u}\n",
        ),
        tool(
            "output",
            "",
            "  output: {properties: {p: {type: string, description: d, value: v}}}",
        ),
        tool(
            "annotations",
            "",
            "  annotations: {readOnlyHint: true, title: t}",
        ),
        step("id", "id: s, tool: b.t", "id: u, tool: b.t"),
        step(
            "type",
            "id: s, tool: b.t",
            "id: s, type: elicitation, message: m",
        ),
        step("title", "id: s, tool: b.t", "id: s, tool: b.t, title: T"),
        step(
            "description",
            "id: s, tool: b.t",
            "id: s, tool: b.t, description: D",
        ),
        step("tool", "id: s, tool: b.t", "id: s, tool: b.u"),
        step(
            "arguments",
            "id: s, tool: b.t",
            "id: s, tool: b.t, arguments: {a: 1}",
        ),
        step(
            "idempotent",
            "id: s, tool: b.t",
            "id: s, tool: b.t, idempotent: true",
        ),
        step(
            "condition",
            "id: s, tool: b.t",
            "id: s, tool: b.t, condition: \"{{.params.f}}\"",
        ),
        step(
            "dependsOn",
            "id: s, tool: b.t",
            "id: s, tool: b.t, dependsOn: [first]",
        ),
        step(
            "onError.action",
            "id: s, tool: b.t",
            "id: s, tool: b.t, onError: {action: continue}",
        ),
        step(
            "onError.retryCount",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1}",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 2}",
        ),
        step(
            "onError.maxRetries",
            "id: s, tool: b.t, onError: {action: retry, maxRetries: 1}",
            "id: s, tool: b.t, onError: {action: retry, maxRetries: 2}",
        ),
        step(
            "onError.retryDelay",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1}",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1, retryDelay: 5s}",
        ),
        step(
            "onError.retryOn",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1}",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1, retryOn: [transport]}",
        ),
        step(
            "onError.then",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1}",
            "id: s, tool: b.t, onError: {action: retry, retryCount: 1, then: continue}",
        ),
        step(
            "timeout",
            "id: s, tool: b.t",
            "id: s, tool: b.t, timeout: 1s",
        ),
        step(
            "defaultResults",
            "id: s, tool: b.t",
            "id: s, tool: b.t, defaultResults: {a: 1}",
        ),
        step(
            "message",
            "id: s, type: elicitation, message: m",
            "id: s, type: elicitation, message: n",
        ),
        step(
            "schema",
            "id: s, type: elicitation, message: m",
            "id: s, type: elicitation, message: m, schema: {type: boolean}",
        ),
        step(
            "onDecline",
            "id: s, type: elicitation, message: m",
            "id: s, type: elicitation, message: m, onDecline: {action: continue}",
        ),
        step(
            "onCancel",
            "id: s, type: elicitation, message: m",
            "id: s, type: elicitation, message: m, onCancel: {action: skip_remaining}",
        ),
        step(
            "defaultResponse",
            "id: s, type: elicitation, message: m, schema: {type: boolean}",
            "id: s, type: elicitation, message: m, schema: {type: boolean}, defaultResponse: true",
        ),
        step(
            "collection",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.t}",
            "id: s, type: forEach, collection: \"[2]\", step: {tool: b.t}",
        ),
        step(
            "itemVar",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.t}",
            "id: s, type: forEach, collection: \"[1]\", itemVar: x, step: {tool: b.t}",
        ),
        step(
            "maxParallel",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.t}",
            "id: s, type: forEach, collection: \"[1]\", maxParallel: 1, step: {tool: b.t}",
        ),
        step(
            "maxIterations",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.t}",
            "id: s, type: forEach, collection: \"[1]\", maxIterations: 1, step: {tool: b.t}",
        ),
        step(
            "step",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.t}",
            "id: s, type: forEach, collection: \"[1]\", step: {tool: b.u}",
        ),
        output(
            "properties",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {q: {type: string, description: d, value: v}}",
        ),
        output(
            "required",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {p: {type: string, description: d, value: v}}, required: [p]",
        ),
        output(
            "type",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {p: {type: integer, description: d, value: v}}",
        ),
        output(
            "description",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {p: {type: string, description: e, value: v}}",
        ),
        output(
            "value",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {p: {type: string, description: d, value: w}}",
        ),
        output(
            "default",
            "properties: {p: {type: string, description: d, value: v}}",
            "properties: {p: {type: string, description: d, value: v, default: x}}",
        ),
    ]
}

fn config_cases() -> Vec<Case> {
    let url = "name: b, url: \"http://h/mcp\"";
    let started = "name: b, command: c";
    let mut cases = vec![
        config("name", "name: a", "name: b"),
        config("groupRef", "", "groupRef: g"),
        config("metadata", "", "metadata: {team: t}"),
        config("incomingAuth.type", "", "incomingAuth: {type: local}"),
        config(
            "incomingAuth.oidc",
            "",
            "incomingAuth: {type: oidc, oidc: {issuer: i, audience: a}}",
        ),
        config(
            "incomingAuth.authz",
            "",
            "incomingAuth: {type: anonymous, authz: {type: cedar, policies: [p]}}",
        ),
        config(
            "outgoingAuth.source",
            "",
            "outgoingAuth: {source: discovered}",
        ),
        config(
            "outgoingAuth.default",
            "",
            "outgoingAuth: {default: {type: header_injection, headerInjection: {headerName: X, headerValueEnv: TOKEN}}}",
        ),
        config(
            "outgoingAuth.backends",
            "",
            "outgoingAuth: {backends: {b: {type: header_injection, headerInjection: {headerName: X, headerValue: v}}}}",
        ),
        config(
            "outgoingAuth.default.tokenExchange",
            "",
            "outgoingAuth: {default: {type: token_exchange, tokenExchange: {tokenUrl: u}}}",
        ),
        config(
            "aggregation.conflictResolution",
            "",
            "aggregation: {conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [b]}}",
        ),
        config(
            "aggregation.conflictResolutionConfig",
            "",
            "aggregation: {conflictResolutionConfig: {prefixFormat: \"{workload}.\"}}",
        ),
        config(
            "aggregation.tools",
            "",
            "aggregation: {tools: [{workload: b, filter: [x]}]}",
        ),
        config(
            "aggregation.excludeAllTools",
            "",
            "aggregation: {excludeAllTools: true}",
        ),
        config(
            "aggregation.defaultToolVisibility",
            "",
            "aggregation: {defaultToolVisibility: deny}",
        ),
        case(
            "toolhive config",
            "compositeTools",
            "name: d\ncompositeTools: []\n",
            "name: d\ncompositeTools: [{name: t, description: d, steps: [{id: s, tool: b.t}]}]\n",
        ),
        case(
            "toolhive config",
            "compositeToolRefs",
            format!("name: d\nbackends: []\n---\n{}", definition("")),
            format!(
                "name: d\nbackends: []\ncompositeToolRefs: [{{name: d}}]\n---\n{}",
                definition("")
            ),
        ),
        config(
            "operational.timeouts.default",
            "",
            "operational: {timeouts: {default: 9s}}",
        ),
        config(
            "operational.timeouts.perWorkload",
            "",
            "operational: {timeouts: {perWorkload: {b: 9s}}}",
        ),
        config("operational.logLevel", "", "operational: {logLevel: debug}"),
        config(
            "operational.failureHandling",
            "",
            "operational: {failureHandling: {unhealthyThreshold: 3}}",
        ),
        config("telemetry", "", "telemetry: {endpoint: e}"),
        config("audit", "", "audit: {enabled: true}"),
        config("optimizer", "", "optimizer: {}"),
        config("codeMode", "", "codeMode: {enabled: true}"),
        config("sessionStorage", "", "sessionStorage: {provider: memory}"),
        config("passthroughHeaders", "", "passthroughHeaders: [X-A]"),
        config(
            "rateLimiting",
            "",
            "rateLimiting: {shared: {maxTokens: 1, refillPeriod: 1s}}",
        ),
    ];
    let of_backend = [
        ("backends[].name", url, "name: c, url: \"http://h/mcp\""),
        ("backends[].url", url, "name: b, url: \"http://i/mcp\""),
        (
            "backends[].transport",
            url,
            "name: b, url: \"http://h/mcp\", transport: sse",
        ),
        ("backends[].command", started, "name: b, command: d"),
        ("backends[].args", started, "name: b, command: c, args: [x]"),
        (
            "backends[].env",
            started,
            "name: b, command: c, env: {A: b}",
        ),
        ("backends[].cwd", started, "name: b, command: c, cwd: /x"),
        (
            "backends[].headers",
            url,
            "name: b, url: \"http://h/mcp\", headers: {A: b}",
        ),
        (
            "backends[].session",
            url,
            "name: b, url: \"http://h/mcp\", session: per_client",
        ),
        (
            "backends[].timeout",
            url,
            "name: b, url: \"http://h/mcp\", timeout: 9s",
        ),
        (
            "backends[].max_in_flight",
            url,
            "name: b, url: \"http://h/mcp\", max_in_flight: 3",
        ),
        (
            "backends[].eager",
            url,
            "name: b, url: \"http://h/mcp\", eager: true",
        ),
        (
            "backends[].type",
            url,
            "name: b, url: \"http://h/mcp\", type: entry",
        ),
        (
            "backends[].metadata",
            url,
            "name: b, url: \"http://h/mcp\", metadata: {a: b}",
        ),
        (
            "backends[].caBundlePath",
            url,
            "name: b, url: \"http://h/mcp\", caBundlePath: /ca.crt",
        ),
    ];
    cases.extend(of_backend.map(|(key, without, with)| config(key, without, with)));
    cases
}

fn other_cases() -> Vec<Case> {
    let onecall = |key, with: &str| {
        case(
            "onecall.yaml",
            key,
            "backends: {}\n",
            format!("backends: {{}}\n{with}\n"),
        )
    };
    let composite = "---\nname: d\ncompositeTools: [{name: t, description: d, steps: [{id: s, tool: b.t, arguments: {a: \"x {{.workflow.id}}\"}}]}]\n";
    let templates = |key, with: &str| {
        case(
            "onecall.yaml",
            key,
            format!("backends: {{}}\n{composite}"),
            format!("backends: {{}}\ntemplates: {with}\n{composite}"),
        )
    };
    vec![
        case(
            "onecall.yaml",
            "backends",
            "backends: {}\n",
            "backends: {b: {command: c}}\n",
        ),
        onecall("expose", "expose: workflows"),
        onecall("store", "store: runs.db"),
        onecall("durability", "durability: sync"),
        templates("templates.mode", "{mode: go}"),
        templates("templates.missing", "{missing: go}"),
        onecall("names", "names: {prefix: p_}"),
        onecall("limits", "limits: {steps: 1}"),
        onecall("auth", "auth: {type: oidc}"),
        case(
            "mcp.json",
            "mcpServers",
            "mcpServers: {}\n",
            "mcpServers: {b: {command: c}}\n",
        ),
        case(
            "mcp.json",
            "disabled",
            "mcpServers: {b: {command: c}}\n",
            "mcpServers: {b: {command: c, disabled: true}}\n",
        ),
        of_server("groupRef", "", "groupRef: g"),
        of_server(
            "config",
            "",
            "config: {compositeTools: [{name: t, description: d, steps: [{id: s, tool: e.t}]}]}",
        ),
        of_server("compositeToolRefs", "", "compositeToolRefs: [{name: d}]"),
        of_server("incomingAuth.type", "", "incomingAuth: {type: oidc}"),
        of_server(
            "incomingAuth.authzConfig",
            "",
            "incomingAuth: {type: anonymous, authzConfig: {type: inline}}",
        ),
        of_server(
            "outgoingAuth.default",
            "",
            "outgoingAuth: {default: {type: externalAuthConfigRef, externalAuthConfigRef: {name: a}}}",
        ),
        of_server("authServerConfig", "", "authServerConfig: {issuer: i}"),
        of_server("serviceType", "", "serviceType: NodePort"),
        of_server("replicas", "", "replicas: 2"),
        of_server("podTemplateSpec", "", "podTemplateSpec: {}"),
        of_entry(
            "remoteUrl",
            ENTRY,
            "remoteUrl: \"http://i/mcp\", transport: streamable-http",
        ),
        of_entry(
            "transport",
            ENTRY,
            "remoteUrl: \"http://h/mcp\", transport: sse",
        ),
        of_entry(
            "headerForward.addPlaintextHeaders",
            ENTRY,
            &format!("{ENTRY}, headerForward: {{addPlaintextHeaders: {{A: b}}}}"),
        ),
        of_entry(
            "headerForward.addHeadersFromSecret",
            ENTRY,
            &format!("{ENTRY}, headerForward: {{addHeadersFromSecret: [{{headerName: A}}]}}"),
        ),
        of_entry(
            "externalAuthConfigRef",
            ENTRY,
            &format!("{ENTRY}, externalAuthConfigRef: {{name: a}}"),
        ),
        of_entry(
            "caBundleRef",
            ENTRY,
            &format!("{ENTRY}, caBundleRef: {{name: c}}"),
        ),
        of_mcp_server("toolConfigRef", "", ", toolConfigRef: {name: c}"),
        of_mcp_server("proxyMode", "", ", proxyMode: sse"),
        of_mcp_server("image", "", ", image: i"),
        case(
            "metadata",
            "labels",
            [
                entry(ENTRY),
                definition(""),
                server("groupRef: g, compositeToolRefs: [d]"),
            ]
            .join("---\n"),
            [
                entry(ENTRY),
                definition(", labels: {version: \"2\"}"),
                server("groupRef: g, compositeToolRefs: [d]"),
            ]
            .join("---\n"),
        ),
        case(
            "metadata",
            "namespace",
            [
                entry(ENTRY),
                definition(""),
                server("groupRef: g, compositeToolRefs: [d]"),
            ]
            .join("---\n"),
            [
                entry(ENTRY),
                definition(", namespace: n"),
                server("groupRef: g, compositeToolRefs: [d]"),
            ]
            .join("---\n"),
        ),
    ]
}

#[test]
fn every_key_does_what_the_table_says() {
    let mut cases = composite_cases();
    cases.extend(config_cases());
    cases.extend(other_cases());
    let mut failures = Vec::new();
    for case in &cases {
        let row = KEYS
            .iter()
            .find(|(of, key, _)| *of == case.of && *key == case.key);
        let Some((_, _, effect)) = row else {
            failures.push(format!("{} {} is in no row", case.of, case.key));
            continue;
        };
        let (without, with) = (
            load(&[("k.yaml", &case.without)]),
            load(&[("k.yaml", &case.with)]),
        );
        let codes = with.codes();
        let differs = seen(&without) != seen(&with);
        let fits = without.settings.is_some()
            && match effect {
                Effect::Acts => differs && !codes.contains(&"WF605") && !codes.contains(&"WF606"),
                Effect::Refused => codes.contains(&"WF606"),
                Effect::Warned => codes.contains(&"WF605") && with.settings.is_some(),
                Effect::Free => !differs,
            };
        if !fits {
            let (a, b) = (without.report(), with.report());
            failures.push(format!(
                "{} {}: not {}\n{a}\n{b}",
                case.of,
                case.key,
                effect.as_str()
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
    let shown: BTreeSet<(&str, &str)> = cases.iter().map(|case| (case.of, case.key)).collect();
    // The caller follows these paths; `references` is tested below.
    let elsewhere = BTreeSet::from([("onecall.yaml", "workflows")]);
    for (of, key, _) in KEYS {
        assert!(
            shown.contains(&(*of, *key)) || elsewhere.contains(&(*of, *key)),
            "{of} {key}"
        );
    }
}

#[test]
fn paths_of_workflows_are_told_to_the_caller() {
    let mut sources = onecall_source::SourceMap::new();
    let id = sources.add("onecall.yaml", "workflows: [flows/a.yaml, b]\n");
    let paths: Vec<String> = onecall_config::references(&sources, id)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(paths, ["flows/a.yaml", "b"]);
}
