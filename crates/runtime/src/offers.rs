//! What backends offer besides tools: resources, resource templates, prompts and completion, merged into one list of
//! each kind and passed through. Pages and protocol faces are left to the front doors.

use crate::runtime::Runtime;
use crate::world::{chain, code_of};
use onecall_backends::{
    BackendName, CallError, Changes, ListKind, Notice, Offer, ResourceUpdate, merge_offers,
};
use onecall_config::settings::Expose;
use onecall_engine::failure::Code;
use onecall_mcp::{Exact, Fields, RpcError, method, template_matches};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{broadcast, watch};

pub use onecall_backends::{CallerId, Requester, Subscription};

/// Why a resource, prompt or completion could not be had.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error("no backend has a resource `{uri}`")]
    UnknownResource { uri: String },
    #[error("no backend has a prompt `{name}`")]
    UnknownPrompt { name: String },
    #[error("backend `{backend}` does not tell of updates of its resources")]
    NoUpdates { backend: BackendName },
    /// The request lacks what finds its backend.
    #[error("`{0}` is missing or no text")]
    Missing(&'static str),
    /// An error of the backend, to be passed on as it is.
    #[error("{}", .0.message)]
    Rpc(Box<RpcError>),
    #[error("{message}")]
    Failed { code: Code, message: String },
}

impl From<CallError> for OfferError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Rpc { error, .. } => Self::Rpc(error),
            other => Self::Failed {
                code: code_of(&other),
                message: chain(&other),
            },
        }
    }
}

/// What was noticed when lists were merged the last time, by kind.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    last: Mutex<Vec<(ListKind, Vec<Notice>)>>,
}

impl Noticed {
    /// Those that were not noticed the last time.
    fn fresh(&self, kind: ListKind, notices: Vec<Notice>) -> Vec<Notice> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.iter().position(|(of, _)| *of == kind);
        let known = known.map_or_else(Vec::new, |index| last.swap_remove(index).1);
        let is_fresh = |notice: &&Notice| !known.contains(notice);
        let fresh = notices.iter().filter(is_fresh).cloned().collect();
        last.push((kind, notices));
        fresh
    }
}

impl Runtime {
    /// Whether what backends offer is shown at all; where only workflows are, there is nothing else to list or read.
    pub fn shows_backends(&self) -> bool {
        self.content().expose == Expose::All
    }

    /// All resources, in a fixed order, each as its backend describes it.
    pub async fn resources(&self) -> Vec<Exact> {
        listed(self.offers(ListKind::Resources).await)
    }

    pub async fn resource_templates(&self) -> Vec<Exact> {
        listed(self.offers(ListKind::ResourceTemplates).await)
    }

    /// All prompts, under the names that clients use.
    pub async fn prompts(&self) -> Vec<Exact> {
        listed(self.offers(ListKind::Prompts).await)
    }

    /// Reads a resource: `params` is what the client sent, `{uri, …}`; the result is what the backend answered.
    pub async fn read_resource(
        &self,
        params: Exact,
        from: &Requester,
    ) -> Result<Fields, OfferError> {
        let uri = text(params.value(), "uri", "uri")?;
        let backend = self.backend_of(&uri).await?;
        self.pass_on(&backend, method::RESOURCES_READ, params, from)
            .await
    }

    /// Gets a prompt: `params` is what the client sent, `{name, arguments, …}`.
    pub async fn get_prompt(&self, params: Exact, from: &Requester) -> Result<Fields, OfferError> {
        let name = text(params.value(), "name", "name")?;
        let prompt = self.prompt(&name).await?;
        let params = named(&params, &prompt);
        self.pass_on(&prompt.backend, method::PROMPTS_GET, params, from)
            .await
    }

    /// Completes an argument: `params` is what the client sent, `{ref, argument, …}`. A backend that completes
    /// nothing has nothing to say, which is no error.
    pub async fn complete(
        &self,
        mut params: Exact,
        from: &Requester,
    ) -> Result<Fields, OfferError> {
        let reference = params.field("ref").ok_or(OfferError::Missing("ref"))?;
        let told = reference.value();
        let backend = if told["type"] == "ref/prompt" {
            let prompt = self.prompt(&text(told, "name", "ref.name")?).await?;
            params = params.with("ref", &named(&reference, &prompt));
            prompt.backend
        } else {
            self.backend_of(&text(told, "uri", "ref.uri")?).await?
        };
        let content = self.content();
        let backends = &content.backends;
        if !backends.declares(&backend, "completions", None).await? {
            let mut nothing = Fields::default();
            let none = json!({ "values": [], "total": 0, "hasMore": false });
            nothing.set("completion", &none);
            return Ok(nothing);
        }
        self.pass_on(&backend, method::COMPLETE, params, from).await
    }

    /// Has updates of a resource told, see [`Runtime::resource_updates`], until what is returned is dropped.
    pub async fn subscribe(&self, uri: &str) -> Result<Subscription, OfferError> {
        let backend = self.backend_of(uri).await?;
        let content = self.content();
        let backends = &content.backends;
        if !backends
            .declares(&backend, "resources", Some("subscribe"))
            .await?
        {
            return Err(OfferError::NoUpdates { backend });
        }
        Ok(backends.subscribe(&backend, uri).await?)
    }

    /// Rises when a list of some kind changed or became known.
    pub fn list_changes(&self) -> watch::Receiver<Changes> {
        self.content().backends.changes()
    }

    /// Resources that were updated, of those somebody subscribed to.
    pub fn resource_updates(&self) -> broadcast::Receiver<Arc<ResourceUpdate>> {
        self.content().backends.updates()
    }

    async fn offers(&self, kind: ListKind) -> Vec<Offer> {
        if !self.shows_backends() {
            return Vec::new();
        }
        let patience = self.inner.first_list_wait;
        let content = self.content();
        let lists = content.backends.lists(kind, patience).await;
        let (offers, notices) = merge_offers(kind, &lists, &content.catalog_options.strategy);
        // Lists are merged for every request; what is odd about them is told once.
        for notice in content.noticed.fresh(kind, notices) {
            tracing::warn!("{notice}");
        }
        offers
    }

    /// The backend of a URI: the one that lists it, else the first whose template fits, else the only one there is.
    async fn backend_of(&self, uri: &str) -> Result<BackendName, OfferError> {
        let listed = self.offers(ListKind::Resources).await;
        let owner = |offer: &&Offer| offer.name.as_deref() == Some(uri);
        if let Some(offer) = listed.iter().find(owner) {
            return Ok(offer.backend.clone());
        }
        let templates = self.offers(ListKind::ResourceTemplates).await;
        let fits = |offer: &&Offer| {
            let template = offer.name.as_deref();
            template.is_some_and(|own| own == uri || template_matches(own, uri))
        };
        if let Some(offer) = templates.iter().find(fits) {
            return Ok(offer.backend.clone());
        }
        // A tool may point at resources that no list holds. With several backends the URI could be anybody's, and
        // asking around would tell it to all.
        match (self.shows_backends(), &self.content().backends.names()[..]) {
            (true, [only]) => Ok(only.clone()),
            _ => Err(OfferError::UnknownResource {
                uri: uri.to_owned(),
            }),
        }
    }

    /// The prompt that clients know by a name; one that lost its name is known as `backend.prompt`.
    async fn prompt(&self, name: &str) -> Result<Offer, OfferError> {
        let mut offers = self.offers(ListKind::Prompts).await;
        let is_named = |offer: &Offer| offer.name.as_deref() == Some(name);
        let is_meant =
            |offer: &Offer| name == format!("{}.{}", offer.backend, offer.original).as_str();
        let found = offers.iter().position(is_named);
        let found = found.or_else(|| offers.iter().position(is_meant));
        let unknown = || OfferError::UnknownPrompt {
            name: name.to_owned(),
        };
        found
            .map(|index| offers.swap_remove(index))
            .ok_or_else(unknown)
    }

    async fn pass_on(
        &self,
        backend: &BackendName,
        name: &str,
        params: Exact,
        from: &Requester,
    ) -> Result<Fields, OfferError> {
        let raw = self
            .content()
            .backends
            .request(backend, name, params, from)
            .await?;
        let read = Fields::read(raw.get(), "the result");
        read.map_err(|fault| OfferError::Failed {
            code: Code::TransportProtocol,
            message: format!("backend `{backend}` answered with something unreadable: {fault}"),
        })
    }
}

fn listed(offers: Vec<Offer>) -> Vec<Exact> {
    let listed = offers.into_iter().filter(|offer| offer.name.is_some());
    listed.map(|offer| offer.entry).collect()
}

/// The object with the name that the backend itself uses.
fn named(object: &Exact, prompt: &Offer) -> Exact {
    if object.value()["name"] == prompt.original.as_str() {
        return object.clone();
    }
    object.with("name", &Value::from(prompt.original.as_str()).into())
}

fn text(object: &Value, key: &str, what: &'static str) -> Result<String, OfferError> {
    let text = object.get(key).and_then(Value::as_str);
    text.map(str::to_owned).ok_or(OfferError::Missing(what))
}
