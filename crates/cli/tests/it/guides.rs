//! The guides are true: their files are written, their commands run, their output compared.
//!
//! A block ` ```yaml file=NAME ` (any language) is a file in the folder of the guide's reader. A block ` ```console ` holds
//! commands, `$ onecall …`, each followed by lines that its output must hold in this order; `…` stands for
//! any text within a line. Success is expected, unless a line `[exit N]` says otherwise. `$ export NAME=VALUE` holds
//! for the commands below it. `$ onecall serve … &` serves until the guide ends, on a port of its own that stands for
//! the usual one.

use crate::support::{Ran, Running, onecall, root, run, serving};
use std::process::Command;
use tempfile::TempDir;

/// Where guides say that a server listens.
const USUAL: &str = "127.0.0.1:4483";

#[test]
fn every_example_of_the_guides_does_what_it_says() {
    let mut guides: Vec<_> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    guides.push(root().join("README.md"));
    guides.sort();
    let mut commands = 0;
    let mut faults = Vec::new();
    for guide in guides {
        let text = std::fs::read_to_string(&guide).unwrap();
        let (ran, wrong) = follow(&text);
        commands += ran;
        let name = guide.file_name().unwrap().display().to_string();
        faults.extend(wrong.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(commands > 10, "the guides hold {commands} commands");
}

#[test]
fn a_guide_that_lies_is_caught() {
    let lie = "```console\n$ onecall explain WF101\nno such line\n```\n";
    assert_eq!(follow(lie).1.len(), 1);
    let failure = "```console\n$ onecall explain WF999\n```\n";
    assert_eq!(follow(failure).1.len(), 1);
}

#[test]
fn the_key_table_is_the_one_that_the_program_prints() {
    let home = tempfile::tempdir().unwrap();
    let page = std::fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let (_, table) = page
        .split_once("<!-- onecall schema --keys --markdown -->\n")
        .unwrap();
    let printed = run(home.path(), &["schema", "--keys", "--markdown"]);
    assert!(
        table.starts_with(&printed.out),
        "docs/configuration.md is behind `onecall schema --keys --markdown`; put its output there"
    );
}

/// Does what a reader would do, in a folder of their own; the number of commands and what was not as said.
fn follow(guide: &str) -> (usize, Vec<String>) {
    let mut reader = Reader::new();
    let mut commands = 0;
    let mut faults = Vec::new();
    for (info, body) in blocks(guide) {
        if let Some(name) = info.split(' ').find_map(|word| word.strip_prefix("file=")) {
            let path = reader.home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &body).unwrap();
        } else if info == "console" {
            for (command, expected) in transcript(&body) {
                commands += 1;
                faults.extend(reader.does(&command, &expected));
            }
        }
    }
    (commands, faults)
}

/// Somebody who follows one guide.
struct Reader {
    home: TempDir,
    exported: Vec<(String, String)>,
    /// The server in the background, and where it listens.
    serving: Option<(Running, String)>,
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let examples = home.path().join("examples/hello");
        std::fs::create_dir_all(&examples).unwrap();
        let hello = root().join("examples/hello/hello.yaml");
        std::fs::copy(hello, examples.join("hello.yaml")).unwrap();
        Self {
            home,
            exported: Vec::new(),
            serving: None,
        }
    }

    /// Types one command; says what was not as expected.
    fn does(&mut self, command: &str, expected: &[String]) -> Option<String> {
        if let Some(assignment) = command.strip_prefix("export ") {
            let (name, value) = assignment.split_once('=').unwrap();
            self.exported.push((name.to_owned(), value.to_owned()));
            return None;
        }
        let words = command.strip_prefix("onecall ").unwrap();
        if let Some(words) = words.strip_suffix(" &") {
            let (running, url) = serving(self.types(&format!("{words} --port 0")));
            let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
            self.serving = Some((running, address.to_owned()));
            return None;
        }
        let ran = Ran::from(self.types(words).output().unwrap());
        compare(command, expected, &ran)
    }

    fn types(&self, command: &str) -> Command {
        let address = self.serving.as_ref().map(|(_, address)| address.as_str());
        let command = command.replace(USUAL, address.unwrap_or(USUAL));
        let words = words(&command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = onecall(self.home.path(), &words);
        child.current_dir(self.home.path());
        child.env("HOME", self.home.path());
        child.envs(self.exported.iter().map(|(name, value)| (name, value)));
        child
    }
}

/// The fenced blocks of a page: what stands after the fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

fn transcript(body: &str) -> Vec<(String, Vec<String>)> {
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for line in body.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.to_owned(), Vec::new()));
        } else {
            let (_, expected) = steps.last_mut().expect("a command stands first");
            expected.push(line.to_owned());
        }
    }
    steps
}

fn compare(command: &str, expected: &[String], ran: &Ran) -> Option<String> {
    let output = format!("{}{}", ran.err, ran.out);
    let exit = expected
        .iter()
        .find_map(|line| line.strip_prefix("[exit ")?.strip_suffix(']')?.parse().ok())
        .unwrap_or(0);
    let mut lines = output.lines();
    let missing = expected
        .iter()
        .filter(|line| !line.starts_with("[exit ") && !line.trim().is_empty() && *line != "…")
        .find(|wanted| !lines.any(|line| fits(line, wanted)));
    let is_wrong = missing.is_some() || ran.code != Some(exit);
    is_wrong.then(|| {
        let missing = missing.map_or_else(String::new, |line| format!("\nmissing: {line}"));
        format!("$ {command}\nexit {:?}{missing}\n{output}", ran.code)
    })
}

/// `…` in the wanted line stands for anything.
fn fits(line: &str, wanted: &str) -> bool {
    let mut rest = line.trim();
    let parts: Vec<&str> = wanted.trim().split('…').map(str::trim).collect();
    for (index, part) in parts.iter().enumerate() {
        match rest.find(part) {
            Some(0) => rest = &rest[part.len()..],
            Some(at) if index > 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || wanted.trim().ends_with('…')
}

/// Splits as a shell would, as far as the guides need it: blanks, and single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for char in command.chars() {
        match char {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            char => words.last_mut().expect("there is always one").push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
