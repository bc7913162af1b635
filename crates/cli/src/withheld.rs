//! Workflows that stop fitting while they are served, or fit again, and new versions that never did: told on stderr, whatever made the difference, a
//! file or a backend.

use crate::print;
use onecall_gateway::Mount;
use onecall_runtime::publish::{Published, Target, Withheld};
use onecall_runtime::runtime::Runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What is said of each workflow that does not fit, with its reason.
type Reasons = BTreeMap<(Unfit, String), String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unfit {
    Withheld,
    /// The version before is published.
    Outdated,
}

impl Unfit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Withheld => "withheld",
            Self::Outdated => "outdated",
        }
    }

    /// What is added to its name.
    fn means(self) -> &'static str {
        match self {
            Self::Withheld => "",
            Self::Outdated => " (the new version does not fit, the one before stays published)",
        }
    }
}

/// Follows some servers until they stop. `tells_first`: nobody else says what is withheld from the start.
pub(crate) fn follow(mounts: &[Mount], tells_first: bool, stop: &CancellationToken) {
    for mount in mounts {
        let (runtime, stop) = (mount.runtime.clone(), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tell(runtime, tells_first) => {}
            }
        });
    }
}

async fn tell(runtime: Runtime, tells_first: bool) {
    let mut published = runtime.published();
    let mut known = Reasons::new();
    if !tells_first {
        // No backend is started for this that is not started to announce.
        known = reasons(&*runtime.known().await);
    }
    loop {
        let list = Arc::clone(&published.borrow_and_update());
        let now = reasons(&list);
        for line in news(&known, &now, |name| is_published(&list, name)) {
            print::err(line);
        }
        known = now;
        if published.changed().await.is_err() {
            return;
        }
    }
}

fn reasons(published: &Published) -> Reasons {
    let kinds = [
        (Unfit::Withheld, &published.withheld),
        (Unfit::Outdated, &published.outdated),
    ];
    let all = kinds.into_iter().flat_map(|(unfit, workflows)| {
        let told = |own: &Withheld| {
            let help = own
                .help
                .iter()
                .map(|help| format!("\n            = help: {help}"));
            format!("{}{}", own.reason, help.collect::<String>())
        };
        let of = move |own: &Withheld| ((unfit, own.name.clone()), told(own));
        workflows.iter().map(of)
    });
    all.collect()
}

fn is_published(published: &Published, name: &str) -> bool {
    let mut workflows = published.workflows();
    workflows.any(|tool| match &tool.target {
        Target::Workflow(own) => own.workflow.name == name,
        Target::Backend { .. } => false,
    })
}

/// What has changed, a line each.
fn news(before: &Reasons, now: &Reasons, is_published: impl Fn(&str) -> bool) -> Vec<String> {
    let fresh = now
        .iter()
        .filter(|(unfit, reason)| before.get(*unfit) != Some(*reason));
    let fresh = fresh.map(|((unfit, name), reason)| {
        format!("{}  {name}{}: {reason}", unfit.as_str(), unfit.means())
    });
    let is_named = |wanted: &String| now.keys().any(|(_, name)| name == wanted);
    let gone = before.keys().filter(|(_, name)| !is_named(name));
    let gone = gone.map(|(unfit, name)| {
        if is_published(name) {
            format!("no longer {}  {name}", unfit.as_str())
        } else {
            format!("removed  {name}: no file defines it now")
        }
    });
    fresh.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::{Reasons, Unfit, news};

    #[test]
    fn only_what_is_new_is_told() {
        let reasons = |rows: &[(Unfit, &str, &str)]| -> Reasons {
            let rows = rows.iter();
            rows.map(|(unfit, name, reason)| ((*unfit, (*name).to_owned()), (*reason).to_owned()))
                .collect()
        };
        let (withheld, outdated) = (Unfit::Withheld, Unfit::Outdated);
        let before = reasons(&[
            (withheld, "same", "why"),
            (withheld, "other", "why"),
            (withheld, "gone", "why"),
            (withheld, "deleted", "why"),
            (outdated, "mended", "why"),
        ]);
        let now = reasons(&[
            (withheld, "same", "why"),
            (withheld, "other", "so"),
            (withheld, "new", "because"),
            (outdated, "edited", "hence"),
        ]);
        assert_eq!(
            news(&before, &now, |name| name != "deleted"),
            [
                "withheld  new: because",
                "withheld  other: so",
                "outdated  edited (the new version does not fit, the one before stays published): hence",
                "removed  deleted: no file defines it now",
                "no longer withheld  gone",
                "no longer outdated  mended"
            ]
        );
    }
}
