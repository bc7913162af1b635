//! Which backend is which: a run goes on only against the backends it was bound to.

use crate::limits::FOREIGN_MAX;
use onecall_config::settings::{Backend, Transport};
use onecall_engine::identity::RunId;
use onecall_workflow::name::BackendName;
use onecall_workflow::plan::Plan;
use onecall_workflow::stored::hash_text;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// How each backend is reached, as it is written to the store and shown: without secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identities {
    backends: BTreeMap<BackendName, String>,
    home: Option<String>,
}

impl Identities {
    /// `home`: the directory of the files that say so. The same words mean another program, and other credentials, in
    /// another directory.
    pub(crate) fn of(backends: &[Backend], home: Option<&str>) -> Self {
        let entries = backends
            .iter()
            .map(|backend| (backend.name.clone(), text(&backend.transport, home)));
        Self {
            backends: entries.collect(),
            home: home.map(str::to_owned),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&BackendName, &str)> {
        let entries = self.backends.iter();
        entries.map(|(backend, own)| (backend, own.as_str()))
    }

    pub(crate) fn get(&self, backend: &BackendName) -> Option<&str> {
        self.backends.get(backend).map(String::as_str)
    }

    /// Writes into a plan which backends it is bound to.
    pub(crate) fn mark(&self, plan: &mut Plan) {
        for tool in plan.tools.iter().flatten() {
            if let Some(own) = self.backends.get(&tool.backend) {
                plan.backends.insert(tool.backend.clone(), own.clone());
            }
        }
    }

    pub(crate) fn fits(&self, plan: &Plan) -> bool {
        needed(plan).iter().all(|backend| {
            let own = self.backends.get(*backend);
            own.is_some() && own == plan.backends.get(*backend)
        })
    }

    /// The plan was bound by files of the same directory, so that a difference is a change and not another
    /// server.
    pub(crate) fn is_of_same_directory(&self, plan: &Plan) -> bool {
        let mut bound = plan.backends.values();
        bound.any(|bound| Parts::of(bound).home == self.home.as_deref())
    }

    /// What differs between the backends of a plan and these, a line for each of them.
    pub(crate) fn differences(&self, plan: &Plan) -> Vec<String> {
        let needed = needed(plan).into_iter();
        let differences = needed.filter_map(|backend| {
            match (self.backends.get(backend), plan.backends.get(backend)) {
                (Some(own), Some(bound)) if own == bound => None,
                (Some(own), Some(bound)) => {
                    Some(Parts::of(own).differences(&Parts::of(bound), backend))
                }
                (None, _) => Some(format!("no backend is named `{backend}`")),
                (Some(_), None) => Some(format!("the run was never bound to a `{backend}`")),
            }
        });
        differences.collect()
    }
}

fn needed(plan: &Plan) -> BTreeSet<&BackendName> {
    plan.tools
        .iter()
        .flatten()
        .map(|tool| &tool.backend)
        .collect()
}

/// All that a backend is reached with is hashed, part by part: arguments, paths and queries are where keys are, from
/// the environment or as written, and the store is no place for them.
fn text(transport: &Transport, home: Option<&str>) -> String {
    // The same value has another hash elsewhere, so that nothing can be looked up.
    let hash = |shown: &str, label: &str, value: &str| {
        let salted = format!("{shown}\n{}\n{label}\n{value}", home.unwrap_or_default());
        format!(" #{label}:{}", hash_text(&salted))
    };
    let (shown, hashed) = match transport {
        Transport::Stdio {
            command, args, cwd, ..
        } => {
            let shown = format!("stdio {command}");
            let args = hash(&shown, "args", &format!("{args:?}"));
            let cwd = hash(&shown, "cwd", cwd.as_deref().unwrap_or("."));
            (shown, format!("{args}{cwd}"))
        }
        Transport::StreamableHttp { url, .. } => with_url("http", url, hash),
        Transport::Sse { url, .. } => with_url("sse", url, hash),
    };
    match home {
        None => format!("{shown}{hashed}"),
        Some(home) => format!("{shown} of {home}{hashed}"),
    }
}

fn with_url(kind: &str, url: &str, hash: impl Fn(&str, &str, &str) -> String) -> (String, String) {
    let shown = format!("{kind} {}", origin(url));
    let hashed = hash(&shown, "url", url);
    (shown, hashed)
}

/// An identity taken apart again, to say what differs.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    kind: &'a str,
    /// The command, or the origin of the URL.
    shown: &'a str,
    home: Option<&'a str>,
    hashed: BTreeMap<&'a str, &'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let mut hashed = BTreeMap::new();
        let mut rest = text;
        while let Some((before, last)) = rest.rsplit_once(" #")
            && let Some((label, hash)) = last.split_once(':')
            && !last.contains(' ')
        {
            hashed.insert(label, hash);
            rest = before;
        }
        let (shown, home) = match rest.rsplit_once(" of ") {
            Some((shown, home)) => (shown, Some(home)),
            None => (rest, None),
        };
        let (kind, shown) = shown.split_once(' ').unwrap_or((shown, ""));
        Self {
            kind,
            shown,
            home,
            hashed,
        }
    }

    fn differences(&self, bound: &Self, backend: &BackendName) -> String {
        if self.kind != bound.kind {
            let (was, is) = (bound.kind, self.kind);
            return format!("the transport of `{backend}` differs ({was} then, {is} now)");
        }
        if self.home != bound.home {
            let was = bound.home.unwrap_or("an unknown directory");
            return format!("`{backend}` was described by files in {was}");
        }
        if self.shown != bound.shown {
            let what = if self.kind == "stdio" {
                "command"
            } else {
                "url"
            };
            let (was, is) = (bound.shown, self.shown);
            return format!("`{what}` of `{backend}` differs (`{was}` then, `{is}` now)");
        }
        let labels: BTreeSet<&str> = self
            .hashed
            .keys()
            .chain(bound.hashed.keys())
            .copied()
            .collect();
        let differ: Vec<String> = labels
            .into_iter()
            .filter(|label| self.hashed.get(label) != bound.hashed.get(label))
            .map(|label| format!("`{label}`"))
            .collect();
        format!("{} of `{backend}` differ", differ.join(" and "))
    }
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

/// Runs of other servers on the same store, so that each is looked at once.
#[derive(Debug, Default)]
pub(crate) struct Foreign(Mutex<BTreeSet<RunId>>);

impl Foreign {
    pub(crate) fn contains(&self, run: &RunId) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(run)
    }

    /// Other backends may make a run ours.
    pub(crate) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    pub(crate) fn insert(&self, run: RunId) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= FOREIGN_MAX {
            runs.clear();
        }
        runs.insert(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onecall_workflow::coerce::Coercer;
    use onecall_workflow::plan::{BoundTool, Repeatable};
    use onecall_workflow::workflow::Workflow;
    use std::sync::Arc;

    fn http(url: &str) -> String {
        let url = url.to_owned();
        let headers = Vec::new();
        text(&Transport::StreamableHttp { url, headers }, None)
    }

    fn stdio(args: &[&str]) -> String {
        stdio_of(args, None)
    }

    fn stdio_of(args: &[&str], home: Option<&str>) -> String {
        let transport = Transport::Stdio {
            command: "npx".to_owned(),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
            env: Vec::new(),
            cwd: None,
        };
        text(&transport, home)
    }

    #[test]
    fn the_same_words_in_another_folder_are_another_backend() {
        let one = stdio_of(&["server"], Some("/projects/one"));
        assert!(one.starts_with("stdio npx of /projects/one #"), "{one}");
        assert_eq!(one, stdio_of(&["server"], Some("/projects/one")));
        assert_ne!(one, stdio_of(&["server"], Some("/projects/two")));
    }

    fn bound_to(transport: Transport, home: &str) -> (Identities, Plan) {
        let place = onecall_source::Place::path("", "");
        let own = Identities::of(&[Backend::plain("demo", transport, place)], Some(home));
        let tool = BoundTool {
            backend: BackendName::from("demo"),
            original: "t".to_owned(),
            input: Coercer::new(serde_json::Value::Bool(true)),
            output_schema: None,
            repeatable: Repeatable::No,
        };
        let workflow = Workflow::plain("w", Vec::new());
        let mut plan = Plan::plain(workflow, vec![Some(Arc::new(tool))]);
        assert!(!own.fits(&plan), "bound to no backend");
        own.mark(&mut plan);
        assert!(own.fits(&plan));
        (own, plan)
    }

    fn program(command: &str, args: &[&str], cwd: Option<&str>) -> Transport {
        Transport::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
            env: Vec::new(),
            cwd: cwd.map(str::to_owned),
        }
    }

    #[test]
    fn what_differs_is_told_in_the_words_of_the_file() {
        let (_, plan) = bound_to(program("npx", &["a"], None), "/x");
        let url = "https://h/mcp".to_owned();
        let headers = Vec::new();
        for (now, home, told) in [
            (
                program("npx", &["b"], None),
                "/x",
                "`args` of `demo` differ",
            ),
            (
                program("npx", &["b"], Some("/y")),
                "/x",
                "`args` and `cwd` of `demo` differ",
            ),
            (
                program("uvx", &["a"], None),
                "/x",
                "`command` of `demo` differs (`npx` then, `uvx` now)",
            ),
            (
                Transport::StreamableHttp { url, headers },
                "/x",
                "the transport of `demo` differs (stdio then, http now)",
            ),
            (
                program("npx", &["a"], None),
                "/y",
                "`demo` was described by files in /x",
            ),
        ] {
            let (now, _) = bound_to(now, home);
            assert_eq!(now.differences(&plan), [told]);
            assert_eq!(now.is_of_same_directory(&plan), home == "/x");
        }
        let none = Identities::of(&[], Some("/x"));
        assert_eq!(none.differences(&plan), ["no backend is named `demo`"]);
    }

    #[test]
    fn what_may_be_secret_is_not_shown_and_still_tells_backends_apart() {
        let urls = [
            "https://me:s3cret@h:8443/mcp",
            "https://h:8443/s/s3cret/mcp",
            "https://h:8443?key=s3cret",
        ];
        for url in urls {
            let own = http(url);
            assert!(own.starts_with("http https://h:8443 #"), "{own}");
            assert!(!own.contains("s3cret"), "{own}");
            assert_eq!(own, http(url));
            assert_ne!(own, http(&url.replace("s3cret", "other")));
        }
        let own = stdio(&["server", "--token=s3cret"]);
        assert!(own.starts_with("stdio npx #"), "{own}");
        assert!(!own.contains("s3cret"), "{own}");
        assert_ne!(own, stdio(&["server", "--token=other"]));
        assert_ne!(stdio(&["a b"]), stdio(&["a", "b"]));
    }
}
