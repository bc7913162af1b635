//! Files that change while they are served: the new version is served once it is sound, else the old one stays.

use crate::wire::Loaded;
use crate::{access, print};
use anyhow::bail;
use onecall_config::settings::Server;
use onecall_gateway::Mount;
use onecall_runtime::sources::Stamp;
use onecall_source::render;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often the files are looked at. Two looks that agree make a change: editors write in several steps.
const LOOK: Duration = Duration::from_millis(500);

/// Follows the files of some servers until they stop.
pub(crate) async fn follow<L>(servers: Vec<Mount>, stamp: Stamp, load: L, stop: CancellationToken)
where
    L: Fn() -> anyhow::Result<Loaded> + Send + Sync + 'static,
{
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
                take(&servers, loaded).await;
            }
            Err(error) => refuse(&servers, &format!("{error:#}")),
        }
        served = last.clone();
    }
}

async fn take(servers: &[Mount], loaded: Loaded) {
    let summary = render::summary(&loaded.diagnostics);
    let Some(settings) = loaded.sound() else {
        return refuse(servers, &summary);
    };
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
            Ok(()) => print::err(format!(
                "the files have changed: the new version of `{}` is served",
                runtime.name()
            )),
            Err(error) => refuse(one, &error.to_string()),
        }
    }
    if !fresh.is_empty() {
        print::err("the files hold more servers than before; start again to serve them");
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
