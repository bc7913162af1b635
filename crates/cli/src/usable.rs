//! Commands use the valid part of files with errors: an invalid definition, backend or file is withheld with its
//! reason, and the others work.

use crate::print;
use crate::wire::{self, Loaded};
use onecall_config::settings::{Names, Settings};
use onecall_config::{Withheld, WithheldKind};

impl Loaded {
    /// For a command that uses what is valid: one line for each thing that is withheld. All errors are reported, and
    /// the result is `None`, if nothing can be used, or `wanted` is withheld.
    pub(crate) fn usable(mut self, wanted: Option<&str>) -> Option<Settings> {
        let withheld = self.withhold().unwrap_or_default();
        let is_wanted = wanted.is_some_and(|name| withheld.iter().any(|own| is_called(own, name)));
        if withheld.is_empty() || is_wanted || self.is_nothing_left() {
            self.tell();
            return self.settings_unless_broken(is_wanted);
        }
        for line in withheld.iter().map(line) {
            print::err(line);
        }
        self.tell_count();
        Some(self.settings)
    }

    /// For a server that starts: all errors are reported.
    pub(crate) fn into_served(mut self) -> Option<Settings> {
        let withheld = self.withhold();
        self.tell();
        let is_broken =
            withheld.is_none() || self.diagnostics.has_errors() && self.is_nothing_left();
        (!is_broken).then_some(self.settings)
    }

    /// For a server that runs; it retains the last valid version of what is withheld.
    pub(crate) fn into_reloaded(mut self) -> Option<Settings> {
        let withheld = self.withhold();
        self.tell();
        withheld.map(|_| self.settings)
    }

    fn withhold(&mut self) -> Option<Vec<Withheld>> {
        self.settings.withhold(&self.sources, &self.diagnostics)
    }

    fn settings_unless_broken(self, is_wanted: bool) -> Option<Settings> {
        let is_broken = is_wanted || self.diagnostics.has_errors();
        (!is_broken).then_some(self.settings)
    }

    fn is_nothing_left(&self) -> bool {
        let settings = &self.settings;
        let mut servers = settings.servers.iter();
        settings.compositions.is_empty()
            && servers.all(|own| own.backends.is_empty() && own.workflows.is_empty())
    }

    fn tell_count(&self) {
        if let Some(check) = &self.check {
            print::err(wire::shown_by(&self.diagnostics, check));
        }
    }
}

/// Whether a call of this name means what is withheld.
fn is_called(withheld: &Withheld, name: &str) -> bool {
    let own = withheld.name.as_str();
    let bare = [Names::COLON, Names::PLAIN]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    withheld.kind == WithheldKind::Workflow && (own == name || Some(own) == bare)
}

fn line(withheld: &Withheld) -> String {
    let (kind, name) = (withheld.kind.as_str(), &withheld.name);
    format!("withheld  {kind} `{name}`: {}", withheld.reason)
}
