//! Workflows that stop fitting while they are served, or fit again: told on stderr, whatever made the difference, a
//! file or a backend.

use crate::print;
use onecall_gateway::Mount;
use onecall_runtime::publish::Published;
use onecall_runtime::runtime::Runtime;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Why each workflow is withheld.
type Reasons = BTreeMap<String, String>;

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
        let now = Arc::clone(&published.borrow_and_update());
        let now = reasons(&now);
        for line in news(&known, &now) {
            print::err(line);
        }
        known = now;
        if published.changed().await.is_err() {
            return;
        }
    }
}

fn reasons(published: &Published) -> Reasons {
    let withheld = published.withheld.iter();
    withheld
        .map(|own| (own.workflow.clone(), own.reason.clone()))
        .collect()
}

/// What has changed, a line each.
fn news(before: &Reasons, now: &Reasons) -> Vec<String> {
    let fresh = now
        .iter()
        .filter(|(name, reason)| before.get(*name) != Some(*reason));
    let fresh = fresh.map(|(name, reason)| format!("withheld  {name}: {reason}"));
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let gone = gone.map(|name| format!("no longer withheld  {name}"));
    fresh.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::{Reasons, news};

    #[test]
    fn only_what_is_new_is_told() {
        let reasons = |rows: &[(&str, &str)]| -> Reasons {
            let rows = rows.iter();
            rows.map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned()))
                .collect()
        };
        let before = reasons(&[("same", "why"), ("other", "why"), ("gone", "why")]);
        let now = reasons(&[("same", "why"), ("other", "so"), ("new", "because")]);
        assert_eq!(
            news(&before, &now),
            [
                "withheld  new: because",
                "withheld  other: so",
                "no longer withheld  gone"
            ]
        );
    }
}
