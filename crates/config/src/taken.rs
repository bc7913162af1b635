//! The names that the workflows of one server take, whether they could be read or not: two of one name are told
//! of though one of them has other faults.

use onecall_source::{Diagnostic, Diagnostics, Place, codes};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The names so far, each with the place of its first use.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    first: BTreeMap<String, Place>,
}

impl Taken {
    pub(crate) fn add(&mut self, name: &str, place: &Place, diagnostics: &mut Diagnostics) {
        match self.first.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(place.clone());
            }
            Entry::Occupied(earlier) => diagnostics.push(duplicate(name, place, earlier.get())),
        }
    }
}

fn duplicate(name: &str, place: &Place, earlier: &Place) -> Diagnostic {
    Diagnostic::error(
        codes::DUPLICATE_WORKFLOW,
        format!("two workflows are named `{name}`"),
    )
    .label(place, "this name is taken")
    .secondary(earlier, "first used here")
    .help("give one of them another name")
}
