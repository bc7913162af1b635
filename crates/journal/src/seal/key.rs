//! The key of a store: given as text, or kept in a file beside the store that is made once, whoever comes first.

use crate::limits::KEY_FILE_BYTES_MAX;
use crate::private::{NotPrivateError, Rules, read_by};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a store is sealed with.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

impl std::fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SealKey(…)")
    }
}

impl From<[u8; 32]> for SealKey {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SealKeyError {
    #[error("a seal key is 32 bytes in base64, as `openssl rand -base64 32` prints them")]
    Text,
    #[error(
        "`{path}` holds no seal key; put the key of this store there, or name it in ONECALL_SEAL_KEY"
    )]
    File { path: PathBuf },
    #[error("the key file is not safe to use")]
    NotPrivate(#[from] NotPrivateError),
    #[error("cannot use the key file `{path}`")]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl SealKey {
    pub fn random() -> Self {
        Self(rand::random())
    }

    pub fn parse(text: &str) -> Result<Self, SealKeyError> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(SealKeyError::Text)
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The key in the file beside a store, made where there is none. Processes that make a store at once agree: a key
/// is written whole under a name of its own and then linked to the name that counts, which only one can do.
pub(crate) fn read_or_make(store: &Path, rules: Rules) -> Result<SealKey, SealKeyError> {
    let path = beside(store, ".key");
    let failed = |cause| SealKeyError::Io {
        path: path.clone(),
        cause,
    };
    if let Some(text) = read_by(&path, KEY_FILE_BYTES_MAX, rules)? {
        return SealKey::parse(&text).map_err(|_| SealKeyError::File { path });
    }
    let own = beside(store, &format!(".key-{:016x}", rand::random::<u64>()));
    let made = write(&own, &SealKey::random()).and_then(|()| fs::hard_link(&own, &path));
    let _ = fs::remove_file(&own);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let text = read_by(&path, KEY_FILE_BYTES_MAX, rules)?.unwrap_or_default();
    SealKey::parse(&text).map_err(|_| SealKeyError::File { path })
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn write(path: &Path, key: &SealKey) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{}", STANDARD.encode(key.0))?;
    // What is sealed must not outlive its key, not even through a loss of power.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private::{self, ChosenBy};

    const OWN: Rules = Rules::next_to(ChosenBy::Program);

    #[test]
    fn many_may_make_the_key_at_once_and_agree() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs.db");
        let threads: Vec<_> = (0..16)
            .map(|_| {
                let store = store.clone();
                std::thread::spawn(move || read_or_make(&store, OWN).unwrap().0)
            })
            .collect();
        let keys: Vec<[u8; 32]> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(keys.iter().all(|key| *key == keys[0]));
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the key stays");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_or_that_is_a_link_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs.db");
        let made = read_or_make(&store, OWN).unwrap().0;
        let path = beside(&store, ".key");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let refused = |rules| {
            matches!(
                read_or_make(&store, rules),
                Err(SealKeyError::NotPrivate(_))
            )
        };
        set(0o644);
        assert!(refused(OWN));
        set(0o640);
        assert!(refused(OWN));
        let mounted = Rules::next_to(ChosenBy::User);
        assert_eq!(read_or_make(&store, mounted).unwrap().0, made);
        set(0o600);
        let moved = folder.path().join("planted");
        fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        assert!(refused(OWN) && refused(mounted));
    }

    #[test]
    fn a_key_is_thirty_two_bytes() {
        assert!(SealKey::parse(&format!("{}\n", STANDARD.encode([7; 32]))).is_ok());
        for wrong in ["", "secret", &STANDARD.encode([7; 31])] {
            assert!(SealKey::parse(wrong).is_err(), "{wrong}");
        }
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs.db");
        private::write(&beside(&store, ".key"), "nonsense").unwrap();
        let error = read_or_make(&store, OWN).unwrap_err().to_string();
        assert!(error.contains("holds no seal key"), "{error}");
    }
}
