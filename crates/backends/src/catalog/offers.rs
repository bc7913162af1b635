//! Resources, resource templates and prompts of all backends merged into one list of each kind. Entries stay as they
//! are received, but for the name of a prompt.

use std::sync::Arc;

use onecall_mcp::Exact;
use onecall_workflow::name::BackendName;
use serde_json::Value;

use super::{Notice, Strategy, Thing};
use crate::conflict::{self, Candidate};
use crate::lists::ListKind;

/// One resource, template or prompt of one backend.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub backend: BackendName,
    /// Its URI, URI template or name, as the backend has it.
    pub original: String,
    /// The same as clients see it; `None` for one that lost a conflict.
    pub name: Option<String>,
    /// The entry to list.
    pub entry: Exact,
}

/// Merges lists of one kind. The order is that of the lists, then by the backends' own names.
pub fn merge_offers(
    kind: ListKind,
    lists: &[(BackendName, Arc<[Exact]>)],
    strategy: &Strategy,
) -> (Vec<Offer>, Vec<Notice>) {
    let thing = match kind {
        ListKind::Resources => Thing::Resource,
        ListKind::ResourceTemplates => Thing::ResourceTemplate,
        ListKind::Prompts => Thing::Prompt,
    };
    let mut candidates = Vec::new();
    let mut entries = Vec::new();
    for (backend, list) in lists {
        let mut keyed: Vec<(&str, &Exact)> = list
            .iter()
            .filter_map(|entry| Some((entry.value().get(kind.key())?.as_str()?, entry)))
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        keyed.dedup_by_key(|(key, _)| *key);
        for (key, entry) in keyed {
            candidates.push(Candidate {
                backend: backend.clone(),
                original: key.to_owned(),
                name: key.to_owned(),
                is_overridden: false,
            });
            entries.push(entry.clone());
        }
    }
    let (names, notices) = conflict::resolve(&candidates, strategy, thing);
    let offers = candidates.into_iter().zip(entries).zip(names);
    let offers = offers.map(|((candidate, mut entry), name)| {
        if let Some(name) = name.as_ref().filter(|name| **name != candidate.original) {
            entry = entry.with(kind.key(), &Value::from(name.as_str()).into());
        }
        Offer {
            backend: candidate.backend,
            original: candidate.original,
            name,
            entry,
        }
    });
    (offers.collect(), notices)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lists(key: &str, given: &[(&str, &[&str])]) -> Vec<(BackendName, Arc<[Exact]>)> {
        let entry = |name: &&str| json!({ "title": "T", key: name, "_meta": { "v": 1 } }).into();
        given
            .iter()
            .map(|(backend, names)| ((*backend).into(), names.iter().map(entry).collect()))
            .collect()
    }

    fn shown(offers: &[Offer]) -> Vec<String> {
        let name = |offer: &Offer| offer.name.clone().unwrap_or_else(|| "-".to_owned());
        offers
            .iter()
            .map(|offer| format!("{}={}.{}", name(offer), offer.backend, offer.original))
            .collect()
    }

    fn priority(order: &[&str]) -> Strategy {
        let order = order.iter().map(|&name| name.into()).collect();
        Strategy::Priority { order }
    }

    #[test]
    fn prompts_are_named_as_tools_are_and_stay_whole() {
        let two = lists("name", &[("b", &["z", "ask"]), ("a", &["ask"])]);
        let (offers, notices) = merge_offers(ListKind::Prompts, &two, &Strategy::default());
        assert_eq!(shown(&offers), ["b_ask=b.ask", "b_z=b.z", "a_ask=a.ask"]);
        assert_eq!(notices, []);
        let entry = r#"{"title":"T","name":"b_ask","_meta":{"v":1}}"#;
        assert_eq!(offers[0].entry.text(), entry);
        let (offers, notices) = merge_offers(ListKind::Prompts, &two, &priority(&["a"]));
        assert_eq!(shown(&offers), ["-=b.ask", "z=b.z", "ask=a.ask"]);
        assert!(notices[0].to_string().ends_with("get it as `b.ask`"));
        let (offers, notices) = merge_offers(ListKind::Prompts, &two, &Strategy::Manual);
        assert_eq!(shown(&offers), ["-=b.ask", "z=b.z", "-=a.ask"]);
        assert!(notices[0].is_error());
    }

    #[test]
    fn a_uri_is_never_changed_and_belongs_to_one_backend() {
        let two = lists(
            "uri",
            &[("b", &["x://1", "x://1"]), ("a", &["x://1", "x://0"])],
        );
        let both = |strategy: &Strategy| merge_offers(ListKind::Resources, &two, strategy);
        let (offers, notices) = both(&Strategy::default());
        assert_eq!(
            shown(&offers),
            ["x://1=b.x://1", "x://0=a.x://0", "-=a.x://1"]
        );
        assert_eq!(notices.len(), 1);
        let (offers, _) = both(&priority(&["a"]));
        assert_eq!(
            shown(&offers),
            ["-=b.x://1", "x://0=a.x://0", "x://1=a.x://1"]
        );
        let (offers, _) = both(&priority(&[]));
        assert_eq!(
            shown(&offers),
            ["x://1=b.x://1", "x://0=a.x://0", "-=a.x://1"]
        );
        let (offers, _) = both(&Strategy::Manual);
        assert_eq!(shown(&offers), ["-=b.x://1", "x://0=a.x://0", "-=a.x://1"]);
    }
}
