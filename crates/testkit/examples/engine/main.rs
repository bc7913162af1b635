//! What the engine costs, by command: `cargo xtask bench engine [FILTER]`.
//! CPU time beside wall time; each line says its limit and whether it was kept.

mod load;
mod stored;
mod table;
mod unstored;
mod waiting;

use onecall_testkit::sim::critical_path;
use std::error::Error;
use std::process::ExitCode;
use table::Table;
use tokio::runtime::{Builder, Runtime};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn Error + Send + Sync>;
type Done = Result<(), Failed>;
type Part = fn(&mut Table) -> Done;

/// Parts by name, in the order of the table.
const PARTS: [(&str, Part); 5] = [
    // First: memory that was freed before would be used again and not be seen.
    ("waiting", waiting::measure),
    ("steps", unstored::steps),
    ("items", unstored::items),
    ("paths", paths),
    ("stored", stored::measure),
];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut table = Table::default();
    for (name, part) in PARTS {
        if name.contains(&wanted)
            && let Err(error) = part(&mut table)
        {
            table.say(&format!("{name}: {error}"));
            return ExitCode::FAILURE;
        }
    }
    if table.is_kept() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// One async thread: what a run costs does not depend on how many there are.
fn runtime() -> Result<Runtime, std::io::Error> {
    Builder::new_current_thread().enable_all().build()
}

/// The same of the kind that the server has, which other threads wake once for many runs.
fn server_runtime() -> Result<Runtime, std::io::Error> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
}

/// A run takes as long as its longest chain of steps, exactly.
fn paths(table: &mut Table) -> Done {
    let count = 1_000;
    let exact = (0..count).filter(|number| {
        let path = critical_path(*number);
        path.took == path.longest
    });
    let exact = u64::try_from(exact.count())?;
    table.exact(
        "random uneven graphs: time / critical path = 1.0",
        &format!("{exact} of {count}"),
        exact == count,
    );
    Ok(())
}
