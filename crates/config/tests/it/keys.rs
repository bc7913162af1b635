//! Every row of the key table: a file with the key differs from one without it in the way the table says.

use crate::world::{Outcome, load, statuses_of};
use onecall_config::key_table::{Effect, Shape, part, parts};
use onecall_config::settings::{TokenServer, Transport};
use onecall_source::Severity;
use std::collections::BTreeSet;
use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};

/// What can be seen of an outcome, without places.
fn seen(outcome: &Outcome, file: &str) -> String {
    let mut text = outcome.codes().join(",");
    for status in statuses_of(&[("k.yaml", file)]) {
        text.push_str(&status.to_string());
    }
    let Some(settings) = &outcome.settings else {
        return text;
    };
    let _ = write!(text, "{:?}{:?}", settings.store, settings.durability);
    let _ = write!(text, "{:?}{:?}", settings.limits, settings.reach);
    let _ = write!(text, "{:?}", settings.questions);
    for workflow in &settings.compositions {
        text.push_str(&onecall_workflow::print::print(workflow));
    }
    for tests in &settings.tests {
        let parts = [&tests.expect, &tests.cases, &tests.tags, &tests.eval];
        let suite = [&tests.providers, &tests.judge];
        let suite = suite.map(|part| part.as_ref().map(onecall_source::Node::to_json));
        let _ = write!(text, "{suite:?}{:?}{:?}", tests.freeze, tests.cassettes);
        let parts = parts.map(|part| part.as_ref().map(onecall_source::Node::to_json));
        let _ = write!(text, "{parts:?}");
    }
    for server in &settings.servers {
        let _ = write!(
            text,
            "{}{:?}{:?}{:?}{:?}",
            server.name, server.expose, server.aggregation, server.names, server.questions
        );
        let mut access = server.access.clone();
        if let Some(oidc) = access.as_mut().and_then(|access| access.oidc.as_mut()) {
            oidc.place = onecall_source::Place::path("", "");
        }
        let _ = write!(text, "{access:?}");
        for backend in &server.backends {
            let _ = write!(
                text,
                "{}{:?}{:?}{:?}{:?}{:?}{}{}{:?}{:?}",
                backend.name,
                sent(&backend.transport),
                backend.timeout,
                backend.connect_timeout,
                backend.max_in_flight,
                backend.session,
                backend.eager,
                backend.accepts_unusable_schemas,
                backend.tokens.as_ref().map(granted),
                backend.health
            );
        }
        for workflow in &server.workflows {
            text.push_str(&onecall_workflow::print::print(workflow));
        }
    }
    text
}

/// A transport with what its own text leaves out.
fn sent(transport: &Transport) -> impl Debug {
    let text = format!("{transport:?}");
    match transport {
        Transport::Stdio { env, cwd, .. } => (text, env.clone(), cwd.clone()),
        Transport::StreamableHttp { headers, .. } | Transport::Sse { headers, .. } => {
            (text, headers.clone(), None)
        }
    }
}

/// A token server with what its own text leaves out.
fn granted(server: &TokenServer) -> impl Debug {
    let subject = server.exchange.clone();
    let subject = subject.map(|subject| (subject.token, subject.kind));
    let own = server.clone();
    (
        (own.url, own.client_id, own.client_secret, own.scopes),
        (own.audience, own.resource, subject),
    )
}

/// A row with a file without the key and one with it.
struct Case {
    of: String,
    key: String,
    without: String,
    with: String,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../../../tests/cases/keys.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<String> = row
            .split('\t')
            .map(|cell| cell.replace("\\n", "\n"))
            .collect();
        let [of, key, without, with] = cells.as_slice() else {
            panic!("four cells: {row}")
        };
        Case {
            of: of.clone(),
            key: key.clone(),
            without: file(of, key, without),
            with: file(of, key, with),
        }
    })
    .collect()
}

const TOOLHIVE: &str = "apiVersion: toolhive.stacklok.dev/v1beta1\n";
const ENTRY: &str = "remoteUrl: \"http://h/mcp\", transport: streamable-http";

const AUTH: &str = "type: headerInjection, headerInjection: {headerName: X, headerValue: v}";

/// The file around the part that a cell gives.
fn file(of: &str, key: &str, own: &str) -> String {
    if let Some(whole) = own.strip_prefix('=') {
        return whole.to_owned();
    }
    let tool = "name: d\ncompositeTools:\n- name: t\n  description: d\n";
    match of {
        "composite tool" => composite_tool(key, own),
        "step" | "any step" | "onError" | "onDecline and onCancel" | "step of a loop" => format!(
            "{tool}  parameters: {{type: object, properties: {{f: {{type: boolean}}}}}}\n  steps:\n  - {{id: first, tool: b.t}}\n  - {{{own}}}\n"
        ),
        "output" | "output property" => {
            format!("{tool}  steps: [{{id: s, tool: b.t}}]\n  output: {{{own}}}\n")
        }
        "annotations" => {
            format!("{tool}  steps: [{{id: s, tool: b.t}}]\n  annotations: {{{own}}}\n")
        }
        "backend" | "any backend" => format!("name: d\nbackends:\n- {{{own}}}\n"),
        "onecall.yaml"
        | "templates"
        | "names"
        | "limits"
        | "questions"
        | "server"
        | "backend of onecall.yaml"
        | "auth of a backend"
        | "auth"
        | "token of a caller"
        | "oidc"
        | "mcp.json"
        | "server of mcp.json"
        | "workflow file"
        | "annotations of a workflow file"
        | "time-out of a workflow file"
        | "budget of a workflow file"
        | "step of a workflow file"
        | "body of a loop"
        | "any step of a workflow file"
        | "retry of a workflow file"
        | "budget of a call"
        | "expression of a workflow file"
        | "output of a workflow file" => own.to_owned(),
        "ToolHive configuration"
        | "incomingAuth"
        | "oidc of incomingAuth"
        | "outgoingAuth"
        | "strategy"
        | "headerInjection"
        | "tokenExchange"
        | "aggregation"
        | "conflictResolutionConfig"
        | "rule for tools"
        | "override"
        | "operational"
        | "failureHandling"
        | "circuitBreaker"
        | "timeouts" => config(key, own),
        _ => resources(of, key, own).join("---\n"),
    }
}

/// The resources around the part that a cell gives.
fn resources(of: &str, key: &str, own: &str) -> Vec<String> {
    let auth = |spec: &str| resource("MCPExternalAuthConfig", "name: a", spec);
    let tools = |spec: &str| resource("MCPToolConfig", "name: c", spec);
    let grouped = || server("groupRef: g");
    match of {
        "metadata" => vec![
            entry(ENTRY),
            definition(own),
            server("groupRef: g, compositeToolRefs: [d]"),
        ],
        "VirtualMCPServer"
        | "incomingAuth of a server"
        | "outgoingAuth of a server"
        | "strategy of a server" => {
            let group = if key == "groupRef" {
                ""
            } else {
                "groupRef: g, "
            };
            let other = resource("MCPExternalAuthConfig", "name: b", &AUTH.replace('X', "Y"));
            let parts = [entry(ENTRY), definition(""), auth(AUTH), other];
            let server = server(&format!("{group}{own}"));
            parts.into_iter().chain([server]).collect()
        }
        "MCPGroup" => vec![
            resource("MCPGroup", "name: g", own),
            entry(ENTRY),
            grouped(),
        ],
        "MCPServerEntry" | "headerForward" | "any member of a group" => {
            let own = if key == "groupRef" {
                own.to_owned()
            } else {
                format!("groupRef: g, {own}")
            };
            let entry = resource("MCPServerEntry", "name: e", &own);
            vec![entry, auth(AUTH), tools("toolsFilter: [x]"), grouped()]
        }
        "MCPRemoteProxy" | "what a cluster runs" => {
            let own = format!("groupRef: g, {own}");
            vec![resource("MCPRemoteProxy", "name: e", &own), grouped()]
        }
        "MCPServer" => {
            let own = resource("MCPServer", "name: m", &format!("groupRef: g{own}"));
            vec![
                format!("{own}status: {{url: \"http://h/mcp\"}}\n"),
                grouped(),
            ]
        }
        "status" => {
            let server = resource("MCPServer", "name: m", "groupRef: g");
            vec![format!("{server}status: {{{own}}}\n"), grouped()]
        }
        "MCPToolConfig" => {
            vec![
                entry(&format!("{ENTRY}, toolConfigRef: c")),
                tools(own),
                grouped(),
            ]
        }
        "MCPExternalAuthConfig" | "headerInjection of a resource" => {
            vec![
                entry(&format!("{ENTRY}, externalAuthConfigRef: a")),
                auth(own),
                grouped(),
            ]
        }
        other => panic!("no file is known for `{other}`"),
    }
}

fn composite_tool(key: &str, own: &str) -> String {
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
}

fn config(key: &str, own: &str) -> String {
    let name = if own.starts_with("name:") {
        ""
    } else {
        "name: d\n"
    };
    let backends = match key {
        "groupRef" => "",
        _ => "backends: [{name: b, url: \"http://h/mcp\"}]\n",
    };
    let callers = if own.contains("token_exchange") {
        "incomingAuth: {type: oidc, oidc: {issuer: \"https://i\", audience: a}}\n"
    } else {
        ""
    };
    let tools = resource("MCPToolConfig", "name: c", "toolsFilter: [x]");
    format!("{name}compositeTools: []\n{backends}{callers}{own}\n---\n{tools}")
}

fn resource(kind: &str, metadata: &str, spec: &str) -> String {
    format!("{TOOLHIVE}kind: {kind}\nmetadata: {{{metadata}}}\nspec: {{{spec}}}\n")
}

fn entry(spec: &str) -> String {
    resource("MCPServerEntry", "name: e", &format!("groupRef: g, {spec}"))
}

fn server(spec: &str) -> String {
    resource("VirtualMCPServer", "name: v", spec)
}

fn definition(metadata: &str) -> String {
    let spec = "name: d, description: d, steps: [{id: s, tool: e.t}]";
    let kind = "VirtualMCPCompositeToolDefinition";
    resource(kind, &format!("name: d{metadata}"), spec)
}

/// What is not as the table says.
fn fault(case: &Case) -> Option<String> {
    let keys = part(&case.of)?.keys;
    let effect = keys.iter().find(|key| key.name == case.key)?.effect;
    let (without, with) = (
        load(&[("k.yaml", &case.without)]),
        load(&[("k.yaml", &case.with)]),
    );
    let says = |code: &str, severity: Severity| {
        with.diagnostics.iter().any(|found| {
            found.code.as_str() == code
                && found.severity == severity
                && (found.message.contains(&case.key) || severity == Severity::Error)
        })
    };
    let differs = seen(&without, &case.without) != seen(&with, &case.with);
    let is_idle = says("WF605", Severity::Warning) || says("WF605", Severity::Note);
    let fits = without.settings.is_some()
        && match effect {
            Effect::Acts => differs && !is_idle && !says("WF606", Severity::Error),
            Effect::Refused => says("WF606", Severity::Error),
            Effect::Warned => says("WF605", Severity::Warning) && with.settings.is_some(),
            Effect::Noted => {
                let told = says("WF605", Severity::Note) || says("WF505", Severity::Note);
                told && with.settings.is_some()
            }
            Effect::Free => !differs,
        };
    (!fits).then(|| {
        let (a, b) = (without.report(), with.report());
        format!(
            "{} {}: not {}\n{a}\n{b}",
            case.of,
            case.key,
            effect.as_str()
        )
    })
}

#[test]
fn every_key_does_what_the_table_says() {
    let failures: Vec<String> = cases().iter().filter_map(fault).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n---\n"));
}

/// Keys that no file alone can show, with the test that shows them.
const ELSEWHERE: [(&str, &str, &str); 1] = [(
    "onecall.yaml",
    "workflows",
    "paths_of_workflows_are_told_to_the_caller",
)];

#[test]
fn the_table_and_its_cases_name_the_same_keys() {
    let cases = cases();
    let shown: BTreeSet<(&str, &str)> = cases
        .iter()
        .map(|case| (case.of.as_str(), case.key.as_str()))
        .collect();
    for (of, name) in &shown {
        let known = part(of).is_some_and(|part| part.keys.iter().any(|key| key.name == *name));
        assert!(
            known,
            "a case for a key that is not in the table: {of} {name}"
        );
    }
    for part in parts() {
        for key in part.keys {
            // What a key holds is shown by the keys of its part.
            let is_container =
                matches!(key.shape, Shape::One(_) | Shape::Many(_) | Shape::Named(_));
            let is_elsewhere = ELSEWHERE
                .iter()
                .any(|(of, name, _)| *of == part.name && *name == key.name);
            assert!(
                is_container || is_elsewhere || shown.contains(&(part.name, key.name)),
                "no case shows {} {}",
                part.name,
                key.name
            );
        }
    }
}

/// Keys that a text of code asks a mapping for: `fields.optional_string("key", …)` and the like.
fn asked(text: &str) -> BTreeSet<String> {
    let calls = [
        "entry(",
        "optional(",
        "required(",
        "mapping(",
        "sequence(",
        "optional_string(",
        "required_string(",
        "optional_bool(",
        "optional_integer(",
        "optional_choice(",
        "optional_fields(",
        "required_fields(",
        "string_sequence(",
        "read_duration(",
        "duration::read(",
        "read_references(",
        "read_refusal(",
        "refuse(",
        "pairs(",
        "read(",
    ];
    let mut found = BTreeSet::new();
    for call in calls {
        for (at, _) in text.match_indices(call) {
            let rest = text[at + call.len()..].trim_start();
            let rest = rest
                .strip_prefix("&mut fields,")
                .or(rest.strip_prefix("fields,"))
                .unwrap_or(rest);
            if let Some(key) = rest
                .trim_start()
                .strip_prefix('"')
                .and_then(|rest| rest.split('"').next())
            {
                found.insert(key.to_owned());
            }
        }
    }
    found
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|own| own == "rs") {
            found.push(path);
        }
    }
}

/// Keys of the envelope of a resource, and of a reference.
const ENVELOPE: [&str; 8] = [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
    "items",
    "name",
    "port",
];

#[test]
fn no_reader_asks_for_a_key_beside_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&root.join("src"), &mut files);
    rust_files(&root.join("../dialects/src/toolhive"), &mut files);
    rust_files(&root.join("../dialects/src/native"), &mut files);
    files.push(root.join("../dialects/src/native.rs"));
    let known: BTreeSet<&str> = parts()
        .flat_map(|part| part.keys)
        .map(|key| key.name)
        .collect();
    let mut count = 0;
    for file in files {
        for key in asked(&std::fs::read_to_string(&file).unwrap()) {
            count += 1;
            let is_known = known.contains(key.as_str()) || ENVELOPE.contains(&key.as_str());
            assert!(is_known, "{}: `{key}` is not in the table", file.display());
        }
    }
    assert!(count > 100, "only {count} keys were found in the code");
}

/// Parts of the JSON Schema of workflow files, by the part of the table that lists the same keys.
const DEFINITIONS: [(&str, &str); 8] = [
    ("workflow file", ""),
    ("annotations of a workflow file", "/$defs/annotations"),
    ("time-out of a workflow file", "/$defs/runTimeout"),
    ("budget of a workflow file", "/$defs/budget"),
    ("step of a workflow file", "/$defs/step"),
    ("body of a loop", "/$defs/body"),
    ("retry of a workflow file", "/$defs/retryLong"),
    ("output of a workflow file", "/$defs/outputLong"),
];

#[test]
fn the_schema_of_workflow_files_has_the_keys_of_the_table() {
    let schema = onecall_dialects::native::schema();
    for (name, pointer) in DEFINITIONS {
        let own = part(name).unwrap();
        let included = own.includes.iter().filter_map(|name| part(name));
        let keys = own.keys.iter().chain(included.flat_map(|part| part.keys));
        let listed: BTreeSet<&str> = keys.map(|key| key.name).collect();
        let described = schema.pointer(&format!("{pointer}/properties")).unwrap();
        let described = described.as_object().unwrap().keys();
        let described: BTreeSet<&str> = described.map(String::as_str).collect();
        assert_eq!(listed, described, "{name}");
    }
}

#[test]
fn paths_of_workflows_are_told_to_the_caller() {
    let mut sources = onecall_source::SourceMap::new();
    let id = sources.add("onecall.yaml", "workflows: [flows/a.yaml, b]\n");
    let input = onecall_config::Input {
        source: id,
        named: false,
    };
    let paths: Vec<String> = onecall_config::references(&sources, input)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(paths, ["flows/a.yaml", "b"]);
}
