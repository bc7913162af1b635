//! Tokens of a list, each with the principal it stands for. Only digests are kept, and every one is compared, so that
//! neither memory nor time tells what a token is.

use crate::options::BearerToken;
use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::ConstantTimeEq as _;

pub(super) struct Bearers(Vec<(String, [u8; 32])>);

impl fmt::Debug for Bearers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Bearers {
    pub(super) fn new(tokens: &[BearerToken]) -> Self {
        let kept = tokens.iter();
        Self(
            kept.map(|own| (own.principal.clone(), digest(&own.token)))
                .collect(),
        )
    }

    /// The principal that a token stands for.
    pub(super) fn find(&self, token: &str) -> Option<&str> {
        let shown = digest(token);
        let mut found = None;
        for (principal, kept) in &self.0 {
            if bool::from(kept.ct_eq(&shown)) {
                found = Some(principal.as_str());
            }
        }
        found
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
