//! One fault of what a user wrote, as data. Drawing it is left to `render`.

use crate::{Code, Place};

/// How bad it is. Ordered from worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A place that takes part in a fault, and what is to be said there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub place: Place,
    /// May be empty.
    pub text: String,
    /// The place of the fault itself; others only explain.
    pub primary: bool,
}

/// A fault, its places and its fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Vec<String>,
    /// What else to know.
    pub notes: Vec<String>,
}

impl Diagnostic {
    pub fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            labels: Vec::new(),
            help: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    pub fn remark(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, message)
    }

    /// Adds a place of the fault itself.
    #[must_use]
    pub fn label(self, place: impl Into<Place>, text: impl Into<String>) -> Self {
        self.add(place.into(), text.into(), true)
    }

    /// Adds a place that explains the fault.
    #[must_use]
    pub fn secondary(self, place: impl Into<Place>, text: impl Into<String>) -> Self {
        self.add(place.into(), text.into(), false)
    }

    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// The place to send a reader to: the first primary one, else the first.
    pub fn place(&self) -> Option<&Place> {
        self.labels
            .iter()
            .find(|label| label.primary)
            .or_else(|| self.labels.first())
            .map(|label| &label.place)
    }

    /// The same diagnostic with every text replaced.
    #[must_use]
    pub fn reworded(mut self, reword: impl Fn(&str) -> String) -> Self {
        self.message = reword(&self.message);
        for label in &mut self.labels {
            label.text = reword(&label.text);
        }
        for text in self.help.iter_mut().chain(&mut self.notes) {
            *text = reword(text);
        }
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    fn add(mut self, place: Place, text: String, primary: bool) -> Self {
        self.labels.push(Label {
            place,
            text,
            primary,
        });
        self
    }
}
