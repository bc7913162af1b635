//! Who may call, as the gateway takes it: tokens that lie in files are read here.

use crate::limits::TOKEN_FILE_BYTES_MAX;
use crate::print;
use anyhow::{Context, bail};
use onecall_config::settings::{self, Settings, TokenText};
use onecall_gateway::{AccessOptions, BearerToken, OidcOptions};
use onecall_source::{Diagnostic, Place, codes};
use std::fs::File;
use std::io::Read as _;

/// What the configuration says of callers.
pub(crate) fn options(access: &settings::Access) -> anyhow::Result<AccessOptions> {
    let all = access.tokens.iter();
    let tokens = all.map(|own| text(own).map(|text| (own, text)));
    listed(access, tokens.collect::<anyhow::Result<_>>()?)
}

/// As `options`, for a server that runs: a token whose file is gone or unreadable is withdrawn, not kept.
pub(crate) fn options_again(access: &settings::Access) -> anyhow::Result<AccessOptions> {
    let mut tokens = Vec::with_capacity(access.tokens.len());
    for own in &access.tokens {
        match text(own) {
            Ok(text) => tokens.push((own, text)),
            Err(error) => {
                let principal = &own.principal;
                print::err(format!(
                    "the token of `{principal}` is withdrawn: {error:#}"
                ));
            }
        }
    }
    listed(access, tokens)
}

fn text(own: &settings::CallerToken) -> anyhow::Result<String> {
    match &own.text {
        TokenText::Stated(token) => Ok(token.clone()),
        TokenText::File(path) => read(path),
    }
}

fn listed(
    access: &settings::Access,
    texts: Vec<(&settings::CallerToken, String)>,
) -> anyhow::Result<AccessOptions> {
    let mut tokens = Vec::with_capacity(texts.len());
    for (own, token) in texts {
        if tokens
            .iter()
            .any(|earlier: &BearerToken| earlier.token == token)
        {
            bail!("`{}` has the token of another principal", own.principal);
        }
        tokens.push(BearerToken {
            principal: own.principal.clone(),
            token,
        });
    }
    let oidc = access.oidc.as_ref().map(|own| OidcOptions {
        issuer: own.issuer.clone(),
        audience: own.audience.clone(),
        jwks_url: own.jwks_url.clone(),
        resource: own.resource.clone(),
        algorithms: own.algorithms.clone(),
        leeway: own.leeway,
        scopes: own.scopes.clone(),
        offered_scopes: own.offered_scopes.clone(),
        principal_claim: own
            .principal_claim
            .clone()
            .unwrap_or_else(|| "sub".to_owned()),
        allows_http: own.allows_http,
    });
    Ok(AccessOptions { tokens, oidc })
}

/// The files that hold tokens, so that a change of one is seen.
pub(crate) fn files(settings: &Settings) -> impl Iterator<Item = &str> {
    let accesses = settings
        .servers
        .iter()
        .filter_map(|own| own.access.as_ref());
    let tokens = accesses.flat_map(|access| &access.tokens);
    tokens.filter_map(|own| match &own.text {
        TokenText::File(path) => Some(path.as_str()),
        TokenText::Stated(_) => None,
    })
}

/// A file that others can write to says nothing about who may call. It may be a link and readable by its group, as a
/// cluster mounts it.
fn refuse_writable(path: &str, file: &File) -> anyhow::Result<()> {
    if let Some(owner) = foreign_owner(file) {
        bail!(
            "`{path}`, which holds a token, belongs to another user (uid {owner}); give a file of this user or of root"
        );
    }
    if let Some(mode) = mode(file)
        && mode & 0o022 != 0
    {
        let word = shlex::try_quote(path).unwrap_or_default();
        bail!(
            "others can write to `{path}` (mode {mode:o}), which holds a token; run: chmod 600 {word}"
        );
    }
    Ok(())
}

/// The owner of a file that belongs neither to the user of this process nor to root.
#[cfg(unix)]
fn foreign_owner(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = file.metadata().ok()?.uid();
    (owner != 0 && owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

#[cfg(not(unix))]
fn foreign_owner(_: &File) -> Option<u32> {
    None
}

#[cfg(unix)]
fn mode(file: &File) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(file.metadata().ok()?.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &File) -> Option<u32> {
    None
}

/// Token files that others can read, with what to do about each.
pub(crate) fn open_files(settings: &Settings) -> impl Iterator<Item = Diagnostic> {
    files(settings).filter_map(|path| {
        let mode = mode(&File::open(path).ok()?)?;
        if mode & 0o004 == 0 {
            return None;
        }
        let word = shlex::try_quote(path).unwrap_or_default();
        let message = format!("other users can read the token file `{path}` (mode {mode:o})");
        let warning = Diagnostic::warning(codes::TOKEN_FILE_OPEN, message)
            .label(Place::path(path.to_owned(), ""), "this file")
            .help(format!("run: chmod 600 {word}"));
        Some(warning)
    })
}

/// A token that stands alone in its file.
fn read(path: &str) -> anyhow::Result<String> {
    let unread = || format!("cannot read the token in `{path}`");
    let mut text = String::new();
    let file = File::open(path).with_context(unread)?;
    refuse_writable(path, &file)?;
    let mut file = file.take(TOKEN_FILE_BYTES_MAX);
    file.read_to_string(&mut text).with_context(unread)?;
    let token = text.trim();
    if !TokenText::is_fit(token) {
        bail!("`{path}` holds no token: it takes one word, as `openssl rand -hex 32` makes it");
    }
    Ok(token.to_owned())
}
