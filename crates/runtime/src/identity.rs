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
pub(crate) struct Identities(BTreeMap<BackendName, Identity>);

#[derive(Clone, Debug)]
struct Identity {
    stored: String,
    /// As stores of before have it, whose runs go on all the same. Never written.
    former: String,
}

impl Identities {
    /// `home`: the folder of the files that say so. The same words mean another program, and other credentials, in
    /// another folder.
    pub(crate) fn of(backends: &[Backend], home: Option<&str>) -> Self {
        let entries = backends.iter().map(|backend| {
            let own = Identity {
                stored: text(&backend.transport, home),
                former: former(&backend.transport),
            };
            (backend.name.clone(), own)
        });
        Self(entries.collect())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&BackendName, &str)> {
        let entries = self.0.iter();
        entries.map(|(backend, own)| (backend, own.stored.as_str()))
    }

    pub(crate) fn get(&self, backend: &BackendName) -> Option<&str> {
        self.0.get(backend).map(|own| own.stored.as_str())
    }

    /// Writes into a plan which backends it is bound to.
    pub(crate) fn mark(&self, plan: &mut Plan) {
        for tool in plan.tools.iter().flatten() {
            if let Some(own) = self.0.get(&tool.backend) {
                let stored = own.stored.clone();
                plan.backends.insert(tool.backend.clone(), stored);
            }
        }
    }

    pub(crate) fn fits(&self, plan: &Plan) -> bool {
        let needed = plan.tools.iter().flatten().map(|tool| &tool.backend);
        needed.into_iter().all(|backend| {
            let own = self.0.get(backend).zip(plan.backends.get(backend));
            own.is_some_and(|(own, bound)| own.stored == *bound || own.former == *bound)
        })
    }
}

/// All that a backend is reached with, in clear.
fn former(transport: &Transport) -> String {
    match transport {
        Transport::Stdio {
            command, args, cwd, ..
        } => {
            let words: Vec<&str> = std::iter::once(command.as_str())
                .chain(args.iter().map(String::as_str))
                .collect();
            format!("stdio {words:?} in {}", cwd.as_deref().unwrap_or("."))
        }
        Transport::StreamableHttp { url, .. } => format!("http {url}"),
        Transport::Sse { url, .. } => format!("sse {url}"),
    }
}

/// What a person can tell a backend by, and a hash of all that it is reached with: arguments, paths and queries are
/// where keys stand, from the environment or as written, and the store is no place for them.
fn text(transport: &Transport, home: Option<&str>) -> String {
    let shown = match transport {
        Transport::Stdio { command, .. } => format!("stdio {command}"),
        Transport::StreamableHttp { url, .. } => format!("http {}", origin(url)),
        Transport::Sse { url, .. } => format!("sse {}", origin(url)),
    };
    match home {
        None => format!("{shown} #{}", hash_text(&former(transport))),
        Some(home) => {
            let whole = format!("{}\n{home}", former(transport));
            format!("{shown} of {home} #{}", hash_text(&whole))
        }
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

    #[test]
    fn a_run_of_a_former_store_goes_on() {
        let url = "https://h/mcp?key=s3cret".to_owned();
        let headers = Vec::new();
        let transport = Transport::StreamableHttp { url, headers };
        let place = onecall_source::Place::path("", "");
        let own = Identities::of(&[Backend::plain("b", transport, place)], None);
        let tool = BoundTool {
            backend: BackendName::from("b"),
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
        let mut bind = |to: &str| {
            plan.backends.insert(BackendName::from("b"), to.to_owned());
            own.fits(&plan)
        };
        assert!(bind("http https://h/mcp?key=s3cret"));
        assert!(!bind("http https://h/mcp?key=other"));
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
