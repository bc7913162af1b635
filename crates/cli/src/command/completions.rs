//! `onecall completions`: a script that teaches a shell the commands and flags.

use crate::args::Cli;
use crate::exit::Exit;
use crate::print;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  onecall completions bash > ~/.local/share/bash-completion/completions/onecall\n  onecall completions zsh > ~/.zfunc/_onecall\n  onecall completions fish > ~/.config/fish/completions/onecall.fish"
)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "onecall", &mut script);
    print::data(String::from_utf8_lossy(&script).trim_end());
    Exit::Ok
}
