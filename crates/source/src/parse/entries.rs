//! The entries of a mapping: no key twice, and merge keys expanded.

use std::collections::HashSet;
use std::sync::Arc;

use super::faults;
use crate::{Diagnostics, Entry, Node, NodeKind};

/// The entries with each key once, the first kept.
pub(super) fn without_duplicates(
    mut entries: Vec<Entry>,
    diagnostics: &mut Diagnostics,
) -> Vec<Entry> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| (entries[*a].key.as_str(), a).cmp(&(entries[*b].key.as_str(), b)));
    let mut again = vec![false; entries.len()];
    let mut first = 0;
    for position in 1..order.len() {
        let (key, other) = (&entries[order[first]].key, &entries[order[position]].key);
        if key.as_str() == other.as_str() {
            again[order[position]] = true;
            diagnostics.push(faults::duplicate_key(key, key.place(), other.place()));
        } else {
            first = position;
        }
    }
    let mut again = again.into_iter();
    entries.retain(|_| again.next() != Some(true));
    entries
}

/// Expands `<<`, each mapping standing after so many entries: what is written wins over what is merged, and an earlier merge over a later one.
pub(super) fn merged(
    entries: Vec<Entry>,
    merges: Vec<(usize, Node)>,
    diagnostics: &mut Diagnostics,
) -> Vec<Entry> {
    if merges.is_empty() {
        return entries;
    }
    let mut seen: HashSet<Arc<str>> = entries.iter().map(|entry| entry.key.to_arc()).collect();
    let mut all = Vec::with_capacity(entries.len());
    let mut own = entries.into_iter();
    let mut taken = 0;
    for (before, node) in merges {
        all.extend(own.by_ref().take(before.saturating_sub(taken)));
        taken = taken.max(before);
        let mappings = match node.kind {
            NodeKind::Sequence(items) => items,
            _ => vec![node],
        };
        for mapping in mappings {
            let NodeKind::Mapping(merged) = mapping.kind else {
                let kind = mapping.kind_name();
                diagnostics.push(faults::bad_merge(&mapping.place, kind));
                continue;
            };
            all.extend(
                merged
                    .into_iter()
                    .filter(|entry| seen.insert(entry.key.to_arc())),
            );
        }
    }
    all.extend(own);
    all
}
