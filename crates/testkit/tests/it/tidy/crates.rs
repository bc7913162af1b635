//! Which crate may know which, and where a dependency may be named. Read from the manifests.

use super::{none, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use toml::{Table, Value};

/// The crates and the nearest crates each knows; what stands under those may be used too.
const KNOWS: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("gotemplate", &[]),
    ("mcp", &[]),
    ("workflow", &["source", "gotemplate", "mcp"]),
    ("dialects", &["source", "workflow"]),
    ("engine", &["workflow"]),
    ("journal", &["engine"]),
    ("backends", &["mcp", "workflow"]),
    ("config", &["dialects"]),
    ("runtime", &["dialects", "engine", "backends", "config"]),
    ("gateway", &["runtime"]),
    ("console", &["runtime"]),
    ("suite", &["runtime"]),
    ("operator", &["dialects", "config"]),
    ("demo", &["mcp"]),
    (
        "cli",
        &[
            "gateway", "console", "suite", "operator", "demo", "journal", "runtime",
        ],
    ),
    ("testkit", &["config", "engine", "journal", "demo"]),
    ("xtask", &["testkit", "cli"]),
];

/// Crates that tests of any crate above them may use as well.
const FOR_TESTS: &[&str] = &["demo", "testkit", "journal"];

/// Dependencies that only some crates may name.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("rmcp", &["gateway"]),
    ("rusqlite", &["journal"]),
    ("sqlx", &["journal"]),
    ("tokio-postgres", &["journal"]),
    ("kube", &["operator"]),
    ("k8s-openapi", &["operator"]),
    ("axum", &["gateway", "console", "demo"]),
    ("anyhow", &["cli", "xtask"]),
];

/// Exceptions of `ONLY_IN`, for tests only, each with its reason.
const IN_TESTS: &[(&str, &str, &str)] = &[
    (
        "axum",
        "backends",
        "a backend that breaks the protocol is served by its tests",
    ),
    ("anyhow", "journal", "tests may use it"),
];

const FORBIDDEN_NAMES: &[&str] = &["common", "core", "util", "utils", "shared", "helpers"];

#[derive(Debug, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    is_for_tests: bool,
}

/// Every member of the workspace with its manifest, by folder name.
fn manifests() -> BTreeMap<String, Table> {
    let root = root();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        found.insert(name, manifest.parse().unwrap());
    }
    let xtask = fs::read_to_string(root.join("xtask/Cargo.toml")).unwrap();
    found.insert("xtask".to_owned(), xtask.parse().unwrap());
    found
}

/// The dependencies a manifest names, with whether they are for tests only.
fn dependencies(manifest: &Table) -> Vec<(&str, &Value, bool)> {
    let mut found = Vec::new();
    collect(manifest, &mut found);
    let targets = manifest.get("target").and_then(Value::as_table);
    for (_, target) in targets.into_iter().flatten() {
        collect(target.as_table().unwrap(), &mut found);
    }
    found
}

fn collect<'a>(from: &'a Table, found: &mut Vec<(&'a str, &'a Value, bool)>) {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let entries = from.get(section).and_then(Value::as_table);
        for (name, value) in entries.into_iter().flatten() {
            found.push((name, value, section == "dev-dependencies"));
        }
    }
}

fn edges(manifests: &BTreeMap<String, Table>) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (from, manifest) in manifests {
        for (name, _, is_for_tests) in dependencies(manifest) {
            if let Some(to) = name.strip_prefix("onecall-") {
                edges.push(Edge {
                    from: from.clone(),
                    to: to.to_owned(),
                    is_for_tests,
                });
            }
        }
    }
    edges
}

/// What a crate knows, and all that stands under it.
fn below(of: &str) -> BTreeSet<&'static str> {
    let mut known = BTreeSet::new();
    let mut open = vec![of.to_owned()];
    while let Some(next) = open.pop() {
        let own = KNOWS.iter().find(|(name, _)| *name == next);
        for name in own.map_or(&[][..], |(_, knows)| knows) {
            if known.insert(*name) {
                open.push((*name).to_owned());
            }
        }
    }
    known
}

fn forbidden(edges: &[Edge]) -> Vec<String> {
    let is_allowed = |edge: &&Edge| {
        below(&edge.from).contains(edge.to.as_str())
            || (edge.is_for_tests && FOR_TESTS.contains(&edge.to.as_str()))
    };
    edges
        .iter()
        .filter(|edge| !is_allowed(edge))
        .map(|edge| format!("crate `{}` must not know crate `{}`", edge.from, edge.to))
        .collect()
}

#[test]
fn only_edges_of_the_table_exist() {
    none(&forbidden(&edges(&manifests())));
}

#[test]
fn an_edge_outside_the_table_is_found() {
    let edge = |from: &str, to: &str, is_for_tests| Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        is_for_tests,
    };
    for (from, to) in [
        ("workflow", "dialects"),
        ("engine", "dialects"),
        ("gateway", "console"),
        ("runtime", "journal"),
        ("runtime", "testkit"),
    ] {
        assert_eq!(forbidden(&[edge(from, to, false)]).len(), 1, "{from} {to}");
    }
    let allowed = [
        edge("runtime", "mcp", false),
        edge("runtime", "journal", true),
    ];
    assert_eq!(forbidden(&allowed), Vec::<String>::new());
}

#[test]
fn every_crate_stands_in_the_table_and_is_named_well() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        if !KNOWS.iter().any(|(known, _)| *known == name) {
            faults.push(format!("crate `{name}` is not in the table"));
        }
        if FORBIDDEN_NAMES.contains(&name.as_str()) {
            faults.push(format!("a crate must not be called `{name}`"));
        }
        let package = manifest["package"]["name"].as_str().unwrap();
        if name != "xtask" && package != format!("onecall-{name}") {
            faults.push(format!(
                "crate `{name}` is packaged as `{package}`, not as `onecall-{name}`"
            ));
        }
    }
    none(&faults);
}

#[test]
fn some_dependencies_are_named_in_their_crates_only() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for (dependency, _, is_for_tests) in dependencies(&manifest) {
            let Some((_, homes)) = ONLY_IN.iter().find(|(only, _)| *only == dependency) else {
                continue;
            };
            let excused = is_for_tests
                && IN_TESTS
                    .iter()
                    .any(|(what, place, _)| *what == dependency && *place == name);
            if !homes.contains(&name.as_str()) && !excused {
                faults.push(format!(
                    "crate `{name}` names `{dependency}`, which belongs to {homes:?}"
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn versions_stand_in_the_root_manifest() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for (dependency, value, _) in dependencies(&manifest) {
            let inherits = value
                .get("workspace")
                .is_some_and(|workspace| workspace.as_bool() == Some(true));
            if !inherits {
                faults.push(format!(
                    "crate `{name}` states its own version of `{dependency}`"
                ));
            }
        }
        let inherits_lints = manifest
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .is_some_and(|workspace| workspace.as_bool() == Some(true));
        if !inherits_lints {
            faults.push(format!("crate `{name}` does not take the workspace lints"));
        }
    }
    none(&faults);
}
