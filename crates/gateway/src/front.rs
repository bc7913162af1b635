//! What is asked most, the usual call of a modern client at a server that everybody may call, is answered before the
//! router and its layers are asked. Everything else goes on to them as it came.

use crate::admit::{self, Intake};
use crate::direct::Direct;
use crate::gate::Gate;
use crate::heads::Heads;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use hyper::body::Incoming;
use hyper::service::Service;
use std::convert::Infallible;
use std::sync::Arc;
use tower::Service as _;

/// One process as its connections see it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Front {
    router: Router,
    entrance: Arc<Entrance>,
}

struct Entrance {
    gate: Arc<Gate>,
    faces: Vec<Face>,
}

/// A server that asks nobody who they are.
pub(crate) struct Face {
    pub(crate) path: String,
    pub(crate) intake: Arc<Intake>,
}

/// Beside a request that was looked at here and is not usual.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unusual;

impl Front {
    pub(crate) fn new(router: Router, gate: Arc<Gate>, faces: Vec<Face>) -> Self {
        Self {
            // Its handlers become routes once, and not anew for every request.
            router: router.with_state(()),
            entrance: Arc::new(Entrance { gate, faces }),
        }
    }

    /// Answers a request that can be a usual call.
    async fn answer(self, intake: Arc<Intake>, request: Request<Incoming>) -> Response {
        let (mut parts, body) = request.into_parts();
        let bytes = match admit::read(&intake, body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        if let Some(direct) = Direct::usual(&intake.shared, &parts, &bytes) {
            return admit::answer(&intake, direct).await;
        }
        parts.extensions.insert(Unusual);
        let request = Request::from_parts(parts, Body::from(bytes));
        Box::pin(self.route(request)).await
    }

    async fn route(mut self, request: Request) -> Response {
        match self.router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Entrance {
    /// What takes in the message of a request, if it can be a usual call of a caller who is let in.
    fn intake<B>(&self, request: &Request<B>) -> Option<Arc<Intake>> {
        if request.method() != Method::POST {
            return None;
        }
        let path = request.uri().path();
        let face = self.faces.iter().find(|face| face.path == path)?;
        let heads = Heads::read(request.headers())?;
        let is_usual = heads.is_plain() && self.gate.lets_in(&heads);
        is_usual.then(|| Arc::clone(&face.intake))
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let front = self.clone();
        match self.entrance.intake(&request) {
            Some(intake) => Box::pin(front.answer(intake, request).map(Ok)),
            None => Box::pin(front.route(request.map(Body::new)).map(Ok)),
        }
    }
}
