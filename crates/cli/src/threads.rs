//! Threads that serve connections: one a core, each with a runtime of its own, so that nothing of a call wakes another
//! thread. The first is the one that starts them, where the children of stdio backends are spoken to as well. The
//! others outlive what was started on them.

use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Ends when it is dropped, and with it whatever still runs there.
pub(crate) struct Threads {
    handles: Vec<Handle>,
    spawned: Vec<JoinHandle<()>>,
    stop: Option<DropGuard>,
}

impl Threads {
    /// As many as there are cores, or as are wanted, less the one that calls this.
    pub(crate) fn start(most: usize) -> std::io::Result<Self> {
        let stop = CancellationToken::new();
        let mut started = Self {
            handles: vec![Handle::current()],
            spawned: Vec::new(),
            stop: Some(stop.clone().drop_guard()),
        };
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        for number in 1..count.min(most) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            started.handles.push(runtime.handle().clone());
            let stop = stop.clone();
            let work = move || {
                runtime.block_on(stop.cancelled());
                // Work that blocks must not keep the process.
                runtime.shutdown_background();
            };
            let thread = std::thread::Builder::new().name(format!("serve-{number}"));
            started.spawned.push(thread.spawn(work)?);
        }
        Ok(started)
    }

    pub(crate) fn handles(&self) -> Vec<Handle> {
        self.handles.clone()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop = None;
        for thread in self.spawned.drain(..) {
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}
