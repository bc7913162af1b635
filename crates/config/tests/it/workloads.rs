//! What a ToolHive configuration says of backends by their names, wherever they come from.

use crate::world::load;
use onecall_config::settings::Transport;

const MEMBER: &str = "---\napiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPServerEntry\nmetadata: {name: github}\nspec: {groupRef: g, remoteUrl: \"http://h/mcp\", transport: streamable-http}\n";

#[test]
fn what_is_said_of_backends_acts_on_the_members_of_a_group() {
    let own = "operational: {timeouts: {default: 9s, perWorkload: {github: 7s}}}\noutgoingAuth: {source: inline, backends: {github: {type: header_injection, headerInjection: {headerName: X, headerValue: v}}}}\n";
    let config = format!("name: d\ngroupRef: g\ncompositeTools: []\n{own}{MEMBER}");
    let spec = own.replace('\n', ", ");
    let resource = format!(
        "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {{name: v}}\nspec: {{groupRef: g, config: {{{}}}}}\n{MEMBER}",
        spec.trim_end_matches(", ")
    );
    for file in [config, resource] {
        let settings = load(&[("d.yaml", &file)]).sound();
        let [backend] = settings.servers[0].backends.as_slice() else {
            panic!("one backend")
        };
        assert_eq!(backend.timeout, Some(std::time::Duration::from_secs(7)));
        let Transport::StreamableHttp { headers, .. } = &backend.transport else {
            panic!("{:?}", backend.transport)
        };
        assert_eq!(headers, &[("X".to_owned(), "v".to_owned())]);
        // Values that may be secret are not shown.
        assert!(format!("{settings:?}").contains("headers: [\"X\"]"));
    }
}

/// Each backend with its time-out in seconds, what it is called with, and when it counts as dead.
#[track_caller]
fn called(files: &[(&str, &str)]) -> Vec<String> {
    let settings = load(files).sound();
    let backends = settings.servers[0].backends.iter();
    let mut called: Vec<String> = backends
        .map(|own| {
            let headers = match &own.transport {
                Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. } => {
                    headers.clone()
                }
                Transport::Stdio { .. } => Vec::new(),
            };
            let seconds = own.timeout.map(|timeout| timeout.as_secs());
            let (name, doubts) = (&own.name, own.health.failures_max);
            format!("{name} {seconds:?} {headers:?} {doubts:?}")
        })
        .collect();
    called.sort();
    called
}

#[test]
fn what_is_said_of_backends_acts_on_those_of_other_files_and_flags() {
    let header = |value: &str| {
        format!(
            "{{type: header_injection, headerInjection: {{headerName: X, headerValue: {value}}}}}"
        )
    };
    let said = format!(
        "outgoingAuth: {{default: {}, backends: {{h: {}}}}}\noperational: {{timeouts: {{default: 9s, perWorkload: {{loc: 1s}}}}, failureHandling: {{circuitBreaker: {{enabled: true, failureThreshold: 7}}}}}}\n",
        header("all"),
        header("own")
    );
    let config = format!("name: d\ngroupRef: g\ncompositeTools: []\n{said}");
    let spec = said.trim_end().replace('\n', ", ");
    let resource = format!(
        "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {{name: v}}\nspec: {{groupRef: g, config: {{{spec}}}}}\n"
    );
    let desktop = r#"{"mcpServers": {"h": {"url": "http://h/mcp"}, "i": {"url": "http://i/mcp"}, "loc": {"command": "c"}}}"#;
    // As `--backend` is read.
    let flags = r#"{"backends": {"h": {"url": "http://h/mcp"}, "i": {"url": "http://i/mcp"}, "loc": {"command": "c"}}}"#;
    let all = [
        r#"h Some(9) [("X", "own")] Some(7)"#,
        r#"i Some(9) [("X", "all")] Some(7)"#,
        "loc Some(1) [] Some(7)",
    ];
    for own in [("d.yaml", config.as_str()), ("d.yaml", &resource)] {
        for others in [("mcp.json", desktop), ("--backend h", flags)] {
            assert_eq!(called(&[own, others]), all, "{own:?}");
            assert_eq!(called(&[others, own]), all, "{own:?}");
        }
    }
    // Where the configuration has backends of its own, others are none of its group: they must be named.
    let config = config.replace(
        "groupRef: g",
        "backends: [{name: b, url: \"http://b/mcp\"}]",
    );
    let named = [
        r#"b Some(9) [("X", "all")] Some(7)"#,
        r#"h None [("X", "own")] None"#,
        "i None [] None",
        "loc Some(1) [] None",
    ];
    assert_eq!(called(&[("d.yaml", &config), ("mcp.json", desktop)]), named);
}

#[test]
fn a_time_out_of_zero_is_the_default() {
    let file = |timeouts: &str| {
        format!(
            "name: d\nbackends: [{{name: b, url: \"http://b/mcp\"}}]\ncompositeTools: []\noperational: {{timeouts: {{{timeouts}}}}}\n"
        )
    };
    for (timeouts, wanted) in [
        ("perWorkload: {b: 0s}", "b None [] None"),
        ("default: 9s, perWorkload: {b: 0s}", "b Some(9) [] None"),
        ("default: 0s, perWorkload: {b: 7s}", "b Some(7) [] None"),
    ] {
        assert_eq!(
            called(&[("d.yaml", &file(timeouts))]),
            [wanted],
            "{timeouts}"
        );
    }
}

#[test]
fn credentials_that_name_a_program_are_refused() {
    let config = |outgoing: &str| {
        format!(
            "name: d\nbackends: [{{name: loc, command: c}}]\ncompositeTools: []\noutgoingAuth: {{{outgoing}}}\n"
        )
    };
    let header = "{type: header_injection, headerInjection: {headerName: X, headerValue: v}}";
    let exchange = "{type: token_exchange, tokenExchange: {tokenUrl: \"https://t/\"}}";
    for (way, word) in [(header, "header_injection"), (exchange, "token_exchange")] {
        let outcome = load(&[("d.yaml", &config(&format!("backends: {{loc: {way}}}")))]);
        assert_eq!(outcome.codes(), ["WF604"], "{}", outcome.report());
        let told = format!("`loc` is started as a program, and `{word}` goes with a `url`");
        assert!(outcome.report().contains(&told), "{}", outcome.report());
        // What is said of all passes over it.
        load(&[("d.yaml", &config(&format!("default: {way}")))]).sound();
    }
    let none = "backends: {loc: {type: unauthenticated}}";
    load(&[("d.yaml", &config(none))]).sound();
    let server = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: v}\nspec: {groupRef: g, outgoingAuth: {backends: {loc: {type: externalAuthConfigRef, externalAuthConfigRef: {name: a}}}}}\n---\napiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPExternalAuthConfig\nmetadata: {name: a}\nspec: {type: headerInjection, headerInjection: {headerName: X, headerValue: v}}\n";
    let desktop = r#"{"mcpServers": {"loc": {"command": "c"}}}"#;
    let outcome = load(&[("v.yaml", server), ("mcp.json", desktop)]);
    assert_eq!(outcome.faults(), ["WF604"], "{}", outcome.report());
}
