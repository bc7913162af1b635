//! `onecall call --raw`: a backend's result as received, and below it the expressions by which a step reads each leaf.

use crate::exit::Exit;
use crate::limits::{LEAVES_MAX, SHOWN_CHARS_MAX};
use crate::print;
use onecall_mcp::{CallOutput, CallResult, read_leniently};
use onecall_runtime::publish::Target;
use onecall_runtime::raw::RawReply;
use onecall_runtime::runtime::Runtime;
use serde_json::Value;

/// What stands for the step that the reader will write.
const STEP: &str = "STEP";

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
    print::out(result.raw().get());
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
    let leaves = leaves(output);
    let mut lines = vec![
        String::new(),
        format!(
            "read by later steps, where {STEP} is this step: in ToolHive files, in workflow files"
        ),
    ];
    let width = |leaf: &Leaf| leaf.template.chars().count();
    let widest = leaves.iter().map(width).max().unwrap_or_default();
    let shown = leaves.iter().take(LEAVES_MAX);
    lines.extend(shown.map(|leaf| {
        let (template, native, value) = (&leaf.template, &leaf.native, &leaf.value);
        format!("  {template:<widest$}  {native}  # {value}")
    }));
    if leaves.len() > LEAVES_MAX {
        lines.push(format!("  and {} more", leaves.len() - LEAVES_MAX));
    }
    lines
}

/// The output of a step is not the same in both kinds of files. A ToolHive step gives structured content that is an
/// object, else the content map; a step of a workflow file any structured content, else a sole text that is JSON.
/// What is not the output stands beside it.
fn leaves(output: &CallOutput) -> Vec<Leaf> {
    let mut leaves = Vec::new();
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
            walk(&Path::to_output("json"), &json, &mut leaves);
        }
        Some(_) | None => {}
    }
    leaves
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

    fn key(&self, key: &str) -> Self {
        let native = if is_name(key) {
            format!("{}.{key}", self.native)
        } else {
            format!("{}[{}]", self.native, Value::from(key))
        };
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

/// Of a list only the first item is walked: the others are read alike.
fn walk(path: &Path, value: &Value, leaves: &mut Vec<Leaf>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, own) in object {
                walk(&path.key(key), own, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            leaves.push(leaf(path, &print::counted(items.len(), "item")));
            walk(&path.item(0), &items[0], leaves);
        }
        scalar => leaves.push(leaf(path, &scalar.to_string())),
    }
}

fn leaf(path: &Path, value: &str) -> Leaf {
    let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    Leaf {
        template: format!("{{{{ {} }}}}", path.template),
        native: format!("${{{{ {} }}}}", path.native),
        value: format!("{shown}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gotemplate::{ParseOptions, RenderOptions};
    use serde_json::json;

    fn templates(result: Value) -> Vec<(String, String)> {
        let Value::Object(object) = result else {
            panic!("an object")
        };
        leaves(&CallOutput::from_object(object))
            .into_iter()
            .map(|leaf| (leaf.template, leaf.native))
            .collect()
    }

    #[test]
    fn every_leaf_has_its_spelling() {
        let odd = json!({ "items": [{ "id": 7, "a b": { "c": [[1]] } }], "empty": [] });
        let expected = [
            ("{{ .steps.STEP.output.items }}", "${{ .steps.STEP.items }}"),
            (
                "{{ (index .steps.STEP.output.items 0).id }}",
                "${{ .steps.STEP.items[0].id }}",
            ),
            (
                r#"{{ (index (index .steps.STEP.output.items 0) "a b").c }}"#,
                r#"${{ .steps.STEP.items[0]["a b"].c }}"#,
            ),
        ];
        let found = templates(json!({ "structuredContent": odd, "content": [] }));
        for (own, (template, native)) in found.iter().zip(expected) {
            assert_eq!((own.0.as_str(), own.1.as_str()), (template, native));
        }
        let text = json!({ "content": [{ "type": "text", "text": "hi" }] });
        let found = templates(text);
        assert_eq!(found[0].0, "{{ .steps.STEP.output.text }}");
    }

    #[test]
    fn the_templates_read_what_they_say() {
        let value = json!({ "list": [{ "x-y": [1, 2], "z": "end" }], "n": 1.5 });
        let data = json!({ "steps": { "STEP": { "output": value } } });
        for (template, _) in templates(json!({ "structuredContent": value })) {
            let parsed = gotemplate::parse(&template, &ParseOptions::default()).unwrap();
            let rendered = parsed.render(&data, &RenderOptions::default()).unwrap();
            let text = String::from_utf8(rendered.bytes).unwrap();
            assert!(!text.contains("no value"), "{template}: {text}");
        }
    }
}
