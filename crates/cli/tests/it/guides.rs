//! The guides are true: their files are written, their commands run, their output compared.
//!
//! A block ` ```yaml file=NAME ` (any language) is a file in the folder of the guide's reader. A block ` ```console ` holds
//! commands, `$ onecall …`, each followed by lines that its output must hold in this order; `…` stands for
//! any text within a line. Success is expected, unless a line `[exit N]` says otherwise.

use crate::support::{Ran, onecall, root, run};
use std::path::Path;

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
    let home = tempfile::tempdir().unwrap();
    let examples = home.path().join("examples/hello");
    std::fs::create_dir_all(&examples).unwrap();
    let hello = root().join("examples/hello/hello.yaml");
    std::fs::copy(hello, examples.join("hello.yaml")).unwrap();
    let mut commands = 0;
    let mut faults = Vec::new();
    for (info, body) in blocks(guide) {
        if let Some(name) = info.split(' ').find_map(|word| word.strip_prefix("file=")) {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &body).unwrap();
        } else if info == "console" {
            for (command, expected) in transcript(&body) {
                commands += 1;
                faults.extend(compare(home.path(), &command, &expected));
            }
        }
    }
    (commands, faults)
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
        if let Some(command) = line.strip_prefix("$ onecall ") {
            steps.push((command.to_owned(), Vec::new()));
        } else {
            let (_, expected) = steps.last_mut().expect("a command stands first");
            expected.push(line.to_owned());
        }
    }
    steps
}

fn compare(home: &Path, command: &str, expected: &[String]) -> Option<String> {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = onecall(home, &words);
    child.current_dir(home).env("HOME", home);
    let ran = Ran::from(child.output().unwrap());
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
        format!(
            "$ onecall {command}\nexit {:?}{missing}\n{output}",
            ran.code
        )
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
