//! Go templates as expressions: parsed when made, stored as their text, rendered over a `Scope`.
//! The context of a template is built lazily: nothing of the run is copied.

use super::{Expression, Facet, Part, Reference, RunField, Target, run_field_target};
use crate::limits::Bounds;
use crate::scope::{ItemView, Scope, StepView};
use gotemplate::{Key, Node, Object, Read, Template};
use onecall_mcp::{content_map, sole_text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A Go template, ready to render.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct GoProgram {
    text: String,
    options: GoOptions,
    template: Template,
    /// The steps it can read; `None` when any may be.
    steps: Option<Vec<String>>,
}

/// How a Go template is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoOptions {
    /// Go's own bytes for numbers, in place of JSON's.
    pub go_mode: bool,
    /// A missing value prints `<no value>` instead of failing.
    pub go_missing: bool,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    text: String,
    options: GoOptions,
}

impl TryFrom<Stored> for GoProgram {
    type Error = gotemplate::ParseError;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        Self::parse(stored.text, stored.options)
    }
}

impl From<GoProgram> for Stored {
    fn from(program: GoProgram) -> Self {
        Self {
            text: program.text,
            options: program.options,
        }
    }
}

impl GoProgram {
    pub fn parse(
        text: impl Into<String>,
        options: GoOptions,
    ) -> Result<Self, gotemplate::ParseError> {
        let text = text.into();
        let template = gotemplate::parse(&text, &gotemplate::ParseOptions::default())?;
        let steps = readable_steps(&template);
        Ok(Self {
            text,
            options,
            template,
            steps,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn options(&self) -> GoOptions {
        self.options
    }

    pub fn template(&self) -> &Template {
        &self.template
    }

    pub fn is_whole_value(&self) -> bool {
        self.template.is_whole_value()
    }

    pub(crate) fn render_options(&self, bounds: Bounds) -> gotemplate::RenderOptions {
        let usual = gotemplate::RenderLimits::default();
        let on_the_way = usual.produced_bytes_max - usual.output_bytes_max;
        gotemplate::RenderOptions {
            mode: if self.options.go_mode {
                gotemplate::Mode::Go
            } else {
                gotemplate::Mode::Workflow
            },
            limits: gotemplate::RenderLimits {
                operations_max: bounds.operations,
                output_bytes_max: bounds.text_bytes,
                produced_bytes_max: bounds.text_bytes.saturating_add(on_the_way),
                ..usual
            },
            ..gotemplate::RenderOptions::default()
        }
    }

    pub(crate) fn context<'a>(&self, scope: &'a dyn Scope) -> RunContext<'a> {
        RunContext::new(scope, self.steps.as_deref())
    }

    pub(crate) fn references(&self, expression: &Expression) -> Vec<Reference> {
        let analysis = self.template.analysis();
        analysis
            .reads
            .iter()
            .filter_map(|read| {
                let target = target_of(read)?;
                let name_span = name_segment(read, &target).unwrap_or(read.span);
                Some(Reference {
                    target,
                    place: expression.place_of(read.span.range()),
                    name_place: expression.place_of(name_span.range()),
                    is_lenient: false,
                })
            })
            .collect()
    }
}

fn readable_steps(template: &Template) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for read in &template.analysis().reads {
        match &read.rooted {
            // What hangs on the root or on something unknown may reach any step.
            None if matches!(read.base, gotemplate::Base::Computed) => {}
            None => return None,
            Some(segments) if segments.is_empty() => return None,
            Some(_) => match target_of(read) {
                Some(Target::Step { name, .. }) => names.push(name),
                Some(Target::AllSteps) => return None,
                _ => {}
            },
        }
    }
    names.sort();
    names.dedup();
    Some(names)
}

/// Where the name stands that says which step, parameter or item is read.
fn name_segment(read: &Read, target: &Target) -> Option<gotemplate::Span> {
    let index = match target {
        Target::Unknown { .. } => 0,
        Target::Input { .. }
        | Target::Step { .. }
        | Target::Item { .. }
        | Target::UnknownField { .. } => 1,
        Target::AllSteps | Target::Ambient | Target::Named { .. } => return None,
    };
    Some(read.rooted.as_ref()?.get(index)?.span)
}

fn target_of(read: &Read) -> Option<Target> {
    let segments = read.rooted.as_ref()?;
    let mut names = segments.iter().map(|segment| match &segment.key {
        Key::Name(name) => Some(name.clone()),
        Key::Index(index) => Some(index.to_string()),
        Key::Any => None,
    });
    let Some(Some(root)) = names.next() else {
        return (!read.rebinds).then_some(Target::AllSteps);
    };
    let rest: Vec<String> = names.map_while(|name| name).collect();
    Some(match root.as_str() {
        "params" => Target::Input { segments: rest },
        "steps" => step_target(read, rest)?,
        "forEach" => match rest.into_iter().next() {
            Some(name) => Target::Item { name },
            None => Target::Ambient,
        },
        "vars" => match rest.into_iter().next() {
            Some(name) => Target::UnknownField { root: "vars", name },
            None => Target::Ambient,
        },
        "workflow" => run_field_target("workflow", rest.first().map(String::as_str)),
        _ => Target::Unknown { name: root },
    })
}

fn step_target(read: &Read, rest: Vec<String>) -> Option<Target> {
    let mut rest = rest.into_iter();
    let Some(name) = rest.next() else {
        // `with .steps` alone reads nothing yet; what is read below it is listed by itself.
        return (!read.rebinds || read.dynamic).then_some(Target::AllSteps);
    };
    Some(Target::Step {
        name,
        part: rest.next().map(part),
        segments: rest.collect(),
    })
}

fn part(name: String) -> Part {
    match Facet::in_templates(&name) {
        Some(facet) => Part::Known(facet),
        None => Part::Unknown {
            name,
            known: &Facet::IN_TEMPLATES,
        },
    }
}

static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));

/// The root of a template's data: `.params`, `.vars`, `.workflow`, `.steps`, `.forEach`.
pub(crate) struct RunContext<'a> {
    scope: &'a dyn Scope,
    steps: StepsObject<'a>,
    run: RunObject<'a>,
    item: Option<ItemObject<'a>>,
}

impl<'a> RunContext<'a> {
    fn new(scope: &'a dyn Scope, names: Option<&[String]>) -> Self {
        let steps = match names {
            Some(names) => names
                .iter()
                .filter_map(|name| Some((name.clone(), StepObject::new(scope.step(name)?))))
                .collect(),
            None => scope
                .step_names()
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), StepObject::new(scope.step(name)?))))
                .collect(),
        };
        Self {
            scope,
            steps: StepsObject { steps },
            run: RunObject { scope },
            item: scope.item().map(|item| ItemObject { item }),
        }
    }
}

impl Object for RunContext<'_> {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        match key {
            "params" => Some(Node::Json(self.scope.input())),
            "vars" => Some(Node::Json(&EMPTY)),
            "workflow" => Some(Node::Object(&self.run)),
            "steps" => Some(Node::Object(&self.steps)),
            "forEach" => self.item.as_ref().map(|item| Node::Object(item)),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        let mut keys = vec!["params", "steps", "vars", "workflow"];
        if self.item.is_some() {
            keys.push("forEach");
        }
        keys.into_iter().map(Cow::Borrowed).collect()
    }
}

struct StepsObject<'a> {
    steps: BTreeMap<String, StepObject<'a>>,
}

impl Object for StepsObject<'_> {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        self.steps.get(key).map(|step| Node::Object(step))
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        self.steps
            .keys()
            .map(|key| Cow::Borrowed(key.as_str()))
            .collect()
    }
}

struct StepObject<'a> {
    view: StepView<'a>,
    content: OnceCell<Value>,
    json: OnceCell<Option<Value>>,
}

impl<'a> StepObject<'a> {
    fn new(view: StepView<'a>) -> Self {
        Self {
            view,
            content: OnceCell::new(),
            json: OnceCell::new(),
        }
    }

    fn blocks(&self) -> &[Value] {
        let content = self.view.result.and_then(|result| result.get("content"));
        content.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn facet(&self, facet: Facet) -> Option<Node<'_>> {
        match facet {
            Facet::Output => self.view.output.map(Node::Json),
            Facet::Status => Some(Node::Str(self.view.status)),
            Facet::Error => self.view.error.map(Node::Str),
            Facet::Failure => self.view.failure.map(Node::Json),
            Facet::Result => None,
            Facet::Structured => self.view.result?.get("structuredContent").map(Node::Json),
            Facet::Content => {
                let map = || Value::Object(content_map(self.blocks()));
                Some(Node::Json(self.content.get_or_init(map)))
            }
            Facet::Json => {
                let parse = || serde_json::from_str(sole_text(self.blocks())?).ok();
                self.json.get_or_init(parse).as_ref().map(Node::Json)
            }
        }
    }
}

impl Object for StepObject<'_> {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        self.facet(Facet::in_templates(key)?)
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        let present = |facet: &Facet| self.facet(*facet).is_some();
        Facet::IN_TEMPLATES
            .into_iter()
            .filter(present)
            .map(|facet| facet.as_str().into())
            .collect()
    }
}

struct RunObject<'a> {
    scope: &'a dyn Scope,
}

impl Object for RunObject<'_> {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        let run = self.scope.run();
        let integer = |value: u64| Node::Int(i64::try_from(value).unwrap_or(i64::MAX));
        Some(match RunField::parse(key)? {
            RunField::Id => Node::Str(run.id),
            RunField::Name => Node::Str(run.name),
            RunField::Status => Node::Str(run.status),
            RunField::StartTime => Node::Str(run.started),
            RunField::DurationMs => integer(run.duration_ms),
            RunField::StepCount => integer(run.step_count),
        })
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        RunField::ALL
            .into_iter()
            .map(|field| field.as_str().into())
            .collect()
    }
}

struct ItemObject<'a> {
    item: ItemView<'a>,
}

impl Object for ItemObject<'_> {
    fn get(&self, key: &str) -> Option<Node<'_>> {
        if key == self.item.name {
            Some(Node::Json(self.item.value))
        } else if key == "index" {
            Some(Node::Int(
                i64::try_from(self.item.index).unwrap_or(i64::MAX),
            ))
        } else {
            None
        }
    }

    fn keys(&self) -> Vec<Cow<'_, str>> {
        vec![Cow::Borrowed("index"), Cow::Borrowed(self.item.name)]
    }
}
