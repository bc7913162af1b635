//! The binary `onecall`: builds everything and hands it over. Commands are in `command/`.

mod access;
mod args;
mod client_file;
mod clients;
mod command;
mod demo_files;
mod exit;
mod files;
mod input;
mod limits;
mod logging;
mod names;
mod needs;
mod own;
mod pretty;
mod print;
mod progress;
mod reload;
mod served;
mod signals;
mod terminal;
mod threads;
mod token;
mod tree;
mod usable;
mod values;
mod waiting;
mod wire;
mod withheld;

use args::{Cli, Command};
use clap::Parser;
use exit::Exit;
use std::pin::Pin;
use std::process::ExitCode;

/// A call allocates some hundred times; this allocator takes a third off its CPU time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let error = args::advised(error);
            let _ = error.print();
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            return exit.into();
        }
    };
    if let Err(error) = logging::start(&cli) {
        print::err(format!("error: {error:#}"));
        return Exit::Usage.into();
    }
    match run(cli.command) {
        Ok(Exit::Ok) if !print::is_all_written() => Exit::Failed.into(),
        Ok(exit) => exit.into(),
        Err(error) => {
            print::err(format!("error: {error:#}"));
            exit::of_error(&error).into()
        }
    }
}

fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => command::check::run(&args),
        Command::Convert(args) => command::convert::run(&args),
        Command::Graph(args) => command::graph::run(&args),
        Command::Backends(args) => on_runtime(boxed(command::backends::run(args))),
        Command::List(args) => command::list::run(&args),
        Command::Lock(args) => on_runtime(boxed(command::lock::run(args))),
        Command::Test(args) => on_runtime(boxed(command::test::run(args))),
        Command::Tools(args) => on_runtime(boxed(command::tools::run(args))),
        Command::Render(args) => command::render::run(&args),
        Command::Schema(args) => command::schema::run(&args),
        Command::Explain(args) => Ok(command::explain::run(&args)),
        Command::Init(args) => on_runtime(boxed(command::init::run(args))),
        Command::Connect(args) => command::connect::run(args),
        Command::Doctor(args) => on_runtime(boxed(command::doctor::run(args))),
        Command::Completions(args) => Ok(command::completions::run(&args)),
        Command::Call(args) => on_runtime(boxed(command::call::run(args))),
        Command::Serve(args) => on_runtime(boxed(command::serve::run(args))),
        Command::Runs(command) => on_runtime(boxed(command::runs::run(command))),
        Command::Demo(args) => on_runtime(boxed(command::demo::run(args))),
    }
}

/// One type for all commands: else the program would carry the loop of the runtime once for each.
fn boxed(
    work: impl Future<Output = anyhow::Result<Exit>> + 'static,
) -> Pin<Box<dyn Future<Output = anyhow::Result<Exit>>>> {
    Box::pin(work)
}

fn on_runtime(work: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    // Connections have threads of their own (`threads`); what is left is light.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work);
    // A blocking read of stdin may still wait; it must not keep the process.
    runtime.shutdown_background();
    exit
}
