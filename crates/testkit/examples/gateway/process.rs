//! The programs that are measured: started here, watched through `/proc`, ended when dropped.

use crate::Failed;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

const MIB: f64 = 1024.0 * 1024.0;

/// The program under test and what it serves.
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) config: PathBuf,
    pub(crate) folder: tempfile::TempDir,
}

/// A process that ends with its handle.
pub(crate) struct Process {
    child: Child,
    id: u32,
    pub(crate) address: String,
}

/// CPU time of the processes that a call goes through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) gateway: Duration,
    pub(crate) backend: Duration,
    pub(crate) generator: Duration,
}

impl Cpu {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            gateway: self.gateway.saturating_sub(before.gateway),
            backend: self.backend.saturating_sub(before.backend),
            generator: self.generator.saturating_sub(before.generator),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            gateway: self.gateway + other.gateway,
            backend: self.backend + other.backend,
            generator: self.generator + other.generator,
        }
    }
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .env("ONECALL_LOG", "error")
            .kill_on_drop(true);
        command
    }

    /// The demo backend over HTTP, on a free port.
    pub(crate) async fn backend(&self) -> Result<Process, Failed> {
        let mut command = self.command();
        command.args(["demo", "--http", "0"]);
        Process::start(command, "http://").await
    }

    /// The demo backend over stdio, to be spoken to by the generator itself.
    pub(crate) fn lines(&self) -> Result<Child, Failed> {
        let mut command = self.command();
        command.arg("demo").stdin(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// The gateway over these backends, once it serves.
    pub(crate) async fn gateway(&self, backend: &Process, store: &str) -> Result<Process, Failed> {
        let mut command = self.serve(backend, store);
        command.args(["--port", "0"]);
        Process::start(command, " at http://").await
    }

    /// The gateway on a given port; nobody waits for it here.
    pub(crate) fn gateway_at(&self, backend: &Process, port: u16) -> Result<Child, Failed> {
        let mut command = self.serve(backend, "first.db");
        command.arg("--port").arg(port.to_string());
        command.stdout(Stdio::null());
        Ok(command.spawn()?)
    }

    /// The gateway for one client over stdio.
    pub(crate) fn gateway_lines(&self, backend: &Process) -> Result<Child, Failed> {
        let mut command = self.serve(backend, "first.db");
        command.arg("--stdio").stdin(Stdio::piped());
        Ok(command.spawn()?)
    }

    fn serve(&self, backend: &Process, store: &str) -> Command {
        let mut command = self.command();
        command.arg("serve").arg(&self.config);
        command.arg("--store").arg(self.folder.path().join(store));
        let url = format!("http://{}/mcp", backend.address);
        command.env("ONECALL_BENCH_BACKEND", url);
        command
    }
}

impl Process {
    /// Starts a server and reads its address off the line that tells it.
    async fn start(mut command: Command, marker: &str) -> Result<Self, Failed> {
        let mut child = command.spawn()?;
        let id = child.id().ok_or("the process has ended")?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some(rest) = line.split_once(marker).map(|(_, rest)| rest) {
                let address = rest.trim_end_matches("/mcp").to_owned();
                // What else it prints is read over, so that it never waits for us.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(Self { child, id, address });
            }
        }
        Err("the server ended before it told its address".into())
    }

    pub(crate) fn cpu(&self) -> Result<Duration, Failed> {
        cpu_of(&self.id.to_string())
    }

    /// Resident memory, in MiB.
    pub(crate) fn memory(&self) -> Result<f64, Failed> {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.id))?;
        let pages = text.split(' ').nth(1).ok_or("no pages")?.parse::<u32>()?;
        let page_bytes = u32::try_from(rustix::param::page_size())?;
        Ok(f64::from(pages) * f64::from(page_bytes) / MIB)
    }

    pub(crate) async fn end(mut self) -> Result<(), Failed> {
        self.child.kill().await?;
        Ok(())
    }
}

/// CPU time of a process, its threads and its past threads: the 14th and 15th field of its `stat`.
pub(crate) fn cpu_of(process: &str) -> Result<Duration, Failed> {
    let text = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"))?;
    // The second field is the name in brackets, which may hold blanks.
    let (_, rest) = text.rsplit_once(')').ok_or("no name in `stat`")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| -> Result<u32, Failed> {
        Ok(fields.get(at).ok_or("`stat` is too short")?.parse()?)
    };
    let ticks = ticks(11)? + ticks(12)?;
    let a_second = u32::try_from(rustix::param::clock_ticks_per_second())?;
    Ok(Duration::from_secs_f64(
        f64::from(ticks) / f64::from(a_second),
    ))
}
