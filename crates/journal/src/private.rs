//! Files that belong to one user: stores, their keys, and what the program remembers. A file that another user planted,
//! or that others can access, is refused before anything in it is used.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Who decided where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The program: no other user may access it, and a symbolic link is not followed.
    Program,
    /// The user: it may be a link, and a group may have access, such as on a volume that a cluster mounts.
    User,
}

/// Why a file or directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivateError {
    #[error(
        "`{path}` is a symbolic link, which is not followed; remove it, or put the file itself there"
    )]
    Link { path: PathBuf },
    #[error("`{path}` is not a file; remove it, or name another place")]
    NotAFile { path: PathBuf },
    #[error("`{path}` is not a directory; remove it, or name another place")]
    NotADirectory { path: PathBuf },
    #[error(
        "`{path}` belongs to another user (uid {owner}, this process has {user}); run as that user, or remove it if it \
         should not be there"
    )]
    Owner {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error("other users can access `{path}` (mode {mode:o}); run: chmod {wanted:o} {command}")]
    Access {
        path: PathBuf,
        mode: u32,
        wanted: u32,
        /// The path as a command line takes it.
        command: String,
    },
    #[error("cannot use `{path}`")]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// What is allowed of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    links: bool,
    /// The bits that may be set.
    mode: u32,
}

impl Rules {
    /// For the file itself.
    pub(crate) const fn of(chosen_by: ChosenBy) -> Self {
        let by_user = matches!(chosen_by, ChosenBy::User);
        Self {
            links: by_user,
            mode: if by_user { 0o660 } else { 0o600 },
        }
    }

    /// For a file that is put next to it.
    pub(crate) const fn next_to(chosen_by: ChosenBy) -> Self {
        Self {
            links: false,
            ..Self::of(chosen_by)
        }
    }

    /// For the key that the program puts next to it: a group may read it and not replace it.
    pub(crate) const fn of_key_next_to(chosen_by: ChosenBy) -> Self {
        let file = Self::of(chosen_by);
        Self {
            links: false,
            mode: file.mode & !0o020,
        }
    }
}

/// Refuses a file that is there and may not be used. One that is not there is fine.
pub(crate) fn check(path: &Path, rules: Rules) -> Result<(), NotPrivateError> {
    let found = fs::symlink_metadata(path).and_then(|own| {
        if own.is_symlink() && rules.links {
            fs::metadata(path)
        } else {
            Ok(own)
        }
    });
    match found {
        Ok(found) => check_metadata(path, &found, rules),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(failed(path)(cause)),
    }
}

fn check_metadata(path: &Path, found: &Metadata, rules: Rules) -> Result<(), NotPrivateError> {
    let path = path.to_path_buf();
    if found.is_symlink() {
        return Err(NotPrivateError::Link { path });
    }
    if !found.is_file() {
        return Err(NotPrivateError::NotAFile { path });
    }
    check_access(path, found, rules.mode, 0o600)
}

/// `allowed`: the bits that the mode may have. `wanted`: the mode that is advised.
#[cfg(unix)]
fn check_access(
    path: PathBuf,
    found: &Metadata,
    allowed: u32,
    wanted: u32,
) -> Result<(), NotPrivateError> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    let owner = found.uid();
    // What the administrator put there is trusted: they could do anything.
    if owner != user && owner != 0 {
        return Err(NotPrivateError::Owner { path, owner, user });
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 & !allowed != 0 {
        let command = shell_word(&path);
        return Err(NotPrivateError::Access {
            path,
            mode,
            wanted,
            command,
        });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_access(_: PathBuf, _: &Metadata, _: u32, _: u32) -> Result<(), NotPrivateError> {
    Ok(())
}

/// Makes the directory for the user alone, with its parents. One that others can write to is refused; one that they can
/// only look into is closed to them.
pub fn make_directory(path: &Path) -> Result<(), NotPrivateError> {
    let failed = failed(path);
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(&failed)?;
    let found = fs::symlink_metadata(path).map_err(&failed)?;
    let path = path.to_path_buf();
    if found.is_symlink() {
        return Err(NotPrivateError::Link { path });
    }
    if !found.is_dir() {
        return Err(NotPrivateError::NotADirectory { path });
    }
    check_access(path.clone(), &found, 0o755, 0o700)?;
    close(&path, &found).map_err(failed)
}

#[cfg(unix)]
fn close(path: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let of_others = found.permissions().mode() & 0o077;
    if of_others == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn close(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The text of a small file that the program wrote; `None` if there is no such file.
pub fn read(path: &Path, bytes_max: u64) -> Result<Option<String>, NotPrivateError> {
    read_by(path, bytes_max, Rules::of(ChosenBy::Program))
}

pub(crate) fn read_by(
    path: &Path,
    bytes_max: u64,
    rules: Rules,
) -> Result<Option<String>, NotPrivateError> {
    let mut options = OpenOptions::new();
    options.read(true);
    let Some(file) = open(path, &mut options, rules)? else {
        return Ok(None);
    };
    let mut text = String::new();
    let read = file.take(bytes_max).read_to_string(&mut text);
    read.map_err(failed(path))?;
    Ok(Some(text))
}

/// Writes a small file of the program's own, for the user alone.
pub fn write(path: &Path, text: &str) -> Result<(), NotPrivateError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let rules = Rules::of(ChosenBy::Program);
    let Some(mut file) = open(path, &mut options, rules)? else {
        return Err(failed(path)(io::ErrorKind::NotFound.into()));
    };
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()));
    written.map_err(failed(path))
}

/// Looks before it opens, since a pipe would never open, and again at what was opened.
fn open(
    path: &Path,
    options: &mut OpenOptions,
    rules: Rules,
) -> Result<Option<File>, NotPrivateError> {
    check(path, rules)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
        if !rules.links {
            let flags = rustix::fs::OFlags::NOFOLLOW.bits();
            options.custom_flags(i32::try_from(flags).expect("flags of files are small"));
        }
    }
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed(path))?,
    };
    let found = file.metadata().map_err(failed(path))?;
    check_metadata(path, &found, rules)?;
    Ok(Some(file))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> NotPrivateError {
    move |cause| NotPrivateError::Io {
        path: path.to_path_buf(),
        cause,
    }
}

/// The path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:,=".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_that_others_can_access_is_refused_with_the_command_that_fixes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        let own = Rules::of(ChosenBy::Program);
        let named = Rules::of(ChosenBy::User);
        assert!(check(&path, own).is_ok(), "one that is not there");
        fs::write(&path, "x").unwrap();
        for (bits, by_program, by_user) in [
            (0o600, true, true),
            (0o400, true, true),
            (0o640, false, true),
            (0o660, false, true),
            (0o604, false, false),
            (0o602, false, false),
        ] {
            set(&path, bits);
            assert_eq!(check(&path, own).is_ok(), by_program, "{bits:o}");
            assert_eq!(check(&path, named).is_ok(), by_user, "{bits:o}");
        }
        let error = check(&path, own).unwrap_err().to_string();
        let command = format!("(mode 602); run: chmod 600 '{}'", path.display());
        assert!(error.ends_with(&command), "{error}");
    }

    #[test]
    fn links_are_followed_only_to_what_the_user_named() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "x").unwrap();
        set(&real, 0o600);
        symlink(&real, &link).unwrap();
        let link_is_refused =
            |found| matches!(found, Err(NotPrivateError::Link { path }) if path == link);
        assert!(check(&link, Rules::of(ChosenBy::User)).is_ok());
        assert!(link_is_refused(check(
            &link,
            Rules::of_key_next_to(ChosenBy::User)
        )));
        set(&real, 0o640);
        assert!(check(&real, Rules::of_key_next_to(ChosenBy::User)).is_ok());
        assert!(check(&real, Rules::of_key_next_to(ChosenBy::Program)).is_err());
        set(&real, 0o660);
        assert!(check(&real, Rules::of_key_next_to(ChosenBy::User)).is_err());
        set(&real, 0o600);
        assert!(link_is_refused(check(&link, Rules::of(ChosenBy::Program))));
        assert!(link_is_refused(read(&link, 10).map(|_| ())));
        assert!(link_is_refused(write(&link, "y")));
        let content = read(&real, 10).unwrap();
        assert_eq!(content.as_deref(), Some("x"));
        // Also one that leads nowhere: the file would be made where it leads.
        fs::remove_file(&real).unwrap();
        assert!(link_is_refused(write(&link, "y")));
        assert!(!real.exists());
    }

    #[test]
    fn a_directory_is_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/onecall");
        make_directory(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
        set(&path, 0o755);
        make_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700, "closed");
        set(&path, 0o777);
        let error = make_directory(&path).unwrap_err().to_string();
        assert!(error.contains("(mode 777); run: chmod 700 "), "{error}");
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(
            make_directory(&link),
            Err(NotPrivateError::Link { .. })
        ));
    }

    #[test]
    fn what_is_written_is_read_back_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        assert_eq!(read(&path, 100).unwrap(), None);
        write(&path, "a longer text").unwrap();
        write(&path, "short").unwrap();
        assert_eq!(read(&path, 100).unwrap().as_deref(), Some("short"));
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(
            read(&socket, 10),
            Err(NotPrivateError::NotAFile { .. })
        ));
    }
}
