//! Kubernetes resources from files: servers, definitions, members of groups, and their status.

use crate::world::{load, status_of};
use onecall_config::settings::Transport;
use serde_json::json;

const SERVER: &str = r#"
apiVersion: toolhive.stacklok.dev/v1alpha1
kind: VirtualMCPServer
metadata: {name: production-vmcp, namespace: prod}
spec:
  config:
    groupRef: backends
  compositeToolRefs:
    - name: deploy-app
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServerEntry
metadata: {name: kubectl, namespace: prod}
spec:
  groupRef: backends
  remoteUrl: http://127.0.0.1:9001/sse
  transport: sse
  headerForward: {addPlaintextHeaders: {X-Team: "${TOKEN}"}}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServer
metadata: {name: slack, namespace: prod}
spec: {groupRef: {name: backends}, image: slack, transport: stdio, proxyMode: streamable-http, toolConfigRef: {name: few}}
status: {url: "http://127.0.0.1:9002/mcp", phase: Running}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPServer
metadata: {name: other, namespace: elsewhere}
spec: {groupRef: {name: backends}, image: other}
status: {url: "http://127.0.0.1:9003/mcp"}
---
apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPToolConfig
metadata: {name: few, namespace: prod}
spec: {toolsFilter: [send], toolsOverride: {send: {name: post}}}
"#;

fn definition(steps: &str) -> String {
    format!(
        "apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: VirtualMCPCompositeToolDefinition\nmetadata:\n  name: deploy-app\n  namespace: prod\n  generation: 3\n  labels: {{app.kubernetes.io/version: 1.2.0}}\nspec:\n  name: deploy_app\n  description: deploys\n  steps:\n{steps}"
    )
}

const SOUND: &str = "  - {id: apply, tool: kubectl.apply}\n";

#[test]
fn a_server_takes_members_of_its_group_and_definitions_it_names() {
    let settings = load(&[("server.yaml", SERVER), ("def.yaml", &definition(SOUND))]).sound();
    let [server] = settings.servers.as_slice() else {
        panic!("one server")
    };
    assert_eq!(server.name, "production-vmcp");
    let names: Vec<&str> = server
        .backends
        .iter()
        .map(|own| own.name.as_str())
        .collect();
    assert_eq!(names, ["kubectl", "slack"]);
    assert_eq!(
        server.backends[0].transport,
        Transport::Sse {
            url: "http://127.0.0.1:9001/sse".to_owned(),
            headers: vec![("X-Team".to_owned(), "secret".to_owned())],
        }
    );
    let [workflow] = server.workflows.as_slice() else {
        panic!("one workflow")
    };
    assert_eq!(workflow.name, "deploy_app");
    assert_eq!(workflow.version.as_deref(), Some("1.2.0"));
    let [rule] = server.aggregation.rules.as_slice() else {
        panic!("one rule")
    };
    assert_eq!(rule.filter, Some(vec!["send".to_owned()]));
    assert_eq!(rule.overrides["send"].name.as_deref(), Some("post"));
}

#[test]
fn several_servers_stay_apart() {
    let second = SERVER.replace("production-vmcp", "staging-vmcp");
    let second = second.split("---").next().unwrap();
    let files = [
        ("a.yaml", SERVER),
        ("b.yaml", second),
        ("c.yaml", &definition(SOUND)),
    ];
    let settings = load(&files).sound();
    assert_eq!(settings.servers.len(), 2);
    assert_eq!(settings.servers[1].workflows.len(), 1);
}

#[test]
fn a_list_as_the_cluster_prints_it_is_read() {
    let indented = definition(SOUND).replace('\n', "\n  ");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        indented.trim_end()
    );
    let settings = load(&[("list.yaml", &list)]).settings.unwrap();
    assert_eq!(settings.unpublished.len(), 1);
}

#[test]
fn loose_backends_serve_a_group_without_members() {
    let server = SERVER.split("---").next().unwrap();
    let mcp = r#"{"mcpServers": {"kubectl": {"command": "kubectl-mcp"}}}"#;
    let files = [
        ("s.yaml", server),
        ("mcp.json", mcp),
        ("d.yaml", &definition(SOUND)),
    ];
    let settings = load(&files).sound();
    assert_eq!(settings.servers.len(), 1);
    assert_eq!(settings.servers[0].backends.len(), 1);
}

#[test]
fn the_status_of_a_sound_definition_is_that_of_the_guide() {
    let status = status_of(&[("server.yaml", SERVER), ("def.yaml", &definition(SOUND))]);
    assert_eq!(
        status,
        json!({
            "validationStatus": "Valid",
            "observedGeneration": 3,
            "referencingVirtualServers": ["production-vmcp"],
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "WorkflowReady",
                 "message": "Workflow is valid and ready to use",
                 "lastTransitionTime": "2024-01-15T10:00:00Z"},
                {"type": "WorkflowValidated", "status": "True", "reason": "ValidationSuccess",
                 "message": "All validation checks passed",
                 "lastTransitionTime": "2024-01-15T10:00:00Z"},
            ],
        })
    );
}

#[test]
fn the_status_of_a_faulty_definition_is_that_of_the_guide() {
    let steps = "  - {id: first, tool: kubectl.apply}\n  - {id: second, tool: kubectl.apply, dependsOn: [nonexistent]}\n  - {id: third, tool: \"not a tool\"}\n";
    let status = status_of(&[("server.yaml", SERVER), ("def.yaml", &definition(steps))]);
    assert_eq!(status["validationStatus"], "Invalid");
    assert_eq!(
        status["validationErrors"],
        json!([
            "spec.steps[1].dependsOn references unknown step \"nonexistent\"",
            "spec.steps[2].tool must be in format 'workload.tool_name'",
        ])
    );
    assert_eq!(
        status["conditions"][0]["message"],
        "Workflow has validation errors"
    );
    assert_eq!(status["conditions"][1]["reason"], "ValidationFailed");
    assert_eq!(
        status["conditions"][1]["message"],
        "Validation failed with 2 errors"
    );
}

#[test]
fn protection_that_cannot_be_enforced_refuses_a_server() {
    let server = SERVER.replace(
        "  config:",
        "  incomingAuth: {type: oidc, oidcConfigRef: {name: x}}\n  config:",
    );
    let outcome = load(&[("server.yaml", &server), ("def.yaml", &definition(SOUND))]);
    assert!(outcome.settings.is_none());
    assert_eq!(outcome.faults(), ["WF606", "WF606"], "{}", outcome.report());
}

#[test]
fn a_loose_backend_says_how_a_member_is_reached_from_here() {
    let server = SERVER.replace(
        "status: {url: \"http://127.0.0.1:9002/mcp\", phase: Running}",
        "",
    );
    let bare = load(&[("s.yaml", &server), ("d.yaml", &definition(SOUND))]);
    assert_eq!(bare.faults(), ["WF609"], "{}", bare.report());
    assert!(bare.report().contains("--backend slack=URL"));
    let flag = r#"{"backends": {"slack": {"command": "slack-mcp"}}}"#;
    let files = [
        ("s.yaml", server.as_str()),
        ("d.yaml", &definition(SOUND)),
        ("--backend slack", flag),
    ];
    let settings = load(&files).sound();
    let [server] = settings.servers.as_slice() else {
        panic!("one server")
    };
    let stdio =
        |own: &Transport| matches!(own, Transport::Stdio { command, .. } if command == "slack-mcp");
    assert_eq!(server.backends.len(), 2);
    assert!(
        stdio(&server.backends[1].transport),
        "{:?}",
        server.backends
    );
    assert_eq!(
        server.aggregation.rules.len(),
        1,
        "its tool configuration still holds"
    );
}

#[test]
fn a_server_without_backends_shows_the_flags_to_give() {
    let server = SERVER.split("---").next().unwrap();
    let outcome = load(&[("s.yaml", server), ("d.yaml", &definition(SOUND))]);
    assert_eq!(outcome.codes(), ["WF609"]);
    assert!(
        outcome.report().contains("give `--backend kubectl=URL`"),
        "{}",
        outcome.report()
    );
}

#[test]
fn what_no_member_can_be_called_with_is_told_before_the_start() {
    let entry = |url: &str, header: &str| {
        let text = SERVER.replace("http://127.0.0.1:9001/sse", url);
        let text = text.replace("X-Team: \"${TOKEN}\"", header);
        load(&[("s.yaml", &text), ("d.yaml", &definition(SOUND))])
    };
    let (url, header) = ("http://127.0.0.1:9001/sse", "X-Team: t");
    entry(url, header).sound();
    for (url, header, code) in [
        (url, "bad header: t", "WF615"),
        (url, "Content-Length: t", "WF615"),
        (url, "X-Team: \"a\\nb\"", "WF615"),
        ("ftp://h/sse", header, "WF604"),
        ("http://exa mple/sse", header, "WF604"),
        ("http://me:secret@h/sse", header, "WF604"),
    ] {
        let outcome = entry(url, header);
        assert_eq!(
            outcome.faults(),
            [code],
            "{url} {header}\n{}",
            outcome.report()
        );
    }
    let status = SERVER.replace("http://127.0.0.1:9002/mcp", "http://exa mple/mcp");
    let outcome = load(&[("s.yaml", &status), ("d.yaml", &definition(SOUND))]);
    assert_eq!(outcome.faults(), ["WF604"], "{}", outcome.report());

    let proxy = |status: &str| {
        let text = format!(
            "---\napiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPRemoteProxy\nmetadata: {{name: p, namespace: prod}}\nspec: {{groupRef: backends, remoteUrl: \"h/mcp\"}}\n{status}"
        );
        let text = format!("{SERVER}{text}");
        load(&[("s.yaml", &text), ("d.yaml", &definition(SOUND))]).faults()
    };
    assert_eq!(proxy(""), ["WF604"]);
    let reached = proxy("status: {url: \"http://127.0.0.1:9004/mcp\"}\n");
    assert_eq!(reached, [""; 0], "it is called by the cluster's own");
}

#[test]
fn a_configuration_file_takes_members_of_its_group() {
    let config = "name: demo\ngroupRef: backends\ncompositeTools: []\n";
    let entry = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {name: e}\nspec: {groupRef: backends, remoteUrl: \"http://h/mcp\", transport: sse, toolConfigRef: few}\n";
    let tools = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPToolConfig\nmetadata: {name: few}\nspec: {toolsFilter: [send]}\n";
    let settings = load(&[("c.yaml", config), ("e.yaml", entry), ("t.yaml", tools)]).sound();
    let [server] = settings.servers.as_slice() else {
        panic!("one server")
    };
    assert_eq!(server.name, "demo");
    assert_eq!(server.backends[0].name, "e");
    assert_eq!(server.aggregation.rules.len(), 1);
}

#[test]
fn a_tool_configuration_of_another_namespace_is_not_taken() {
    let elsewhere = SERVER.replace(
        "{name: few, namespace: prod}",
        "{name: few, namespace: dev}",
    );
    let outcome = load(&[("s.yaml", &elsewhere), ("d.yaml", &definition(SOUND))]);
    assert_eq!(outcome.faults(), ["WF607"], "{}", outcome.report());
}

#[test]
fn servers_of_one_name_in_two_namespaces_are_refused() {
    let server = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: v, namespace: NS}\nspec: {config: {backends: [{name: b, url: \"http://h/mcp\"}]}}\n";
    let (one, two) = (server.replace("NS", "a"), server.replace("NS", "b"));
    let outcome = load(&[("one.yaml", &one), ("two.yaml", &two)]);
    assert_eq!(outcome.codes(), ["WF610"], "{}", outcome.report());
}

#[test]
fn protection_of_the_cluster_holds_only_for_calls_through_it() {
    let proxy = |rest: &str| {
        format!(
            "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPRemoteProxy\nmetadata: {{name: p}}\nspec: {{remoteUrl: \"http://h/mcp\", authzConfig: {{type: inline}}}}\n{rest}"
        )
    };
    let through = load(&[("p.yaml", &proxy("status: {url: \"http://proxy/mcp\"}\n"))]);
    assert!(through.faults().is_empty(), "{}", through.report());
    let past = load(&[("p.yaml", &proxy(""))]);
    assert_eq!(past.faults(), ["WF606"], "{}", past.report());
}

#[test]
fn a_server_says_what_its_backends_are_called_with() {
    let file = |outgoing: &str| {
        format!(
            "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {{name: v}}\nspec: {{groupRef: g, outgoingAuth: {{{outgoing}}}}}\n---\n\
             apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {{name: e}}\nspec: {{groupRef: g, remoteUrl: \"http://h/mcp\", transport: sse, externalAuthConfigRef: own}}\n---\n\
             apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata: {{name: own}}\nspec: {{type: headerInjection, headerInjection: {{headerName: X, headerValue: own}}}}\n---\n\
             apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata: {{name: given}}\nspec: {{type: headerInjection, headerInjection: {{headerName: X, headerValue: given}}}}\n"
        )
    };
    let given = "{type: externalAuthConfigRef, externalAuthConfigRef: {name: given}}";
    for (outgoing, wanted) in [
        (String::new(), "own"),
        (format!("default: {given}"), "own"),
        (format!("source: inline, default: {given}"), "given"),
        (format!("backends: {{e: {given}}}"), "given"),
        (
            format!("source: inline, default: {given}, backends: {{e: {{type: discovered}}}}"),
            "own",
        ),
    ] {
        let settings = load(&[("v.yaml", &file(&outgoing))]).sound();
        let Transport::Sse { headers, .. } = &settings.servers[0].backends[0].transport else {
            panic!("an entry is reached by its URL")
        };
        assert_eq!(
            headers,
            &[("X".to_owned(), wanted.to_owned())],
            "{outgoing}"
        );
    }
}

#[test]
fn what_backends_are_called_with_names_backends() {
    let server = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: v}\n\
        spec: {groupRef: g, outgoingAuth: {backends: {githb: {type: discovered}}}}\n---\n\
        apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {name: github}\n\
        spec: {groupRef: g, remoteUrl: \"http://h/mcp\", transport: sse}\n";
    let outcome = load(&[("v.yaml", server)]);
    assert_eq!(outcome.faults(), ["WF612"], "{}", outcome.report());
    let help = "a backend named `github` exists";
    assert!(outcome.report().contains(help), "{}", outcome.report());
    let right = server.replace("githb", "github");
    assert!(load(&[("v.yaml", &right)]).faults().is_empty());
}

fn group(name: &str, namespace: &str) -> String {
    format!(
        "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
    )
}

#[test]
fn a_group_that_no_file_defines_is_told() {
    let told = |groups: &[String]| {
        let groups = groups.join("---\n");
        let outcome = load(&[("server.yaml", SERVER), ("groups.yaml", &groups)]);
        let diagnostics = outcome.diagnostics.iter();
        let of_groups = diagnostics.filter(|own| own.message.contains("MCPGroup"));
        of_groups
            .map(|own| format!("{} {}", own.code.as_str(), own.message))
            .collect::<Vec<_>>()
    };
    // Without any group, a server and its member define theirs by naming it.
    assert_eq!(told(&[]), [""; 0]);
    assert_eq!(
        told(&[group("backends", "elsewhere"), group("backends", "prod")]),
        [""; 0]
    );
    let near = told(&[group("backend", "prod"), group("backends", "elsewhere")]);
    assert_eq!(
        near,
        [
            "WF607 no MCPGroup is named `backends` in namespace `prod`; one is in namespace `elsewhere`"
        ]
    );
    let near = told(&[group("backend", "prod")]);
    let prod = "WF622 no file defines MCPGroup `backends` of namespace `prod`";
    assert_eq!(near, [prod]);
}

#[test]
fn a_definition_of_another_namespace_is_told_as_one() {
    let elsewhere = definition(SOUND).replace("namespace: prod", "namespace: staging");
    let outcome = load(&[("server.yaml", SERVER), ("def.yaml", &elsewhere)]);
    let report = outcome.report();
    let message = "no VirtualMCPCompositeToolDefinition is named `deploy-app` in namespace `prod`; one is in namespace `staging`";
    assert!(report.contains(message), "{report}");
}

#[test]
fn a_server_without_backends_names_every_flag_it_needs() {
    let steps: Vec<String> = (0..8)
        .map(|at| format!("  - {{id: s{at}, tool: b{at}.get}}\n"))
        .collect();
    let steps = steps.concat();
    let server = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: v, namespace: prod}\nspec: {groupRef: {name: g}, compositeToolRefs: [{name: deploy-app}]}\n";
    let report = load(&[("server.yaml", server), ("def.yaml", &definition(&steps))]).report();
    for at in 0..8 {
        let flag = format!("`--backend b{at}=URL`");
        assert!(report.contains(&flag), "{report}");
    }
}
