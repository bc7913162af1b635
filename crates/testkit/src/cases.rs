//! Cases written as documents: a heading is a case, its fenced blocks are the workflow, the script of the world
//! and what is expected. `tests/cases/engine/README.md` describes the blocks.

mod compare;
mod execute;
mod script;
mod show;
mod source;

use onecall_engine::failure::Code;
use onecall_engine::scripted::Played;
use onecall_workflow::workflow::Workflow;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One case of a document.
#[derive(Clone, Debug)]
pub struct Case {
    pub file: String,
    pub line: usize,
    pub title: String,
    /// The lines of the semantics it stands behind.
    pub ids: Vec<String>,
    /// The root of the repository, to which cases elsewhere are relative.
    root: PathBuf,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    kind: String,
    text: String,
}

impl Case {
    /// The text of its first block of this kind.
    pub fn block(&self, kind: &str) -> Option<&str> {
        let block = self.blocks.iter().find(|block| block.kind == kind)?;
        Some(&block.text)
    }

    /// Where the case stands, for messages.
    pub fn place(&self) -> String {
        format!("{}:{} {}", self.file, self.line, self.title)
    }

    /// The codes of the failures it shows, but for those its script puts into the mouths of tools.
    pub fn produced(&self) -> BTreeSet<Code> {
        execute::execute(self).map_or_else(|_| BTreeSet::new(), |executed| show::codes(&executed))
    }

    /// Runs the case; the fault, if what happens is not what is expected.
    pub fn fault(&self) -> Option<String> {
        if let Some(path) = self.block("elsewhere") {
            let is_there = self.root.join(path.trim()).is_file();
            return (!is_there).then(|| format!("there is no `{}`", path.trim()));
        }
        self.compared(execute::execute(self))
    }

    /// As `fault`, with a workflow that stands elsewhere.
    pub fn fault_with(&self, workflow: &Workflow) -> Option<String> {
        self.compared(execute::execute_with(self, workflow))
    }

    fn compared(&self, executed: Result<execute::Executed, String>) -> Option<String> {
        match executed {
            Err(fault) => Some(fault),
            Ok(executed) => compare::fault(self, &executed),
        }
    }
}

/// Plays a workflow in the world of a `script` block.
pub fn play(workflow: &Workflow, script: &str) -> Result<Played, String> {
    execute::played(workflow, script)
}

/// Every event of a played run, one a line, with its time.
pub fn events(played: &Played) -> String {
    show::events(played)
}

/// Limit: bytes of one document of cases.
const CASES_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// All cases of a folder below the root, by file and line. The page that describes the folder has none.
pub fn read_folder(root: &Path, folder: &str) -> std::io::Result<Vec<Case>> {
    let mut files: Vec<_> = fs::read_dir(root.join(folder))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.extension().is_some_and(|ext| ext == "md") && name != "README.md" {
            let mut text = String::new();
            fs::File::open(&path)?
                .take(CASES_BYTES_MAX)
                .read_to_string(&mut text)?;
            cases.extend(read(root, &name, &text));
        }
    }
    Ok(cases)
}

/// The cases of one document. `## [id, id] title` opens a case.
fn read(root: &Path, file: &str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(block) = &mut open {
            if line == "```" {
                let block = open.take();
                if let Some(case) = cases.last_mut() {
                    case.blocks.extend(block);
                }
            } else {
                block.text.push_str(line);
                block.text.push('\n');
            }
        } else if let Some(kind) = line.strip_prefix("```") {
            open = Some(Block {
                kind: kind.trim().to_owned(),
                text: String::new(),
            });
        } else if let Some(heading) = line.strip_prefix("## ") {
            let (ids, title) = heading
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .unwrap_or(("", heading));
            cases.push(Case {
                file: file.to_owned(),
                root: root.to_path_buf(),
                line: index + 1,
                title: title.trim().to_owned(),
                ids: ids.split(',').map(|id| id.trim().to_owned()).collect(),
                blocks: Vec::new(),
            });
        }
    }
    cases
}
