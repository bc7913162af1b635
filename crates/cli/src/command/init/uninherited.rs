//! Which variables an entry of a client relies on that a child process does not inherit here: those that its command
//! line names to a shell (`$NAME`), and those that a container is to take over (`docker run -e NAME`).

use onecall_config::environment::{is_inherited, is_own};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Programs whose `-e NAME` passes on a variable of their own environment.
const CONTAINER_PROGRAMS: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The names of the variables, without those that the entry sets itself.
pub(super) fn of(entry: &Value) -> BTreeSet<String> {
    let Some(command) = entry.get("command").and_then(Value::as_str) else {
        return BTreeSet::new();
    };
    let args = entry.get("args").and_then(Value::as_array);
    let args: Vec<&str> = args
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let env = entry.get("env").and_then(Value::as_object);
    let texts = env
        .into_iter()
        .flatten()
        .filter_map(|(_, own)| own.as_str());
    let texts = texts.chain([command]).chain(args.iter().copied());
    let mut names: BTreeSet<String> = texts.flat_map(shell_variables).map(str::to_owned).collect();
    let stem = Path::new(command)
        .file_stem()
        .and_then(|stem| stem.to_str());
    if stem.is_some_and(|stem| CONTAINER_PROGRAMS.contains(&stem)) {
        names.extend(container_variables(&args));
    }
    let is_set = |name: &str| env.is_some_and(|env| env.contains_key(name));
    names.retain(|name| !is_inherited(name) && !is_own(name) && !is_set(name));
    names
}

/// The names of `$NAME` in a text. `${NAME}` is replaced when the configuration is read, whatever the child inherits.
fn shell_variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).filter_map(|rest| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let name = &rest[..end];
        (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    })
}

/// The names of `-e NAME`, `--env NAME` and `--env=NAME`. With a value (`NAME=value`) nothing is inherited.
fn container_variables(args: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_announced = false;
    for arg in args {
        let name = if is_announced {
            Some(*arg)
        } else {
            arg.strip_prefix("--env=")
        };
        is_announced = !is_announced && matches!(*arg, "-e" | "--env");
        names.extend(name.filter(|name| !name.contains('=') && !name.contains("${")));
    }
    names.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_outside_of_the_list_are_found_by_name() {
        let names = |entry: Value| Vec::from_iter(of(&entry));
        let shell = json!({ "command": "sh", "args": ["-c", "run --key $API_KEY --home $HOME $1 ${ELSE} $$"],
                            "env": { "ROOT": "$DATA_ROOT/x" } });
        assert_eq!(names(shell), ["API_KEY", "DATA_ROOT"]);
        let docker = json!({ "command": "/usr/bin/docker", "env": { "SET": "x" },
            "args": ["run", "-e", "GITHUB_TOKEN", "-e", "SET", "-e", "A=b", "--env=OTHER", "-i", "image"] });
        assert_eq!(names(docker), ["GITHUB_TOKEN", "OTHER"]);
        assert!(names(json!({ "command": "grep", "args": ["-e", "WORD"] })).is_empty());
        assert!(names(json!({ "url": "http://h/$X" })).is_empty());
    }
}
