//! The nearest of several names, for help texts.

/// The candidate a reader most likely meant by `name`, if one is near enough.
pub fn suggest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = fold(name);
    if wanted.is_empty() {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == name {
            continue;
        }
        let folded = fold(candidate);
        let distance = if folded == wanted {
            0
        } else if is_part(&wanted, &folded) {
            1
        } else {
            let allowed = (wanted.chars().count().max(folded.chars().count()) / 3).max(1);
            let distance = strsim::osa_distance(&wanted, &folded);
            if distance > allowed || distance >= folded.chars().count() {
                continue;
            }
            distance
        };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `depends_on`, `depends-on` and `dependsOn` are the same mistake, and so are `retries` and `retry`.
fn fold(name: &str) -> String {
    let folded: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    match folded.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => folded,
    }
}

/// `fetch` for `fetch_user`: long enough to be no accident.
fn is_part(wanted: &str, candidate: &str) -> bool {
    let shorter = wanted.len().min(candidate.len());
    shorter >= 4 && (candidate.starts_with(wanted) || wanted.starts_with(candidate))
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn nearest_name_or_none() {
        let names = ["dependsOn", "timeout", "fetch_user", "notify"];
        let check = |name, expected| assert_eq!(suggest(name, names), expected, "{name}");
        check("depends_on", Some("dependsOn"));
        check("timout", Some("timeout"));
        check("fetch", Some("fetch_user"));
        check("notfiy", Some("notify"));
        check("notifies", Some("notify"));
        check("x", None);
        check("", None);
        check("compensation", None);
        check("notify", None);
    }
}
