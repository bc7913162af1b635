//! A backend as a child process: started, watched, ended politely. Speaks through a `link`.

use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::error::{ConnectError, seconds};
use crate::limits::{EXIT_STATUS_WAIT, TERMINATE_GRACE};
use crate::link::{Ending, Link};
use crate::options::{BackendOptions, StdioOptions};
use crate::pace::Pace;
use crate::stderr::{LastWords, StderrRing, said, wrote};
use onecall_workflow::name::BackendName;

/// A running child. Dropping it ends the child politely, in the background.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) link: Link,
    ended: CancellationToken,
    stop: CancellationToken,
    _stop_when_dropped: DropGuard,
}

impl Process {
    /// Starts a child. `children` has a task for it until it is gone, whoever drops what; `words` has what it says.
    pub(crate) fn spawn(
        backend: &BackendOptions,
        options: &StdioOptions,
        children: &TaskTracker,
        words: &LastWords,
    ) -> Result<Self, ConnectError> {
        let failed = |reason: String| ConnectError::Spawn {
            command: options.command.clone(),
            reason,
        };
        let mut child = command(options)
            .spawn()
            .map_err(|error| failed(unstarted(options, &error)))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("its streams are not connected".to_owned()));
        };
        let (link, writing) = Link::new(stdin);
        let ring = words.begin(link.ignored());
        let stop = CancellationToken::new();
        let ended = CancellationToken::new();
        let writing = tokio::spawn(writing);
        let watch = Watch {
            link: link.clone(),
            ring,
            stop: stop.clone(),
            ended: ended.clone().drop_guard(),
            grace: backend.grace,
            backend: backend.name.clone(),
        };
        children.spawn(async move {
            let draining = tokio::spawn(drain(stderr, Arc::clone(&watch.ring)));
            watch.run(child, stdout, writing, draining).await;
        });
        let guard = stop.clone().drop_guard();
        Ok(Self {
            link,
            ended,
            stop,
            _stop_when_dropped: guard,
        })
    }

    /// Closes stdin, waits the grace time, then insists. Returns when the child is gone.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

/// A folder that is not there gives the same error as a command that is not there.
fn unstarted(options: &StdioOptions, error: &std::io::Error) -> String {
    match &options.cwd {
        Some(folder) if !folder.is_dir() => {
            format!("its folder `{}` is not there", folder.display())
        }
        Some(_) | None if error.kind() == ErrorKind::NotFound => {
            let next = if options.command.contains('/') {
                "is this the right path?"
            } else {
                "is it installed, and on the PATH of this process?"
            };
            format!("{error}; {next}")
        }
        Some(_) | None => error.to_string(),
    }
}

fn command(options: &StdioOptions) -> Command {
    let mut command = Command::new(&options.command);
    command.args(&options.args);
    // This process has keys and tokens in its environment that are none of the child's business.
    command.env_clear();
    command.envs(options.inherited.iter().map(|(name, value)| (name, value)));
    command.envs(options.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &options.cwd {
        command.current_dir(folder);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own: launchers such as `npx` leave the server as a grandchild, and an
    // interrupt at the terminal must not reach children before we end them.
    command.process_group(0).kill_on_drop(true);
    command
}

async fn drain(mut stderr: ChildStderr, ring: Arc<StderrRing>) {
    let mut chunk = vec![0; 4096];
    let mut pace = Pace::default();
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        ring.push(&chunk[..count]);
        pace.piece(count).await;
    }
}

/// The task beside a child.
struct Watch {
    link: Link,
    ring: Arc<StderrRing>,
    stop: CancellationToken,
    ended: DropGuard,
    grace: Duration,
    backend: BackendName,
}

impl Watch {
    async fn run(
        self,
        mut child: Child,
        stdout: tokio::process::ChildStdout,
        writing: JoinHandle<()>,
        mut draining: JoinHandle<()>,
    ) {
        let pid = child.id();
        let ending = tokio::select! {
            ending = self.link.read(stdout, "stdout") => ending,
            () = self.stop.cancelled() => Ending::GivenUp("it was shut down".to_owned()),
        };
        if self.stop.is_cancelled() {
            self.link.close(ending.reason());
        } else {
            let reason = self.explain(&mut child, &mut draining, &ending).await;
            self.link.close(&reason);
        }
        // The writer owns stdin and ends with the link.
        let _ = writing.await;
        if tokio::time::timeout(self.grace, child.wait())
            .await
            .is_err()
        {
            signal(pid, Signal::TERM);
            if tokio::time::timeout(TERMINATE_GRACE, child.wait())
                .await
                .is_err()
            {
                let grace = seconds(self.grace);
                tracing::warn!(backend = %self.backend, grace, "a backend had to be killed");
            }
        }
        // What a launcher left behind goes too.
        signal(pid, Signal::KILL);
        let _ = child.start_kill();
        let _ = child.wait().await;
        draining.abort();
        drop(self.ended);
    }

    /// The reason with exit status and the last lines of stderr.
    async fn explain(
        &self,
        child: &mut Child,
        draining: &mut JoinHandle<()>,
        ending: &Ending,
    ) -> String {
        let mut text = match ending {
            // A child that we no longer listen to may well end of it, which says nothing.
            Ending::GivenUp(reason) => reason.clone(),
            Ending::Over(reason) => {
                let status = tokio::time::timeout(EXIT_STATUS_WAIT, child.wait()).await;
                if status.is_ok() {
                    // A grandchild may hold stderr open; then what has arrived must do.
                    let _ = tokio::time::timeout(EXIT_STATUS_WAIT, draining).await;
                }
                let ended = match status {
                    Ok(Ok(status)) => format!("the process ended ({status})"),
                    _ => reason.clone(),
                };
                ended + &wrote(self.link.ignored().told().as_deref())
            }
        };
        text.push_str(&said(&self.ring.tail()));
        text
    }
}

fn signal(pid: Option<u32>, signal: Signal) {
    let pid = pid
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // Gone already is what we want.
        let _ = kill_process_group(pid, signal);
    }
}
