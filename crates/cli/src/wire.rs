//! Settings become the options of each crate; files, environment, store and signals are met here only.

use crate::args::{ServeArgs, StoreArgs};
use crate::exit::{Exit, Nothing, usage};
use crate::limits::{EPHEMERAL_BYTES, SERVERS_ABOVE_MAX};
use crate::token::TokenArgs;
use crate::{access, files, print};
use anyhow::{Context, bail};
use onecall_config::environment::{DEPTH, SEAL_KEY, is_inherited};
use onecall_config::settings::{Names, Server, Settings, Strategy};
use onecall_config::{Compat, Environment};
use onecall_engine::journal::Journal;
use onecall_gateway::{HttpOptions, StdioOptions};
use onecall_journal::private::{self, ChosenBy};
use onecall_journal::{MemoryStore, Retention, SealKey};
use onecall_runtime::now;
use onecall_runtime::runtime::{Options, Runtime};
use onecall_runtime::saved::{SavedTools, check_parallel};
use onecall_runtime::sources::{self, Stamp};
use onecall_source::render::{self, TextOptions};
use onecall_source::{Diagnostic, Diagnostics, Place, SourceMap, codes};
use onecall_workflow::lock::Lock;
use onecall_workflow::name::BackendName;
use onecall_workflow::policy::Durability;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the first list of a server waits for backends that are still connecting.
const FIRST_LIST_WAIT: Duration = Duration::from_secs(2);

/// As much for a command that makes one call: nobody would call again once they are up.
const ONE_SHOT_WAIT: Duration = Duration::from_secs(30);

/// One process alone opens a store in memory, so its lease never runs out.
const LEASE: Duration = Duration::from_secs(10);

/// Everything the paths say.
pub(crate) struct Loaded {
    pub(crate) sources: SourceMap,
    /// Complete only where no diagnostic is an error; see `sound`.
    pub(crate) settings: Settings,
    pub(crate) diagnostics: Diagnostics,
    /// The files as they were read.
    pub(crate) stamp: Stamp,
    /// The environment variables that the files name.
    pub(crate) variables: BTreeSet<String>,
    /// The command that tells every fault, where a command can.
    pub(crate) check: Option<String>,
}

impl Loaded {
    /// What the paths say, once it is reported and sound. `None` when something in them is an error.
    pub(crate) fn sound(self) -> Option<Settings> {
        self.tell();
        (!self.diagnostics.has_errors()).then_some(self.settings)
    }

    /// Reports errors in full. Warnings alone are counted: `check` tells them, and other commands are given the same
    /// files again and again.
    pub(crate) fn tell(&self) {
        match &self.check {
            Some(check) if !self.diagnostics.has_errors() => {
                if !self.diagnostics.is_empty() {
                    print::err(shown_by(&self.diagnostics, check));
                }
            }
            Some(_) | None => report(self),
        }
    }

    /// Applies the limits of the store to the settings, also if some of the files have errors: the rest is served.
    pub(crate) fn bound_by(&mut self, args: &StoreArgs) -> anyhow::Result<()> {
        let bounded = bound_ephemeral(args, &mut self.settings);
        if bounded.is_err() && self.diagnostics.has_errors() {
            self.tell();
        }
        bounded
    }

    /// Desktop hosts refuse a whole list for one colon, so they are given none unless the files ask for it.
    pub(crate) fn name_for_desktops(&mut self) {
        for server in &mut self.settings.servers {
            let prefix = &mut server.names.prefix;
            prefix.get_or_insert_with(|| Names::PLAIN.to_owned());
        }
    }
}

/// The paths alone, for commands that look at a set-up.
pub(crate) fn load(paths: &[PathBuf]) -> anyhow::Result<Loaded> {
    let mut loaded = understand(sources::collect(paths)?, Compat::Page);
    loaded.check = Some(format!("onecall check {}", files::shown(paths)));
    Ok(loaded)
}

/// As `load`, with values in place of variables that are not set.
pub(crate) fn load_in(paths: &[PathBuf], values: &Environment<'_>) -> anyhow::Result<Loaded> {
    Ok(understand_in(
        sources::collect(paths)?,
        Compat::Page,
        values,
    ))
}

pub(crate) fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// A server elsewhere, as if a file named it as the only backend; its tools keep their names.
pub(crate) fn load_url(url: &str, token: &TokenArgs) -> Loaded {
    let mut collected = sources::Collected::default();
    let mut server = serde_json::json!({ "url": url });
    if let Some(variable) = token.variable() {
        let shown = format!("Bearer ${{{variable}}}");
        server["headers"] = serde_json::json!({ "Authorization": shown });
    }
    let text = serde_json::json!({ "mcpServers": { "server": server } });
    let source = collected.sources.add("the command line", text.to_string());
    collected.inputs.push(onecall_config::Input {
        source,
        named: true,
    });
    let mut loaded = understand(collected, Compat::Page);
    for server in &mut loaded.settings.servers {
        server.aggregation.strategy = Strategy::Priority { order: Vec::new() };
    }
    loaded
}

/// What goes wrong is told of the URL, since nobody has named the server otherwise.
pub(crate) fn name_by_url(server: &mut Server, url: &str) {
    for backend in &mut server.backends {
        backend.name = BackendName::from(url);
    }
}

/// `compat`: how suites are read where their page and their program differ.
pub(crate) fn understand(collected: sources::Collected, compat: Compat) -> Loaded {
    understand_in(collected, compat, &|name| std::env::var(name).ok())
}

/// As `understand`, with other values of the variables that the files name.
pub(crate) fn understand_in(
    collected: sources::Collected,
    compat: Compat,
    values: &Environment<'_>,
) -> Loaded {
    let mut diagnostics = collected.diagnostics;
    let variables = RefCell::new(BTreeSet::new());
    let environment = |name: &str| {
        variables.borrow_mut().insert(name.to_owned());
        values(name)
    };
    let options = onecall_config::Options {
        environment: &environment,
        compat,
    };
    let (mut settings, faults) =
        onecall_config::survey(&collected.sources, &collected.inputs, &options);
    for server in &mut settings.servers {
        server.home = Some(collected.home.display().to_string());
    }
    // A file that could not be read may have given backends.
    settings.lacks_backends |= diagnostics.has_errors();
    diagnostics.append(faults);
    if let Some(file) = &collected.lock {
        diagnostics.extend(apply_lock(file, &mut settings));
    }
    diagnostics.extend(access::open_files(&settings));
    for server in &settings.servers {
        let catalog = SavedTools::default().catalog(server).0;
        diagnostics.append(check_parallel(server, &catalog));
    }
    diagnostics.sort();
    let mut stamp = collected.stamp;
    for path in access::files(&settings) {
        stamp.add(Path::new(path));
    }
    Loaded {
        sources: collected.sources,
        settings,
        diagnostics,
        stamp,
        variables: variables.into_inner(),
        check: None,
    }
}

/// Holds every server to the lock file.
fn apply_lock(file: &sources::LockFile, settings: &mut Settings) -> Option<Diagnostic> {
    let name = file.path.display().to_string();
    match Lock::parse(&file.text) {
        Ok(lock) => {
            let lock = lock.of_paths(files::shown(&file.locks));
            for server in &mut settings.servers {
                server.lock = Some(lock.clone());
            }
            None
        }
        Err(error) => {
            let message = format!("the lock file cannot be read: {error}");
            let fault = Diagnostic::error(codes::LOCK_UNREADABLE, message)
                .label(Place::path(name, ""), "this file")
                .help("restore it, or remove it and run `onecall lock`");
            Some(fault)
        }
    }
}

/// The status block of each definition resource, in the words of a controller.
pub(crate) fn statuses(
    loaded: &Loaded,
    inputs: &[onecall_config::Input],
    unfit: &Diagnostics,
) -> Vec<serde_json::Value> {
    let environment = |name: &str| std::env::var(name).ok();
    let options = onecall_config::Options {
        environment: &environment,
        compat: Compat::Page,
    };
    let at = now().to_rfc3339();
    onecall_config::status::statuses(&loaded.sources, inputs, &options, unfit)
        .iter()
        .map(|status| {
            serde_json::json!({
                "metadata": { "name": status.name, "namespace": status.namespace },
                "status": status.to_json(Some(&at)),
            })
        })
        .collect()
}

/// How many diagnostics there are, and the command that shows them.
pub(crate) fn shown_by(diagnostics: &Diagnostics, check: &str) -> String {
    format!("{}; shown by: {check}", render::summary(diagnostics))
}

/// Draws all diagnostics on stderr, with a summary where there are any.
pub(crate) fn report(loaded: &Loaded) {
    let style = print::Style::of_stderr();
    let options = TextOptions {
        color: style.color,
        unicode: style.boxes,
        ..TextOptions::default()
    };
    for fault in &loaded.diagnostics {
        print::err(render::text(fault, &loaded.sources, options).trim_end());
        print::err("");
    }
    if !loaded.diagnostics.is_empty() {
        print::err(render::summary(&loaded.diagnostics));
    }
}

/// The one server that a command works with.
pub(crate) fn only_server(settings: &mut Settings) -> anyhow::Result<Server> {
    let names: Vec<&str> = settings
        .servers
        .iter()
        .map(|own| own.name.as_str())
        .collect();
    if names.len() > 1 {
        let names = names.join("`, `");
        return Err(usage(format!(
            "the paths hold several servers; pick one with `--server`: `{names}`"
        )));
    }
    match settings.servers.pop() {
        Some(server) => Ok(server),
        None => bail!("the paths hold no backends and no workflows"),
    }
}

/// Says that the paths hold nothing of ours, and what makes a beginning.
pub(crate) fn nothing_there() -> Exit {
    print::err("error: the paths hold no backends and no workflows");
    print::err(
        "  = help: `onecall init` makes a first `onecall.yaml`; `onecall serve --demo` needs no file",
    );
    Exit::NothingSelected
}

/// The composition of this name becomes a tool of the server, for one command.
pub(crate) fn take_composition(settings: &mut Settings, server: &mut Server, name: &str) {
    let is_published = server.workflows.iter().any(|own| own.name == name);
    let found = settings
        .compositions
        .iter()
        .position(|own| own.name == name);
    if let (Some(index), false) = (found, is_published) {
        server
            .workflows
            .push(settings.compositions.swap_remove(index));
    }
}

/// A server on a store that nobody keeps: to look at its backends.
pub(crate) async fn start_to_look(server: Server, settings: &Settings) -> anyhow::Result<Runtime> {
    let store = StoreArgs {
        store: None,
        ephemeral: true,
    };
    let journal = open_store(&store, settings)?;
    start(server, settings, journal, Role::OneShot).await
}

/// The purpose of a runtime.
pub(crate) enum Role {
    /// Resumes runs that others left. `store_flag`: as of [`store_flag`].
    Server { store_flag: Option<String> },
    /// Minds its own runs.
    OneShot,
}

pub(crate) async fn start(
    server: Server,
    settings: &Settings,
    journal: Arc<dyn Journal>,
    role: Role,
) -> anyhow::Result<Runtime> {
    let (is_server, store_flag) = match role {
        Role::Server { store_flag } => (true, store_flag),
        Role::OneShot => (false, None),
    };
    let options = Options {
        server,
        journal,
        durability: settings.durability.unwrap_or(Durability::Async),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        first_list_wait: if is_server {
            FIRST_LIST_WAIT
        } else {
            ONE_SHOT_WAIT
        },
        this_program: std::env::current_exe().ok(),
        child_env: child_environment()?,
        resumes: is_server,
        store_flag,
        outside: None,
    };
    Ok(Runtime::start(options).await?)
}

/// The variables that every child process gets. All others of this process stay here: seal key, tokens, secrets.
fn child_environment() -> anyhow::Result<Vec<(OsString, OsString)>> {
    let inherited = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited));
    let depth = (depth()? + 1).to_string();
    let own = (OsString::from(DEPTH), OsString::from(depth));
    Ok(inherited.chain([own]).collect())
}

/// How many servers of this program stand above this one. Beyond a few, one of them is its own backend.
fn depth() -> anyhow::Result<u32> {
    let depth = std::env::var(DEPTH).ok();
    let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0);
    if depth > SERVERS_ABOVE_MAX {
        bail!(
            "{depth} servers of this program stand above this one, each a backend of the one before: \
             a file names its own server as a backend; remove that entry"
        );
    }
    Ok(depth)
}

/// What the configuration says of the face over HTTP.
pub(crate) fn limit(options: &mut HttpOptions, settings: &Settings) {
    let limits = settings.limits;
    options.body_bytes_max = limits.body_bytes.unwrap_or(options.body_bytes_max);
    options.sessions_max = limits.sessions.unwrap_or(options.sessions_max);
    options.session_idle = limits.session_idle.unwrap_or(options.session_idle);
    options.requests_max = limits.requests.unwrap_or(options.requests_max);
    options.connections_max = limits.connections.unwrap_or(options.connections_max);
    options.patience = limits.patience.unwrap_or(options.patience);
    options.shown_bytes_max = limits.shown_bytes.unwrap_or(options.shown_bytes_max);
}

/// How clients reach that face: what the flags and the configuration say.
pub(crate) fn reach(options: &mut HttpOptions, settings: &Settings, args: &ServeArgs) {
    let stated = settings.reach.clone();
    options.public_url = args.public_url.clone().or(stated.url);
    options.allowed_hosts = stated.hosts;
    options.allowed_hosts.extend(args.allow_hosts.clone());
    options.allowed_origins = stated.origins;
}

/// What it says of the face over standard input and output.
pub(crate) fn limit_stdio(options: &mut StdioOptions, settings: &Settings) {
    let limits = settings.limits;
    options.patience = limits.patience.unwrap_or(options.patience);
    options.shown_bytes_max = limits.shown_bytes.unwrap_or(options.shown_bytes_max);
}

/// The store that the flag names, else the files, else the one of the user.
pub(crate) fn open_store(
    args: &StoreArgs,
    settings: &Settings,
) -> anyhow::Result<Arc<dyn Journal>> {
    let bytes = settings.limits.ephemeral_bytes;
    open_or_create(named_store(args, settings).as_deref(), args, bytes)
}

/// Opens the store once for each server of the process. With `--ephemeral` all of them share one memory.
pub(crate) fn open_stores(
    args: &StoreArgs,
    settings: &Settings,
    count: usize,
) -> anyhow::Result<Vec<Arc<dyn Journal>>> {
    if !args.ephemeral {
        let each = (0..count).map(|_| open_store(args, settings));
        return each.collect();
    }
    let store = memory_store(args, settings.limits.ephemeral_bytes)?;
    let each = (0..count).map(|_| -> Arc<dyn Journal> { Arc::new(store.open(now(), LEASE)) });
    Ok(each.collect())
}

/// `bytes`: how many the runs may take.
fn memory_store(args: &StoreArgs, bytes: Option<usize>) -> anyhow::Result<MemoryStore> {
    if args.is_stated() {
        return Err(usage("--ephemeral keeps runs nowhere; leave out --store"));
    }
    let bytes = bytes.unwrap_or(EPHEMERAL_BYTES);
    Ok(MemoryStore::new(Retention {
        bytes_max: u64::try_from(bytes).unwrap_or(u64::MAX),
        ..Retention::default()
    }))
}

/// With `--ephemeral` one run may hold a quarter of the memory that all have.
pub(crate) fn bound_ephemeral(args: &StoreArgs, settings: &mut Settings) -> anyhow::Result<()> {
    if !args.ephemeral {
        return Ok(());
    }
    let whole = settings.limits.ephemeral_bytes.unwrap_or(EPHEMERAL_BYTES);
    let quarter = whole / 4;
    let bounded = match settings.limits.run_bytes {
        Some(stated) if stated > quarter => {
            return Err(usage(format!(
                "`limits.run_bytes` is {stated}, and with `--ephemeral` one run may hold at most {quarter} bytes, a \
                 quarter of `limits.ephemeral_bytes` ({whole}); lower the one or raise the other"
            )));
        }
        stated => Some(stated.unwrap_or(quarter)),
    };
    settings.limits.run_bytes = bounded;
    for server in &mut settings.servers {
        server.limits.run_bytes = bounded;
    }
    Ok(())
}

/// Where a store is, and who decided that.
struct StorePlace {
    path: PathBuf,
    chosen_by: ChosenBy,
}

impl StorePlace {
    /// The store that was named, or the one in the state directory of the user.
    fn of(store: Option<&Path>) -> anyhow::Result<Self> {
        let chosen_by = match store {
            Some(_) => ChosenBy::User,
            None => ChosenBy::Program,
        };
        let path = store_path(store)?;
        Ok(Self { path, chosen_by })
    }

    /// As `of`, for commands that read no files.
    fn existing(store: Option<&Path>) -> anyhow::Result<Self> {
        let of_folder = store.is_none().then(store_of_folder).flatten();
        Self::of(store.or(of_folder.as_deref()))
    }
}

/// Where the store is that `open_store` opens.
pub(crate) fn store_place(args: &StoreArgs, settings: &Settings) -> anyhow::Result<PathBuf> {
    store_path(named_store(args, settings).as_deref())
}

fn named_store(args: &StoreArgs, settings: &Settings) -> Option<PathBuf> {
    let configured = settings.store.as_ref();
    args.store.clone().or_else(|| configured.map(PathBuf::from))
}

/// What `onecall runs` must be told to find the runs: nothing for the usual store. `None`: nobody else finds them.
pub(crate) fn store_flag(args: &StoreArgs, settings: &Settings) -> Option<String> {
    if args.ephemeral {
        return None;
    }
    flag_of(named_store(args, settings).as_deref())
}

/// The flag that names this store.
fn flag_of(store: Option<&Path>) -> Option<String> {
    let Some(path) = store else {
        return Some(String::new());
    };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = path.display().to_string();
    let quoted = shlex::try_quote(&path).ok()?;
    Some(format!(" --store {quoted}"))
}

/// As `store_flag`, for commands that read no files.
pub(crate) fn flag_of_runs(store: Option<&Path>) -> Option<String> {
    let of_folder = store.is_none().then(store_of_folder).flatten();
    flag_of(store.or(of_folder.as_deref()))
}

/// The store that `onecall.yaml` in the current folder names, for commands that read no files.
fn store_of_folder() -> Option<PathBuf> {
    let file = files::of_this_folder()?;
    let loaded = understand(sources::collect(&[file]).ok()?, Compat::Page);
    loaded.settings.store.map(PathBuf::from)
}

/// As `open_store`, for commands that read no files.
pub(crate) fn open_named_store(args: &StoreArgs) -> anyhow::Result<Arc<dyn Journal>> {
    open_or_create(args.store.as_deref(), args, None)
}

/// `memory`: how many bytes `--ephemeral` takes.
fn open_or_create(
    named: Option<&Path>,
    args: &StoreArgs,
    memory: Option<usize>,
) -> anyhow::Result<Arc<dyn Journal>> {
    if args.ephemeral {
        let store = memory_store(args, memory)?;
        return Ok(Arc::new(store.open(now(), LEASE)));
    }
    open_path(StorePlace::of(named)?)
}

/// Sensitive values are sealed with the key of the environment, else with the one beside the store.
fn open_path(place: StorePlace) -> anyhow::Result<Arc<dyn Journal>> {
    let StorePlace { path, chosen_by } = place;
    let directory = path.parent();
    let directory = directory.filter(|directory| !directory.as_os_str().is_empty());
    match (directory, chosen_by) {
        (Some(directory), ChosenBy::Program) => private::make_directory(directory)?,
        (Some(directory), ChosenBy::User) => std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make the directory `{}`", directory.display()))?,
        (None, _) => {}
    }
    let key = std::env::var(SEAL_KEY).ok();
    let key = key.map(|text| SealKey::parse(&text).context(SEAL_KEY));
    let mut options = onecall_journal::Options::new(path, now());
    options.chosen_by = chosen_by;
    options.seal_key = key.transpose()?;
    Ok(onecall_journal::open(options)?)
}

/// As `open_store`, for commands that look and must not create.
pub(crate) fn open_existing_store(store: Option<&Path>) -> anyhow::Result<Arc<dyn Journal>> {
    let path = existing_path(store)?;
    find_store(store)?.ok_or_else(|| {
        let shown = path.display();
        let text = format!("there is no store at `{shown}`; give --store FILE");
        anyhow::Error::new(Nothing(text))
    })
}

/// `None`: no run was ever stored there.
pub(crate) fn find_store(store: Option<&Path>) -> anyhow::Result<Option<Arc<dyn Journal>>> {
    let place = StorePlace::existing(store)?;
    if !place.path.exists() {
        return Ok(None);
    }
    open_path(place).map(Some)
}

/// Where the store is that commands look into which read no files.
pub(crate) fn existing_path(store: Option<&Path>) -> anyhow::Result<PathBuf> {
    StorePlace::existing(store).map(|place| place.path)
}

/// The store that was named, or the one in the state folder of the user.
fn store_path(store: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(store) = store {
        // Not the whole URL, which may hold a password.
        if let Some(scheme) = store.to_str().and_then(onecall_config::store_scheme) {
            return Err(usage(format!(
                "a store at a `{scheme}:` URL is not supported; `--store`, `ONECALL_STORE` and `store:` name a SQLite \
                 file by its path, such as `--store runs.db`; `--ephemeral` stores runs in memory"
            )));
        }
        return Ok(store.to_owned());
    }
    match state_directory() {
        Ok(directory) => Ok(directory.join("onecall.db")),
        Err(_) => bail!("no home folder is known; give --store FILE or --ephemeral"),
    }
}

/// The directory of the user for what the program remembers.
pub(crate) fn state_directory() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let home = || home.map(|home| PathBuf::from(home).join(".local/state"));
    match folder.filter(|folder| folder.is_absolute()).or_else(home) {
        Some(folder) => Ok(folder.join("onecall")),
        None => bail!("no home directory is known; set `HOME` or `XDG_STATE_HOME`"),
    }
}
