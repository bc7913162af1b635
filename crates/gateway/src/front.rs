//! What stands behind every connection. What is asked most, the usual call of a modern client at a server that everybody
//! may call, is found in the bytes of its connection and answered in place. Everything else goes on to the router and
//! its layers as it came.

use crate::admit::Intake;
use crate::direct::{Around, Direct};
use crate::gate::Gate;
use crate::heads::{self, Heads, is};
use crate::limits::{PLAIN_BYTES_MAX, PLAIN_HEADERS_MAX};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use onecall_mcp::content_length;
use std::mem::MaybeUninit;
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

/// What stands at the beginning of some bytes.
pub(crate) enum Look {
    /// The beginning of a head.
    Partial,
    /// The head of what may be a usual call of so many bytes, whose body has not come yet.
    Short(u64),
    Usual(Usual),
    /// A message of so many bytes.
    Other(u64),
    /// Something whose end is for `hyper` to find.
    Unframed,
}

/// A usual call, and how many bytes it took.
pub(crate) struct Usual {
    pub(crate) intake: Arc<Intake>,
    pub(crate) direct: Box<Direct>,
    pub(crate) bytes: usize,
}

impl Front {
    pub(crate) fn new(router: Router, gate: Arc<Gate>, faces: Vec<Face>) -> Self {
        Self {
            // Its handlers become routes once, and not anew for every request.
            router: router.with_state(()),
            entrance: Arc::new(Entrance { gate, faces }),
        }
    }

    /// Looks at what has come on a connection, read by the parser that `hyper` reads with.
    pub(crate) fn look(&self, unread: &[u8]) -> Look {
        let mut headers = [const { MaybeUninit::uninit() }; PLAIN_HEADERS_MAX];
        let mut request = httparse::Request::new(&mut []);
        let head_bytes = match request.parse_with_uninit_headers(unread, &mut headers) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) => return Look::Partial,
            Err(_) => return Look::Unframed,
        };
        let Some(head) = Head::read(&request) else {
            return Look::Unframed;
        };
        let bytes = head.body_bytes.saturating_add(head_bytes as u64);
        let heads = head.heads.filter(Heads::is_plain);
        let taken = heads.and_then(|heads| Some((self.entrance.intake(&request, &heads)?, heads)));
        let (Some((intake, heads)), Ok(end)) = (taken, usize::try_from(bytes)) else {
            return Look::Other(bytes);
        };
        if end > PLAIN_BYTES_MAX || end - head_bytes > intake.body_bytes_max {
            return Look::Other(bytes);
        }
        let Some(text) = unread.get(head_bytes..end) else {
            return Look::Short(bytes);
        };
        let around = Around { heads, parts: None };
        match Direct::usual(&intake.shared, &around, text) {
            Some(direct) => Look::Usual(Usual {
                intake: Arc::clone(intake),
                direct,
                bytes: end,
            }),
            None => Look::Other(bytes),
        }
    }

    /// Answers any request.
    pub(crate) async fn route(mut self, request: Request<Incoming>) -> Response {
        match self.router.call(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl Entrance {
    /// What takes in the message of a request, if its sender is let in.
    fn intake(
        &self,
        request: &httparse::Request<'_, '_>,
        heads: &Heads<'_>,
    ) -> Option<&Arc<Intake>> {
        let face = self
            .faces
            .iter()
            .find(|face| request.path == Some(&face.path))?;
        self.gate.lets_in(heads).then_some(&face.intake)
    }
}

/// What the head of a request says of its framing, and of a usual call if it can be one.
struct Head<'a> {
    body_bytes: u64,
    heads: Option<Heads<'a>>,
}

impl<'a> Head<'a> {
    /// `None` where the length of the body is not stated once and plainly, or more than a body is wanted.
    fn read(request: &httparse::Request<'_, 'a>) -> Option<Self> {
        let mut body_bytes = None;
        let mut heads = Heads::default();
        let mut is_usual = request.method == Some("POST") && request.version == Some(1);
        for own in request.headers.iter() {
            match own.name.len() {
                6 if is(own.name, "expect") => return None,
                7 if is(own.name, "upgrade") => return None,
                17 if is(own.name, "transfer-encoding") => return None,
                14 if is(own.name, "content-length") => {
                    if body_bytes.replace(content_length(own.value)?).is_some() {
                        return None;
                    }
                }
                10 if is(own.name, "connection") => {
                    let value = heads::text(own.value);
                    is_usual &= value.is_some_and(|value| is(value, "keep-alive"));
                }
                _ => is_usual &= heads.take(own.name, own.value),
            }
        }
        Some(Self {
            body_bytes: body_bytes.unwrap_or_default(),
            heads: is_usual.then_some(heads),
        })
    }
}
