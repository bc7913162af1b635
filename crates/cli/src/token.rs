//! `--token-env`: the bearer token that a server elsewhere is shown. Its variable is named and its text never written,
//! so that neither the history of a shell nor the file of a client holds it.

use crate::exit::usage;
use clap::Args;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TokenArgs {
    /// Show the server of the URL the bearer token that this environment variable holds
    #[arg(long = "token-env", value_name = "NAME", value_parser = variable)]
    variable: Option<String>,
}

impl TokenArgs {
    /// As if the flag named this variable.
    pub(crate) fn of(variable: Option<&str>) -> Self {
        let variable = variable.map(str::to_owned);
        Self { variable }
    }

    pub(crate) fn variable(&self) -> Option<&str> {
        self.variable.as_deref()
    }

    /// What to do where a server that was asked by its URL said this.
    pub(crate) fn help(&self, said: &str) -> Option<String> {
        let wants = ["HTTP status 401", "bearer token"];
        if !wants.iter().any(|words| said.contains(words)) {
            return None;
        }
        Some(match self.variable() {
            Some(name) => format!("the server does not take the token that `{name}` holds"),
            None => {
                "`--token-env NAME` shows the server the bearer token that the variable NAME holds"
                    .to_owned()
            }
        })
    }

    /// The variable must hold something where its token is shown from here.
    pub(crate) fn refuse_unset(&self) -> anyhow::Result<()> {
        match self.variable() {
            Some(name) if std::env::var_os(name).is_none_or(|value| value.is_empty()) => Err(
                usage(format!("--token-env names `{name}`, which is not set")),
            ),
            Some(_) | None => Ok(()),
        }
    }

    /// Backends of files are shown what their `headers` say.
    pub(crate) fn refuse_for_paths(&self) -> anyhow::Result<()> {
        match self.variable {
            None => Ok(()),
            Some(_) => Err(usage(
                "--token-env goes with a URL; tokens for backends stand in their `headers`",
            )),
        }
    }
}

fn variable(name: &str) -> Result<String, &'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || starts_with_digit || !name.chars().all(fits) {
        return Err("it takes the name of a variable, not the token itself");
    }
    Ok(name.to_owned())
}
