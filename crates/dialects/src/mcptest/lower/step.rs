//! Nodes: a call, once or for each element of a list.

use super::super::expressions::Reader;
use super::super::syntax::{Step as Written, Suite};
use super::super::{Compat, Options, policy, programs};
use crate::arguments;
use crate::limits::{MCPTEST_LOOP_ITEMS, MCPTEST_NODE_TIMEOUT};
use crate::mock;
use crate::name::{self, StepNamed};
use onecall_source::{Diagnostic, Diagnostics, Fields, Node, Text, codes, suggest};
use onecall_workflow::expression::{Expression, Program, Root, ValueTemplate};
use onecall_workflow::name::{StepName, ToolName};
use onecall_workflow::policy::{CallBudget, OnError, SkippedNeed};
use onecall_workflow::step::{
    Action, Call, Condition, Each, Need, NeedOrigin, Reading, Shape, Step, Truth, Unfound,
};
use serde_json::Value;

const NODE_ID: StepNamed = StepNamed {
    name: "id",
    of: "a node",
    help: "use letters, digits, `_` and `-`, so that templates can read the node",
    refuses: |id| {
        ["item", "var", "env"]
            .contains(&id)
            .then_some("is taken by templates")
    },
};

/// The servers that nodes may name.
pub(super) struct Servers<'a> {
    own: Vec<&'a str>,
    others: &'a [String],
}

impl<'a> Servers<'a> {
    pub(super) fn of(suite: &Suite<'a>, options: &Options<'a>) -> Self {
        Self {
            own: suite.servers.iter().map(|name| name.as_str()).collect(),
            others: options.backends,
        }
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(String::as_str);
        self.own.iter().copied().chain(others)
    }

    /// The only one there is: of the suite, else of the files beside it.
    fn only(&self) -> Option<&str> {
        match (self.own.as_slice(), self.others) {
            ([only], _) => Some(only),
            ([], [only]) => Some(only),
            _ => None,
        }
    }
}

pub(super) fn lower(
    written: &Written<'_>,
    reader: &mut Reader<'_>,
    servers: &Servers<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Step> {
    let id = written.id?;
    diagnostics.extend(name::step_fault(id, NODE_ID));
    let call = call(written, id, reader, servers, diagnostics);
    if let Some(node) = written.mock {
        mock::check(node, id, "${", diagnostics);
    }
    let needs = needs(written);
    let names: Vec<String> = needs
        .iter()
        .map(|need| need.step.as_str().to_owned())
        .collect();
    let when = written.when.map(|program| Condition {
        test: programs::when(program, id, names, diagnostics),
        truth: Truth::Jq,
    });
    let body = Step {
        name: StepName::from(id.as_str()),
        title: None,
        description: None,
        needs,
        when,
        action: Action::Call(call),
        timeout: Some(MCPTEST_NODE_TIMEOUT),
        on_error: OnError::CONTINUE,
        skipped_need: SkippedNeed::SkipsAfterFailure,
        default: None,
        mock: written.mock.map(Node::to_json),
        place: id.place().clone(),
    };
    let mut step = match written.for_each {
        None => body,
        Some(for_each) => each(written, for_each, body, reader, diagnostics),
    };
    let policies = written
        .policy
        .and_then(|node| Fields::read(node, "policy", diagnostics));
    if let Some(fields) = policies {
        policy::of_step(fields, &mut step, diagnostics);
    }
    Some(step)
}

/// The node once for each element: its own policies are the loop's, each call has the time of a node.
fn each(
    written: &Written<'_>,
    for_each: &Text,
    node: Step,
    reader: &Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Step {
    let width = match &written.max_concurrency {
        Some(stated) if reader.compat() == Compat::Page => stated.value,
        Some(_) | None => 1,
    };
    let items_max = written.max_iterations.as_ref().map(|stated| stated.value);
    let mut body = Step {
        needs: Vec::new(),
        when: None,
        on_error: OnError::ABORT,
        mock: None,
        ..node.clone()
    };
    let items = reader.items(for_each, diagnostics);
    if items.is_none() {
        body.action = Action::Call(Call::unreadable(ValueTemplate::empty_object()));
    }
    Step {
        action: Action::Each(Each {
            items: items.unwrap_or_else(|| Expression::text("[]")),
            item_name: "item".to_owned(),
            parallel_max: u32::try_from(width).unwrap_or(u32::MAX),
            iterations_max: items_max
                .and_then(|stated| u32::try_from(stated).ok())
                .unwrap_or(MCPTEST_LOOP_ITEMS),
            output: Shape::Plain,
            ends_at_failure: true,
            body: Box::new(body),
        }),
        timeout: None,
        ..node
    }
}

fn call(
    written: &Written<'_>,
    id: &Text,
    reader: &mut Reader<'_>,
    servers: &Servers<'_>,
    diagnostics: &mut Diagnostics,
) -> Call {
    let arguments = written
        .args
        .map_or_else(ValueTemplate::empty_object, |node| {
            reader.values(node, diagnostics)
        });
    let Some(tool) = written.tool else {
        return Call::unreadable(arguments);
    };
    let before = diagnostics.error_count();
    let server = server(written, servers, diagnostics);
    if diagnostics.error_count() > before {
        return Call::unreadable(arguments);
    }
    let name = match server {
        Some(server) => format!("{server}.{tool}"),
        None => tool.to_string(),
    };
    Call {
        tool: ToolName::from(name.as_str()),
        missing: if may_find_nothing(&arguments) {
            Unfound::Fails
        } else {
            Unfound::LeftOut
        },
        arguments,
        reading: Reading::Payload,
        idempotent: false,
        transform: written
            .transform
            .and_then(|program| programs::transform(program, id, diagnostics)),
        budget: call_budget(written),
        tool_place: tool.place().clone(),
        argument_places: written.args.map(arguments::places).unwrap_or_default(),
    }
}

/// True if an argument is one read of a node or an element without a default.
fn may_find_nothing(arguments: &ValueTemplate) -> bool {
    let expressions = arguments.expressions();
    expressions.iter().any(|(_, own)| {
        matches!(&own.program, Program::Path(path) if path.default.is_none() && path.root != Root::Input)
    })
}

/// The server that a node calls. A mocked node calls none, so nothing is asked of its server.
fn server<'s>(
    written: &'s Written<'_>,
    servers: &'s Servers<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<&'s str> {
    let is_live = written.mock.is_none();
    if let Some(server) = written.server {
        if is_live && !servers.all().any(|name| *server == *name) {
            diagnostics.push(unknown_server(server, servers));
        }
        return Some(server.as_str());
    }
    let only = servers.only();
    if only.is_none() && is_live && servers.all().next().is_some() {
        diagnostics.extend(written.tool.map(|tool| server_unclear(tool, servers)));
    }
    only
}

fn call_budget(written: &Written<'_>) -> Option<CallBudget> {
    let budget = CallBudget {
        cost_usd: written.call_cost_usd,
        tokens: written.call_tokens,
    };
    (budget != CallBudget::default()).then_some(budget)
}

fn needs(written: &Written<'_>) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for parent in &written.needs {
        if needs.iter().all(|need| need.step != parent.id.as_str()) {
            let default = parent.default.map_or(Value::Null, Node::to_json);
            needs.push(Need {
                step: StepName::from(parent.id.as_str()),
                origin: NeedOrigin::Declared,
                optional: parent.optional,
                default: parent.optional.then_some(default),
                place: parent.id.place().clone(),
            });
        }
    }
    needs
}

fn unknown_server(server: &Text, servers: &Servers<'_>) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_SERVER,
        format!("no server is named `{server}`"),
    )
    .label(server.place(), "not declared");
    match suggest(server, servers.all()) {
        Some(near) => diagnostic.help(format!("a server named `{near}` exists")),
        None => diagnostic.help(format!("declare `{server}` under `servers`")),
    }
}

fn server_unclear(tool: &Text, servers: &Servers<'_>) -> Diagnostic {
    let names: Vec<&str> = servers.all().collect();
    Diagnostic::error(
        codes::SERVER_UNCLEAR,
        format!("it is not clear which server has the tool `{tool}`"),
    )
    .label(tool.place(), "of which server?")
    .help(format!("add `server`, one of {}", names.join(", ")))
}
