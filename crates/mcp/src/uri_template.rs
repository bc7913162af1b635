//! Whether a URI could come from a URI template (RFC 6570): enough to find whose resource it is, not to take it apart.

/// One piece of a template.
enum Part<'a> {
    Literal(&'a str),
    /// At least `least` bytes of which `takes` holds, after `lead` where there is one.
    Hole {
        lead: Option<u8>,
        takes: fn(u8) -> bool,
        is_optional: bool,
    },
}

/// Whether the template can be expanded to the URI. A malformed template matches only itself.
pub fn template_matches(template: &str, uri: &str) -> bool {
    let Some(parts) = parts(template) else {
        return template == uri;
    };
    let bytes = uri.as_bytes();
    // Every place where the next part may begin; as long as the URI, so the work is bounded.
    let mut places = vec![false; bytes.len() + 1];
    places[0] = true;
    for part in &parts {
        places = step(part, bytes, &places);
    }
    places[bytes.len()]
}

fn step(part: &Part<'_>, uri: &[u8], places: &[bool]) -> Vec<bool> {
    let mut next = vec![false; places.len()];
    match part {
        Part::Literal(text) => {
            for at in (0..places.len()).filter(|at| places[*at]) {
                if uri[at..].starts_with(text.as_bytes()) {
                    next[at + text.len()] = true;
                }
            }
        }
        Part::Hole {
            lead,
            takes,
            is_optional,
        } => {
            // Whether a hole that is open here has begun and taken its lead.
            let mut is_open = false;
            for at in 0..places.len() {
                next[at] |= places[at] && *is_optional;
                let Some(byte) = uri.get(at) else { break };
                let begins = places[at] && lead.is_none_or(|lead| lead == *byte);
                let goes_on = is_open && takes(*byte);
                let first = begins && (lead.is_some() || takes(*byte));
                if goes_on || (first && lead.is_none()) {
                    next[at + 1] = true;
                }
                is_open = goes_on || first;
            }
        }
    }
    next
}

fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        parts.push(Part::Literal(&rest[..open]));
        let close = rest[open..].find('}')? + open;
        parts.push(hole(&rest[open + 1..close])?);
        rest = &rest[close + 1..];
    }
    parts.push(Part::Literal(rest));
    Some(parts)
}

fn hole(expression: &str) -> Option<Part<'static>> {
    let operator = expression.bytes().next()?;
    let within_segment: fn(u8) -> bool = |byte| byte != b'/';
    let anything: fn(u8) -> bool = |_| true;
    let query: fn(u8) -> bool = |byte| byte != b'#';
    let (lead, takes, is_optional) = match operator {
        b'+' => (None, anything, false),
        b'#' => (Some(b'#'), anything, true),
        b'.' => (Some(b'.'), within_segment, true),
        b'/' if expression.ends_with('*') => (Some(b'/'), anything, true),
        b'/' => (Some(b'/'), within_segment, true),
        b'?' | b'&' | b';' => (Some(operator), query, true),
        _ => (None, within_segment, false),
    };
    Some(Part::Hole {
        lead,
        takes,
        is_optional,
    })
}

#[cfg(test)]
mod tests {
    use super::template_matches;

    #[test]
    fn uris_are_matched_by_operator() {
        let cases: &[(&str, &str, bool)] = &[
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template//data", false),
            (
                "test://template/{id}/data",
                "test://template/a/b/data",
                false,
            ),
            ("file:///{+path}", "file:///a/b.txt", true),
            ("file:///{+path}", "file:///", false),
            (
                "db://{table}{?limit,offset}",
                "db://users?limit=1&offset=2",
                true,
            ),
            ("db://{table}{?limit,offset}", "db://users", true),
            ("x://{a}-{b}", "x://1-2-3", true),
            ("x://{a}-{b}", "x://12", false),
            ("x://a{/rest*}", "x://a/b/c", true),
            ("x://a{/one}", "x://a/b/c", false),
            ("x://{broken", "x://{broken", true),
            ("x://{broken", "x://y", false),
            ("x://plain", "x://plain", true),
            ("x://plain", "x://plainer", false),
            ("x://{}", "x://y", false),
        ];
        for (template, uri, expected) in cases {
            assert_eq!(
                template_matches(template, uri),
                *expected,
                "{template} {uri}"
            );
        }
    }

    #[test]
    fn a_long_uri_takes_no_long_time() {
        let template = format!("{}x", "{a}-".repeat(50));
        assert!(!template_matches(&template, &"-".repeat(100_000)));
    }
}
