//! URLs of servers as people write them: their parts, told apart without a library that would also change them, and
//! where credentials may go.

use std::net::IpAddr;

/// It starts with `http://` or `https://`, and names a host.
pub fn is_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        let rest = url.strip_prefix(scheme);
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']))
    })
}

/// The first character that stands in no URL, such as a blank. What is behind `#` is sent to nobody.
pub fn stray(url: &str) -> Option<char> {
    let sent = url.split('#').next().unwrap_or_default();
    let host = authority(sent);
    let (before, query) = sent.split_once('?').unwrap_or((sent, ""));
    let odd = |c: &char| c.is_ascii_control() || matches!(c, ' ' | '<' | '>');
    let in_host = |c: &char| odd(c) || !c.is_ascii() || "\"\\^`{|}".contains(*c);
    let in_path = |c: &char| odd(c) || *c == '`';
    let in_query = |c: &char| odd(c) || *c == '"';
    let found = host.chars().find(in_host);
    let found = found.or_else(|| before.chars().find(in_path));
    found.or_else(|| query.chars().find(in_query))
}

pub fn has_credentials(url: &str) -> bool {
    authority(url).contains('@')
}

/// Nobody on the way can read or change what is sent.
pub fn is_safe(url: &str) -> bool {
    let host = host(url);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|own| own.is_loopback());
    is_here || url.starts_with("https://")
}

/// Without credentials, port and the brackets of an address.
pub fn host(url: &str) -> &str {
    let host = authority(url).rsplit('@').next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_is_between_all_the_rest() {
        for url in [
            "https://h",
            "https://h:1/p",
            "http://u:p@h:1?q",
            "h",
            "https://h#f",
        ] {
            assert_eq!(host(url), "h", "{url}");
        }
        assert_eq!(host("http://[::1]:80/p"), "::1");
        for (url, is_sent) in [
            ("http://127.0.0.2:80/", true),
            ("http://[::1]/", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
            ("https://h", true),
            ("http://h", false),
        ] {
            assert_eq!(is_safe(url), is_sent, "{url}");
        }
    }

    #[test]
    fn what_stands_in_no_url_is_found() {
        for (url, found) in [
            ("http://exa mple/mcp", Some(' ')),
            ("http://exämple/mcp", Some('ä')),
            ("http://h{x}/mcp", Some('{')),
            ("http://h/mcp\n", Some('\n')),
            ("http://h/<mcp>", Some('<')),
            ("http://h/`", Some('`')),
            ("http://h/?\"", Some('"')),
            (r#"http://h:1/ä{"a"}?b=^`[c]#d e"#, None),
            ("http://[::1]:80/%20", None),
        ] {
            assert_eq!(stray(url), found, "{url}");
        }
    }
}
