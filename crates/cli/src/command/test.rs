//! `onecall test`: runs the compositions of suites and judges what they came to.
//! Rows go to stdout as they end, or as one report; what is wrong with the files goes to stderr.

mod baseline;
mod failed;
mod judgements;
mod live;
mod tapes;
mod watch;

use crate::exit::Exit;
use crate::files::FileArgs;
use crate::wire::Loaded;
use crate::{print, signals, values};
use anyhow::Context;
use clap::{Args, ValueEnum};
use live::Live;
use onecall_config::Compat;
use onecall_config::settings::Settings;
use onecall_source::counted;
use onecall_suite::report::{Reporter, Silent, github, html, json, junit, program, terminal};
use onecall_suite::row::{Row, Summary};
use onecall_suite::{
    Composition, Options, Projection, Selected, Selection, Spending, Stage, projection,
    run as run_rows,
};
use std::path::{Path, PathBuf};
use tapes::TapeFiles;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command line are independent"
)]
#[command(
    after_help = "Examples:\n  onecall test\n  onecall test suite.yaml --filter render\n  onecall test suite.yaml --case common-query --var limit:=3\n  onecall test suite.yaml --format junit --output report.xml\n  onecall test --last-failed"
)]
pub(crate) struct TestArgs {
    /// Suites, the files that give their backends, or directories [default: `onecall.yaml`, `mcptest.yaml` or `mcptest.yml` here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A suite, as mcptest names it
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// How to report
    #[arg(long, visible_alias = "reporter", value_enum, default_value_t = Format::Pretty)]
    format: Format,
    /// Write the report to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only compositions whose name contains this text; may be repeated
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Only compositions with this tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only cases with this name; may be repeated
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// A value of `${var.NAME}` where a case gives none: `NAME=text` or `NAME:=json`
    #[arg(long = "var", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// Run a row that does not pass again, up to so many times; one that passes then is flaky
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10))]
    retries: u32,
    /// How many rows run at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
    /// Take results from tapes and record those that are missing
    #[arg(long, conflicts_with = "replay")]
    record: bool,
    /// Take results from tapes alone; no server is started
    #[arg(long)]
    replay: bool,
    /// The directory of the tapes [default: the name of the suite with `.cassettes`]
    #[arg(long, value_name = "DIR")]
    cassette: Option<PathBuf>,
    /// Show what would run, and run nothing: rows, calls, the most it can cost
    #[arg(long)]
    plan: bool,
    /// Fail rows that use more than 20 % above what this file says of cost, tokens, calls and time
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what the rows used to the file of `--baseline`
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Print the trace of each row
    #[arg(long)]
    trace: bool,
    /// Only the rows that failed in the last run of each suite
    #[arg(long)]
    last_failed: bool,
    /// Name the rows and run nothing
    #[arg(long)]
    list: bool,
    /// Run again whenever a file of the suites changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["list", "plan"])]
    watch: bool,
    /// A row whose checks all have nothing to examine fails
    #[arg(long)]
    deny_empty: bool,
    /// A row with a judged metric that is deferred fails
    #[arg(long)]
    require_eval: bool,
    #[command(flatten)]
    files: FileArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for each row, its reasons below
    #[value(alias = "minimal")]
    Pretty,
    /// One JSON document, with the trace of each row
    Json,
    /// JUnit XML
    Junit,
    /// Annotations for GitHub, after the lines
    Github,
    /// One HTML page with the graph and trace of each failure
    Html,
}

pub(crate) async fn run(args: TestArgs) -> anyhow::Result<Exit> {
    let paths: Vec<PathBuf> = args.paths.iter().chain(&args.config).cloned().collect();
    let usage = "onecall test SUITE";
    let paths = args.files.paths_or_here(paths, usage)?;
    let stop = signals::stop_on_signals();
    if args.watch {
        return watch::rounds(&args, &paths, &stop).await;
    }
    once(&args, &paths, &stop).await
}

impl TestArgs {
    /// The files that the paths name or hold, without those that the command itself writes.
    fn read(&self, paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        let written: Vec<&PathBuf> = self.output.iter().chain(&self.baseline).collect();
        let files = self.files.each(paths)?.into_iter();
        let is_written = |file: &PathBuf| written.iter().any(|own| is_same(own, file));
        Ok(files.filter(|file| !is_written(file)).collect())
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Runs all suites that the paths hold now.
async fn once(
    args: &TestArgs,
    paths: &[PathBuf],
    stop: &CancellationToken,
) -> anyhow::Result<Exit> {
    let suites = suites(args, paths)?;
    if suites.is_empty() {
        print::err("error: the paths hold no suite with compositions");
        print::err("  = help: a suite has the key `compositions`; `docs/suites.md` shows one");
        return Ok(Exit::NothingSelected);
    }
    let mut session = Session::new(args, stop)?;
    for suite in &suites {
        if !stop.is_cancelled() {
            session.suite(suite).await?;
        }
    }
    session.finish()
}

/// A suite with the files that give its backends.
struct SuiteFiles {
    /// Its own file.
    file: PathBuf,
    paths: Vec<PathBuf>,
}

/// Each suite is loaded by itself, so that two of them may declare a server of the same name.
fn suites(args: &TestArgs, paths: &[PathBuf]) -> anyhow::Result<Vec<SuiteFiles>> {
    let mut suites = Vec::new();
    let mut others = Vec::new();
    for file in args.read(paths)? {
        let loaded = args.files.load(std::slice::from_ref(&file))?;
        if loaded.settings.tests.is_empty() {
            others.push(file);
        } else {
            suites.push(file);
        }
    }
    let suites = suites.into_iter().map(|file| {
        let own = std::iter::once(file.clone());
        SuiteFiles {
            paths: own.chain(others.iter().cloned()).collect(),
            file,
        }
    });
    Ok(suites.collect())
}

/// What one run of the command gathers.
struct Session<'a> {
    args: &'a TestArgs,
    options: Options,
    rows: Vec<Row>,
    annotations: Vec<String>,
    /// Lines for people that go to a file.
    lines: Vec<String>,
    planned: Vec<Projection>,
    selected: usize,
    has_errors: bool,
}

impl<'a> Session<'a> {
    fn new(args: &'a TestArgs, stop: &CancellationToken) -> anyhow::Result<Self> {
        let options = Options {
            variables: values::object(&args.variables)?,
            retries: args.retries,
            denies_empty: args.deny_empty,
            requires_evals: args.require_eval,
            jobs: usize::from(args.jobs),
            baseline: match &args.baseline {
                Some(file) if !args.update_baseline => Some(baseline::read(file)?),
                Some(_) | None => None,
            },
            stop: stop.clone(),
        };
        Ok(Self {
            args,
            options,
            rows: Vec::new(),
            annotations: Vec::new(),
            lines: Vec::new(),
            planned: Vec::new(),
            selected: 0,
            has_errors: false,
        })
    }

    async fn suite(&mut self, suite: &SuiteFiles) -> anyhow::Result<()> {
        let mut loaded = self.args.files.load(&suite.paths)?;
        let tests = std::mem::take(&mut loaded.settings.tests);
        let compositions: Vec<Composition> = tests
            .iter()
            .map(|tests| Composition::read(tests, &mut loaded.diagnostics))
            .collect();
        let sources = loaded.sources.clone();
        let variables = std::mem::take(&mut loaded.variables);
        let Some(settings) = sound(loaded) else {
            self.has_errors = true;
            return Ok(());
        };
        let selection = Selection {
            filters: self.args.filter.clone(),
            tags: self.args.tag.clone(),
            cases: self.args.case.clone(),
            labels: if self.args.last_failed {
                failed::of(&suite.file)?
            } else {
                None
            },
        };
        let rows = selection.rows(&compositions);
        self.selected += rows.len();
        let name = suite.file.display().to_string();
        if self.args.list {
            list(&name, &rows);
            return Ok(());
        }
        if rows.is_empty() {
            return Ok(());
        }
        let backends = settings.servers.iter().flat_map(|server| &server.backends);
        let servers: Vec<String> = backends.map(|own| own.name.to_string()).collect();
        let files = TapeFiles::of(self.args, &suite.file, &tests, &servers);
        let tapes = files.read(self.args, &tests, &tapes::secrets(&variables))?;
        if self.args.plan {
            let workflows: Vec<_> = settings.workflows().cloned().collect();
            let planned = projection(&rows, &workflows, &tapes, self.args.retries);
            self.planned.extend(planned);
            return Ok(());
        }
        let judged = judgements::file(self.args, &suite.file);
        let known = judgements::read(self.args, &judged, &compositions)?;
        let starting = Box::pin(Live::start(settings, &rows, tapes, known));
        let Some(live) = self.options.stop.run_until_cancelled(starting).await else {
            return Ok(());
        };
        let live = live?;
        let ended = self.run(&live.stage, &name, &rows).await;
        files.write(live.stage.tapes())?;
        judgements::write(&judged, live.stage.judgements())?;
        live.stop().await;
        if self.args.format == Format::Github {
            self.annotations
                .extend(github::annotations(&ended, &sources));
        }
        if let Err(error) = failed::store(&suite.file, &ended) {
            print::err(format!(
                "warning: `--last-failed` will not know this run: {error:#}"
            ));
        }
        self.rows.extend(ended);
        Ok(())
    }

    async fn run(&mut self, stage: &Stage, name: &str, rows: &[Selected<'_>]) -> Vec<Row> {
        let is_for_people = matches!(self.args.format, Format::Pretty | Format::Github);
        let is_at_once = is_for_people && self.args.files.compat() == Compat::Page;
        let lines = &mut self.lines;
        let mut reporter: Box<dyn Reporter + '_> = match (is_at_once, &self.args.output) {
            (false, _) => Box::new(Silent),
            (true, None) => Box::new(terminal::Terminal {
                write: |line| print::out(line),
                color: print::Style::of_stdout().color,
                traces: self.args.trace,
            }),
            (true, Some(_)) => Box::new(terminal::Terminal {
                write: |line| lines.push(line),
                color: false,
                traces: self.args.trace,
            }),
        };
        run_rows(stage, name, rows, &self.options, &mut *reporter).await
    }

    fn finish(mut self) -> anyhow::Result<Exit> {
        let is_stopped = self.options.stop.is_cancelled();
        if self.selected == 0 && !self.has_errors && !is_stopped {
            print::err(
                "error: no row is selected by `--filter`, `--tag`, `--case` or `--last-failed`",
            );
            print::err("  = help: `onecall test --list` names the rows");
            return Ok(Exit::NothingSelected);
        }
        let summary = Summary::of(&self.rows);
        if self.args.plan {
            self.show_plan()?;
        } else if !self.args.list {
            self.report(summary)?;
        }
        if let Some(file) = self
            .args
            .baseline
            .as_ref()
            .filter(|_| self.args.update_baseline)
        {
            baseline::update(file, &self.rows)?;
        }
        if is_stopped {
            let rows = counted(self.rows.len(), "row");
            print::err(format!(
                "interrupted: {rows} ended, the others are not reported"
            ));
            return Ok(Exit::Interrupted);
        }
        Ok(if summary.is_ok() && !self.has_errors {
            Exit::Ok
        } else {
            Exit::Failed
        })
    }

    fn show_plan(&self) -> anyhow::Result<()> {
        if self.args.format == Format::Json {
            let document = serde_json::json!({ "compositions": self.planned });
            print::data(serde_json::to_string_pretty(&document)?);
            return Ok(());
        }
        for own in &self.planned {
            print::out(own.line());
        }
        Ok(())
    }

    fn report(&mut self, summary: Summary) -> anyhow::Result<()> {
        let is_for_people = matches!(self.args.format, Format::Pretty | Format::Github);
        let text = match self.args.format {
            Format::Json => serde_json::to_string_pretty(&json::document(&self.rows))?,
            Format::Junit => junit::xml(&self.rows)?,
            Format::Html => html::page(&self.rows),
            Format::Pretty | Format::Github if self.args.files.compat() == Compat::Program => {
                self.lines = program::lines(&self.rows, self.args.trace);
                self.lines.append(&mut self.annotations);
                self.lines.join("\n")
            }
            Format::Pretty | Format::Github => {
                self.lines.extend(Spending::of(&self.rows).lines());
                self.lines.push(terminal::summary(summary));
                self.lines.append(&mut self.annotations);
                self.lines.join("\n")
            }
        };
        match &self.args.output {
            None if is_for_people => print::out(text.trim_end()),
            None => print::data(text.trim_end()),
            Some(file) => write(file, &text)?,
        }
        Ok(())
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let text = format!("{}\n", text.trim_end());
    std::fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// Reports what is wrong; the settings, if nothing is an error.
fn sound(mut loaded: Loaded) -> Option<Settings> {
    loaded.diagnostics.sort();
    loaded.sound()
}

/// Names the rows of a suite.
fn list(suite: &str, rows: &[Selected<'_>]) {
    for row in rows {
        let label = row.label();
        match row.description() {
            Some(text) => print::out(format!("{suite}: {label}  {text}")),
            None => print::out(format!("{suite}: {label}")),
        }
    }
}
