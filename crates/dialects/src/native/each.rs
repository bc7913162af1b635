//! Loops of workflow files: what gives the items, and the call for each of them, in short or under `do`.

use super::expressions::Reader;
use super::step::{call, common, shape};
use super::{path, policy};
use crate::limits::ITEMS_MAX;
use crate::name;
use crate::words::{FAILED_ITEM, stated};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, NodeKind, Spanned, Text, codes};
use onecall_workflow::expression::{Expression, Program};
use onecall_workflow::name::StepName;
use onecall_workflow::policy::{OnError, Retry, SkippedNeed, Then};
use onecall_workflow::step::{Action, Each, Step};
use serde_json::Value;

/// Items of a loop at once, when it does not say.
const PARALLEL: u32 = 10;
/// Items of a loop, when it does not say, and at most.
const ITEMS: u32 = 10_000;
/// Where the step inside of a loop is written.
pub(super) enum Body {
    /// Under `do`; this is its name if it states none.
    Own(StepName),
    /// With the loop.
    Short {
        name: StepName,
        skipped_need: SkippedNeed,
        retry: Option<Retry>,
    },
}

impl Body {
    pub(super) fn of(
        name: &StepName,
        skipped_need: SkippedNeed,
        fields: &mut Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let name = name.clone();
        if fields.has("do") {
            return Self::Own(name);
        }
        Self::Short {
            name,
            skipped_need,
            retry: policy::retry(fields, diagnostics),
        }
    }

    fn read(
        self,
        fields: &mut Fields<'_>,
        reader: &Reader,
        what: &str,
        diagnostics: &mut Diagnostics,
    ) -> Option<Step> {
        match self {
            Self::Short {
                name,
                skipped_need,
                retry,
            } => Some(Step {
                name,
                title: None,
                description: None,
                needs: Vec::new(),
                when: None,
                action: Action::Call(call(fields, reader, what, diagnostics)?),
                timeout: None,
                on_error: OnError {
                    retry,
                    then: Then::Abort,
                },
                skipped_need,
                default: None,
                mock: None,
                place: fields.place().clone(),
            }),
            Self::Own(name) => {
                let own = fields.required_fields("do", diagnostics)?;
                own_step(name, own, reader, what, diagnostics)
            }
        }
    }
}

fn own_step(
    name: StepName,
    mut fields: Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Step> {
    let stated = fields.optional_string("name", diagnostics);
    let common = common(&mut fields, reader, what, diagnostics);
    let on_error = policy::on_error(&mut fields, diagnostics);
    let call = call(&mut fields, reader, what, diagnostics);
    let place = stated.map_or(fields.place(), |name| name.place()).clone();
    fields.finish(diagnostics);
    Some(Step {
        name: stated.map_or(name, |name| StepName::from(name.as_str())),
        title: common.title,
        description: common.description,
        needs: Vec::new(),
        when: common.when,
        action: Action::Call(call?),
        timeout: common.timeout,
        on_error,
        skipped_need: common.skipped_need,
        default: common.default,
        mock: None,
        place,
    })
}

pub(super) fn read(
    body: Body,
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Each> {
    let what = format!("the items of {what}");
    let items = items(fields, reader, &what, diagnostics);
    let item = fields.optional_string("as", diagnostics);
    if let Some(item) = item {
        diagnostics.extend(name::item_fault(item, "as").or_else(|| taken(item)));
    }
    let item = item.map_or("item", |item| item.as_str()).to_owned();
    let parallel = fields.optional_integer("parallel", 1..=10_000, diagnostics);
    let most = fields.optional_integer("max_items", 1..=ITEMS_MAX, diagnostics);
    let output = shape(fields, diagnostics);
    let ends_at_failure = stated(fields, "failed_item", &FAILED_ITEM, diagnostics);
    let inside = Reader {
        item: Some(item.clone()),
    };
    let body = body.read(fields, &inside, &what, diagnostics);
    let number = |stated: Option<Spanned<i64>>, otherwise| {
        stated.map_or(otherwise, |stated| {
            u32::try_from(stated.value).unwrap_or(u32::MAX)
        })
    };
    Some(Each {
        items: items?,
        item_name: item,
        parallel_max: number(parallel, PARALLEL),
        iterations_max: number(most, ITEMS),
        output,
        ends_at_failure: ends_at_failure.unwrap_or(false),
        body: Box::new(body?),
    })
}

fn items(
    fields: &mut Fields<'_>,
    reader: &Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Expression> {
    let node = fields.required("each", diagnostics)?;
    let items = reader.expression(node, what, diagnostics)?;
    if let Program::Text(text) = &items.program
        && !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_array())
    {
        diagnostics.push(constant_items(node));
    }
    Some(items)
}

/// An item that has the name of something else can be read by the long way only.
fn taken(item: &Text) -> Option<Diagnostic> {
    let message = format!("`as: {item}` is taken; the item is read as `.loop` and its name");
    let warning = Diagnostic::warning(codes::INVALID_ITEM_NAME, message);
    path::ROOTS
        .contains(&item.as_str())
        .then(|| name::about_item(warning, item))
}

fn constant_items(node: &Node) -> Diagnostic {
    debug_assert!(!matches!(node.kind, NodeKind::Sequence(_)));
    Diagnostic::error(
        codes::CONSTANT_COLLECTION,
        "the items of a loop are a fixed text that is no list",
    )
    .label(&node.place, "not a list")
    .help("write an expression that gives a list, such as `${{ .steps.list.items }}`, or a list")
}
