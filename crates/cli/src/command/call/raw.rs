//! `onecall call --raw`: a backend's result as received, and below it the expressions by which a step reads each leaf.

use crate::exit::Exit;
use crate::limits::{LEAVES_MAX, SHOWN_CHARS_MAX};
use crate::print;
use onecall_mcp::{CallOutput, CallResult, content_map, read_leniently};
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
            walk(&Path::to_output("json"), &json, &mut leaves);
        }
        Some(_) | None => {}
    }
    for (path, value) in others(output) {
        walk(&path, value, &mut leaves);
    }
    leaves
}

/// What neither output nor content map has: content that is not mapped, and what stands beside the content. Only
/// workflow files read it, in the result as it came.
fn others(output: &CallOutput) -> Vec<(Path, &Value)> {
    let whole = Path::of_result();
    let mut others = Vec::new();
    for (position, block) in output.content().iter().enumerate() {
        if content_map(std::slice::from_ref(block)).is_empty() {
            others.push((whole.key("content").item(position), block));
        }
    }
    for (key, value) in output.object() {
        if !matches!(key.as_str(), "content" | "structuredContent") {
            others.push((whole.key(key), value));
        }
    }
    others
}

/// The first leaves, and how many there are besides.
#[derive(Default)]
struct Leaves {
    shown: Vec<Leaf>,
    more: usize,
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
            let items_told = print::counted(items.len(), "item");
            leaves.shown.push(leaf(path, &items_told));
            for (position, item) in items.iter().enumerate() {
                walk(&path.item(position), item, leaves);
            }
        }
        scalar => leaves.shown.push(leaf(path, &scalar.to_string())),
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

fn leaf(path: &Path, value: &str) -> Leaf {
    let shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    let rest = if shown.len() < value.len() { "…" } else { "" };
    Leaf {
        template: match path.template.as_str() {
            "" => "-".to_owned(),
            template => format!("{{{{ {template} }}}}"),
        },
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
            .shown
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
    fn what_only_the_result_itself_has_is_read_by_workflow_files() {
        let result = json!({
            "content": [{ "type": "text", "text": "hi" }, { "type": "hologram", "z": [1, 2] }],
            "_meta": { "a/b": 1 }, "x-extra": true
        });
        let found = templates(result);
        let found: Vec<(&str, &str)> = found.iter().map(|own| (&*own.0, &*own.1)).collect();
        let of = "${{ .results.STEP.result";
        let native = |rest: &str| format!("{of}{rest} }}}}");
        for rest in [
            ".content[1].type",
            ".content[1].z[0]",
            ".content[1].z[1]",
            r#"._meta["a/b"]"#,
            r#"["x-extra"]"#,
        ] {
            let native = native(rest);
            assert!(
                found.contains(&("-", native.as_str())),
                "{native} {found:?}"
            );
        }
        assert!(!found.iter().any(|own| own.1.contains(".content[0]")));
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let numbers: Vec<usize> = (0..LEAVES_MAX + 7).collect();
        let result = json!({ "structuredContent": { "a": numbers, "b": [{ "c": 1 }] } });
        let leaves = leaves(&CallOutput::from_object(
            result.as_object().unwrap().clone(),
        ));
        // The list itself is the first leaf.
        assert_eq!((leaves.shown.len(), leaves.more), (LEAVES_MAX, 8 + 2));
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
