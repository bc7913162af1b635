//! Which rows run: by text of the name, by tag, by case.

use crate::case::Composition;
use crate::execute::Selected;

/// Empty lists select everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The name contains one of these texts.
    pub filters: Vec<String>,
    /// The composition has one of these tags.
    pub tags: Vec<String>,
    /// The case has one of these names.
    pub cases: Vec<String>,
    /// The label is one of these: the rows that failed last.
    pub labels: Option<Vec<String>>,
}

impl Selection {
    pub fn rows<'c>(&self, compositions: &'c [Composition]) -> Vec<Selected<'c>> {
        let rows = compositions.iter().flat_map(|composition| {
            let cases = composition.cases.iter().map(Some);
            let single = composition.cases.is_empty().then_some(None);
            cases
                .chain(single)
                .map(move |case| Selected { composition, case })
        });
        rows.filter(|row| self.takes(row)).collect()
    }

    fn takes(&self, row: &Selected<'_>) -> bool {
        let any = |wanted: &[String], is_it: &dyn Fn(&String) -> bool| {
            wanted.is_empty() || wanted.iter().any(is_it)
        };
        let composition = row.composition;
        any(&self.filters, &|text| {
            composition.name.contains(text.as_str())
        }) && any(&self.tags, &|tag| composition.tags.contains(tag))
            && any(&self.cases, &|name| {
                row.case.is_some_and(|case| case.name == *name)
            })
            && self
                .labels
                .as_ref()
                .is_none_or(|labels| labels.contains(&row.label()))
    }
}
