//! `onecall doctor`: looks at everything a working set-up needs and says what to mend.
//! Each subject has its own function and reports findings; nothing is changed. The files of clients are in `entries`.

mod entries;

use crate::args::StoreArgs;
use crate::clients::{self, Folders};
use crate::exit::Exit;
use crate::files::{self, CONFIGURATION, FileArgs};
use crate::limits::{NAME_CHARS_MAX, RUNS_COUNTED_MAX};
use crate::{names, needs, print, waiting, wire};
use clap::Args;
use onecall_backends::BackendState;
use onecall_config::settings::Settings;
use onecall_engine::journal::{Filter, Journal, Phase, Summary};
use onecall_runtime::now;
use onecall_runtime::runtime::Runtime;
use onecall_runtime::stranded::{Bindings, Stranded, stranded};
use onecall_source::render;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// How long backends may take to connect and tell their tools.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall doctor\n  onecall doctor onecall.yaml\n  onecall doctor . --json"
)]
pub(crate) struct DoctorArgs {
    /// Files or directories, as for `onecall serve` [default: `onecall.yaml` here, if there is one]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    files: FileArgs,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Doubtful,
    /// Bad, and maybe only for now: a server or backend does not answer.
    Unreachable,
    Bad,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubtful => "doubtful",
            Self::Unreachable | Self::Bad => "bad",
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Doubtful => "!",
            Self::Unreachable | Self::Bad => "✗",
        }
    }
}

#[derive(Debug)]
struct Finding {
    subject: &'static str,
    verdict: Verdict,
    text: String,
    help: Option<String>,
}

impl Finding {
    fn new(subject: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            subject,
            verdict,
            text: text.into(),
            help: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn to_json(&self) -> Value {
        json!({
            "subject": self.subject,
            "verdict": self.verdict.word(),
            "text": self.text,
            "help": self.help,
        })
    }
}

pub(crate) async fn run(args: DoctorArgs) -> anyhow::Result<Exit> {
    let mut findings = Vec::new();
    let mut args = args;
    if args.paths.is_empty() {
        args.paths.extend(files::of_this_folder());
    }
    if args.paths.is_empty() && !args.files.gives_backends() {
        let text = format!("none was named, and there is no `{CONFIGURATION}` here");
        let finding = Finding::new("files", Verdict::Doubtful, text);
        findings.push(finding.help("onecall doctor PATH; onecall init makes a first one"));
        findings.extend(store(&args.store, &Settings::default()).await);
    } else {
        served(&args, &mut findings).await?;
    }
    let files = clients::existing(&std::env::current_dir()?, &Folders::of_this_user());
    findings.extend(entries::findings(&files, &args.paths).await?);
    if args.json {
        let all: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        print::data(serde_json::to_string_pretty(&all)?);
    } else {
        show(&findings);
    }
    let has = |verdict| findings.iter().any(|finding| finding.verdict == verdict);
    Ok(if has(Verdict::Bad) {
        Exit::Failed
    } else if has(Verdict::Unreachable) {
        Exit::Unreachable
    } else {
        Exit::Ok
    })
}

fn show(findings: &[Finding]) {
    for finding in findings {
        let sign = finding.verdict.sign();
        print::out(format!("{sign} {:<9} {}", finding.subject, finding.text));
        if let Some(help) = &finding.help {
            print::out(format!("            = help: {help}"));
        }
    }
}

/// Files, store, backends and names of what the paths would serve.
async fn served(args: &DoctorArgs, findings: &mut Vec<Finding>) -> anyhow::Result<()> {
    let loaded = args.files.load(&args.paths)?;
    let summary = render::summary(&loaded.diagnostics);
    let has_errors = loaded.diagnostics.has_errors();
    let each = format!("onecall check {} shows each", args.files.shown(&args.paths));
    findings.push(match (has_errors, loaded.diagnostics.is_empty()) {
        (true, _) => Finding::new("files", Verdict::Bad, summary).help(&each),
        (false, false) => Finding::new("files", Verdict::Doubtful, summary).help(&each),
        (false, true) => Finding::new("files", Verdict::Good, "no faults"),
    });
    findings.extend(store(&args.store, &loaded.settings).await);
    let mut settings = loaded.settings;
    if settings
        .withhold(&loaded.sources, &loaded.diagnostics)
        .is_none()
    {
        return Ok(());
    }
    let in_memory = StoreArgs {
        store: None,
        ephemeral: true,
    };
    for server in std::mem::take(&mut settings.servers) {
        let journal = wire::open_store(&in_memory, &settings)?;
        let runtime = wire::start(server, &settings, journal, wire::Role::OneShot).await?;
        waiting::for_tools(&runtime, PATIENCE).await;
        let backends = backends(&runtime);
        let are_all_there = backends.iter().all(|own| own.verdict == Verdict::Good);
        findings.extend(backends);
        findings.extend(published(&runtime, are_all_there));
        runtime.shutdown(Duration::ZERO).await;
    }
    Ok(())
}

/// Whether the store can be used, and what lies in it for a person or a server to move on.
async fn store(args: &StoreArgs, settings: &Settings) -> Vec<Finding> {
    let journal = match wire::open_store(args, settings) {
        Ok(_) if args.ephemeral => {
            return vec![Finding::new("store", Verdict::Good, "in memory")];
        }
        Ok(journal) => journal,
        Err(error) => {
            let bad = Finding::new("store", Verdict::Bad, format!("{error:#}"));
            return vec![bad.help("--store FILE names another, --ephemeral keeps runs in memory")];
        }
    };
    let place = wire::store_place(args, settings).unwrap_or_default();
    let text = format!("`{}` can be opened and written", place.display());
    let mut findings = vec![Finding::new("store", Verdict::Good, text)];
    let flag = wire::store_flag(args, settings).unwrap_or_default();
    let bindings: Vec<Bindings> = settings.servers.iter().map(Bindings::new).collect();
    match runs(&*journal, &bindings, &flag).await {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(Finding::new("runs", Verdict::Bad, format!("{error:#}"))),
    }
    findings
}

/// Runs that need a person, and runs that nobody drives.
async fn runs(
    journal: &dyn Journal,
    bindings: &[Bindings],
    flag: &str,
) -> anyhow::Result<Vec<Finding>> {
    let open = Phase::ALL.into_iter().filter(|phase| !phase.is_ended());
    let filter = Filter {
        phases: open.collect(),
        limit: RUNS_COUNTED_MAX,
        ..Filter::default()
    };
    let runs = journal.list(filter).await?;
    let answered = needs::answered_runs(journal, &runs).await?;
    let of = |phase| {
        let runs = runs.iter().filter(|run| run.phase == phase);
        runs.filter(|run| !answered.contains(&run.id)).count()
    };
    let mut findings = Vec::new();
    if !answered.is_empty() {
        let text = match answered.len() {
            1 => "1 has been answered and waits for a server".to_owned(),
            many => format!("{many} have been answered and wait for a server"),
        };
        let help =
            "`onecall serve` with the backends of the runs; `onecall runs show RUN` names them";
        findings.push(Finding::new("runs", Verdict::Doubtful, text).help(help));
    }
    if let Some(text) = needs::counted(of(Phase::Held), of(Phase::Waiting)) {
        findings.push(Finding::new("runs", Verdict::Doubtful, text).help(needs::list(flag)));
    }
    for Stranded {
        run,
        workflow,
        reason,
    } in stranded(journal, bindings, now()).await?
    {
        let text = format!("run {run} (`{workflow}`) cannot resume: {reason}");
        let help = format!("onecall runs rebind {run}{flag}");
        findings.push(Finding::new("runs", Verdict::Doubtful, text).help(help));
    }
    let claimable = journal.claimable(now()).await?;
    let is_left = |run: &&Summary| run.phase == Phase::Running && claimable.contains(&run.id);
    let left = runs.iter().filter(is_left).count();
    if left > 0 {
        let left = print::counted(left, "run");
        let text = format!("no server drives {left}; started with the same backends, one does");
        let help = format!("onecall runs list --state running{flag}");
        findings.push(Finding::new("runs", Verdict::Doubtful, text).help(help));
    }
    Ok(findings)
}

fn backends(runtime: &Runtime) -> Vec<Finding> {
    let statuses = runtime.backends();
    let findings = statuses.iter().map(|status| {
        let name = &status.name;
        match (&status.state, status.tools) {
            (BackendState::Down { reason, .. }, _) => Finding::new(
                "backend",
                Verdict::Unreachable,
                format!("`{name}`: {reason}"),
            )
            .help("run its command by hand, or open its URL, to see more"),
            (BackendState::Invalid { reason }, _) => {
                let text = format!("`{name}` is withheld: {reason}");
                Finding::new("backend", Verdict::Bad, text)
            }
            (_, Some(tools)) => {
                let tools = print::counted(tools, "tool");
                let text = format!("`{name}` answers and has {tools}");
                Finding::new("backend", Verdict::Good, text)
            }
            (_, None) => {
                let seconds = PATIENCE.as_secs();
                let text = format!("`{name}` has not told its tools within {seconds} s");
                Finding::new("backend", Verdict::Unreachable, text)
            }
        }
    });
    findings.collect()
}

/// Withheld workflows, and names that a host would refuse. `are_all_there`: every backend has told its tools.
fn published(runtime: &Runtime, are_all_there: bool) -> Vec<Finding> {
    let published = runtime.published_now();
    let mut findings: Vec<Finding> = published
        .withheld
        .iter()
        .map(|withheld| {
            let text = format!("`{}` is withheld: {}", withheld.name, withheld.reason);
            let finding = Finding::new(withheld.kind.as_str(), Verdict::Bad, text);
            if withheld.help.is_empty() {
                return finding;
            }
            finding.help(withheld.help.join("; "))
        })
        .collect();
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    for tool in &published.tools {
        let name = &tool.name;
        if name.len() > NAME_CHARS_MAX || !name.chars().all(plain) {
            let text = format!("`{name}` is a name that some hosts refuse");
            let help = names::advice(name).unwrap_or_else(|| {
                format!("letters, digits, `_` and `-`, at most {NAME_CHARS_MAX} characters")
            });
            findings.push(Finding::new("names", Verdict::Doubtful, text).help(help));
        }
    }
    let (verdict, text) = match published.tools.len() {
        0 if are_all_there => (Verdict::Bad, "nothing would be published".to_owned()),
        // There may be something once the backends answer.
        0 => (
            Verdict::Unreachable,
            "nothing would be published".to_owned(),
        ),
        count => {
            let tools = print::counted(count, "tool");
            (Verdict::Good, format!("{tools} would be published"))
        }
    };
    findings.push(Finding::new("tools", verdict, text));
    findings
}
