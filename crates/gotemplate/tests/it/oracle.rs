//! Fresh random templates answer as the Go toolchain on this machine answers, where there is one of version 1.26.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use gotemplate::{Mode, lines};
use serde_json::{Value, json};

use crate::generate::{INT_PATHS, NIL_MAP_PATHS, Random, document, template};

const TEMPLATES: usize = 5_000;

#[test]
fn random_templates_answer_as_go_does() {
    let version = Command::new("go").arg("version").output();
    let version = version.map_or(String::new(), |output| {
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    if !version.contains("go1.26") {
        // Written past the test harness, which captures `println!`: the run counts what was skipped.
        let name = "random_templates_answer_as_go_does";
        let _ = writeln!(
            std::io::stdout(),
            "\nskipped: {name} (needs Go 1.26, found {version:?})"
        );
        return;
    }
    let seed = std::env::var("GOTEMPLATE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(20_261_115);
    println!("seed {seed}");
    let cases = cases(seed);
    let theirs = go_answers(&cases);
    assert_eq!(theirs.len(), cases.len());
    let (mut wrong, mut errors, mut texts) = (Vec::new(), 0, 0);
    for (case, theirs) in cases.iter().zip(&theirs) {
        let ours: Value = serde_json::from_str(&lines::answer(case, Mode::Go)).unwrap();
        let theirs: Value = serde_json::from_str(theirs).unwrap();
        match (crate::outcome(&ours), crate::outcome(&theirs)) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {}
            (Err((our_phase, ours)), Err((their_phase, theirs))) if our_phase == their_phase => {
                errors += 1;
                texts += usize::from(ours == theirs);
            }
            (ours, theirs) => {
                let case: Value = serde_json::from_str(case).unwrap();
                wrong.push(format!("{}: {ours:?}, Go {theirs:?}", case["template"]));
            }
        }
    }
    println!(
        "{} templates, {errors} errors, {texts} of them with Go's very text, {} wrong",
        cases.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    assert!(
        texts * 100 >= errors * 99,
        "only {texts} of {errors} error texts are Go's"
    );
}

fn cases(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let case = |id: usize| {
        let template = template(&mut random);
        let mut case = json!({
            "id": id, "template": template, "data": document(), "int_paths": INT_PATHS, "nilmap_paths": NIL_MAP_PATHS,
        });
        match id % 12 {
            0 => case["missingkey"] = json!("error"),
            1 => case["missingkey"] = json!("zero"),
            _ => {}
        }
        case.to_string()
    };
    (0..TEMPLATES).map(case).collect()
}

/// Builds the oracle and asks it. Input is written from a thread of its own so that neither side waits for the other.
fn go_answers(cases: &[String]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    let binary = std::env::temp_dir().join(format!("gotemplate-oracle-{}", std::process::id()));
    let built = Command::new("go")
        .arg("build")
        .arg("-o")
        .arg(&binary)
        .arg(folder.join("main.go"))
        .status()
        .unwrap();
    assert!(built.success());
    let mut child = Command::new(&binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = cases.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    std::fs::remove_file(&binary).unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}
