//! `onecall serve`: publish workflows as an MCP server, over HTTP or stdio.

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::limits::RUNS_COUNTED_MAX;
use crate::print::counted;
use crate::reload::{Fixed, Followed};
use crate::threads::Threads;
use crate::wire::Loaded;
use crate::{access, demo_files, needs, print, reload, signals, wire, withheld};
use anyhow::{anyhow, bail};
use onecall_backends::BackendState;
use onecall_config::settings::{Links, Server, Settings};
use onecall_engine::journal::{Filter, Phase};
use onecall_gateway::{
    Access, HttpOptions, Leaving, Mount, RESERVED_PATHS, RESULT_TOOL, ServeError, StdioOptions,
    is_result_tool_listed, serve_http, serve_stdio,
};
use onecall_runtime::publish::{Published, Target};
use onecall_runtime::runtime::Runtime;
use onecall_runtime::stranded::Stranded;
use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long runs may go on after the first signal, or after the end of standard input.
const GRACE: Duration = Duration::from_secs(10);

/// How long it may take to leave runs to the store and to end backends.
const PUTTING_AWAY: Duration = Duration::from_millis(1_500);

/// How long runs that were resumed are given to show whether they are held.
const RESUMING: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: ServeArgs) -> anyhow::Result<Exit> {
    let (is_demo, files) = (args.demo, args.files.clone());
    let paths = paths(&args)?;
    let (is_stdio, store) = (args.stdio, args.store.clone());
    let load = move || {
        let mut loaded = if is_demo {
            demo_files::load(&paths, &files)
        } else {
            files.load(&paths)
        }?;
        if is_stdio {
            loaded.name_for_desktops();
        }
        loaded.bound_by(&store)?;
        Ok(loaded)
    };
    let loaded = load()?;
    let stamp = loaded.stamp.clone();
    let origins = Origins::of(&loaded);
    let Some(mut settings) = loaded.into_served() else {
        return Ok(Exit::Failed);
    };
    tell_of_compositions(&settings);
    let is_empty = |server: &Server| server.backends.is_empty() && server.workflows.is_empty();
    if settings.servers.iter().all(is_empty) {
        return Ok(wire::nothing_there());
    }
    let servers = if args.stdio {
        vec![wire::only_server(&mut settings)?]
    } else {
        std::mem::take(&mut settings.servers)
    };
    // Before any child is started: a signal must end it too.
    let (stop, interrupted) = signals::stop_and_tell();
    let mounts = start(servers, &settings, &args).await?;
    let told = told_at(stop.clone(), mounts.clone());
    let followed = Followed {
        servers: mounts.clone(),
        stamp,
        fixed: Fixed::of(&settings),
    };
    tokio::spawn(reload::follow(followed, load, stop.clone()));
    // Over HTTP what is withheld from the start is among what is announced.
    withheld::follow(&mounts, args.stdio, &stop);
    // Dropped last: runs go on there after their connections have ended.
    let threads = Threads::start(if args.stdio { 1 } else { usize::MAX })?;
    let serving = Serving {
        args: &args,
        settings: &settings,
        mounts: &mounts,
        origins,
        stop,
    };
    let served = serving.serve(&threads).await;
    let input_ended = match &served {
        Ok(Served::Stdio { input_ended }) => input_ended.as_ref(),
        Ok(Served::Http(_)) | Err(_) => None,
    };
    let since = input_ended.into_iter().chain(told.get()).min();
    leave(&mounts, since.map_or(GRACE, left_of)).await;
    // Until here whoever comes is told that the server leaves.
    let served = match served {
        Err(ServeError::Bind { address, cause }) => return Err(bind_failed(address, &cause)),
        served => served?,
    };
    drop(served);
    tracing::info!("the server has stopped");
    Ok(if interrupted.load(Ordering::SeqCst) {
        Exit::Interrupted
    } else {
        Exit::Ok
    })
}

/// The demo needs no files, so that it takes none that are not named.
fn paths(args: &ServeArgs) -> anyhow::Result<Vec<PathBuf>> {
    let paths = args.paths.clone();
    if args.demo {
        return Ok(paths);
    }
    args.files.paths_or_here(paths, "onecall serve PATH")
}

/// How serving came to its end.
enum Served {
    /// Whoever comes is answered while this is kept.
    Http(#[expect(dead_code, reason = "kept until the runs are left")] Leaving),
    Stdio {
        input_ended: Option<Instant>,
    },
}

/// What is served, and how.
struct Serving<'a> {
    args: &'a ServeArgs,
    settings: &'a Settings,
    mounts: &'a [Mount],
    origins: Origins,
    stop: CancellationToken,
}

impl Serving<'_> {
    /// Serves until the word to stop. Over HTTP whoever comes afterwards is answered while the result is kept.
    async fn serve(self, threads: &Threads) -> Result<Served, ServeError> {
        let Self {
            args,
            settings,
            mounts,
            origins,
            stop,
        } = self;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let hides_links = settings.questions.links == Some(Links::Hidden);
        if hides_links && args.store.ephemeral {
            print::err(
                "warning: `questions.links` is `hidden` and the store is in memory, so only clients that can be asked \
                 can answer questions; leave out `--ephemeral`, or set `links: shown`",
            );
        }
        if let ([only], true) = (mounts, args.stdio) {
            if std::io::stdin().is_terminal() {
                print::err(
                    "waiting for an MCP client on standard input, which starts this itself; \
                     `onecall connect CLIENT PATH` enters it, Ctrl-C ends this",
                );
            }
            let mut options = StdioOptions::new(version);
            wire::limit_stdio(&mut options, settings);
            options.store_flag = wire::store_flag(&args.store, settings);
            options.hides_links = hides_links;
            let input_ended = serve_stdio(only.runtime.clone(), options, stop).await?;
            return Ok(Served::Stdio { input_ended });
        }
        let mut options = HttpOptions::new(args.host.clone(), args.port, version);
        options.allow_anonymous = args.allow_anonymous;
        options.threads = threads.handles();
        wire::limit(&mut options, settings);
        options.hides_links = hides_links;
        options.store_flag = wire::store_flag(&args.store, settings);
        wire::reach(&mut options, settings, args);
        let (told, place) = (mounts.to_vec(), options.clone());
        let ready = move |address| {
            tokio::spawn(announce(told, place, address, origins));
        };
        let leaving = serve_http(mounts.to_vec(), options, stop, ready).await?;
        Ok(Served::Http(leaving))
    }
}

/// Why nothing is served, and where it would be.
fn bind_failed(address: SocketAddr, cause: &std::io::Error) -> anyhow::Error {
    let (host, port) = (address.ip(), address.port());
    let help = match cause.kind() {
        ErrorKind::AddrInUse => {
            "another program, maybe an earlier `onecall serve`, has this port; `--port 0` takes a free one"
                .to_owned()
        }
        ErrorKind::AddrNotAvailable => {
            format!("`{host}` is no address of this machine; `--host 127.0.0.1` always is")
        }
        ErrorKind::PermissionDenied => {
            format!("this user may not have port {port}; name one from 1024 on with `--port`")
        }
        _ => "name another with `--host` and `--port`".to_owned(),
    };
    anyhow!("cannot listen on {address}: {cause}\n  = help: {help}")
}

/// When the word to stop came. Says what is waited for then.
fn told_at(stop: CancellationToken, mounts: Vec<Mount>) -> Arc<OnceLock<Instant>> {
    let told = Arc::new(OnceLock::new());
    let teller = Arc::clone(&told);
    tokio::spawn(async move {
        stop.cancelled().await;
        let _ = teller.set(Instant::now());
        let backends = mounts.iter().flat_map(|mount| mount.runtime.backends());
        print::err(stopping(backends.map(|backend| backend.in_flight).sum()));
        tracing::info!("the server was told to stop");
    });
    told
}

fn stopping(calls: usize) -> String {
    if calls == 0 {
        return "stopping".to_owned();
    }
    let (calls, seconds) = (counted(calls, "call"), GRACE.as_secs());
    format!(
        "stopping: up to {seconds} s for {calls} under way; a second Ctrl-C, or signal, ends at once"
    )
}

fn left_of(told: &Instant) -> Duration {
    GRACE.saturating_sub(told.elapsed())
}

/// Gives runs what is left of the grace time, less what it takes to put them away.
async fn leave(mounts: &[Mount], left: Duration) {
    let grace = left.saturating_sub(PUTTING_AWAY);
    let mut all = JoinSet::new();
    for runtime in mounts.iter().map(|mount| mount.runtime.clone()) {
        all.spawn(async move { runtime.shutdown(grace).await });
    }
    let most = left.max(PUTTING_AWAY);
    if tokio::time::timeout(most, all.join_all()).await.is_err() {
        tracing::warn!("leaving before all backends have ended");
    }
}

fn tell_of_compositions(settings: &Settings) {
    for composition in &settings.compositions {
        let name = &composition.name;
        print::err(format!(
            "composition `{name}` is not published; `publish: true` makes it a tool"
        ));
    }
}

/// One server stands at the root, several stand under their names. Each has a store of its own opening.
async fn start(
    servers: Vec<Server>,
    settings: &Settings,
    args: &ServeArgs,
) -> anyhow::Result<Vec<Mount>> {
    let is_one = servers.len() == 1;
    let mut mounts = Vec::with_capacity(servers.len());
    let journals = wire::open_stores(&args.store, settings, servers.len())?;
    for (server, journal) in servers.into_iter().zip(journals) {
        let path = if is_one {
            String::new()
        } else {
            mount_path(&server.name)?
        };
        let access = server.access.as_ref().map(access::options).transpose()?;
        let access = access.as_ref().map(Access::new).transpose()?;
        let store_flag = wire::store_flag(&args.store, settings);
        let role = wire::Role::Server { store_flag };
        let runtime = wire::start(server, settings, journal, role).await?;
        mounts.push(Mount {
            runtime,
            path,
            access,
        });
    }
    Ok(mounts)
}

fn mount_path(name: &str) -> anyhow::Result<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(fits) || RESERVED_PATHS.contains(&name) {
        bail!(
            "server `{name}` cannot be served under its name; rename it, or pick one with `--server`"
        );
    }
    Ok(format!("/{name}"))
}

/// Says at which URL it serves, then what is published from where, once that is known, and what to paste into a client.
async fn announce(mounts: Vec<Mount>, options: HttpOptions, address: SocketAddr, origins: Origins) {
    let base = options.base_url(address);
    let mut entries = Vec::new();
    for Mount {
        runtime,
        path,
        access,
    } in &mounts
    {
        let url = format!("{base}{path}/mcp");
        print::out(format!("serving `{}` at {url}", runtime.name()));
        tracing::info!(server = runtime.name(), url, "the server is ready");
        if access.is_some() {
            print::out(
                "callers need a bearer token; `onecall connect CLIENT --url URL --token-env NAME` enters it",
            );
        }
        let name = path.strip_prefix('/').unwrap_or("onecall");
        entries.push(format!(
            "\"{name}\": {{ \"type\": \"http\", \"url\": \"{url}\" }}"
        ));
    }
    if tell_published(&mounts, &origins).await {
        print::out(
            "names with a colon are refused by some desktop hosts, with the whole list; `names: {prefix: workflow_}` avoids it, and both spellings can be called",
        );
    }
    if address.ip().is_unspecified() && options.public_url.is_none() {
        print::out(
            "clients call it by address; `--public-url URL` says where else it is found, `--allow-host NAME` lets another name in",
        );
    }
    print::out("client configuration:");
    let entries = entries.join(", ");
    print::out(format!("  {{ \"mcpServers\": {{ {entries} }} }}"));
    if let Some(line) = left_behind(&mounts, options.store_flag.as_deref()).await {
        print::out(line);
    }
    for own in mounts.iter().flat_map(|mount| mount.runtime.stranded()) {
        let Stranded { run, reason, .. } = own;
        let flag = options.store_flag.as_deref().unwrap_or_default();
        print::out(format!(
            "          run {run} cannot resume: {reason}; onecall runs rebind {run}{flag}"
        ));
    }
}

/// Waits a moment for backends that nobody knows yet, of all servers at the same time, and tells what is published.
/// Whether a name of a workflow has a colon.
async fn tell_published(mounts: &[Mount], origins: &Origins) -> bool {
    let knowing = mounts.iter().map(|mount| {
        let runtime = mount.runtime.clone();
        // Whoever is kept from an earlier start is connected when it is needed.
        tokio::spawn(async move { runtime.known().await })
    });
    let knowing: Vec<_> = knowing.collect();
    let mut has_colon = false;
    for (Mount { runtime, .. }, known) in mounts.iter().zip(knowing) {
        let Ok(published) = known.await else { continue };
        has_colon |= published.workflows().any(|tool| tool.name.contains(':'));
        if mounts.len() > 1 {
            print::out(format!("of `{}`:", runtime.name()));
        }
        let from = |workflow: &str| origins.shown(runtime.name(), workflow);
        for line in tool_lines(&published, from) {
            print::out(line);
        }
        for backend in runtime.backends() {
            let name = &backend.name;
            match (&backend.state, backend.state.reason()) {
                (BackendState::Invalid { reason }, _) => {
                    print::out(format!("withheld  backend `{name}`: {reason}"));
                }
                (_, Some(reason)) => print::out(format!("down      {name}: {reason}")),
                (BackendState::Connecting, None) => print::out(format!(
                    "awaited   {name}: its tools are listed once it is connected"
                )),
                (_, None) => {}
            }
        }
    }
    has_colon
}

/// What an earlier server left: runs that were resumed, and those in the store that need a person.
async fn left_behind(mounts: &[Mount], store_flag: Option<&str>) -> Option<String> {
    let mut resumed = 0;
    for mount in mounts {
        resumed += mount.runtime.resumed(RESUMING).await;
    }
    // All have the same store.
    let runtime = &mounts.first()?.runtime;
    let [held, waiting] = needy(runtime).await;
    let resumed = (resumed > 0).then(|| format!("resumed {}", counted(resumed, "run")));
    let needy = needs::counted(held, waiting);
    let needy = needy.map(|count| match store_flag {
        Some(flag) => format!("{count}: {}", needs::list(flag)),
        None => count,
    });
    let both: Vec<String> = resumed.into_iter().chain(needy).collect();
    (!both.is_empty()).then(|| format!("runs      {}", both.join("; ")))
}

/// How many runs of the store are held, and how many wait for a person. Those that were answered and cannot resume here
/// need no answer; they are reported by themselves.
async fn needy(runtime: &Runtime) -> [usize; 2] {
    let phases = [Phase::Held, Phase::Waiting];
    let filter = Filter {
        phases: phases.to_vec(),
        limit: RUNS_COUNTED_MAX,
        ..Filter::default()
    };
    let journal = runtime.journal();
    let runs = journal.list(filter).await.unwrap_or_default();
    let answered = needs::answered_runs(&**journal, &runs).await;
    let answered = answered.unwrap_or_default();
    phases.map(|phase| {
        let runs = runs.iter().filter(|run| run.phase == phase);
        runs.filter(|run| !answered.contains(&run.id)).count()
    })
}

/// The file that each workflow was read from, by server and workflow: two servers may each have one of the same name.
struct Origins(BTreeMap<(String, String), String>);

impl Origins {
    fn of(loaded: &Loaded) -> Self {
        let servers = loaded.settings.servers.iter();
        let workflows = servers.flat_map(|server| {
            let own = server.workflows.iter();
            own.map(|workflow| (server.name.clone(), workflow))
        });
        let named = workflows.filter_map(|(server, workflow)| {
            let span = workflow.place.span()?;
            let file = loaded.sources.get(span.source).name();
            let workflow = workflow.name.as_str().to_owned();
            Some(((server, workflow), file.to_owned()))
        });
        Self(named.collect())
    }

    /// ` (from FILE)`, where it is known.
    fn shown(&self, server: &str, workflow: &str) -> String {
        let file = self.0.get(&(server.to_owned(), workflow.to_owned()));
        file.map(|file| format!("  (from {file})"))
            .unwrap_or_default()
    }
}

/// `from` tells the file of a workflow.
fn tool_lines(published: &Published, from: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    for tool in &published.tools {
        let Target::Workflow(own) = &tool.target else {
            continue;
        };
        let about = tool.definition.description().unwrap_or("");
        let about = about.lines().next().unwrap_or("");
        let origin = from(own.workflow.name.as_str());
        let line = format!("workflow  {}{origin}  {about}", tool.name);
        lines.push(line.trim_end().to_owned());
    }
    let tools = published
        .tools
        .iter()
        .filter_map(|tool| match &tool.target {
            Target::Workflow(_) => None,
            Target::Backend { backend, .. } => {
                Some(format!("tool      {}  (from {backend})", tool.name))
            }
        });
    lines.extend(tools);
    if is_result_tool_listed(published) {
        let about = "fetches the result of a run that goes on";
        lines.push(format!("tool      {RESULT_TOOL}  {about}"));
    }
    for withheld in &published.withheld {
        let (name, reason) = (&withheld.name, &withheld.reason);
        let origin = from(name);
        lines.push(format!("withheld  {name}{origin}: {reason}"));
        let help = withheld.help.iter();
        lines.extend(help.map(|help| format!("            = help: {help}")));
    }
    lines
}
