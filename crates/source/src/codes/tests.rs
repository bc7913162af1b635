//! The table keeps its order, and every code has its page.

use std::collections::BTreeSet;
use std::path::Path;

use super::{all, find};

#[test]
fn ids_are_unique_ordered_and_well_formed() {
    let ids: Vec<&str> = all().map(super::Code::as_str).collect();
    let sorted: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids, sorted.iter().copied().collect::<Vec<_>>());
    for id in ids {
        assert!(id.len() == 5 && id.starts_with("WF"), "{id}");
        assert!(id[2..].bytes().all(|b| b.is_ascii_digit()), "{id}");
    }
}

#[test]
fn found_in_any_case() {
    assert_eq!(find("wf005"), Some(super::DUPLICATE_KEY));
    assert_eq!(find("WF999"), None);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the pages are files")]
fn every_code_has_a_page_and_every_page_a_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    for code in all() {
        let page = std::fs::read_to_string(folder.join(format!("{code}.md")))
            .unwrap_or_else(|error| panic!("page of {code}: {error}"));
        let heading = format!("# {code}: {}\n", code.title());
        assert!(page.starts_with(&heading), "{code}: expected {heading:?}");
        assert!(page.contains(code.description()), "{code}: description");
        assert!(page.contains("## Example"), "{code}: example");
        assert!(page.contains("## Fix"), "{code}: fix");
    }
    for entry in folder.read_dir().unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let id = name.trim_end_matches(".md");
        assert!(
            id == "README" || find(id).is_some(),
            "page without a code: {name}"
        );
    }
}
