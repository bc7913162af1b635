//! Whole files become settings.

use crate::world::{load, tool};
use onecall_config::settings::{Session, Strategy, Transport};

const MINIMAL: &str = r#"
name: demo
groupRef: default
incomingAuth: {type: anonymous}
outgoingAuth: {source: inline, default: {type: unauthenticated}}
aggregation:
  conflictResolution: prefix
  conflictResolutionConfig: {prefixFormat: "{workload}_"}
backends:
  - {name: gh, url: "http://127.0.0.1:9001/mcp", transport: streamable-http}
  - {name: local, command: demo, args: [serve], env: {T: "${TOKEN}"}, cwd: work}
compositeTools:
  - name: hello
    description: says hello
    parameters: {type: object, properties: {who: {type: string, default: you}}}
    steps:
      - id: s1
        tool: gh.echo
        arguments: {input: "{{.params.who}}", nested: {list: [1, "{{ .workflow.id }}"]}}
"#;

#[test]
fn the_minimal_file_of_the_reference_is_read() {
    let settings = load(&[("dir/demo.yaml", MINIMAL)]).sound();
    let [server] = settings.servers.as_slice() else {
        panic!("one server")
    };
    assert_eq!(server.name, "demo");
    assert_eq!(server.workflows.len(), 1);
    assert_eq!(
        server.aggregation.strategy,
        Strategy::Prefix {
            format: "{workload}_".to_owned()
        }
    );
    assert_eq!(
        server.backends[1].transport,
        Transport::Stdio {
            command: "demo".to_owned(),
            args: vec!["serve".to_owned()],
            env: vec![("T".to_owned(), "secret".to_owned())],
            cwd: Some("dir/work".to_owned()),
        }
    );
}

#[test]
fn faults_are_all_reported_at_once() {
    let steps = r#"
  - id: first
    tool: gh.get
    arguments: {x: "{{.params.b}}"}
  - id: second
    tool: gh.put
    condition: "{{.params.flag}}"
    dependsOn: [frist]
  - id: third
    tool: gh.put
    arguments: {x: "{{.steps.second.output.value}}"}
"#;
    let outcome = load(&[("demo.yaml", &tool(steps))]);
    assert_eq!(outcome.codes(), ["WF202", "WF101", "WF106"]);
}

#[test]
fn a_connection_for_each_client_is_asked_for_in_both_spellings() {
    let of = |session: &str| {
        let text = MINIMAL.replace("cwd: work", &format!("cwd: work, session: {session}"));
        let settings = load(&[("dir/demo.yaml", &text)]).sound();
        settings.servers[0].backends[1].session
    };
    let read = ["shared", "per_client", "per-client"].map(of);
    assert_eq!(
        read,
        [Session::Shared, Session::PerClient, Session::PerClient]
    );
}

#[test]
fn no_principal_of_the_list_has_a_name_that_an_identity_provider_gives() {
    let codes = |principal: &str| {
        let text = format!(
            "backends: {{}}\nauth: {{tokens: [{{principal: \"{principal}\", token_file: t}}]}}\n"
        );
        load(&[("onecall.yaml", &text)]).codes()
    };
    assert!(codes("ada").is_empty());
    for unfit in ["", "a\\nb", "https://idp.example.com|ada"] {
        assert_eq!(codes(unfit), ["WF620"], "{unfit}");
    }
}

#[test]
fn variables_with_a_default_are_filled_in_everywhere_under_servers() {
    let file = "servers:\n  s: {command: [\"${GONE:-prog}\", \"${GONE:-a b}\", \"${TOKEN:-none}\"], env: {E: \"${GONE:-}\"}}\ncompositions:\n- name: c\n  nodes: [{id: n, tool: t}]\n";
    let outcome = load(&[("suite.yaml", file)]);
    // Notices about child processes and about mcptest, and nothing about variables.
    assert_eq!(outcome.codes(), ["WF618", "WF504"]);
    let settings = outcome.settings.expect("the suite is sound");
    let Transport::Stdio { command, args, .. } = &settings.servers[0].backends[0].transport else {
        panic!("the server is a program");
    };
    assert_eq!(command, "prog");
    assert_eq!(args[0], "a b");
}
