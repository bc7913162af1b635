//! The environment variables of this program, all of them. Only the `cli` crate reads them.

/// The filter of the log.
pub const LOG: &str = "ONECALL_LOG";

/// The file of the store.
pub const STORE: &str = "ONECALL_STORE";

/// The key that sensitive values are sealed with.
pub const SEAL_KEY: &str = "ONECALL_SEAL_KEY";

/// How many servers of this program stand above this one, each a backend of the one before. Set for backends, so that
/// a server that names itself is noticed.
pub const DEPTH: &str = "ONECALL_DEPTH";

/// What the names of all variables above start with.
pub const PREFIX: &str = "ONECALL_";

/// Variables that every child process inherits: what a program needs to find its files, its language, its
/// certificates and the way to the network. Everything else is passed only if the entry of the backend names it.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TMPDIR",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The same, in upper and lower case.
const INHERITED_PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// The same, by how their names start.
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Without these, programs do not start on Windows. Names are compared there without regard to case.
const INHERITED_ON_WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// The encoding of the user's texts on macOS.
const INHERITED_ON_MACOS: &[&str] = &["__CF_USER_TEXT_ENCODING"];

/// Whether every child process inherits the variable of this name.
pub fn is_inherited(name: &str) -> bool {
    let is_common = |name: &str| {
        INHERITED.contains(&name)
            || INHERITED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
    };
    let is_proxy = |proxy: &&str| *proxy == name || proxy.to_ascii_lowercase() == name;
    if INHERITED_PROXIES.iter().any(is_proxy) || is_common(name) {
        return true;
    }
    if cfg!(windows) {
        let upper = name.to_ascii_uppercase();
        return is_common(&upper) || INHERITED_ON_WINDOWS.contains(&upper.as_str());
    }
    cfg!(target_os = "macos") && INHERITED_ON_MACOS.contains(&name)
}

/// Whether a variable is the gateway's own: no child process inherits it.
pub fn is_own(name: &str) -> bool {
    name.get(..PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_is_inherited() {
        for name in [
            "PATH",
            "LC_ALL",
            "XDG_RUNTIME_DIR",
            "https_proxy",
            "NO_PROXY",
            "NODE_EXTRA_CA_CERTS",
        ] {
            assert!(is_inherited(name), "{name}");
        }
        for name in [
            "ONECALL_SEAL_KEY",
            "ONECALL_DEPTH",
            "GITHUB_TOKEN",
            "LD_PRELOAD",
            "PATHS",
            "Https_Proxy",
        ] {
            assert!(!is_inherited(name), "{name}");
        }
        assert!(is_own("ONECALL_SEAL_KEY") && is_own("onecall_x") && !is_own("ONECALLX"));
    }
}
