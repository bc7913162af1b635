//! Files that change while they are served: the new version is served once it is sound, else the old one stays.

use crate::wire::Loaded;
use crate::{access, print};
use anyhow::bail;
use onecall_config::reach::Reach;
use onecall_config::settings::{Limits, Links, Server, Settings};
use onecall_gateway::Mount;
use onecall_runtime::sources::Stamp;
use onecall_source::render;
use onecall_workflow::policy::Durability;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often the files are looked at. Two looks that agree make a change: editors write in several steps.
const LOOK: Duration = Duration::from_millis(500);

/// What the files said when the servers were started, of that which only acts then.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    store: Option<String>,
    durability: Option<Durability>,
    limits: Limits,
    links: Option<Links>,
    reach: Reach,
}

impl Fixed {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            store: settings.store.clone(),
            durability: settings.durability,
            limits: settings.limits,
            links: settings.questions.links,
            reach: settings.reach.clone(),
        }
    }

    /// The keys that say something else now.
    fn changed(&self, now: &Settings) -> Vec<&'static str> {
        let (old, new) = (&self.limits, &now.limits);
        let rows = [
            ("store", self.store != now.store),
            ("durability", self.durability != now.durability),
            ("server", self.reach != now.reach),
            ("questions.links", self.links != now.questions.links),
            ("limits.body_bytes", old.body_bytes != new.body_bytes),
            ("limits.sessions", old.sessions != new.sessions),
            ("limits.session_idle", old.session_idle != new.session_idle),
            ("limits.requests", old.requests != new.requests),
            ("limits.connections", old.connections != new.connections),
            ("limits.patience", old.patience != new.patience),
            ("limits.shown_bytes", old.shown_bytes != new.shown_bytes),
            (
                "limits.ephemeral_bytes",
                old.ephemeral_bytes != new.ephemeral_bytes,
            ),
        ];
        let changed = rows.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(key, _)| key).collect()
    }
}

/// Servers whose files are followed.
pub(crate) struct Followed {
    pub(crate) servers: Vec<Mount>,
    pub(crate) stamp: Stamp,
    pub(crate) fixed: Fixed,
}

/// Follows the files of some servers until they stop.
pub(crate) async fn follow<L>(followed: Followed, load: L, stop: CancellationToken)
where
    L: Fn() -> anyhow::Result<Loaded> + Send + Sync + 'static,
{
    let Followed {
        servers,
        stamp,
        fixed,
    } = followed;
    let load = Arc::new(load);
    let (mut served, mut last) = (stamp.clone(), stamp);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let look = last.clone();
        let Ok(now) = tokio::task::spawn_blocking(move || look.again()).await else {
            return;
        };
        let is_settled = now == last;
        last = now;
        if !is_settled || last == served {
            continue;
        }
        let load = Arc::clone(&load);
        let Ok(loaded) = tokio::task::spawn_blocking(move || load()).await else {
            return;
        };
        match loaded {
            Ok(loaded) => {
                last = loaded.stamp.clone();
                take(&servers, &fixed, loaded).await;
            }
            Err(error) => refuse(&servers, &format!("{error:#}")),
        }
        served = last.clone();
    }
}

async fn take(servers: &[Mount], fixed: &Fixed, loaded: Loaded) {
    let faults = faults(&loaded);
    let Some(settings) = loaded.into_reloaded() else {
        return refuse(servers, &faults);
    };
    let changed = fixed.changed(&settings);
    let mut fresh = settings.servers;
    let is_only = fresh.len() == 1 && servers.len() == 1;
    for mount in servers {
        let runtime = &mount.runtime;
        let found = fresh
            .iter()
            .position(|server| is_only || server.name == runtime.name());
        let one = std::slice::from_ref(mount);
        let Some(found) = found else {
            let name = runtime.name();
            refuse(one, &format!("the files hold no server `{name}` any more"));
            continue;
        };
        let server = fresh.swap_remove(found);
        if let Err(error) = admit(mount, &server) {
            refuse(one, &format!("{error:#}"));
            continue;
        }
        match runtime.reload(server).await {
            Ok(()) => {
                print::err(format!(
                    "workflows reloaded: `{}` serves the new version of the files",
                    runtime.name()
                ));
                // What does not fit is told, though nobody has called it yet.
                let fresh = runtime.clone();
                tokio::spawn(async move { fresh.known().await });
            }
            Err(error) => refuse(one, &error.to_string()),
        }
    }
    if !changed.is_empty() {
        let keys = changed.join(", ");
        print::err(format!(
            "these act at the start only; start again for: {keys}"
        ));
    }
    if !fresh.is_empty() {
        print::err("the files hold more servers than before; start again to serve them");
    }
}

/// How many faults there are, and the first error: its code, place and message.
fn faults(loaded: &Loaded) -> String {
    let summary = render::summary(&loaded.diagnostics);
    let Some(first) = loaded.diagnostics.iter().find(|fault| fault.is_error()) else {
        return summary;
    };
    let (code, message) = (first.code.as_str(), &first.message);
    match first.place() {
        Some(place) => {
            let place = loaded.sources.describe(place);
            format!("{summary}: {code} at {place}: {message}")
        }
        None => format!("{summary}: {code}: {message}"),
    }
}

/// Callers are let in by the new version from now on. Whether they are asked at all stays as it was: a server that
/// others may reach must not lose its guard while it runs.
fn admit(mount: &Mount, server: &Server) -> anyhow::Result<()> {
    let fresh = server.access.as_ref().map(access::options_again);
    let fresh = fresh.transpose()?;
    match (&mount.access, fresh) {
        (None, None) => Ok(()),
        (Some(access), Some(fresh)) => Ok(access.replace(&fresh)?),
        (Some(_), None) | (None, Some(_)) => {
            bail!("start again to change whether callers need a token")
        }
    }
}

fn refuse(servers: &[Mount], reason: &str) {
    print::err(format!(
        "the files have changed and the old version stays published: {reason}"
    ));
    for mount in servers {
        mount.runtime.refuse_reload(reason);
    }
}
