//! A URL with its fixed headers and its pool of connections. Redirects are never followed, since
//! credentials would go with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use hyper_rustls::builderstates::WantsSchemes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use onecall_mcp::{is_framing, url};

use super::body::{Outgoing, finish};
use super::pool::{Pool, Streaming};
use super::tokens::{Shown, Tokens};
use crate::call::CallerToken;
use crate::error::RequestError;
use crate::limits::{HTTP_CONNECT_TIMEOUT, HTTP_HEAD_BYTES_MAX};
use crate::options::HttpOptions;

/// Room for the headers of a usual call, so that a copy of them need not grow.
const HEADERS_COMMON: usize = 12;

#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pool: Pool,
    uri: Uri,
    /// The URI as it stands in a request, and the host it is sent to.
    path: Uri,
    /// What every request carries: the host, and what the options say.
    headers: HeaderMap,
    tokens: Option<Arc<Tokens>>,
    /// Whose connection it is, where callers show tokens.
    shown: Shown,
}

/// What is wrong with the options of an HTTP backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndpointFault {
    Url(String),
    /// Of the token server.
    TokenUrl(String),
    /// The header and what is wrong with it.
    Header(String),
}

impl Endpoint {
    pub(crate) fn new(options: &HttpOptions) -> Result<Self, EndpointFault> {
        let uri = check_url(&options.url)?;
        let mut headers = HeaderMap::new();
        if options.tokens.is_some() {
            let place = HeaderValue::from_static("");
            headers.insert(header::AUTHORIZATION, place);
        }
        for (name, value) in &options.headers {
            let fault = |why: &str| EndpointFault::Header(format!("`{name}` {why}"));
            let invalid = || fault("is not a valid header");
            let own = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            if is_framing(own.as_str()) {
                return Err(fault("belongs to the connection and cannot be set"));
            }
            if headers.insert(own, value).is_some() {
                return Err(fault("is given twice, by `headers` or by `auth`"));
            }
        }
        if options.tokens.is_some() {
            headers.remove(header::AUTHORIZATION);
        }
        let host = uri.authority().map_or("", |authority| authority.as_str());
        let host = HeaderValue::from_str(host);
        let host = host.map_err(|error| EndpointFault::Url(error.to_string()))?;
        headers.entry(header::HOST).or_insert(host);
        let tokens = options.tokens.as_ref().map(Tokens::new).transpose();
        let tokens = tokens.map_err(|fault| match fault {
            EndpointFault::Url(reason) => EndpointFault::TokenUrl(reason),
            other => other,
        })?;
        Ok(Self {
            pool: Pool::new(connector(uri.scheme_str() == Some("https"))?),
            path: path_of(&uri),
            uri,
            headers,
            tokens: tokens.map(Arc::new),
            shown: Shown::default(),
        })
    }

    /// The same server and pool for one caller.
    pub(crate) fn of_one_caller(&self) -> Self {
        Self {
            shown: Shown::default(),
            ..self.clone()
        }
    }

    /// The caller shows this token from now on.
    pub(crate) fn show(&self, token: CallerToken) {
        self.shown.set(token);
    }

    /// The same server and pool at another path of it.
    pub(crate) fn at(&self, uri: Uri) -> Self {
        Self {
            path: path_of(&uri),
            uri,
            ..self.clone()
        }
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(super) fn is_safe_for_secrets(&self) -> bool {
        is_safe(&self.uri)
    }

    /// The headers of every POST of a message; the options have the last word.
    pub(crate) fn post_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(HEADERS_COMMON);
        let json = HeaderValue::from_static("application/json");
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::ACCEPT, both);
        self.add_own(headers)
    }

    /// The same for what has no body.
    pub(crate) fn get_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let events = HeaderValue::from_static("text/event-stream");
        headers.insert(header::ACCEPT, events);
        self.add_own(headers)
    }

    fn add_own(&self, mut headers: HeaderMap) -> HeaderMap {
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// Sends a message with headers that were begun with `post_headers`.
    pub(crate) fn post(
        &self,
        headers: HeaderMap,
        body: Bytes,
        sent: Arc<AtomicBool>,
    ) -> impl Future<Output = Result<Response<Streaming>, RequestError>> + Send {
        self.send(self.request(Method::POST, headers, body, sent))
    }

    /// Any request with no headers but those given, and no token.
    pub(super) fn send_as_is(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> impl Future<Output = Result<Response<Streaming>, RequestError>> + Send {
        let headers = self.add_own(headers);
        self.exchange(self.request(method, headers, body, Arc::default()))
    }

    /// Asks for a stream, with headers that were begun with `get_headers`.
    pub(crate) fn get(
        &self,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<Response<Streaming>, RequestError>> + Send {
        self.send(self.request(Method::GET, headers, Bytes::new(), Arc::default()))
    }

    pub(crate) fn delete(
        &self,
        headers: HeaderMap,
    ) -> impl Future<Output = Result<Response<Streaming>, RequestError>> + Send {
        self.send(self.request(Method::DELETE, headers, Bytes::new(), Arc::default()))
    }

    /// Boxed before anything waits: else each future on the way would have room for a request.
    fn request(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        sent: Arc<AtomicBool>,
    ) -> Box<Request<Outgoing>> {
        let mut request = Box::new(Request::new(Outgoing::new(body, sent)));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = headers;
        request
    }

    async fn send(
        &self,
        request: Box<Request<Outgoing>>,
    ) -> Result<Response<Streaming>, RequestError> {
        match &self.tokens {
            None => self.exchange(request).await,
            Some(tokens) => Box::pin(self.send_with_token(tokens, request)).await,
        }
    }

    async fn send_with_token(
        &self,
        tokens: &Tokens,
        mut request: Box<Request<Outgoing>>,
    ) -> Result<Response<Streaming>, RequestError> {
        let Some(bearer) = tokens.bearer(&self.shown).await? else {
            return self.exchange(request).await;
        };
        let headers = request.headers_mut();
        headers.insert(header::AUTHORIZATION, bearer.clone());
        let mut again = request.clone();
        let response = self.exchange(request).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // A server that asks who it is has not acted. A fresh token may do; a second refusal stands.
        again.body().tell_unsent();
        finish(response.into_body());
        tokens.forget(&bearer, &self.shown).await;
        if let Some(fresh) = tokens.bearer(&self.shown).await? {
            again.headers_mut().insert(header::AUTHORIZATION, fresh);
        }
        self.exchange(again).await
    }

    async fn exchange(
        &self,
        request: Box<Request<Outgoing>>,
    ) -> Result<Response<Streaming>, RequestError> {
        let sent = request.body().sent();
        let answered = self.pool.send(&self.uri, request).await;
        answered.map_err(|error| {
            let inner = find_hyper(&*error);
            if inner.is_some_and(hyper::Error::is_parse_too_large) {
                return RequestError::Limit(format!("headers of over {HTTP_HEAD_BYTES_MAX} bytes"));
            }
            let reason = chain(&*error);
            if sent.load(Ordering::SeqCst) {
                RequestError::Lost(reason)
            } else {
                RequestError::NotSent(reason)
            }
        })
    }
}

/// Nobody on the way can read or change what is sent.
pub(super) fn is_safe(uri: &Uri) -> bool {
    url::is_safe(&uri.to_string())
}

/// Path and query alone, as a request line has them.
fn path_of(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    path.map(Uri::from).unwrap_or_default()
}

fn check_url(url: &str) -> Result<Uri, EndpointFault> {
    let fault = |reason: &str| EndpointFault::Url(reason.to_owned());
    let uri: Uri = url
        .parse()
        .map_err(|error: http::uri::InvalidUri| fault(&error.to_string()))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err(fault("it must begin with http:// or https://")),
    }
    match uri.authority() {
        None => Err(fault("it names no host")),
        Some(_) if url::has_credentials(url) => Err(fault("credentials belong into `headers`")),
        Some(_) => Ok(uri),
    }
}

fn connector(needs_tls: bool) -> Result<HttpsConnector<HttpConnector>, EndpointFault> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(HTTP_CONNECT_TIMEOUT));
    let connector = tls(needs_tls)?.https_or_http().enable_http1();
    Ok(connector.wrap_connector(http))
}

/// The certificates of the machine are read only where they are needed: it takes a while.
fn tls(is_needed: bool) -> Result<HttpsConnectorBuilder<WantsSchemes>, EndpointFault> {
    let builder = HttpsConnectorBuilder::new();
    let provider = rustls::crypto::ring::default_provider();
    if is_needed {
        let with_roots = builder.with_provider_and_native_roots(provider);
        return with_roots
            .map_err(|error| EndpointFault::Url(format!("no certificates are at hand: {error}")));
    }
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| EndpointFault::Url(error.to_string()))?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(builder.with_tls_config(config))
}

fn find_hyper<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a hyper::Error> {
    let mut current = Some(error);
    while let Some(one) = current {
        if let Some(found) = one.downcast_ref::<hyper::Error>() {
            return Some(found);
        }
        current = one.source();
    }
    None
}

/// An error with its causes: hyper says too little in the outermost one.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever checks files must be able to say beforehand what is refused here.
    #[test]
    fn what_is_refused_can_be_told_from_the_text() {
        let signs = (0..=0x7f_u8).map(char::from).chain(['ä']);
        let urls = signs.flat_map(|c| {
            [
                format!("http://a{c}z/"),
                format!("http://h/a{c}z"),
                format!("http://h/?a{c}z"),
                format!("http://h/#a{c}z"),
            ]
        });
        for url in urls {
            let is_host = |c: char| !"[]%".contains(c);
            if !url::host(&url).chars().all(is_host) {
                continue;
            }
            let is_told = url::stray(&url).is_some() || url::has_credentials(&url);
            assert_eq!(check_url(&url).is_err(), is_told, "{url:?}");
        }
    }
}
