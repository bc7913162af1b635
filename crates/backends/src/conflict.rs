//! Which tool, prompt or resource gets which published name. A tool or prompt that loses keeps its `backend.name`
//! spelling.

use std::collections::{BTreeMap, HashMap};

use onecall_workflow::name::BackendName;

use crate::catalog::{Notice, Strategy, Thing};

/// Something that wants a name.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) backend: BackendName,
    pub(crate) original: String,
    /// After overrides.
    pub(crate) name: String,
    pub(crate) is_overridden: bool,
}

/// The published name of each candidate, `None` for those that lost theirs.
pub(crate) fn resolve(
    candidates: &[Candidate],
    strategy: &Strategy,
    thing: Thing,
) -> (Vec<Option<String>>, Vec<Notice>) {
    let mut notices = Vec::new();
    let wanted: Vec<Option<String>> = match strategy {
        Strategy::Prefix { format } if thing.takes_prefix() => candidates
            .iter()
            .map(|candidate| Some(prefixed(format, &candidate.backend, &candidate.name)))
            .collect(),
        Strategy::Prefix { .. } => candidates
            .iter()
            .map(|candidate| Some(candidate.name.clone()))
            .collect(),
        Strategy::Priority { order } => by_priority(candidates, order, thing, &mut notices),
        Strategy::Manual => manually(candidates, thing, &mut notices),
    };
    let names = first_come(candidates, &wanted, thing, &mut notices);
    (names, notices)
}

/// What the names of a backend's tools start with; `None` where they stay bare.
pub(crate) fn prefix(strategy: &Strategy, backend: &BackendName) -> Option<String> {
    match strategy {
        Strategy::Prefix { format } => Some(prefixed(format, backend, "")),
        Strategy::Priority { .. } | Strategy::Manual => None,
    }
}

fn prefixed(format: &str, backend: &BackendName, name: &str) -> String {
    format!("{}{name}", format.replace("{workload}", backend.as_str()))
}

/// Candidates by the bare name they want.
fn clashes(candidates: &[Candidate]) -> BTreeMap<&str, Vec<usize>> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        by_name.entry(&candidate.name).or_default().push(index);
    }
    by_name
}

fn by_priority(
    candidates: &[Candidate],
    order: &[BackendName],
    thing: Thing,
    notices: &mut Vec<Notice>,
) -> Vec<Option<String>> {
    let mut names = vec![None; candidates.len()];
    for (name, indexes) in clashes(candidates) {
        let rank = |&index: &usize| {
            order
                .iter()
                .position(|one| *one == candidates[index].backend)
        };
        let winner = if indexes.len() == 1 {
            Some(indexes[0])
        } else {
            indexes
                .iter()
                .copied()
                .filter(|index| rank(index).is_some())
                .min_by_key(|i| rank(i))
        };
        for index in indexes {
            let candidate = &candidates[index];
            match winner {
                None if thing.takes_prefix() => {
                    names[index] = Some(prefixed("{workload}_", &candidate.backend, name));
                }
                None => names[index] = Some(name.to_owned()),
                Some(winner) if winner == index => names[index] = Some(name.to_owned()),
                Some(winner) => notices.push(lost(candidate, name, &candidates[winner], thing)),
            }
        }
    }
    names
}

fn manually(
    candidates: &[Candidate],
    thing: Thing,
    notices: &mut Vec<Notice>,
) -> Vec<Option<String>> {
    let mut names = vec![None; candidates.len()];
    for (name, indexes) in clashes(candidates) {
        if let [only] = indexes[..] {
            names[only] = Some(name.to_owned());
            continue;
        }
        let backends = indexes
            .iter()
            .map(|&index| candidates[index].backend.clone())
            .collect();
        notices.push(Notice::Unresolved {
            thing,
            name: name.to_owned(),
            backends,
        });
    }
    names
}

/// Whatever the strategy, one name belongs to one candidate: an override wins, then the earlier one.
fn first_come(
    candidates: &[Candidate],
    wanted: &[Option<String>],
    thing: Thing,
    notices: &mut Vec<Notice>,
) -> Vec<Option<String>> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&index| !candidates[index].is_overridden);
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for index in order {
        if let Some(name) = &wanted[index] {
            owners.entry(name).or_insert(index);
        }
    }
    let names = wanted.iter().enumerate().map(|(index, name)| {
        let name = name.as_ref()?;
        let owner = owners[name.as_str()];
        if owner != index {
            notices.push(lost(&candidates[index], name, &candidates[owner], thing));
            return None;
        }
        Some(name.clone())
    });
    names.collect()
}

fn lost(candidate: &Candidate, name: &str, winner: &Candidate, thing: Thing) -> Notice {
    Notice::LostName {
        thing,
        backend: candidate.backend.clone(),
        original: candidate.original.clone(),
        name: name.to_owned(),
        winner: winner.backend.clone(),
    }
}
