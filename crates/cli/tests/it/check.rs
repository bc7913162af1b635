//! `check`, `tools` and `graph` as a user meets them.

use crate::support::run;
use serde_json::Value;

#[test]
fn tools_are_saved_and_checked_against() {
    let home = tempfile::tempdir().unwrap();
    let tools = home.path().join("tools.json");
    let tools = tools.to_str().unwrap();
    let saved = run(home.path(), &["tools", "examples/hello", "--save", tools]);
    assert_eq!(saved.code, Some(0), "{saved:?}");
    let fitting = run(home.path(), &["check", "examples/hello", "--tools", tools]);
    assert_eq!(fitting.code, Some(0), "{fitting:?}");
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("unfit.yaml");
    std::fs::write(&file, text.replace("tool: demo_add", "tool: demo_ad")).unwrap();
    let unfit = run(
        home.path(),
        &["check", file.to_str().unwrap(), "--tools", tools],
    );
    assert_eq!(unfit.code, Some(1), "{unfit:?}");
    assert!(
        unfit.err.contains("demo_add"),
        "no suggestion: {}",
        unfit.err
    );
    let offline = run(home.path(), &["check", file.to_str().unwrap()]);
    assert_eq!(
        offline.code,
        Some(0),
        "without tools nothing is known to be unfit: {offline:?}"
    );
}

#[test]
fn what_is_odd_about_the_names_of_tools_is_told_with_the_saved_tools() {
    let home = tempfile::tempdir().unwrap();
    let (file, tools) = (home.path().join("f.yaml"), home.path().join("tools.json"));
    let (file, tools) = (file.to_str().unwrap(), tools.to_str().unwrap());
    let names = r#"{"gh":{"tools":[{"name":"get"},{"name":"search"},{"name":"a b"}]},"jira":{"tools":[{"name":"search"}]}}"#;
    std::fs::write(tools, names).unwrap();
    let check = |aggregation: &str| {
        let backends = r#"[{name: gh, url: "http://h/mcp"}, {name: jira, url: "http://j/mcp"}]"#;
        let text = format!("name: d\nbackends: {backends}\naggregation: {{{aggregation}}}\n");
        std::fs::write(file, text).unwrap();
        let ran = run(home.path(), &["check", file, "--tools", tools, "--json"]);
        let all = ran.json();
        let all = all.as_array().unwrap().iter().map(|fault| {
            assert_eq!(fault["code"], "WF312", "{fault}");
            format!("{}: {}", fault["severity"], fault["message"]).replace('"', "")
        });
        (all.collect::<Vec<String>>(), ran.code)
    };
    let (told, code) = check(
        "conflictResolution: manual, tools: [{workload: gh, filter: [get, gone, search], overrides: {gat: {name: have}}}]",
    );
    let wanted = [
        "error: backends `gh`, `jira` all have a tool `search`; give all but one another name by an override",
        "warning: backend `gh` has no tool `gat`, which an override names",
        "warning: backend `gh` has no tool `gone`, which its filter names",
    ];
    assert_eq!(told, wanted);
    assert_eq!(code, Some(1));
    let (told, code) = check(
        "conflictResolution: priority, conflictResolutionConfig: {priorityOrder: [gh]}, tools: [{workload: gh, filter: [search]}]",
    );
    assert_eq!(
        told,
        [
            "note: tool `search` of backend `jira` has lost its name `search` to backend `gh`; call it as `jira.search`"
        ]
    );
    assert_eq!(code, Some(0));
    let (told, code) = check("conflictResolution: prefix");
    assert!(
        told.len() == 1 && told[0].starts_with("warning: tool `a b` of backend `gh` is not listed"),
        "{told:?}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn a_tool_that_no_backend_can_have_is_told_without_a_list_of_tools() {
    let home = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("unfit.yaml");
    let path = file.to_str().unwrap();
    for (tool, help) in [
        ("dem.add", "a backend named `demo` exists"),
        ("add", "the backends are `demo`"),
    ] {
        let unfit = text.replace("tool: demo_add", &format!("tool: {tool}"));
        std::fs::write(&file, unfit).unwrap();
        let ran = run(home.path(), &["check", path]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("WF301"), "{}", ran.err);
        assert!(ran.err.contains(help), "{}", ran.err);
    }
    let bare = text
        .replace("tool: demo_add", "tool: add")
        .replace("conflictResolution: prefix", "conflictResolution: priority")
        .replace("prefixFormat: \"{workload}_\"", "priorityOrder: [demo]");
    std::fs::write(&file, bare).unwrap();
    let ran = run(home.path(), &["check", path]);
    assert_eq!(ran.code, Some(0), "names stay bare there: {ran:?}");
}

#[test]
fn a_workflow_withheld_for_its_arguments_fails_with_their_code() {
    let home = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("unfit.yaml");
    for (from, to, code) in [
        ("arguments: { a:", "arguments: { b:", "tool.arguments"),
        ("tool: demo_add", "tool: demo_nothing", "tool.unknown"),
    ] {
        let unfit = text.replace(from, to).replace("b: 0 }", "}");
        std::fs::write(&file, unfit).unwrap();
        let ran = run(
            home.path(),
            &["call", file.to_str().unwrap(), "greet", "who=Ada"],
        );
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains(code), "{code} is not in {told}");
    }
}

#[test]
fn a_backend_that_cannot_be_started_is_named() {
    let home = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string("../../examples/hello/hello.yaml").unwrap();
    let file = home.path().join("nowhere.yaml");
    std::fs::write(
        &file,
        text.replace("command: onecall", "command: no-such-program"),
    )
    .unwrap();
    let ran = run(
        home.path(),
        &["call", file.to_str().unwrap(), "greet", "who=Ada"],
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

#[test]
fn check_speaks_json() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("bad.yaml");
    std::fs::write(&file, "name: x\nname: y\n").unwrap();
    let ran = run(
        home.path(),
        &["check", file.to_str().unwrap(), "--format", "json"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let faults = ran.json();
    let codes: Vec<&Value> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| &fault["code"])
        .collect();
    assert!(
        !codes.is_empty() && codes.iter().all(|code| code.is_string()),
        "{faults}"
    );
}

#[test]
fn graphs_mark_what_was_inferred() {
    let home = tempfile::tempdir().unwrap();
    let text = run(home.path(), &["graph", "examples/hello", "greet"]);
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.out.contains("letters (demo_add)"), "{}", text.out);
    let mermaid = run(
        home.path(),
        &["graph", "examples/hello", "greet", "--format", "mermaid"],
    );
    assert!(mermaid.out.contains("-.->"), "{}", mermaid.out);
    let none = run(home.path(), &["graph", "examples/hello", "nothing"]);
    assert_eq!(none.code, Some(4), "{none:?}");
}

#[test]
fn a_broken_file_of_a_directory_is_not_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let empty = run(home.path(), &["check", folder.to_str().unwrap()]);
    assert_eq!(empty.code, Some(4), "{empty:?}");
    std::fs::write(folder.join("broken.yaml"), "name: \"x\ncompositeTools: [\n").unwrap();
    let broken = run(home.path(), &["check", folder.to_str().unwrap()]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
}

#[test]
fn a_senseless_command_line_is_a_usage_error() {
    let home = tempfile::tempdir().unwrap();
    let hello = "examples/hello";
    for words in [
        &["call", hello][..],
        &["call", hello, "greet", "who:=bad"],
        &["call", hello, "greet", "--args-json", "[]"],
        &["call", hello, "greet", "bogus"],
    ] {
        let ran = run(home.path(), words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
    }
}

#[test]
fn keys_say_whether_they_act() {
    let home = tempfile::tempdir().unwrap();
    let all = run(home.path(), &["schema", "--keys"]);
    assert!(
        all.out
            .lines()
            .any(|line| line.starts_with("acts") && line.ends_with("failureMode"))
    );
    let refused = run(home.path(), &["schema", "--keys", "--effect", "refused"]);
    assert!(
        refused.out.lines().count() > 0 && !refused.out.contains("acts"),
        "{}",
        refused.out
    );
    assert_eq!(
        run(home.path(), &["schema", "--keys", "--effect", "nothing"]).code,
        Some(4)
    );
}

#[test]
fn schemas_are_printed_for_editors() {
    let home = tempfile::tempdir().unwrap();
    for kind in ["config", "resources"] {
        let ran = run(home.path(), &["schema", kind]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let schema = ran.json();
        assert!(schema["$schema"].is_string() && schema["$defs"]["step"].is_object());
    }
    assert_eq!(run(home.path(), &["schema"]).code, Some(2));
}

#[test]
fn ten_faults_are_told_at_once() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(home.path(), &["check", "tests/cases/check/ten-faults.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let file = crate::support::root().join("tests/cases/check/ten-faults.txt");
    if std::env::var_os("ONECALL_UPDATE").is_some() {
        std::fs::write(&file, &ran.err).unwrap();
    }
    assert_eq!(ran.err, std::fs::read_to_string(file).unwrap());
    let heads = ran.err.lines().filter(|line| line.starts_with("error["));
    let codes: std::collections::BTreeSet<&str> = heads.map(|head| &head[6..11]).collect();
    assert_eq!(codes.len(), 10, "{codes:?}");
}

const TOOLS: &str = r#"{"github": {"tools": [{"name": "create_issue",
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"], "additionalProperties": false},
    "outputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": false}}]}}"#;

/// The codes of a file, in the order of their places.
fn codes_of(text: &str, more: &[&str]) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let (file, tools) = (home.path().join("f.yaml"), home.path().join("tools.json"));
    std::fs::write(&file, text).unwrap();
    std::fs::write(&tools, TOOLS).unwrap();
    let mut words = vec!["check", "--json", file.to_str().unwrap()];
    for word in more {
        words.push(if *word == "TOOLS" {
            tools.to_str().unwrap()
        } else {
            word
        });
    }
    let faults = run(home.path(), &words).json();
    let codes = faults.as_array().unwrap().iter();
    codes
        .map(|fault| fault["code"].as_str().unwrap().to_owned())
        .collect()
}

const BACKEND: &str = "name: demo\nbackends: [{name: github, url: \"http://h/mcp\"}]\n";

#[test]
fn what_does_not_fit_the_tools_is_told_beside_every_other_fault() {
    let file = format!(
        "{BACKEND}bogus: 1\ncompositeTools:\n\
         - name: faulty\n  description: d\n  steps:\n\
         \x20 - {{id: a, tool: github.create_isue, dependsOn: [nowhere]}}\n\
         \x20 - {{id: b, tool: github.create_issue, arguments: {{titel: x}}}}\n\
         \x20 - {{id: c, tool: github.create_issue, arguments: {{title: \"{{{{.steps.b.output.nummer}}}}\"}}}}\n\
         \x20 - {{id: d, tool: github.create_issue, arguments: [1]}}\n\
         \x20 - {{id: e, tool: no tool at all}}\n\
         - name: sound\n  description: d\n  steps: [{{id: a, tool: githb.create_issue}}]\n"
    );
    let wanted = [
        "WF020", "WF301", "WF101", "WF303", "WF302", "WF305", "WF022", "WF032", "WF301",
    ];
    assert_eq!(codes_of(&file, &["--tools", "TOOLS"]), wanted);
    // Without the list only backends are known.
    let offline = codes_of(&file, &[]);
    assert_eq!(offline, ["WF020", "WF101", "WF022", "WF032", "WF301"]);
}

#[test]
fn a_tool_without_a_name_has_its_other_faults_told() {
    let tool = "compositeTools: [{description: d, steps: [{id: a, tool: githb.x, dependsOn: [nowhere]}]}]\n";
    let codes = codes_of(&format!("{BACKEND}{tool}"), &[]);
    assert_eq!(codes, ["WF021", "WF301", "WF101"]);
}

#[test]
fn a_backend_with_faults_is_no_unknown_backend() {
    let tool = "compositeTools: [{name: t, description: d, steps: [{id: a, tool: github.x}]}]\n";
    let good = "{name: other, url: \"http://h/mcp\"}";
    for bad in [
        "{name: github}",
        "{name: github, url: \"http://h/mcp\", command: c}",
    ] {
        let file = format!("name: demo\nbackends: [{good}, {bad}]\n{tool}");
        assert_eq!(codes_of(&file, &[]), ["WF604"], "{bad}");
    }
    let cut = format!("{tool}name: demo\nbackends: [{good}, {{name: github\n");
    let codes = codes_of(&cut, &[]);
    assert!(!codes.contains(&"WF301".to_owned()), "{codes:?}");
}

#[test]
fn a_path_that_leads_nowhere_is_told_at_its_place_with_the_rest() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("onecall.yaml");
    std::fs::write(&file, "workflows: [nowhere.yaml]\nbogus: 1\n").unwrap();
    let ran = run(home.path(), &["check", "--json", file.to_str().unwrap()]);
    let faults = ran.json();
    let told: Vec<(&str, u64)> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| {
            let line = fault["line"].as_u64().unwrap();
            (fault["code"].as_str().unwrap(), line)
        })
        .collect();
    assert_eq!(told, [("WF601", 1), ("WF020", 2)], "{faults}");
}

#[test]
fn a_directory_of_nothing_is_not_called_sound() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("empty");
    std::fs::create_dir(&folder).unwrap();
    let ran = run(home.path(), &["check", folder.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(4), ""), "{ran:?}");
}

#[test]
fn a_definition_alone_is_held_against_the_tools() {
    let file = "apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\nmetadata: {name: d}\n\
                spec: {name: d, description: d, steps: [{id: a, tool: github.create_issue}, {id: b, tool: github.nothing}]}\n";
    let codes = codes_of(file, &["--tools", "TOOLS"]);
    assert_eq!(codes, ["WF303", "WF301", "WF608"]);
}

#[test]
fn json_has_a_short_spelling() {
    let home = tempfile::tempdir().unwrap();
    let file = "tests/cases/check/ten-faults.yaml";
    let short = run(home.path(), &["check", file, "--json"]);
    let long = run(home.path(), &["check", file, "--format", "json"]);
    assert_eq!((short.code, &short.out), (Some(1), &long.out));
    let keys = run(home.path(), &["schema", "--keys", "--json"]).json();
    assert!(keys.as_array().unwrap().len() > 200);
}

/// A definition of the guide's section on status, without its time.
fn status(file: &std::path::Path, home: &std::path::Path) -> Value {
    let words = ["check", file.to_str().unwrap(), "--format", "status"];
    let mut all = run(home, &words).json();
    for condition in all[0]["status"]["conditions"].as_array_mut().unwrap() {
        let at = condition
            .as_object_mut()
            .unwrap()
            .remove("lastTransitionTime");
        assert!(at.is_some_and(|at| at.as_str().unwrap().ends_with('Z')));
    }
    all
}

#[test]
fn status_blocks_are_those_of_the_guide() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("definition.yaml");
    let server = |name: &str| {
        format!(
            "apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: VirtualMCPServer\nmetadata: {{name: {name}}}\nspec: {{config: {{groupRef: g}}, compositeToolRefs: [{{name: deploy-app}}]}}\n---\n"
        )
    };
    let definition = |steps: &str| {
        format!(
            "{}{}apiVersion: toolhive.stacklok.dev/v1alpha1\nkind: VirtualMCPCompositeToolDefinition\nmetadata: {{name: deploy-app, generation: 1}}\nspec: {{name: deploy_app, description: d, steps: [{{id: a, tool: k.a}}{steps}]}}\n",
            server("production-vmcp"),
            server("staging-vmcp")
        )
    };
    std::fs::write(&file, definition("")).unwrap();
    let valid: Value = serde_json::from_str(r#"[{"metadata": {"name": "deploy-app", "namespace": "default"}, "status": {
        "validationStatus": "Valid", "observedGeneration": 1,
        "referencingVirtualServers": ["production-vmcp", "staging-vmcp"],
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "WorkflowReady", "message": "Workflow is valid and ready to use"},
            {"type": "WorkflowValidated", "status": "True", "reason": "ValidationSuccess", "message": "All validation checks passed"}]}}]"#).unwrap();
    assert_eq!(status(&file, home.path()), valid);
    let faulty = ", {id: b, tool: k.b, dependsOn: [nonexistent]}, {id: c, tool: 'not a tool'}";
    std::fs::write(&file, definition(faulty)).unwrap();
    let found = status(&file, home.path());
    let invalid: Value = serde_json::from_str(r#"{"validationStatus": "Invalid",
        "validationErrors": [
            "spec.steps[1].dependsOn references unknown step \"nonexistent\"",
            "spec.steps[2].tool must be in format 'workload.tool_name'"],
        "observedGeneration": 1,
        "referencingVirtualServers": ["production-vmcp", "staging-vmcp"],
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "WorkflowNotReady", "message": "Workflow has validation errors"},
            {"type": "WorkflowValidated", "status": "False", "reason": "ValidationFailed", "message": "Validation failed with 2 errors"}]}"#).unwrap();
    assert_eq!(found[0]["status"], invalid);
}

#[test]
fn portability_notes_what_works_only_here() {
    let home = tempfile::tempdir().unwrap();
    let plain = run(home.path(), &["check", "examples/hello"]);
    let noted = run(
        home.path(),
        &["check", "examples/hello", "--portable", "toolhive"],
    );
    assert_eq!((plain.code, noted.code), (Some(0), Some(0)), "{noted:?}");
    assert!(
        plain.err.is_empty() && noted.err.contains("note["),
        "{}",
        noted.err
    );
}

/// Other commands are given the same files again and again.
#[test]
fn warnings_are_told_in_full_by_check_alone() {
    let home = tempfile::tempdir().unwrap();
    let name = "a".repeat(70);
    let text =
        format!("workflow: {name}\nsteps: {{ s: {{ tool: demo.echo, with: {{ text: hi }} }} }}\n");
    let file = home.path().join("my long.workflow.yaml");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let flag = format!("demo={} demo", crate::support::program());
    let checked = run(home.path(), &["check", file]);
    assert!(checked.err.contains("warning[WF042]"), "{checked:?}");
    for words in [
        &["call", file, &name, "--ephemeral"][..],
        &["tools", file][..],
        &["graph", file][..],
    ] {
        let words = [words, &["--backend", &flag]].concat();
        let ran = run(home.path(), &words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        assert!(!ran.err.contains("WF042"), "{words:?}: {ran:?}");
        let line = ran.err.lines().find(|line| line.starts_with("1 warning"));
        let command =
            line.and_then(|line| line.strip_prefix("1 warning in 1 file; shown by: onecall "));
        // What is advised works as it stands.
        let advised = shlex::split(command.unwrap()).unwrap();
        let advised: Vec<&str> = advised.iter().map(String::as_str).collect();
        let shown = run(home.path(), &advised);
        assert!(shown.err.contains("warning[WF042]"), "{shown:?}");
    }
    let converted = run(home.path(), &["convert", file, "--to", "native"]);
    assert!(!converted.err.contains("WF042"), "{converted:?}");
}

#[test]
fn files_are_counted_and_the_suggested_command_repeats_the_flags() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write(
        "a.workflow.yaml",
        "workflow: a\nsteps: {s: {tool: demo.echo, with: {text: x}}}\n",
    );
    write(
        "b.workflow.yaml",
        "workflow: b\nexpose: false\nsteps: {s: {tool: demo.echo, with: {text: x}}}\n",
    );
    write("chart.yaml", "apiVersion: v2\nname: not ours\n");
    let path = home.path().to_str().unwrap();
    let flag = "demo=onecall demo";
    let checked = run(
        home.path(),
        &["check", path, "--backend", flag, "--deny-warnings"],
    );
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.out.contains("2 workflows, 2 files: no faults\n"),
        "{checked:?}"
    );
    let given = format!("{path} --backend 'demo=onecall demo'");
    let next = format!(
        "onecall tools {given} --save tools.json && onecall check {given} --deny-warnings --tools tools.json\n"
    );
    assert!(checked.out.contains(&next), "{checked:?}");
}
