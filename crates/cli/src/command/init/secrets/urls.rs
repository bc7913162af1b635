//! Secrets that stand inside a URL: the password before the host, parts of the path that look like keys, and
//! parameters of the query. What is put in their place is for the caller.

use super::{is_known_key, is_secret_name};

/// How long a part of a path is at least that may be a key of no known beginning.
const KEY_CHARS_MIN: usize = 20;

/// How many letters and digits of a key stand together at least.
const KEY_RUN_CHARS_MIN: usize = 16;

/// Where in a URL a secret stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot<'a> {
    User,
    Password,
    Path,
    /// A parameter of the query, by its name.
    Parameter(&'a str),
}

pub(super) fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(fits))
}

pub(super) fn holds_secret(text: &str) -> bool {
    let mut found = false;
    if is_url(text) {
        cover(text, |_| {
            found = true;
            String::new()
        });
    }
    found
}

/// The URL with something else in the place of each secret. What names a variable already is none.
pub(super) fn cover(url: &str, mut put: impl FnMut(Spot<'_>) -> String) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (user, rest) = rest.split_at(user_end(scheme, rest));
    let user = cover_user(user, &mut put);
    let (rest, fragment) = cut(rest, '#');
    let (rest, query) = cut(rest, '?');
    let (host, path) = cut(rest, '/');
    let path: Vec<String> = path
        .split('/')
        .map(|part| {
            if looks_like_key(part) {
                put(Spot::Path)
            } else {
                part.to_owned()
            }
        })
        .collect();
    let query: Vec<String> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if is_secret_parameter(name, value) => {
                format!(
                    "{name}={}",
                    put(Spot::Parameter(name.trim_start_matches('?')))
                )
            }
            Some(_) | None => parameter.to_owned(),
        })
        .collect();
    let (path, query) = (path.join("/"), query.join("&"));
    format!("{scheme}://{user}{host}{path}{query}{fragment}")
}

/// What stands before a character, and the rest, which begins with it.
fn cut(text: &str, at: char) -> (&str, &str) {
    text.split_at(text.find(at).unwrap_or(text.len()))
}

/// Where the user and password end, `@` included; 0 where there are none.
fn user_end(scheme: &str, rest: &str) -> usize {
    // Passwords of databases are written as they are, with characters that end the host on the web.
    let authority = if scheme.starts_with("http") {
        rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end])
    } else {
        rest
    };
    authority.rfind('@').map_or(0, |at| at + 1)
}

/// `user:password@`, or `token@`.
fn cover_user(user: &str, put: &mut impl FnMut(Spot<'_>) -> String) -> String {
    let is_open = |text: &str| !text.is_empty() && !text.contains("${");
    let bare = user.strip_suffix('@').unwrap_or(user);
    match bare.split_once(':') {
        Some((name, password)) if is_open(password) => {
            format!("{name}:{}@", put(Spot::Password))
        }
        // A name alone is a token to web servers, and a name to databases.
        None if is_open(bare) && looks_like_key(bare) => format!("{}@", put(Spot::User)),
        Some(_) | None => user.to_owned(),
    }
}

fn is_secret_parameter(name: &str, value: &str) -> bool {
    let is_open = !value.is_empty() && !value.contains("${");
    is_open && (is_secret_name(name) || looks_like_key(value))
}

fn looks_like_key(part: &str) -> bool {
    !part.contains("${") && (is_known_key(part) || is_random(part))
}

/// Letters and digits as nobody writes them by hand: long ones in a row, or a UUID.
fn is_random(part: &str) -> bool {
    let is_mixed = part.contains(|c: char| c.is_ascii_digit())
        && part.contains(|c: char| c.is_ascii_alphabetic());
    if part.len() < KEY_CHARS_MIN || !is_mixed {
        return false;
    }
    let mut runs = part.split(|c: char| !c.is_ascii_alphanumeric());
    let is_uuid = part.len() == 36 && part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_uuid || runs.any(|run| run.len() >= KEY_RUN_CHARS_MIN)
}

#[cfg(test)]
mod tests {
    use super::{Spot, cover, holds_secret};

    #[test]
    fn secrets_are_found_wherever_they_stand_in_a_url() {
        let covered = |url: &str| {
            cover(url, |spot| match spot {
                Spot::User => "USER".to_owned(),
                Spot::Password => "PASSWORD".to_owned(),
                Spot::Path => "PATH".to_owned(),
                Spot::Parameter(name) => format!("<{name}>"),
            })
        };
        for (url, told) in [
            (
                "http://h/mcp?a=1&api_key=sk-topsecret123&b=2#x",
                "http://h/mcp?a=1&api_key=<api_key>&b=2#x",
            ),
            ("http://h/mcp?token=abc", "http://h/mcp?token=<token>"),
            ("http://h/mcp?id=sk-abc", "http://h/mcp?id=<id>"),
            ("https://h/s/sk-ak-12345/mcp", "https://h/s/PATH/mcp"),
            (
                "https://h/server/1f0e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/mcp",
                "https://h/server/PATH/mcp",
            ),
            (
                "https://h/s/NjQ2ZjA1YzgtOTk4Ny00/mcp",
                "https://h/s/PATH/mcp",
            ),
            (
                "postgres://u:p@s#s/@h:5432/db",
                "postgres://u:PASSWORD@h:5432/db",
            ),
            ("https://ghp_abc@h/x", "https://USER@h/x"),
        ] {
            assert_eq!(covered(url), told);
            assert!(holds_secret(url), "{url}");
        }
        for url in [
            "http://127.0.0.1:4483/mcp",
            "https://example.com/api/v2/model-context-protocol-2025-06-18/mcp?mode=read",
            "postgres://reader@h/db",
            "http://h/mcp?api_key=${API_KEY}",
            "https://u:${PW}@h/${KEY}",
            "https://h:80/@scope/x",
            "http://h?",
            "http://h",
            "no url?token=abc",
        ] {
            assert_eq!(covered(url), url);
            assert!(!holds_secret(url), "{url}");
        }
    }
}
