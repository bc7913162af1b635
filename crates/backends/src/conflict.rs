//! Which tool gets which published name. A tool that loses keeps its `backend.tool` spelling.

use std::collections::{BTreeMap, HashMap};

use onecall_mcp::Tool;
use onecall_workflow::name::BackendName;

use crate::catalog::{Notice, Strategy};

/// A tool that wants a name.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) backend: BackendName,
    pub(crate) original: String,
    /// After overrides.
    pub(crate) name: String,
    pub(crate) is_overridden: bool,
    pub(crate) tool: Tool,
}

/// The published name of each candidate, `None` for those that lost theirs.
pub(crate) fn resolve(
    candidates: &[Candidate],
    strategy: &Strategy,
) -> (Vec<Option<String>>, Vec<Notice>) {
    let mut notices = Vec::new();
    let wanted: Vec<Option<String>> = match strategy {
        Strategy::Prefix { format } => candidates
            .iter()
            .map(|candidate| Some(prefixed(format, &candidate.backend, &candidate.name)))
            .collect(),
        Strategy::Priority { order } => by_priority(candidates, order, &mut notices),
        Strategy::Manual => manually(candidates, &mut notices),
    };
    let names = first_come(candidates, &wanted, &mut notices);
    (names, notices)
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
                None => {
                    names[index] = Some(prefixed("{workload}_", &candidate.backend, name));
                }
                Some(winner) if winner == index => names[index] = Some(name.to_owned()),
                Some(winner) => notices.push(lost(candidate, name, &candidates[winner])),
            }
        }
    }
    names
}

fn manually(candidates: &[Candidate], notices: &mut Vec<Notice>) -> Vec<Option<String>> {
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
            name: name.to_owned(),
            backends,
        });
    }
    names
}

/// Whatever the strategy, one name belongs to one tool: an override wins, then the earlier one.
fn first_come(
    candidates: &[Candidate],
    wanted: &[Option<String>],
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
            notices.push(lost(&candidates[index], name, &candidates[owner]));
            return None;
        }
        Some(name.clone())
    });
    names.collect()
}

fn lost(candidate: &Candidate, name: &str, winner: &Candidate) -> Notice {
    Notice::LostName {
        backend: candidate.backend.clone(),
        tool: candidate.original.clone(),
        name: name.to_owned(),
        winner: winner.backend.clone(),
    }
}
