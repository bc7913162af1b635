//! What is odd about the names of the tools that are published: told once for as long as it stands, and not before the
//! backends that are connected at the start have had a moment. What one of them takes from another is not known before.

use onecall_backends::Notice;
use onecall_workflow::catalog::{Catalog, Knowledge};

#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// The last that were made.
    standing: Vec<Notice>,
    told: Vec<Notice>,
    /// The moment is over.
    is_over: bool,
}

impl Remarks {
    /// These are made of what is published now.
    pub(crate) fn made(&mut self, notices: Vec<Notice>, catalog: &Catalog) {
        // A list of the backend tells the others.
        let own = notices.into_iter().filter(|notice| !notice.is_remarked());
        self.standing = own.collect();
        let mut known = catalog.backends.values();
        if self.is_over || known.all(|known| *known == Knowledge::Live) {
            self.tell();
        }
    }

    /// The moment is over that the backends have.
    pub(crate) fn settled(&mut self) {
        self.is_over = true;
        self.tell();
    }

    fn tell(&mut self) {
        let fresh = self.standing.iter();
        for notice in fresh.filter(|notice| !self.told.contains(notice)) {
            tracing::warn!("{notice}");
        }
        self.told.clone_from(&self.standing);
    }
}
