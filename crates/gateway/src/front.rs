//! What is asked most, the usual call of a modern client at a server that everybody may call, is answered before the
//! router and its layers are asked. Everything else goes on to them as it came.

use crate::admit::{self, Intake};
use crate::direct::Direct;
use crate::gate::{Gate, check_caller};
use crate::handshake::is_modern;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
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

    async fn answer(mut self, request: Request) -> Response {
        let Some(intake) = self.entrance.intake(&request) else {
            return self.route(request).await;
        };
        let (mut parts, body) = request.into_parts();
        let bytes = match admit::read(&intake, body).await {
            Ok(bytes) => bytes,
            Err(refusal) => return refusal,
        };
        if let Some(direct) = Direct::usual(&intake.shared, &parts, &bytes) {
            return admit::answer(&intake, direct).await;
        }
        parts.extensions.insert(Unusual);
        self.route(Request::from_parts(parts, Body::from(bytes)))
            .await
    }

    async fn route(&mut self, request: Request) -> Response {
        match self.router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Entrance {
    /// What takes in the message of a request, if it can be a usual call of a caller who is let in.
    fn intake(&self, request: &Request) -> Option<Arc<Intake>> {
        if request.method() != Method::POST || !is_modern(request.headers()) {
            return None;
        }
        let path = request.uri().path();
        let face = self.faces.iter().find(|face| face.path == path)?;
        check_caller(&self.gate, request, false).ok()?;
        Some(Arc::clone(&face.intake))
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request.map(Body::new)).await) })
    }
}
