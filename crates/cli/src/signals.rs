//! Signals: the first asks the process to leave, the second ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// Cancelled by the first SIGINT or SIGTERM; a second one ends the process at once.
pub(crate) fn stop_on_signals() -> CancellationToken {
    stop_and_tell().0
}

/// As `stop_on_signals`; the flag says whether it was an interrupt from the terminal.
pub(crate) fn stop_and_tell() -> (CancellationToken, Arc<AtomicBool>) {
    let stop = CancellationToken::new();
    let interrupted = Arc::new(AtomicBool::new(false));
    let (told, flag) = (stop.clone(), Arc::clone(&interrupted));
    tokio::spawn(async move {
        let is_interrupt = signal().await;
        flag.store(is_interrupt, Ordering::SeqCst);
        told.cancel();
        signal().await;
        end_now();
    });
    (stop, interrupted)
}

#[expect(
    clippy::exit,
    reason = "the second signal ends at once, whatever still runs"
)]
fn end_now() -> ! {
    std::process::exit(130)
}

/// Whether it was an interrupt.
async fn signal() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => return true,
                _ = terminate.recv() => return false,
            }
        }
    }
    let _ = tokio::signal::ctrl_c().await;
    true
}
