//! What the tests of the binary share: running it, serving with it, ending what was started.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_onecall")
}

/// The binary, at home in a folder of the test's own.
pub(crate) fn onecall(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(words)
        .current_dir(root())
        .env("XDG_STATE_HOME", home)
        .env("NO_COLOR", "1")
        .env_remove("ONECALL_STORE")
        .env_remove("ONECALL_SEAL_KEY")
        .stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(home: &Path, words: &[&str]) -> Ran {
    let output = onecall(home, words).output().unwrap();
    Ran::from(output)
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A process that is killed when the test ends, however it ends.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) lines: mpsc::Receiver<String>,
}

impl Running {
    pub(crate) fn start(command: Command) -> Self {
        Self::logging(command, Stdio::inherit())
    }

    /// Starts it with its logs going there.
    pub(crate) fn logging(mut command: Command, logs: Stdio) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(logs)
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
        }
    }

    /// The first line that fits, among those to come.
    pub(crate) fn line(&self, mut fits: impl FnMut(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).expect("the line never came");
            if fits(&line) {
                return line;
            }
        }
    }

    /// Where it says that it serves.
    pub(crate) fn url(&self) -> String {
        let line = self.line(|line| line.contains(" at http://"));
        line.split(" at ").nth(1).unwrap().trim().to_owned()
    }

    /// SIGTERM: the process is asked to leave.
    pub(crate) fn terminate(&self) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(told.success());
    }

    /// SIGINT: Ctrl-C in its terminal.
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(told.success());
    }

    /// Waits for the process to end by itself, and gives its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let status = until("the end of the process", || self.child.try_wait().unwrap());
        status.code()
    }

    /// Writes one message to its standard input.
    pub(crate) fn write(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        writeln!(stdin, "{message}").unwrap();
    }

    /// SIGKILL, and wait until the process is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `serve` on a free port and gives its URL.
pub(crate) fn serve(home: &Path, words: &[&str]) -> (Running, String) {
    let words: Vec<&str> = ["serve"]
        .iter()
        .chain(words)
        .chain(&["--port", "0"])
        .copied()
        .collect();
    serving(onecall(home, &words))
}

/// Starts a command that serves, and gives its URL.
pub(crate) fn serving(command: Command) -> (Running, String) {
    let running = Running::start(command);
    let url = running.url();
    (running, url)
}

/// Waits until a condition holds.
pub(crate) fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A composite tool `ship` whose step `approve` asks for an answer, written as a property of its schema, before step
/// `go` does what is written.
pub(crate) fn asking(answer: (&str, &str), go: &str) -> String {
    let (name, kind) = answer;
    format!(
        "  - name: ship
    description: Asks first
    steps:
      - id: approve
        type: elicitation
        message: Ship it?
        schema: {{ type: object, properties: {{ {name}: {{ type: {kind} }} }}, required: [{name}] }}
      - id: go
{go}"
    )
}

/// A file with these composite tools over the demo backend, whose effects are in `ledger.txt`. Gives its path.
pub(crate) fn composite(home: &Path, tools: &str) -> String {
    let ledger = home.join("ledger.txt");
    let text = format!(
        "name: demo\ngroupRef: demo\nincomingAuth: {{ type: anonymous }}\n\
         outgoingAuth: {{ source: inline, default: {{ type: unauthenticated }} }}\n\
         aggregation:\n  conflictResolution: prefix\n  conflictResolutionConfig: {{ prefixFormat: \"{{workload}}_\" }}\n\
         backends:\n  - {{ name: demo, command: onecall, args: [demo, --ledger, \"{}\"] }}\n\
         compositeTools:\n{tools}",
        ledger.display()
    );
    let file = home.join("composite.yaml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}
