//! Reads texts as a command would, and draws what is wrong with them.

use onecall_config::settings::Settings;
use onecall_config::{Input, Options, read};
use onecall_source::render::{self, TextOptions};
use onecall_source::{Diagnostics, SourceMap};

/// What reading gave.
pub(crate) struct Outcome {
    pub(crate) settings: Option<Settings>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) sources: SourceMap,
}

impl Outcome {
    /// All diagnostics as a terminal without colour shows them.
    pub(crate) fn report(&self) -> String {
        let options = TextOptions {
            color: false,
            unicode: false,
            width: 120,
        };
        render::report(&self.diagnostics, &self.sources, options)
    }

    pub(crate) fn codes(&self) -> Vec<&'static str> {
        self.diagnostics.iter().map(|d| d.code.as_str()).collect()
    }

    /// Settings of files that must be sound.
    #[track_caller]
    pub(crate) fn sound(self) -> Settings {
        assert!(self.diagnostics.is_empty(), "{}", self.report());
        self.settings.unwrap()
    }
}

/// Reads files given by name.
pub(crate) fn load(files: &[(&str, &str)]) -> Outcome {
    let mut sources = SourceMap::new();
    let inputs: Vec<Input> = files
        .iter()
        .map(|(name, text)| Input {
            source: sources.add(*name, *text),
            named: true,
        })
        .collect();
    let environment = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
    let options = Options {
        environment: &environment,
    };
    let (settings, diagnostics) = read(&sources, &inputs, &options);
    Outcome {
        settings,
        diagnostics,
        sources,
    }
}

/// A ToolHive configuration with one composite tool of these steps, indented by four.
pub(crate) fn tool(steps: &str) -> String {
    format!(
        "name: demo\ncompositeTools:\n- name: demo_tool\n  description: for tests\n  parameters:\n    type: object\n    properties:\n      a: {{type: string}}\n      flag: {{type: boolean}}\n  steps:\n{steps}"
    )
}
