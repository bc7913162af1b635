//! Sealing: what must not lie on disk in clear. The key is not in the store: it is given, or lies in a file beside it
//! that only the user may read. Which runs are sealed is for the store to know.

mod key;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
pub(crate) use key::read_or_make;
pub use key::{SealKey, SealKeyError};
use onecall_engine::identity::RunId;
use sha2::{Digest, Sha256};

const NONCE_BYTES: usize = 24;

/// Seals with the key of one store. One key a purpose, so that nothing opens as something else.
pub(crate) struct Sealer {
    key: SealKey,
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl Sealer {
    pub(crate) fn new(key: SealKey) -> Self {
        let own = key.derive("values of runs 1");
        Self {
            cipher: XChaCha20Poly1305::new(&Key::from(own)),
            key,
        }
    }

    pub(crate) fn secret(&self, purpose: &str) -> [u8; 32] {
        self.key.derive(purpose)
    }

    pub(crate) fn of<'a>(&'a self, run: &'a RunId) -> Seal<'a> {
        Seal { sealer: self, run }
    }
}

/// Seals what belongs to one run; it opens as part of no other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal<'a> {
    sealer: &'a Sealer,
    run: &'a RunId,
}

impl Seal<'_> {
    pub(crate) fn close(self, content: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let payload = Payload {
            msg: content,
            aad: self.run.as_str().as_bytes(),
        };
        let sealed = self.sealer.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed =
            sealed.expect("a value in memory is shorter than the cipher's limit of 256 GiB");
        [nonce.as_slice(), &sealed].concat()
    }

    /// `None` for what was sealed with another key, for another run, or changed since.
    pub(crate) fn open(self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
        let payload = Payload {
            msg: sealed,
            aad: self.run.as_str().as_bytes(),
        };
        self.sealer
            .cipher
            .decrypt(&XNonce::from(nonce), payload)
            .ok()
    }
}

impl SealKey {
    /// A key for one purpose, from which neither this key nor that of another purpose can be found.
    fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"onecall seal key 1\0");
        hash.update(self.bytes());
        hash.update(purpose.as_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_for_its_run_and_key_only() {
        let sealer = Sealer::new(SealKey::from([1; 32]));
        let (run, other) = (RunId::new("a"), RunId::new("b"));
        let mut sealed = sealer.of(&run).close(b"secret");
        assert_eq!(
            sealer.of(&run).open(&sealed).as_deref(),
            Some(&b"secret"[..])
        );
        assert_eq!(sealer.of(&other).open(&sealed), None);
        let another = Sealer::new(SealKey::from([2; 32]));
        assert_eq!(another.of(&run).open(&sealed), None);
        assert_ne!(sealer.secret("x"), another.secret("x"));
        assert_ne!(sealer.secret("x"), sealer.secret("y"));
        sealed[30] ^= 1;
        assert_eq!(sealer.of(&run).open(&sealed), None);
        assert_eq!(sealer.of(&run).open(b"short"), None);
    }
}
