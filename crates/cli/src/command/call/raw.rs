//! `onecall call --raw`: a backend's result as received, and below it the expressions by which a step reads each leaf.

#[cfg(test)]
mod tests;

use crate::exit::Exit;
use crate::limits::{LEAVES_MAX, SHOWN_CHARS_MAX};
use crate::print;
use onecall_mcp::{CallOutput, CallResult, mapped_member, read_leniently};
use onecall_runtime::publish::Target;
use onecall_runtime::raw::RawReply;
use onecall_runtime::runtime::Runtime;
use serde_json::Value;

/// What stands for the step that the reader will write.
const STEP: &str = "STEP";

/// What stands for the template where ToolHive files cannot read a leaf.
const NO_TEMPLATE: &str = "-";

pub(super) async fn run(runtime: &Runtime, tool: &str, arguments: Value) -> anyhow::Result<Exit> {
    let published = runtime.settled_for(tool).await;
    let found = published.find(tool).map(|tool| &tool.target);
    let reply = if matches!(found, Some(Target::Workflow(_))) {
        RawReply::Unknown
    } else {
        runtime.call_raw(tool, arguments).await
    };
    let result = match reply {
        RawReply::Result(result) => result,
        RawReply::Unknown => {
            print::err(format!("error: no backend has the tool `{tool}`"));
            print::err(
                "  = help: list the tools with `onecall tools`; workflows have no raw result",
            );
            return Ok(Exit::NothingSelected);
        }
        RawReply::Failed {
            message,
            is_reached,
        } => {
            print::err(format!("error: {message}"));
            let exit = if is_reached {
                Exit::Failed
            } else {
                Exit::Unreachable
            };
            return Ok(exit);
        }
    };
    print::data(result.raw().get());
    for line in below(&result) {
        print::out(line);
    }
    Ok(if result.is_error() {
        Exit::Failed
    } else {
        Exit::Ok
    })
}

/// What stands below a result; nothing where it cannot be read.
fn below(result: &CallResult) -> Vec<String> {
    let object = read_leniently(result.raw().get());
    let output = object.map(CallOutput::from_object);
    output.map(|output| lines(&output)).unwrap_or_default()
}

/// One line for each leaf that a step can read.
fn lines(output: &CallOutput) -> Vec<String> {
    let Leaves {
        shown: leaves,
        more,
    } = leaves(output);
    let mut lines = vec![
        String::new(),
        format!(
            "read by later steps, where {STEP} is this step: in ToolHive files, in workflow files"
        ),
    ];
    let width = |leaf: &Leaf| leaf.template.chars().count();
    let widest = leaves.iter().map(width).max().unwrap_or_default();
    lines.extend(leaves.iter().map(|leaf| {
        let (template, native, value) = (&leaf.template, &leaf.native, &leaf.value);
        format!("  {template:<widest$}  {native}  # {value}")
    }));
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// The output of a step is not the same in both kinds of files. A ToolHive step gives structured content that is an
/// object, else the content map; a step of a workflow file any structured content, else a sole text that is JSON.
/// What is not the output stands beside it.
fn leaves(output: &CallOutput) -> Leaves {
    let mut leaves = Leaves::default();
    let structured = output.structured().filter(|own| !own.is_null());
    let is_output = structured.is_some_and(Value::is_object);
    if let Some(structured) = structured {
        let part = if is_output { "output" } else { "structured" };
        walk(&Path::to_output(part), structured, &mut leaves);
    }
    let content = output.content_map();
    if !content.is_empty() {
        let part = if is_output { "content" } else { "output" };
        let path = Path::beside(part, "content");
        walk(&path, &Value::Object(content), &mut leaves);
    }
    match output.text_json() {
        Some(json) if structured.is_none() => {
            let is_output = json.is_object() || json.is_array();
            let path = if is_output {
                Path::to_output("json")
            } else {
                Path::beside("json", "json")
            };
            walk(&path, &json, &mut leaves);
        }
        Some(_) | None => {}
    }
    others(output, &mut leaves);
    leaves
}

/// What neither output nor content map has: the rest of each block, and what stands beside the content. Only workflow
/// files read it, in the result as it came.
fn others(output: &CallOutput, leaves: &mut Leaves) {
    let whole = Path::of_result();
    for (key, value) in output.object() {
        match (key.as_str(), value) {
            ("content", Value::Array(blocks)) if !blocks.is_empty() => {
                let path = whole.key(key);
                leaves.push(&path, value);
                for (position, block) in blocks.iter().enumerate() {
                    walk_beside(&path.item(position), block, mapped_member(block), leaves);
                }
            }
            ("structuredContent", Value::Null) => {
                walk(&Path::beside("structured", "structured"), value, leaves);
            }
            ("structuredContent", _) => {}
            _ => walk(&whole.key(key), value, leaves),
        }
    }
}

/// Walks what stands beside the member that these keys lead to.
fn walk_beside(path: &Path, value: &Value, member: &[&str], leaves: &mut Leaves) {
    match (value, member) {
        (Value::Object(object), [first, rest @ ..]) => {
            for (key, own) in object {
                let path = path.key(key);
                if key != first {
                    walk(&path, own, leaves);
                } else if !rest.is_empty() {
                    walk_beside(&path, own, rest, leaves);
                }
            }
        }
        _ => walk(path, value, leaves),
    }
}

/// The first leaves, and how many there are besides.
#[derive(Default)]
struct Leaves {
    shown: Vec<Leaf>,
    more: usize,
}

impl Leaves {
    fn push(&mut self, path: &Path, value: &Value) {
        if self.shown.len() < LEAVES_MAX {
            self.shown.push(leaf(path, value));
        } else {
            self.more += 1;
        }
    }
}

struct Leaf {
    /// For ToolHive files.
    template: String,
    /// For workflow files.
    native: String,
    value: String,
}

/// The way to a leaf, in both kinds of files.
#[derive(Clone)]
struct Path {
    template: String,
    /// A chain such as `.steps.x.output`, or a call that needs parentheses to go on.
    is_chain: bool,
    native: String,
}

impl Path {
    /// What is the output in workflow files, and this part of the step in ToolHive files.
    fn to_output(part: &str) -> Self {
        Self {
            template: format!(".steps.{STEP}.{part}"),
            is_chain: true,
            native: format!(".steps.{STEP}"),
        }
    }

    /// What stands beside the output in workflow files.
    fn beside(part: &str, native: &str) -> Self {
        Self {
            native: format!(".results.{STEP}.{native}"),
            ..Self::to_output(part)
        }
    }

    /// What ToolHive files do not read.
    fn of_result() -> Self {
        Self {
            template: String::new(),
            ..Self::beside("", "result")
        }
    }

    fn key(&self, key: &str) -> Self {
        let native = if is_name(key) {
            format!("{}.{key}", self.native)
        } else {
            format!("{}[{}]", self.native, Value::from(key))
        };
        if self.template.is_empty() {
            return Self {
                native,
                ..self.clone()
            };
        }
        if !is_name(key) {
            return self.index(&Value::from(key).to_string(), native);
        }
        let template = if self.is_chain {
            format!("{}.{key}", self.template)
        } else {
            format!("({}).{key}", self.template)
        };
        Self {
            template,
            is_chain: true,
            native,
        }
    }

    fn item(&self, position: usize) -> Self {
        self.index(
            &position.to_string(),
            format!("{}[{position}]", self.native),
        )
    }

    fn index(&self, at: &str, native: String) -> Self {
        if self.template.is_empty() {
            return Self {
                native,
                ..self.clone()
            };
        }
        let whole = if self.template.contains(' ') {
            format!("({})", self.template)
        } else {
            self.template.clone()
        };
        Self {
            template: format!("index {whole} {at}"),
            is_chain: false,
            native,
        }
    }
}

fn is_name(key: &str) -> bool {
    let mut chars = key.chars();
    let first = chars.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A list is a leaf itself, for those who walk it.
fn walk(path: &Path, value: &Value, leaves: &mut Leaves) {
    if leaves.shown.len() >= LEAVES_MAX {
        leaves.more += count(value);
        return;
    }
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, own) in object {
                walk(&path.key(key), own, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            leaves.push(path, value);
            for (position, item) in items.iter().enumerate() {
                walk(&path.item(position), item, leaves);
            }
        }
        scalar => leaves.push(path, scalar),
    }
}

/// How many leaves a value has.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(object) if !object.is_empty() => object.values().map(count).sum(),
        Value::Array(items) if !items.is_empty() => 1 + items.iter().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn leaf(path: &Path, value: &Value) -> Leaf {
    Leaf {
        template: match path.template.as_str() {
            "" => NO_TEMPLATE.to_owned(),
            template => format!("{{{{ {template} }}}}"),
        },
        native: format!("${{{{ {} }}}}", path.native),
        value: told(value),
    }
}

/// A value on one line: of a list how long it is, of anything else its beginning.
fn told(value: &Value) -> String {
    let value = match value {
        Value::Array(items) if !items.is_empty() => print::counted(items.len(), "item"),
        other => other.to_string(),
    };
    let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    format!("{shown}{rest}")
}
