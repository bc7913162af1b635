//! The processes of the kill test: one demo backend that stays, and servers that do not. Ends what it starts.

use super::{Fault, workflows};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Files, the store, and the backend that outlives every server.
pub(super) struct Ground {
    program: PathBuf,
    folder: tempfile::TempDir,
    pub(super) store: PathBuf,
    pub(super) ledger: PathBuf,
    _far: Server,
}

impl Ground {
    pub(super) fn prepare(program: &Path) -> Result<Self, Fault> {
        let program = program.canonicalize()?;
        let folder = tempfile::tempdir()?;
        let ledger = folder.path().join("ledger.txt");
        let far = Server::start(
            Command::new(&program)
                .args(["demo", "--http", "0", "--ledger"])
                .arg(&ledger),
        )?;
        let text = workflows::file(
            &program.display().to_string(),
            &ledger.display().to_string(),
            &far.url,
        );
        fs::write(folder.path().join("workflows.yaml"), text)?;
        for durability in ["async", "sync"] {
            let own = folder.path().join(durability);
            fs::create_dir(&own)?;
            fs::write(
                own.join("onecall.yaml"),
                format!("durability: {durability}\n"),
            )?;
        }
        Ok(Self {
            store: folder.path().join("runs.db"),
            program,
            ledger,
            _far: far,
            folder,
        })
    }

    pub(super) fn serve(&self, durability: &str) -> Result<Server, Fault> {
        let folder = self.folder.path();
        let mut command = Command::new(&self.program);
        command
            .arg("serve")
            .arg(folder.join("workflows.yaml"))
            .arg(folder.join(durability).join("onecall.yaml"))
            .arg("--store")
            .arg(&self.store)
            .args(["--port", "0"]);
        Server::start(&mut command)
    }
}

/// A process that serves at a URL; killed when it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) url: String,
}

impl Server {
    /// Waits for the line that says where it serves.
    fn start(command: &mut Command) -> Result<Self, Fault> {
        let mut child = command
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let stdout = child.stdout.take();
        let mut server = Self {
            child,
            url: String::new(),
        };
        let lines = stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        for line in lines {
            if let Some((_, url)) = line?.split_once(" at http://") {
                server.url = format!("http://{}", url.trim());
                return Ok(server);
            }
        }
        Err(format!("{command:?} ended without serving").into())
    }

    /// `host:port` of the listener.
    pub(super) fn address(&self) -> &str {
        let address = self.url.trim_start_matches("http://");
        address.trim_end_matches("/mcp")
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Fault> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// SIGKILL, and the end of the process.
    pub(super) fn kill(mut self) -> Result<(), Fault> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
