//! Publishing: workflows bound to the catalog become tools; backend tools pass through under their names.
//! What does not fit is withheld with its reason, and nothing else is; a new version that does not fit leaves the one
//! before in its place.

use crate::arrive::Awaited;
use crate::fitted::Fitted;
use crate::identity::Identities;
use crate::limits::NAME_CHARACTERS_MAX;
use onecall_backends::Backends;
use onecall_config as settings;
use onecall_config::settings::{Expose, Names, Server};
use onecall_engine::failure::Code;
use onecall_mcp::{Hints, ParamHeader, Tool, meta, param_headers};
use onecall_source::{Diagnostic, codes};
use onecall_workflow::catalog::{Catalog, CatalogTool, Resolution};
use onecall_workflow::check::check;
use onecall_workflow::derive;
use onecall_workflow::lock::Lock;
use onecall_workflow::name::{BackendName, ToolName};
use onecall_workflow::output;
use onecall_workflow::parameters::Parameters;
use onecall_workflow::plan::{Plan, Unbound, UnboundReason, bind};
use onecall_workflow::step::{Action, Step};
use onecall_workflow::stored;
use onecall_workflow::workflow::{Output, Workflow};
use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What clients see at one moment. Replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// In deterministic order: workflows as declared, then backend tools.
    pub tools: Vec<Arc<PublishedTool>>,
    pub withheld: Vec<Withheld>,
    /// Workflows whose newest version does not fit, and why; the version before is published.
    pub outdated: Vec<Withheld>,
    index: BTreeMap<String, usize>,
    /// Backend tools that lost their name to another: callable as `backend.tool`, in no list.
    nameless: BTreeMap<String, Arc<PublishedTool>>,
    names: Names,
    /// What its tools are called through, also after something else was published.
    pub(crate) backends: Option<Backends>,
}

#[derive(Clone, Debug)]
pub struct PublishedTool {
    pub name: String,
    /// The entry of `tools/list`.
    pub definition: Tool,
    /// Parameters that a modern client repeats in headers.
    pub param_headers: Vec<ParamHeader>,
    pub target: Target,
    /// Whose list must be seen before a tool of a backend is called: it is locked, and only its stored list is known.
    pub(crate) awaits: Awaited,
}

impl PublishedTool {
    /// Nobody need be awaited before it is called.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.target {
            Target::Workflow(workflow) => workflow.ready_plan().is_some(),
            Target::Backend { .. } => self.awaits.is_empty(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Target {
    Workflow(Arc<PublishedWorkflow>),
    Backend {
        backend: BackendName,
        original: String,
    },
}

/// A workflow that can be called.
#[derive(Clone, Debug)]
pub struct PublishedWorkflow {
    pub workflow: Arc<Workflow>,
    pub parameters: Parameters,
    /// Absent while a backend it needs has not told its tools yet.
    pub plan: Option<BoundPlan>,
    /// Who must tell its tools before it is called.
    pub(crate) awaits: Awaited,
}

impl PublishedWorkflow {
    /// Its plan, where nobody need be awaited first.
    pub(crate) fn ready_plan(&self) -> Option<&BoundPlan> {
        self.plan.as_ref().filter(|_| self.awaits.is_empty())
    }

    pub fn declares_output(&self) -> bool {
        matches!(self.workflow.output, Output::Properties(_))
    }
}

/// A plan with its stored form.
#[derive(Clone, Debug)]
pub struct BoundPlan {
    pub plan: Arc<Plan>,
    pub text: Arc<str>,
    pub hash: String,
    /// It has values that must not be shown.
    pub is_sensitive: bool,
}

/// A workflow or a tool of a backend that cannot be called, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    pub kind: WithheldKind,
    /// Of the workflow, or of the tool as clients would see it.
    pub name: String,
    pub reason: String,
    /// What to do about it, for whoever has the files; callers are not told.
    pub help: Vec<String>,
    /// What a call of it fails with.
    pub code: Code,
    /// Who must tell its tools before it is certain, where it does not fit a kept list alone.
    pub(crate) awaits: Awaited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WithheldKind {
    Workflow,
    Tool,
}

impl WithheldKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Tool => "tool",
        }
    }
}

/// Why a workflow cannot be offered.
struct Unfit {
    reason: String,
    help: Vec<String>,
    code: Code,
}

impl From<String> for Unfit {
    fn from(reason: String) -> Self {
        let code = Code::ToolUnknown;
        let help = Vec::new();
        Self { reason, help, code }
    }
}

/// Faults of arguments that a step passes.
const OF_ARGUMENTS: [onecall_source::Code; 3] = [
    codes::UNKNOWN_ARGUMENT,
    codes::MISSING_ARGUMENT,
    codes::ARGUMENT_TYPE,
];

impl Published {
    pub fn find(&self, name: &str) -> Option<&Arc<PublishedTool>> {
        let listed = self.index.get(name).map(|index| &self.tools[*index]);
        listed.or_else(|| self.nameless.get(name))
    }

    /// Why the workflow or tool that would answer to this name is withheld.
    pub fn withheld_reason(&self, name: &str) -> Option<&str> {
        self.withheld(name).map(|own| own.reason.as_str())
    }

    /// What to do about the workflow or tool that would answer to this name and is withheld.
    pub fn withheld_help(&self, name: &str) -> &[String] {
        self.withheld(name).map_or(&[], |own| &own.help)
    }

    /// The withheld workflow or tool that would answer to this name.
    pub(crate) fn withheld(&self, name: &str) -> Option<&Withheld> {
        self.withheld.iter().find(|withheld| match withheld.kind {
            WithheldKind::Tool => withheld.name == name,
            WithheldKind::Workflow => {
                let mut spellings = self.names.spellings(&withheld.name).into_iter();
                spellings.any(|spelling| spelling == name)
            }
        })
    }

    pub fn workflows(&self) -> impl Iterator<Item = &Arc<PublishedTool>> {
        self.tools
            .iter()
            .filter(|tool| matches!(tool.target, Target::Workflow(_)))
    }

    /// A workflow of a workflow file answers to both spellings of its name, and to the bare one. What is listed
    /// under such a name keeps it.
    fn alias_workflows(&mut self) {
        for (position, tool) in self.tools.iter().enumerate() {
            let Target::Workflow(own) = &tool.target else {
                continue;
            };
            for spelling in self.names.spellings(own.workflow.name.as_str()) {
                self.index.entry(spelling).or_insert(position);
            }
        }
    }

    /// Lists a tool of a backend, or withholds it if it is not the one that was locked.
    fn add_tool(&mut self, tool: &CatalogTool, catalog: &Catalog, lock: Option<&Lock>) {
        let name = match &tool.name {
            Some(name) => name.as_str().to_owned(),
            None => format!("{}.{}", tool.backend, tool.original),
        };
        let awaits = match lock {
            // What is stored of a list says nothing about what the tool is now.
            Some(_) => Awaited::not_live(&tool.backend, catalog),
            None => Awaited::default(),
        };
        if let Some(fault) = lock.and_then(|lock| lock.check_tool(tool)) {
            self.withheld.push(Withheld {
                kind: WithheldKind::Tool,
                name,
                reason: fault.message,
                help: fault.help,
                code: Code::DeniedLocked,
                awaits,
            });
            return;
        }
        let definition = tool.tool.renamed(&name);
        let published = PublishedTool {
            awaits,
            ..of_backend(tool, definition)
        };
        match tool.name {
            Some(_) => self.push(published),
            None => {
                self.nameless.insert(name, Arc::new(published));
            }
        }
    }

    /// What is published of a workflow that cannot be called: its version before, where that can be.
    fn leave(&mut self, before: Option<Result<PublishedTool, Unfit>>, unfit: Withheld) {
        match before {
            Some(Ok(before)) => {
                self.push(before);
                self.outdated.push(unfit);
            }
            Some(Err(_)) | None => self.withheld.push(unfit),
        }
    }

    fn push(&mut self, tool: PublishedTool) {
        self.index.insert(tool.name.clone(), self.tools.len());
        self.tools.push(Arc::new(tool));
    }
}

/// What publishing goes by beside the workflows and the catalog.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) expose: Expose,
    pub(crate) identities: &'a Identities,
    pub(crate) lock: Option<&'a Lock>,
    pub(crate) names: &'a Names,
    pub(crate) fitted: &'a Fitted,
    /// Backends with errors in the files, each with the reason.
    pub(crate) invalid: &'a BTreeMap<BackendName, String>,
}

/// Binds every workflow and lists what fits. `invalid`: workflows with errors in the files.
pub(crate) fn publish(
    workflows: &[Arc<Workflow>],
    invalid: &[settings::Withheld],
    catalog: &Catalog,
    terms: Terms<'_>,
) -> Published {
    let mut published = Published {
        names: terms.names.clone(),
        ..Published::default()
    };
    let taken = taken(catalog, terms.expose);
    let live = OnceCell::new();
    for workflow in workflows {
        let of = |version| publish_workflow(version, catalog, &taken, terms);
        let unfit = match of(workflow) {
            Ok(tool) => {
                published.push(tool);
                continue;
            }
            Err(unfit) => Withheld {
                kind: WithheldKind::Workflow,
                name: workflow.name.as_str().to_owned(),
                reason: unfit.reason,
                help: unfit.help,
                code: unfit.code,
                awaits: {
                    let live = live.get_or_init(|| catalog.live());
                    doubt(workflow, catalog, live, terms)
                },
            },
        };
        published.leave(terms.fitted.of(workflow).map(of), unfit);
    }
    for own in invalid {
        let before = terms.fitted.named(&own.name);
        let before = before.map(|before| publish_workflow(before, catalog, &taken, terms));
        let unfit = Withheld {
            kind: WithheldKind::Workflow,
            name: own.name.clone(),
            reason: own.reason.clone(),
            help: own.help.clone(),
            code: Code::ToolUnknown,
            awaits: Awaited::default(),
        };
        published.leave(before, unfit);
    }
    for tool in offered(catalog, terms.expose) {
        published.add_tool(tool, catalog, terms.lock);
    }
    published.alias_workflows();
    published
}

/// The names that backend tools are listed under.
fn taken(catalog: &Catalog, expose: Expose) -> BTreeSet<&str> {
    let names = offered(catalog, expose).filter_map(|tool| tool.name.as_ref());
    names.map(ToolName::as_str).collect()
}

/// Who must tell its tools before it is certain that this workflow does not fit: nobody, where the live lists say so.
fn doubt(workflow: &Arc<Workflow>, catalog: &Catalog, live: &Catalog, terms: Terms<'_>) -> Awaited {
    if publish_workflow(workflow, live, &taken(live, terms.expose), terms).is_err() {
        return Awaited::default();
    }
    let mut awaits = Awaited::not_live_to(workflow, catalog);
    awaits.add_holders(&terms.names.spelled(workflow.name.as_str()), catalog);
    awaits
}

fn of_backend(tool: &CatalogTool, definition: Tool) -> PublishedTool {
    PublishedTool {
        name: definition.name().to_owned(),
        param_headers: repeated(&definition),
        definition,
        target: Target::Backend {
            backend: tool.backend.clone(),
            original: tool.original.clone(),
        },
        awaits: Awaited::default(),
    }
}

/// None where the schema is at odds with itself: then nothing can be wanted of a client.
fn repeated(definition: &Tool) -> Vec<ParamHeader> {
    let schema = definition.input_schema();
    schema
        .and_then(|schema| param_headers(schema).ok())
        .unwrap_or_default()
}

fn publish_workflow(
    workflow: &Arc<Workflow>,
    catalog: &Catalog,
    taken: &BTreeSet<&str>,
    terms: Terms<'_>,
) -> Result<PublishedTool, Unfit> {
    let resolved = derive::resolve(workflow, catalog);
    let name = terms.names.spelled(workflow.name.as_str());
    if taken.contains(name.as_str()) {
        return Err(format!("a backend tool is listed as `{name}` already").into());
    }
    if let Some(unfit) = needs_invalid(workflow, catalog, terms.invalid) {
        return Err(unfit);
    }
    let plan = match bind(workflow, catalog) {
        Ok(mut plan) => {
            terms.identities.mark(&mut plan);
            Some(stored_plan(plan))
        }
        Err(unbound) => {
            let is_absent = |one: &&Unbound| one.reason == UnboundReason::Absent;
            let absent: Vec<&Unbound> = unbound.iter().filter(is_absent).collect();
            if !absent.is_empty() {
                return Err(no_tools(&absent, catalog));
            }
            None
        }
    };
    let mut faults = check(workflow, catalog);
    if let Some(lock) = terms.lock {
        faults.append(lock.check(workflow, catalog));
    }
    let unfit: Vec<&Diagnostic> = faults.iter().filter(|fault| fault.is_error()).collect();
    if !unfit.is_empty() {
        let messages: Vec<&str> = unfit.iter().map(|fault| fault.message.as_str()).collect();
        return Err(Unfit {
            reason: messages.join("; "),
            help: advice(&unfit),
            code: code_of(&unfit),
        });
    }
    let parameters = Parameters::new(resolved.inputs.clone());
    let target = PublishedWorkflow {
        workflow: Arc::clone(workflow),
        parameters,
        plan,
        awaits: match terms.lock {
            // What was kept shows nothing of what the tools are now.
            Some(_) => Awaited::not_live_to(workflow, catalog),
            None => Awaited::unknown_to(workflow, catalog),
        },
    };
    let definition = definition(&resolved, &name, catalog)?;
    Ok(PublishedTool {
        param_headers: repeated(&definition),
        definition,
        name,
        target: Target::Workflow(Arc::new(target)),
        awaits: Awaited::default(),
    })
}

/// Why a workflow is withheld that needs a backend with errors in the files.
fn needs_invalid(
    workflow: &Workflow,
    catalog: &Catalog,
    invalid: &BTreeMap<BackendName, String>,
) -> Option<Unfit> {
    let calls = workflow.steps.iter().filter_map(Step::call);
    let mut owners = calls.filter_map(|call| catalog.silent_owner(call.tool.as_str()));
    let (backend, why) = owners.find_map(|owner| invalid.get_key_value(owner))?;
    let reason = format!("backend `{backend}` is withheld: {why}");
    Some(Unfit::from(reason))
}

/// Tools that steps call and nobody has, with those that may have been meant.
fn no_tools(absent: &[&Unbound], catalog: &Catalog) -> Unfit {
    let told = |one: &&Unbound| format!("step `{}`: no tool `{}`", one.step, one.tool);
    let near = |one: &&Unbound| {
        let near = catalog.nearest(one.tool.as_str())?;
        Some(format!("a tool named `{near}` exists"))
    };
    let reasons: Vec<String> = absent.iter().map(told).collect();
    Unfit {
        help: absent.iter().filter_map(near).collect(),
        ..Unfit::from(reasons.join("; "))
    }
}

/// What the faults advise, each advice once.
fn advice(unfit: &[&Diagnostic]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for help in unfit.iter().flat_map(|fault| &fault.help) {
        if !all.contains(help) {
            all.push(help.clone());
        }
    }
    all
}

/// The one code for all faults of a workflow.
fn code_of(unfit: &[&Diagnostic]) -> Code {
    let all_are =
        |codes: &[onecall_source::Code]| unfit.iter().all(|one| codes.contains(&one.code));
    if all_are(&[codes::TOOL_CHANGED]) {
        Code::DeniedLocked
    } else if all_are(&OF_ARGUMENTS) {
        Code::ToolArguments
    } else {
        Code::ToolUnknown
    }
}

/// What a list of tools costs a model that is shown it, and who would not take it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListCost {
    pub tools: usize,
    /// About; four bytes of JSON are counted as one token.
    pub tokens: usize,
    /// Names that desktop hosts and model interfaces refuse, with the whole list.
    pub refused: Vec<String>,
}

/// The cost of what a server would publish over this catalog.
pub fn list_cost(server: &Server, catalog: &Catalog) -> ListCost {
    let mut cost = ListCost::default();
    let workflows = server.workflows.iter().filter_map(|workflow| {
        let workflow = derive::resolve(workflow, catalog);
        let name = server.names.spelled(workflow.name.as_str());
        definition(&workflow, &name, catalog).ok()
    });
    let passed = passed_through(catalog, server.expose).map(|(_, definition)| definition);
    for tool in workflows.chain(passed) {
        cost.tools += 1;
        let text = Value::Object(tool.object().clone()).to_string();
        cost.tokens += text.len().div_ceil(BYTES_PER_TOKEN);
        if !is_taken_everywhere(tool.name()) {
            cost.refused.push(tool.name().to_owned());
        }
    }
    cost
}

/// The backend tools that clients are shown, each with its definition under the name they see.
fn passed_through(catalog: &Catalog, expose: Expose) -> impl Iterator<Item = (&CatalogTool, Tool)> {
    offered(catalog, expose)
        .filter_map(|tool| Some((tool, tool.tool.renamed(tool.name.as_ref()?.as_str()))))
}

/// The backend tools that clients may call, with or without a name of their own.
pub fn offered(catalog: &Catalog, expose: Expose) -> impl Iterator<Item = &CatalogTool> {
    let offered = catalog.tools.iter().filter(|tool| tool.listed);
    offered.filter(move |_| expose == Expose::All)
}

/// Bytes of JSON that make about one token.
const BYTES_PER_TOKEN: usize = 4;
fn is_taken_everywhere(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.len() <= NAME_CHARACTERS_MAX && name.chars().all(fits)
}

fn stored_plan(plan: Plan) -> BoundPlan {
    let (text, hash) = stored::write_plan(&plan);
    BoundPlan {
        is_sensitive: plan.is_sensitive(),
        plan: Arc::new(plan),
        text: text.into(),
        hash,
    }
}

/// The tool that a workflow becomes.
fn definition(workflow: &Workflow, name: &str, catalog: &Catalog) -> Result<Tool, String> {
    let mut object = Map::new();
    object.insert("name".to_owned(), Value::from(name));
    let title = workflow
        .annotations
        .title
        .as_ref()
        .or(workflow.title.as_ref());
    if let Some(title) = title {
        object.insert("title".to_owned(), Value::from(title.as_str()));
    }
    if let Some(description) = &workflow.description {
        object.insert("description".to_owned(), Value::from(description.as_str()));
    }
    object.insert("inputSchema".to_owned(), workflow.inputs.clone());
    if let Output::Properties(block) = &workflow.output {
        let schema = output::schema_over(block, &|step| output_of(workflow, step, catalog));
        object.insert("outputSchema".to_owned(), schema);
    }
    object.insert("annotations".to_owned(), annotations(workflow, catalog));
    let mut about = Map::new();
    if let Some(version) = &workflow.version {
        about.insert(meta::VERSION.to_owned(), Value::from(version.as_str()));
    }
    if !workflow.labels.is_empty() {
        about.insert(meta::LABELS.to_owned(), json!(workflow.labels));
    }
    if !about.is_empty() {
        object.insert("_meta".to_owned(), Value::Object(about));
    }
    Tool::from_value(Value::Object(object)).map_err(|error| error.to_string())
}

/// What the tool of a step says of its output.
fn output_of<'a>(workflow: &Workflow, step: &str, catalog: &'a Catalog) -> Option<&'a Value> {
    let step = workflow.step(step)?;
    let Action::Call(call) = &step.action else {
        return None;
    };
    if call.transform.is_some() || step.default.is_some() || step.mock.is_some() {
        return None;
    }
    match catalog.resolve(call.tool.as_str()) {
        Resolution::Found(tool) => tool.output_schema(),
        Resolution::NotYetKnown | Resolution::Absent => None,
    }
}

/// Derived from the tools of the steps; explicit hints replace the derived ones.
fn annotations(workflow: &Workflow, catalog: &Catalog) -> Value {
    let hints: Vec<Option<Hints>> = workflow
        .steps
        .iter()
        .filter_map(Step::call)
        .map(|call| match catalog.resolve(call.tool.as_str()) {
            Resolution::Found(tool) => Some(tool.hints()),
            Resolution::NotYetKnown | Resolution::Absent => None,
        })
        .collect();
    let stated = &workflow.annotations;
    let read_only = hints
        .iter()
        .all(|hints| hints.is_some_and(|hints| hints.read_only));
    // A read-only tool destroys nothing, whatever else it leaves unsaid.
    let destroys =
        |hints: &Option<Hints>| hints.is_none_or(|hints| !hints.read_only && hints.destructive);
    let destructive = hints.iter().any(destroys);
    let open_world = hints
        .iter()
        .any(|hints| hints.is_none_or(|hints| hints.open_world));
    let mut derived = json!({
        "readOnlyHint": stated.read_only.unwrap_or(read_only),
        "destructiveHint": stated.destructive.unwrap_or(destructive),
        "openWorldHint": stated.open_world.unwrap_or(open_world),
    });
    if let Some(idempotent) = stated.idempotent {
        derived["idempotentHint"] = Value::from(idempotent);
    }
    if let Some(title) = &stated.title {
        derived["title"] = Value::from(title.as_str());
    }
    derived
}
