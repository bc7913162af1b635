//! The merge as a table: lists and options in, published names out.

use super::*;

fn lists(given: &[(&str, &[&str])]) -> Vec<Listed> {
    let list = |(backend, tools): &(&str, &[&str])| Listed {
        backend: BackendName::from(*backend),
        knowledge: Knowledge::Live,
        tools: tools
            .iter()
            .map(|name| Tool::from_value(json!({ "name": name, "icons": [] })).unwrap())
            .collect(),
    };
    given.iter().map(list).collect()
}

/// `name=backend.original`, `-` where the name is lost, in brackets where clients cannot use it.
fn shown(catalog: &Catalog) -> Vec<String> {
    let tool = |tool: &CatalogTool| {
        let name = tool.name.as_ref().map_or("-", ToolName::as_str);
        let name = if tool.listed {
            name.to_owned()
        } else {
            format!("({name})")
        };
        format!("{name}={}.{}", tool.backend, tool.original)
    };
    catalog.tools.iter().map(tool).collect()
}

fn with(strategy: Strategy) -> CatalogOptions {
    CatalogOptions {
        strategy,
        ..CatalogOptions::default()
    }
}

fn rule(backend: &str, filter: Option<&[&str]>, overrides: &[(&str, ToolOverride)]) -> ToolRule {
    ToolRule {
        backend: backend.into(),
        filter: filter.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
        overrides: overrides
            .iter()
            .map(|(name, one)| ((*name).to_owned(), one.clone()))
            .collect(),
        exclude_all: false,
    }
}

fn named(name: &str) -> ToolOverride {
    ToolOverride {
        name: Some(name.to_owned()),
        ..ToolOverride::default()
    }
}

const TWO: &[(&str, &[&str])] = &[("gh", &["list", "get"]), ("jira", &["get"])];

#[test]
fn what_no_backend_can_have_is_absent_before_any_has_told_its_tools() {
    let unknown = || {
        let mut lists = lists(TWO);
        for list in &mut lists {
            list.knowledge = Knowledge::Unknown;
            list.tools = Arc::new([]);
        }
        lists
    };
    let is_absent = |catalog: &Catalog, name: &str| {
        matches!(
            catalog.resolve(name),
            onecall_workflow::catalog::Resolution::Absent
        )
    };
    let (catalog, _) = merge(&unknown(), &CatalogOptions::default());
    for (name, absent) in [
        ("gh.get", false),
        ("gh_get", false),
        ("nope.get", true),
        ("get", true),
    ] {
        assert_eq!(is_absent(&catalog, name), absent, "{name}");
    }
    // Names that stay bare may be anything.
    let (catalog, _) = merge(&unknown(), &with(Strategy::Manual));
    assert!(!is_absent(&catalog, "nope.get"));
}

#[test]
fn prefix_names_every_tool_in_a_fixed_order() {
    let (catalog, notices) = merge(&lists(TWO), &CatalogOptions::default());
    assert_eq!(
        shown(&catalog),
        ["gh_get=gh.get", "gh_list=gh.list", "jira_get=jira.get"]
    );
    assert_eq!(notices, []);
    assert_eq!(catalog.tools[0].tool.name(), "gh_get");
    let dots = with(Strategy::Prefix {
        format: "{workload}.".to_owned(),
    });
    assert_eq!(shown(&merge(&lists(TWO), &dots).0)[0], "gh.get=gh.get");
    let fixed = with(Strategy::Prefix {
        format: "x-".to_owned(),
    });
    let (catalog, notices) = merge(&lists(TWO), &fixed);
    assert_eq!(
        shown(&catalog),
        ["x-get=gh.get", "x-list=gh.list", "-=jira.get"]
    );
    assert_eq!(notices.len(), 1);
}

#[test]
fn priority_gives_a_clashing_name_to_the_first_in_order() {
    let order = |names: &[&str]| {
        with(Strategy::Priority {
            order: names.iter().map(|&name| name.into()).collect(),
        })
    };
    let (catalog, notices) = merge(&lists(TWO), &order(&["jira"]));
    assert_eq!(
        shown(&catalog),
        ["-=gh.get", "list=gh.list", "get=jira.get"]
    );
    assert!(
        notices[0].to_string().ends_with("call it as `gh.get`"),
        "{}",
        notices[0]
    );
    let (catalog, notices) = merge(&lists(TWO), &order(&["other"]));
    assert_eq!(
        shown(&catalog),
        ["gh_get=gh.get", "list=gh.list", "jira_get=jira.get"]
    );
    assert_eq!(notices, []);
    let mut hiding = order(&["jira"]);
    hiding.rules = vec![rule("gh", Some(&["list"]), &[])];
    let (catalog, _) = merge(&lists(TWO), &hiding);
    assert_eq!(shown(&catalog)[0], "(-)=gh.get");
}

#[test]
fn a_prefix_that_makes_names_unfit_is_told() {
    let odd: &[(&str, &[&str])] = &[("github.com/x/y", &["list"]), ("jira", &["a b", "get"])];
    let (catalog, notices) = merge(&lists(odd), &CatalogOptions::default());
    let all = [
        "(-)=github.com/x/y.list",
        "(-)=jira.a b",
        "jira_get=jira.get",
    ];
    assert_eq!(shown(&catalog), all);
    let told: Vec<(String, bool)> = notices
        .iter()
        .map(|notice| (notice.to_string(), notice.is_remarked()))
        .collect();
    let prefix = "tool `list` of backend `github.com/x/y` is not listed: `github.com/x/y_list` is no name of a tool, which has letters, digits and `_-.`, at most 128; workflows call it as `github.com/x/y.list`";
    assert_eq!(told[0], (prefix.to_owned(), false));
    assert!(told[1].0.starts_with("tool `a b` of backend `jira`"));
    assert!(told[1].1, "the list of the backend tells it");
    assert_eq!(told.len(), 2);
    // What would not be listed anyway needs no name.
    let hidden = CatalogOptions {
        exclude_all: true,
        ..CatalogOptions::default()
    };
    assert_eq!(merge(&lists(odd), &hidden).1, []);
    // Bare names are none of the backend's.
    let (_, notices) = merge(&lists(odd), &with(Strategy::Priority { order: Vec::new() }));
    assert!(notices.iter().all(Notice::is_remarked), "{notices:?}");
}

#[test]
fn a_name_that_clients_refuse_is_not_published_unless_it_is_overridden() {
    let long = "x".repeat(200);
    let odd: &[(&str, &[&str])] = &[("gh", &["a b", "ok", &long])];
    let (catalog, _) = merge(&lists(odd), &CatalogOptions::default());
    let long = format!("(-)=gh.{long}");
    assert_eq!(shown(&catalog), ["(-)=gh.a b", "gh_ok=gh.ok", &long]);
    let options = CatalogOptions {
        rules: vec![rule("gh", None, &[("a b", named("a_b"))])],
        ..CatalogOptions::default()
    };
    let (catalog, _) = merge(&lists(odd), &options);
    assert_eq!(shown(&catalog)[0], "gh_a_b=gh.a b");
}

#[test]
fn manual_withholds_only_what_clashes() {
    let (catalog, notices) = merge(&lists(TWO), &with(Strategy::Manual));
    assert_eq!(shown(&catalog), ["-=gh.get", "list=gh.list", "-=jira.get"]);
    assert!(notices[0].is_error());
    let mut options = with(Strategy::Manual);
    options.rules = vec![rule("jira", None, &[("get", named("issue"))])];
    let (catalog, notices) = merge(&lists(TWO), &options);
    assert_eq!(
        shown(&catalog),
        ["get=gh.get", "list=gh.list", "issue=jira.get"]
    );
    assert_eq!(notices, []);
}

#[test]
fn filters_hide_and_hidden_tools_stay_in_the_catalog() {
    let filter = rule("gh", Some(&["fetch", "nope"]), &[("get", named("fetch"))]);
    let mut options = CatalogOptions {
        rules: vec![filter],
        ..CatalogOptions::default()
    };
    let (catalog, notices) = merge(&lists(TWO), &options);
    assert_eq!(
        shown(&catalog),
        ["gh_fetch=gh.get", "(gh_list)=gh.list", "jira_get=jira.get"]
    );
    assert_eq!(notices.len(), 1, "{notices:?}");
    options.rules[0].exclude_all = true;
    assert_eq!(
        shown(&merge(&lists(TWO), &options).0),
        [
            "(gh_fetch)=gh.get",
            "(gh_list)=gh.list",
            "jira_get=jira.get"
        ]
    );
    options.default_visibility = Visibility::Deny;
    assert_eq!(
        shown(&merge(&lists(TWO), &options).0)[2],
        "(jira_get)=jira.get"
    );
    options.exclude_all = true;
    assert!(
        merge(&lists(TWO), &options)
            .0
            .tools
            .iter()
            .all(|tool| !tool.listed)
    );
}

#[test]
fn overrides_change_what_is_listed_and_keep_the_rest() {
    let change = ToolOverride {
        description: Some("new".to_owned()),
        annotations: Annotations {
            read_only: Some(true),
            ..Annotations::default()
        },
        ..ToolOverride::default()
    };
    let options = CatalogOptions {
        rules: vec![rule("jira", None, &[("get", change), ("gone", named("x"))])],
        ..CatalogOptions::default()
    };
    let (catalog, notices) = merge(&lists(TWO), &options);
    let tool = &catalog.tools[2].tool;
    assert_eq!(
        (tool.description(), tool.hints().read_only),
        (Some("new"), true)
    );
    assert!(tool.object().contains_key("icons"));
    assert_eq!(notices.len(), 1);
}
