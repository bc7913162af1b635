//! Reads texts as a command would, and draws what is wrong with them.

use onecall_config::settings::Settings;
use onecall_config::status::statuses;
use onecall_config::{Input, Options, read};
use onecall_dialects::mcptest::Compat;
use onecall_source::render::{self, TextOptions};
use onecall_source::{Diagnostic, Diagnostics, Severity, SourceMap};
use serde_json::Value;

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

    /// Codes of what is more than noted.
    pub(crate) fn faults(&self) -> Vec<&'static str> {
        let faults = self.diagnostics.iter();
        let faults = faults.filter(|found| found.severity != Severity::Note);
        faults.map(|found| found.code.as_str()).collect()
    }

    /// Settings of files that must be sound; what is only noted is no fault.
    #[track_caller]
    pub(crate) fn sound(self) -> Settings {
        let is_note = |found: &Diagnostic| found.severity == Severity::Note;
        assert!(self.diagnostics.iter().all(is_note), "{}", self.report());
        self.settings.unwrap()
    }
}

/// Files given by name, with an environment of one variable.
fn with_files<T>(
    files: &[(&str, &str)],
    named: bool,
    body: impl FnOnce(&SourceMap, &[Input], &Options<'_>) -> T,
) -> (T, SourceMap) {
    let mut sources = SourceMap::new();
    let inputs: Vec<Input> = files
        .iter()
        .map(|(name, text)| Input {
            source: sources.add(*name, *text),
            named,
        })
        .collect();
    (
        with_options(|options| body(&sources, &inputs, options)),
        sources,
    )
}

fn with_options<T>(body: impl FnOnce(&Options<'_>) -> T) -> T {
    let environment = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
    body(&Options {
        environment: &environment,
        compat: Compat::Page,
    })
}

/// Reads a file that may be no text.
pub(crate) fn load_bytes(name: &str, bytes: &[u8]) -> Outcome {
    let mut sources = SourceMap::new();
    let (source, fault) = sources.add_bytes(name, bytes.to_vec());
    let inputs = [Input {
        source,
        named: true,
    }];
    let (settings, mut diagnostics) = with_options(|options| read(&sources, &inputs, options));
    diagnostics.extend(fault);
    diagnostics.sort();
    Outcome {
        settings,
        diagnostics,
        sources,
    }
}

/// Remarks on what works here only.
pub(crate) fn notes_of(name: &str, bytes: &[u8]) -> Diagnostics {
    let mut sources = SourceMap::new();
    let (source, _) = sources.add_bytes(name, bytes.to_vec());
    let inputs = [Input {
        source,
        named: true,
    }];
    onecall_config::portability(&sources, &inputs)
}

/// Reads files given by name.
pub(crate) fn load(files: &[(&str, &str)]) -> Outcome {
    let ((settings, diagnostics), sources) = with_files(files, true, read);
    Outcome {
        settings,
        diagnostics,
        sources,
    }
}

/// Reads files found in a directory.
pub(crate) fn load_found(files: &[(&str, &str)]) -> Outcome {
    let ((settings, diagnostics), sources) = with_files(files, false, read);
    Outcome {
        settings,
        diagnostics,
        sources,
    }
}

/// Messages about what works here only.
pub(crate) fn portability_of(files: &[(&str, &str)]) -> Vec<String> {
    let body = |sources: &SourceMap, inputs: &[Input], _: &Options<'_>| {
        onecall_config::portability(sources, inputs)
    };
    let (found, _) = with_files(files, true, body);
    found.iter().map(|found| found.message.clone()).collect()
}

/// The status of every definition among the files.
pub(crate) fn statuses_of(files: &[(&str, &str)]) -> Vec<Value> {
    let body = |sources: &SourceMap, inputs: &[Input], options: &Options<'_>| {
        statuses(sources, inputs, options, &Diagnostics::new())
    };
    let (all, _) = with_files(files, true, body);
    all.iter()
        .map(|own| own.to_json(Some("2024-01-15T10:00:00Z")))
        .collect()
}

/// The status of the only definition among the files.
pub(crate) fn status_of(files: &[(&str, &str)]) -> Value {
    let all = statuses_of(files);
    let [own] = all.as_slice() else {
        panic!("one definition")
    };
    own.clone()
}

/// The same outcome with more diagnostics, in the order of the files.
pub(crate) fn outcome_with(mut outcome: Outcome, more: Vec<onecall_source::Diagnostic>) -> Outcome {
    outcome.diagnostics.extend(more);
    outcome.diagnostics.sort();
    outcome
}

/// A ToolHive configuration with one composite tool of these steps, indented by four.
pub(crate) fn tool(steps: &str) -> String {
    format!(
        "name: demo\ncompositeTools:\n- name: demo_tool\n  description: for tests\n  parameters:\n    type: object\n    properties:\n      a: {{type: string}}\n      flag: {{type: boolean}}\n  steps:\n{steps}"
    )
}
