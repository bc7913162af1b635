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

/// The file around the part that a cell gives.
fn file(of: &str, key: &str, own: &str) -> String {
    if let Some(whole) = own.strip_prefix('=') {
        return whole.to_owned();
    }
    match of {
        "composite tool" => composite_tool(key, own),
        "step" => format!(
            "name: d\ncompositeTools:\n- name: t\n  description: d\n  parameters: {{type: object, properties: {{f: {{type: boolean}}}}}}\n  steps:\n  - {{id: first, tool: b.t}}\n  - {{{own}}}\n"
        ),
        "output" => format!(
            "name: d\ncompositeTools:\n- name: t\n  description: d\n  steps: [{{id: s, tool: b.t}}]\n  output: {{{own}}}\n"
        ),
        "toolhive config" => config(key, own),
        "VirtualMCPServer" => {
            let group = if key == "groupRef" {
                ""
            } else {
                "groupRef: g, "
            };
            [entry(ENTRY), definition(), server(&format!("{group}{own}"))].join("---\n")
        }
        "MCPServerEntry" => {
            let auth = format!(
                "{TOOLHIVE}kind: MCPExternalAuthConfig\nmetadata: {{name: a}}\nspec: {{type: headerInjection, headerInjection: {{headerName: X, headerValue: v}}}}\n"
            );
            [entry(own), auth, server("groupRef: g")].join("---\n")
        }
        "MCPServer" => {
            let config = format!(
                "{TOOLHIVE}kind: MCPToolConfig\nmetadata: {{name: c}}\nspec: {{toolsFilter: [x]}}\n"
            );
            let own = format!(
                "{TOOLHIVE}kind: MCPServer\nmetadata: {{name: m}}\nspec: {{groupRef: g{own}}}\nstatus: {{url: \"http://h/mcp\"}}\n"
            );
            [own, config, server("groupRef: g")].join("---\n")
        }
        _ => own.to_owned(),
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
    if key.starts_with("backends[]") {
        return format!("name: d\nbackends:\n- {{{own}}}\n");
    }
    let name = if own.starts_with("name:") {
        ""
    } else {
        "name: d\n"
    };
    let backends = match key {
        "groupRef" => "",
        _ => "backends: [{name: b, url: \"http://h/mcp\"}]\n",
    };
    format!("{name}compositeTools: []\n{backends}{own}\n")
}

fn entry(spec: &str) -> String {
    format!(
        "{TOOLHIVE}kind: MCPServerEntry\nmetadata: {{name: e}}\nspec: {{groupRef: g, {spec}}}\n"
    )
}

fn server(spec: &str) -> String {
    format!("{TOOLHIVE}kind: VirtualMCPServer\nmetadata: {{name: v}}\nspec: {{{spec}}}\n")
}

fn definition() -> String {
    format!(
        "{TOOLHIVE}kind: VirtualMCPCompositeToolDefinition\nmetadata: {{name: d}}\nspec: {{name: d, description: d, steps: [{{id: s, tool: e.t}}]}}\n"
    )
}

#[test]
fn every_key_does_what_the_table_says() {
    let cases = cases();
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
    let shown: BTreeSet<(&str, &str)> = cases
        .iter()
        .map(|case| (case.of.as_str(), case.key.as_str()))
        .collect();
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
