//! Questions: what a person is asked, and what a refusal does.

use super::super::expressions::Reader;
use super::super::syntax::Question;
use onecall_source::{Diagnostics, Node, Spanned};
use onecall_workflow::expression::Expression;
use onecall_workflow::policy::Refusal;
use onecall_workflow::step::{Ask, Shape};
use serde_json::{Value, json};

pub(super) fn ask(
    written: &Question<'_>,
    reader: Reader,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Ask {
    let message = match written.message {
        Some(text) => reader.text(text, &format!("the message of {what}"), diagnostics),
        None => Expression::text(""),
    };
    let schema = written.schema.map(Node::to_json);
    let bare = schema.as_ref().is_some_and(|schema| !is_object(schema));
    let response = written.default_response.map(Node::to_json);
    Ask {
        message,
        schema: schema.map(|schema| if bare { as_one_field(&schema) } else { schema }),
        bare,
        on_decline: refusal(written.on_decline.as_ref()),
        on_cancel: refusal(written.on_cancel.as_ref()),
        default_response: response.map(|response| {
            if bare {
                json!({ "value": response })
            } else {
                response
            }
        }),
        output: Shape::Report,
    }
}

/// A schema that asks for fields by name. One without `type` but with properties does so too.
fn is_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(kind) => kind == "object",
        None => {
            schema.get("properties").is_some()
                || schema.as_object().is_some_and(serde_json::Map::is_empty)
        }
    }
}

fn as_one_field(schema: &Value) -> Value {
    json!({ "type": "object", "properties": { "value": schema }, "required": ["value"] })
}

fn refusal(action: Option<&Spanned<&'static str>>) -> Refusal {
    match action.map(|action| action.value) {
        Some("continue") => Refusal::Continues,
        Some("skip_remaining") => Refusal::SkipsRemaining,
        _ => Refusal::Fails,
    }
}
