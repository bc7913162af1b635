//! A connected backend: lists, calls, listening. Era differences end here.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onecall_mcp::{
    CallAnswer, Era, Exact, ParamHeader, TASKS_EXTENSION, Task, Tool, code, method,
    param_header_values, param_headers, wanted_pages,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::task::TaskTracker;

use crate::asking::Asker;
use crate::call::{Call, CallerToken, Takes};
use crate::circuit::Circuit;
use crate::error::{ConnectError, RequestError, StartError};
use crate::http::{self, Endpoint, EndpointFault, Opened};
use crate::limits::{LIST_KEPT_DEFAULT, LIST_KEPT_MAX, LIST_KEPT_MIN, TASK_ONLY_MAX};
use crate::link::RequestOptions;
use crate::negotiate::{self, Agreement, Found, Opening, parse_result};
use crate::news::News;
use crate::options::{BackendOptions, TransportOptions};
use crate::pages::PageSink;
use crate::params::{Params, Passed, Stamp};
use crate::process::Process;
use crate::sse;
use crate::stderr::LastWords;
use crate::tool_list::{self, ToolList};
use crate::wire::Wire;

/// A backend to connect to. The pool of HTTP connections outlives a connection made with it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) options: BackendOptions,
    endpoint: Option<Endpoint>,
    /// Children that were started and are not gone yet, connected or not.
    pub(crate) children: TaskTracker,
    /// Places for calls, of all connections to the backend together.
    pub(crate) places: Arc<Semaphore>,
    /// Where one is configured, for all connections to the backend together.
    pub(crate) circuit: Option<Arc<Circuit>>,
    /// What the last child had to say to people.
    pub(crate) words: Arc<LastWords>,
}

impl Target {
    pub(crate) fn new(options: BackendOptions) -> Result<Self, StartError> {
        let backend = || options.name.clone();
        let endpoint = match &options.transport {
            TransportOptions::Stdio(_) => None,
            TransportOptions::Http(http) | TransportOptions::Sse(http) => {
                let endpoint = Endpoint::new(http).map_err(|fault| match fault {
                    EndpointFault::Url(reason) => StartError::Url {
                        backend: backend(),
                        url: without_credentials(&http.url),
                        reason,
                    },
                    EndpointFault::TokenUrl(reason) => StartError::TokenUrl {
                        backend: backend(),
                        url: without_credentials(
                            http.tokens
                                .as_ref()
                                .map_or("", |tokens| tokens.url.as_str()),
                        ),
                        reason,
                    },
                    EndpointFault::Header(reason) => StartError::Header {
                        backend: backend(),
                        reason,
                    },
                });
                Some(endpoint?)
            }
        };
        let health = &options.health;
        let circuit = health
            .rest
            .map(|rest| Circuit::new(health.failures_max, rest));
        Ok(Self {
            circuit: circuit.map(Arc::new),
            places: Arc::new(Semaphore::new(options.max_in_flight)),
            options,
            endpoint,
            children: TaskTracker::new(),
            words: Arc::default(),
        })
    }

    /// The same for the calls of one caller.
    pub(crate) fn of_one_caller(&self) -> Self {
        let endpoint = self.endpoint.as_ref().map(Endpoint::of_one_caller);
        Self {
            options: self.options.clone(),
            endpoint,
            children: TaskTracker::new(),
            words: Arc::default(),
            places: Arc::clone(&self.places),
            circuit: self.circuit.clone(),
        }
    }

    /// The caller shows this token from now on.
    pub(crate) fn show(&self, token: CallerToken) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.show(token);
        }
    }
}

/// A URL as it may be shown.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..authority].rfind('@') {
        Some(at) => format!("{scheme}://•••{}", &rest[at..]),
        None => url.to_owned(),
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    wire: Wire,
    /// All calls come from one caller.
    serves_one: bool,
    /// What modern requests carry.
    stamp: Option<Stamp>,
    pub(crate) agreement: Agreement,
    /// Parameters that each tool mirrors into headers; HTTP only.
    mirrored: Mutex<HashMap<String, Vec<ParamHeader>>>,
    /// Tools that run as tasks only.
    task_only: Mutex<HashSet<String>>,
    /// How long the list of tools lasts, where the server says so.
    tools_last: Mutex<Option<Duration>>,
    /// There is a stream on which a modern server tells of list changes.
    hears: watch::Sender<bool>,
}

impl Client {
    /// Connects and opens. `era` is an earlier finding or a setting; it spares the probe.
    pub(crate) async fn connect(
        target: &Target,
        opening: Opening,
        era: Option<Era>,
    ) -> Result<Self, ConnectError> {
        let (wire, agreement) = match &target.options.transport {
            TransportOptions::Stdio(stdio) => {
                let (options, children) = (&target.options, &target.children);
                let spawn = || Process::spawn(options, stdio, children, &target.words);
                let (process, agreement) = open_child(spawn, &opening, era).await?;
                (Wire::Child(process), agreement)
            }
            TransportOptions::Http(_) => open_http(endpoint(target)?, &opening, era).await?,
            TransportOptions::Sse(_) => {
                let (sse, agreement) = sse::open(endpoint(target)?, &opening).await?;
                (Wire::Sse(sse), agreement)
            }
        };
        let revision = agreement.revision;
        let stamp = || Stamp::new(revision, &opening.client_info());
        Ok(Self {
            wire,
            serves_one: opening.serves_one,
            stamp: (revision.era() == Era::Modern).then(stamp),
            agreement,
            mirrored: Mutex::default(),
            task_only: Mutex::default(),
            tools_last: Mutex::default(),
            hears: watch::Sender::new(false),
        })
    }

    /// All tools, over all pages, in the order of the server, and what is odd about the list.
    pub(crate) async fn list_tools(&self) -> Result<(Vec<Tool>, Vec<String>), RequestError> {
        let mut list = tool_list::read(self).await?;
        *lock(&self.tools_last) = list.lasts;
        if self.mirrors() {
            self.learn_headers(&mut list);
        }
        if self.makes_tasks() || self.era() == Era::Modern {
            let task_only = list.tools.iter().filter(|tool| tool.is_task_only());
            *lock(&self.task_only) = task_only.map(|tool| tool.name().to_owned()).collect();
        }
        Ok((list.tools, list.remarks.into_lines()))
    }

    /// A tool whose header annotations are invalid must be dropped by an HTTP client.
    fn learn_headers(&self, list: &mut ToolList) {
        let mut mirrored = HashMap::new();
        let remarks = &mut list.remarks;
        list.tools.retain(
            |tool| match tool.input_schema().map_or(Ok(Vec::new()), param_headers) {
                Ok(annotated) => {
                    if !annotated.is_empty() {
                        mirrored.insert(tool.name().to_owned(), annotated);
                    }
                    true
                }
                Err(fault) => {
                    remarks.add(format!("tool `{}` is left out: {fault}", tool.name()));
                    false
                }
            },
        );
        *lock(&self.mirrored) = mirrored;
    }

    /// One call. `sent` is set once the server may have seen it.
    pub(crate) async fn call(
        &self,
        call: &Call,
        arguments: &RawValue,
        asker: Option<&Asker>,
        sent: Arc<AtomicBool>,
    ) -> Result<CallAnswer, RequestError> {
        let is_task_only = lock(&self.task_only).contains(&call.tool);
        let is_task = is_task_only && self.era() == Era::Legacy;
        let request = |declares_tasks: bool| {
            let params = Params::call(call, arguments, is_task)
                .stamped(self.stamp.as_ref(), call.takes)
                .declaring_tasks(declares_tasks);
            let options = RequestOptions {
                progress: call.progress.clone(),
                messages: self.placed(call.messages.clone()),
                asker: self.placed(asker.cloned()),
                sent: Arc::clone(&sent),
                headers: self.headers_of(call),
                acknowledged: None,
            };
            self.wire.request(method::TOOLS_CALL, params, options)
        };
        let mut raw = request(is_task_only).await;
        let may_declare = self.era() == Era::Modern && !is_task_only;
        if may_declare && raw.as_ref().is_err_and(wants_tasks) {
            // The client declares none, and need not: the task is followed here.
            self.learn_task_only(&call.tool);
            sent.store(false, Ordering::SeqCst);
            raw = request(true).await;
        }
        let raw = raw
            .inspect_err(|error| self.note_pages(error, call.pages.as_ref()))
            .map_err(unread)?;
        let answer = if is_task {
            Task::read_created(&raw).map(CallAnswer::Task)
        } else {
            CallAnswer::from_raw(raw)
        };
        answer.map_err(RequestError::Malformed)
    }

    fn learn_task_only(&self, tool: &str) {
        let mut known = lock(&self.task_only);
        if known.len() < TASK_ONLY_MAX {
            known.insert(tool.to_owned());
        }
    }

    /// Pages that must be visited before the request is made again.
    pub(crate) fn note_pages(&self, error: &RequestError, pages: Option<&PageSink>) {
        if let (RequestError::Rpc(error), Some(sink)) = (error, pages) {
            for request in wanted_pages(error).values() {
                self.news().pages.sent(&request.value()["params"], sink);
            }
        }
    }

    /// A request about a task; a legacy server asks on its stream.
    pub(crate) async fn request_of_task(
        &self,
        name: &str,
        params: Exact,
        asker: Option<Asker>,
    ) -> Result<Box<RawValue>, RequestError> {
        let options = RequestOptions {
            asker: self.placed(asker),
            ..RequestOptions::default()
        };
        let passed = Passed::new(params);
        let params = Params::passed(&passed).stamped(self.stamp.as_ref(), Takes::ALL);
        self.wire.request(name, params, options).await
    }

    /// Who is asked and told while a request runs. Where calls share a stream, a question names no call, and
    /// a server may ask though it was offered nothing: then nobody is.
    fn placed<T>(&self, taker: Option<T>) -> Option<T> {
        taker.filter(|_| self.serves_one || self.wire.is_http())
    }

    /// A server of 2025-11-25 that says it makes tasks of tool calls.
    fn makes_tasks(&self) -> bool {
        let tasks = self
            .agreement
            .capabilities
            .pointer("/tasks/requests/tools/call");
        self.era() == Era::Legacy && tasks.is_some()
    }

    fn headers_of(&self, call: &Call) -> Vec<(String, String)> {
        let mirrored = lock(&self.mirrored);
        let Some(annotated) = mirrored.get(&call.tool) else {
            return Vec::new();
        };
        // What no value can hold is mirrored by no header either.
        let Ok(arguments) = call.arguments.to_value() else {
            return Vec::new();
        };
        let values = param_header_values(annotated, &arguments);
        values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// A request of ours that is no call.
    pub(crate) async fn request(&self, name: &str, params: Value) -> Result<Value, RequestError> {
        parse_result(&self.request_raw(name, params).await?)
    }

    /// The same, with the result as received.
    pub(crate) async fn request_raw(
        &self,
        name: &str,
        params: Value,
    ) -> Result<Box<RawValue>, RequestError> {
        let params = Params::plain(&params).stamped(self.stamp.as_ref(), Takes::default());
        self.wire
            .request(name, params, RequestOptions::default())
            .await
    }

    /// A request of a caller that is no call, its parameters as they came.
    pub(crate) async fn pass_on(
        &self,
        name: &str,
        params: Exact,
        sent: Arc<AtomicBool>,
    ) -> Result<Box<RawValue>, RequestError> {
        let options = RequestOptions {
            sent,
            ..RequestOptions::default()
        };
        let passed = Passed::new(params);
        let params = Params::passed(&passed).stamped(self.stamp.as_ref(), Takes::default());
        self.wire.request(name, params, options).await
    }

    /// Whether the server answers at all; an error is an answer.
    pub(crate) async fn probe(&self) -> bool {
        let name = match self.era() {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        match self.request(name, json!({})).await {
            Ok(_)
            | Err(
                RequestError::Rpc(_)
                | RequestError::Denied(_)
                | RequestError::Limit(_)
                | RequestError::TooDeep { .. }
                | RequestError::Malformed(_),
            ) => true,
            Err(RequestError::NotSent(_) | RequestError::Lost(_)) => false,
        }
    }

    /// Keeps a stream open on which a modern server tells of what the filter names; returns when it ends.
    pub(crate) async fn listen(
        &self,
        filter: Value,
        acknowledged: Arc<Notify>,
    ) -> Result<(), RequestError> {
        let params = json!({ "notifications": filter });
        let options = RequestOptions {
            acknowledged: Some(acknowledged),
            ..RequestOptions::default()
        };
        let params = Params::plain(&params).stamped(self.stamp.as_ref(), Takes::default());
        let ended = self.wire.request(method::LISTEN, params, options).await;
        ended.map(drop)
    }

    /// When the list of tools must be read again by itself.
    pub(crate) fn tools_last(&self) -> Option<Duration> {
        tools_last(&Source {
            stated: *lock(&self.tools_last),
            is_stateless: self.mirrors(),
            tells: self.tells("tools"),
        })
    }

    /// Whether changes of a list are told now: a modern server that says it would must have taken the stream.
    pub(crate) fn tells(&self, capability: &str) -> bool {
        let can_be_heard = self.era() == Era::Legacy || *self.hears.borrow();
        can_be_heard && self.declares(capability, "listChanged")
    }

    /// The stream of list changes is there, or has ended.
    pub(crate) fn set_hears(&self, hears: bool) {
        let changed = |was: &mut bool| std::mem::replace(was, hears) != hears;
        self.hears.send_if_modified(changed);
    }

    pub(crate) fn hears(&self) -> watch::Receiver<bool> {
        self.hears.subscribe()
    }

    /// Calls carry headers that are taken from the list of tools.
    pub(crate) fn mirrors(&self) -> bool {
        self.wire.is_http() && self.era() == Era::Modern
    }

    /// The server tells of list changes on a stream that must be asked for.
    pub(crate) fn must_listen(&self) -> bool {
        let tells = |kind: &str| self.declares(kind, "listChanged");
        self.era() == Era::Modern && (tells("tools") || tells("prompts") || tells("resources"))
    }

    /// Whether the server declared a flag of a capability, such as `listChanged` of `tools`.
    pub(crate) fn declares(&self, capability: &str, flag: &str) -> bool {
        let capability = self.agreement.capabilities.get(capability);
        capability.and_then(|own| own.get(flag)) == Some(&Value::Bool(true))
    }

    pub(crate) fn era(&self) -> Era {
        self.agreement.revision.era()
    }

    pub(crate) fn transport(&self) -> &'static str {
        self.wire.transport()
    }

    pub(crate) fn news(&self) -> &News {
        self.wire.news()
    }

    pub(crate) fn closed(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.wire.closed()
    }

    pub(crate) async fn shutdown(&self) {
        self.wire.shutdown().await;
    }
}

/// Where a list of tools comes from.
struct Source {
    /// How long it lasts, as the server says.
    stated: Option<Duration>,
    /// There is no connection whose end would tell that another server answers now.
    is_stateless: bool,
    /// The server tells of changes, and is heard.
    tells: bool,
}

fn tools_last(source: &Source) -> Option<Duration> {
    match source.stated {
        // What lasts for no time at all cannot be read all the time.
        None | Some(Duration::ZERO) if source.tells => None,
        Some(Duration::ZERO) => Some(LIST_KEPT_DEFAULT),
        Some(stated) => Some(stated.clamp(LIST_KEPT_MIN, LIST_KEPT_MAX)),
        None => source.is_stateless.then_some(LIST_KEPT_DEFAULT),
    }
}

/// The server did nothing, since it makes a task of such a call and the client did not say that it takes one.
fn wants_tasks(error: &RequestError) -> bool {
    let RequestError::Rpc(error) = error else {
        return false;
    };
    let wanted = error.data.as_ref().and_then(|data| {
        let wanted = data.value().get("requiredCapabilities")?;
        wanted.get("extensions")?.get(TASKS_EXTENSION)
    });
    error.code == code::MISSING_CAPABILITY && wanted.is_some()
}

/// A call was sent and what came back is no answer to it: nobody knows what it did.
fn unread(error: RequestError) -> RequestError {
    match error {
        RequestError::Malformed(fault) => {
            RequestError::Lost(format!("what came back is no answer: {fault}"))
        }
        other => other,
    }
}

fn endpoint(target: &Target) -> Result<&Endpoint, ConnectError> {
    let missing = || ConnectError::Http("it has no URL".to_owned());
    target.endpoint.as_ref().ok_or_else(missing)
}

/// A server that takes no POST may be of the older HTTP transport; the first error stands if not.
async fn open_http(
    endpoint: &Endpoint,
    opening: &Opening,
    era: Option<Era>,
) -> Result<(Wire, Agreement), ConnectError> {
    match http::open(endpoint.clone(), opening, era).await? {
        Opened::Wire(wire, agreement) => Ok((Wire::Http(wire), agreement)),
        // On one stream for all calls a question could belong to any caller.
        Opened::MaybeSse(first) => match sse::open(endpoint, &without_questions(opening)).await {
            Ok((wire, agreement)) => Ok((Wire::Sse(wire), agreement)),
            Err(_) => Err(first),
        },
    }
}

fn without_questions(opening: &Opening) -> Opening {
    let capabilities = if opening.serves_one {
        opening.capabilities.clone()
    } else {
        json!({})
    };
    Opening {
        capabilities,
        ..opening.clone()
    }
}

async fn open_child(
    spawn: impl Fn() -> Result<Process, ConnectError>,
    opening: &Opening,
    era: Option<Era>,
) -> Result<(Process, Agreement), ConnectError> {
    let process = spawn()?;
    if let Some(era) = era {
        let agreement = negotiate::open_as(&process.link, opening, era).await?;
        return Ok((process, agreement));
    }
    match negotiate::probe(&process.link, opening).await? {
        Found::Agreed(agreement) => Ok((process, agreement)),
        Found::Legacy => {
            drop(process);
            let fresh = spawn()?;
            let agreement = negotiate::open_as(&fresh.link, opening, Era::Legacy).await?;
            Ok((fresh, agreement))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_again_unless_changes_are_told_or_seen() {
        let lasts = |stated: Option<u64>, is_stateless, tells| {
            let lasts = tools_last(&Source {
                stated: stated.map(Duration::from_millis),
                is_stateless,
                tells,
            });
            lasts.map(|lasts| lasts.as_secs())
        };
        assert_eq!(lasts(None, true, false), Some(30));
        assert_eq!(lasts(None, false, false), None);
        assert_eq!(lasts(Some(0), false, false), Some(30));
        assert_eq!(lasts(Some(1), true, false), Some(1));
        assert_eq!(lasts(Some(5_000), false, false), Some(5));
        assert_eq!(lasts(Some(u64::MAX), true, false), Some(3_600));
        assert_eq!(lasts(None, true, true), None);
        assert_eq!(lasts(Some(0), true, true), None);
        assert_eq!(lasts(Some(5_000), true, true), Some(5));
    }
}
