//! What the gateway costs, by command: `cargo xtask bench gateway`. The real program in processes of its own,
//! a load generator of ours with kept connections, every ratio within one run, CPU time beside wall time.

mod client;
mod forward;
mod load;
mod pass;
mod place;
mod process;
mod rows;
mod table;

use load::Watched;
use process::Program;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use table::Table;

type Failed = Box<dyn Error + Send + Sync>;
type Done = Result<(), Failed>;

/// All of it must be over by then.
const TIME_MAX: Duration = Duration::from_mins(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut table = Table::default();
    let measured = tokio::time::timeout(TIME_MAX, measure(&mut table)).await;
    match measured {
        Ok(Ok(())) if table.missed().is_empty() => ExitCode::SUCCESS,
        Ok(Ok(())) => {
            table.say(&format!("goals missed: {}", table.missed().join("; ")));
            ExitCode::FAILURE
        }
        Ok(Err(error)) => {
            table.say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
        Err(_) => {
            table.say("error: it took too long");
            ExitCode::FAILURE
        }
    }
}

async fn measure(table: &mut Table) -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [forward::WORD, to] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return forward::run(to).await;
    }
    let [flag, file, rest @ ..] = words.as_slice() else {
        return Err("usage: gateway --program FILE [ROW]".into());
    };
    if flag != "--program" {
        return Err("usage: gateway --program FILE [ROW]".into());
    }
    raise_open_files()?;
    let program = Program {
        file: PathBuf::from(file),
        config: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/gateway")),
        folder: tempfile::tempdir()?,
    };
    let backend = program.backend().await?;
    let gateway = program.gateway(&backend, "runs.db").await?;
    let watched = Watched { gateway, backend };
    table.head();
    let wanted = |row: &str| rest.first().is_none_or(|wanted| wanted == row);
    if wanted("memory") {
        rows::idle(table, &watched)?;
        rows::sessions(table, &program, &watched).await?;
    }
    if wanted("start") {
        rows::start(table, &program, &watched).await?;
    }
    if wanted("pass") {
        pass::all(table, &program, &watched).await?;
    }
    if wanted("chain") {
        rows::chain(table, &watched).await?;
    }
    if wanted("dag") {
        rows::dag(table, &watched).await?;
    }
    if wanted("each") {
        rows::each(table, &watched).await?;
    }
    if wanted("uneven") {
        rows::uneven(table, &watched).await?;
    }
    if wanted("memory") {
        rows::after(table, &watched)?;
    }
    watched.gateway.end().await?;
    watched.backend.end().await
}

/// A thousand sessions are a thousand connections, here and in the gateway.
fn raise_open_files() -> Done {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit
            .maximum
            .map_or(Some(8_192), |most| Some(most.min(8_192))),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised)?;
    Ok(())
}
