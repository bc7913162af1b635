//! Says what a command waits for, so that a silent backend does not look like a silent program.

use crate::print;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use onecall_runtime::runtime::Runtime;
use onecall_runtime::saved::SavedTools;
use std::io::IsTerminal as _;
use std::time::Duration;

/// Nobody wonders before this time is over.
const QUIET: Duration = Duration::from_secs(1);

/// How often the picture on a terminal moves.
const TICK: Duration = Duration::from_millis(120);

/// The tools of all backends, with those that are awaited named meanwhile.
pub(crate) async fn for_tools(runtime: &Runtime, patience: Duration) -> SavedTools {
    let silent = || {
        let statuses = runtime.backends().into_iter();
        let silent = statuses.filter(|own| own.tools.is_none() && own.state.reason().is_none());
        silent.map(|own| own.name.to_string()).collect()
    };
    during(SavedTools::of(runtime, patience), silent).await
}

/// Does the work, and names what is awaited where it takes a while.
pub(crate) async fn during<T>(
    work: impl Future<Output = T>,
    awaited: impl Fn() -> Vec<String>,
) -> T {
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(QUIET) => {}
    }
    let text = || {
        let names: Vec<String> = awaited().iter().map(|name| format!("`{name}`")).collect();
        format!("waiting for {} …", names.join(", "))
    };
    if !std::io::stderr().is_terminal() {
        print::err(text());
        return work.await;
    }
    let picture = MultiProgress::new();
    let bar = picture.add(ProgressBar::new_spinner());
    print::live(Some(picture));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    let done = loop {
        bar.set_message(text());
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(TICK) => bar.tick(),
        }
    };
    bar.finish_and_clear();
    print::live(None);
    done
}
