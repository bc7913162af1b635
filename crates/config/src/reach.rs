//! `server` of `onecall.yaml`: by which names clients reach the server, and from which web pages.

use onecall_source::{Diagnostic, Diagnostics, Fields, Text, codes};

/// By which names clients reach a server, and from which web pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Where it is found, without `/mcp`.
    pub url: Option<String>,
    /// Further names that the `Host` header may hold.
    pub hosts: Vec<String>,
    /// Further values of the `Origin` header.
    pub origins: Vec<String>,
}

pub(crate) fn read(mut fields: Fields<'_>, diagnostics: &mut Diagnostics) -> Reach {
    let url = fields.optional_string("url", diagnostics);
    let hosts = fields.string_sequence("hosts", diagnostics);
    let origins = fields.string_sequence("origins", diagnostics);
    fields.finish(diagnostics);
    if let Some(url) = url.filter(|url| Reach::base_of(url).is_none()) {
        let why = "the `url` of the server is not one that clients can call";
        let help =
            "write it as `https://tools.example.com`, with the path before `/mcp` if there is one";
        diagnostics.push(unfit(url, why, help));
    }
    for host in hosts.iter().filter(|host| !Reach::is_host(host)) {
        let why = "no `Host` header is like this, so nobody would be let in by it";
        diagnostics.push(unfit(
            host,
            why,
            "write the name alone: `tools.example.com`",
        ));
    }
    let is_unfit = |origin: &&&Text| origin_of(origin).is_none_or(|own| ***origin != own);
    for origin in origins.iter().filter(is_unfit) {
        let why = "no `Origin` header is like this, so no page would be let in by it";
        let help = "write scheme and name alone: `https://app.example.com`";
        diagnostics.push(unfit(origin, why, help));
    }
    Reach {
        url: url.and_then(|url| Reach::base_of(url)),
        hosts: hosts.iter().map(ToString::to_string).collect(),
        origins: origins.iter().map(ToString::to_string).collect(),
    }
}

impl Reach {
    /// Where the server is found, without the `/mcp` that clients call; nothing where the text is no such URL.
    pub fn base_of(url: &str) -> Option<String> {
        let origin = origin_of(url)?;
        let path = url[origin.len()..].trim_end_matches('/');
        let path = path.strip_suffix("/mcp").unwrap_or(path);
        let path = path.trim_end_matches('/');
        let is_path = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '"' | '\\');
        (path.is_empty() || path.starts_with('/') && path.chars().all(is_path))
            .then(|| format!("{origin}{path}"))
    }

    /// Whether this is a name or address, with a port or without.
    pub fn is_host(host: &str) -> bool {
        let fits =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        !host.is_empty() && host.chars().all(fits)
    }

    /// These, and those of another file; the later one says where the server is found.
    pub(crate) fn join(&mut self, more: Self) {
        self.url = more.url.or(self.url.take());
        self.hosts.extend(more.hosts);
        self.origins.extend(more.origins);
    }
}

/// `scheme://host[:port]` at the beginning of a URL.
fn origin_of(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))?;
    let end = rest.find('/').unwrap_or(rest.len());
    Reach::is_host(&rest[..end]).then(|| &url[..url.len() - rest.len() + end])
}

fn unfit(text: &Text, why: &str, help: &str) -> Diagnostic {
    Diagnostic::error(codes::ACCESS, why)
        .label(text.place(), "clients would be let in by this")
        .help(help)
}

#[cfg(test)]
mod tests {
    use super::{Reach, origin_of};

    #[test]
    fn a_url_gives_where_the_server_is_found() {
        let base = |url| Reach::base_of(url);
        let plain = Some("https://t.example".to_owned());
        assert_eq!(base("https://t.example"), plain);
        assert_eq!(base("https://t.example/"), plain);
        assert_eq!(base("https://t.example/mcp"), plain);
        assert_eq!(
            base("http://t.example:8080/a/mcp/"),
            Some("http://t.example:8080/a".to_owned())
        );
        for bad in [
            "t.example",
            "ftp://t",
            "https://",
            "https://t/?a",
            "https://u@t",
        ] {
            assert_eq!(base(bad), None, "{bad}");
        }
        assert_eq!(origin_of("https://t.example/a"), Some("https://t.example"));
    }
}
