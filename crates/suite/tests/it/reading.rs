//! Suites as the tests of this crate read them: one file, no environment, no errors.

use onecall_config::settings::Settings;
use onecall_config::{Compat, Input, Options, survey};
use onecall_source::{Diagnostics, SourceMap};
use onecall_suite::Composition;

pub(crate) struct Read {
    pub(crate) sources: SourceMap,
    pub(crate) settings: Settings,
    pub(crate) compositions: Vec<Composition>,
}

pub(crate) fn read(text: &str) -> Read {
    let mut sources = SourceMap::default();
    let source = sources.add("suite.yaml", text.to_owned());
    let inputs = [Input {
        source,
        named: true,
    }];
    let options = Options {
        environment: &|_| None,
        compat: Compat::Page,
    };
    let (settings, mut diagnostics): (_, Diagnostics) = survey(&sources, &inputs, &options);
    let tests = settings.tests.iter();
    let compositions = tests
        .map(|tests| Composition::read(tests, &mut diagnostics))
        .collect();
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    Read {
        sources,
        settings,
        compositions,
    }
}
