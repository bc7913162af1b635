//! The usual exchange: one small POST, and an answer whose head says how long its body is. It is written and read
//! here, at the price of a write and a read. Everything else that HTTP allows is left to `hyper`: a request before it
//! is sent, an answer from its first byte on.

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use onecall_mcp::{content_length, name};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};

use super::body::Outgoing;
use super::pool::Io;
use super::rewound::Rewound;
use crate::limits::{
    HTTP_HEAD_BYTES_MAX, PLAIN_BUFFER_BYTES, PLAIN_BUFFER_BYTES_MAX, PLAIN_HEADERS_MAX,
    PLAIN_REQUEST_BYTES_MAX,
};

/// The headers of an answer that anybody reads; no others are kept.
static READ: [HeaderName; 3] = [
    header::CONTENT_TYPE,
    header::LOCATION,
    HeaderName::from_static(name::SESSION),
];

/// A connection on which nothing is in flight but what is written and read here.
#[derive(Debug)]
pub(super) struct Plain {
    io: TokioIo<Io>,
    /// What was read and is not used yet.
    unread: Vec<u8>,
    /// The request as it is written.
    request: Vec<u8>,
}

/// What came of a request.
#[derive(Debug)]
pub(super) enum Asked {
    /// The head of the answer, and how many bytes of body follow.
    Answered(Response<()>, u64),
    /// The connection was closed before anything was written.
    Closed,
    /// The request was written, and its answer is for `hyper` to read.
    Odd,
}

/// What stands in the buffer.
enum Head {
    Partial,
    Usual(Response<()>, Framing),
    Odd,
}

#[derive(Clone, Copy)]
struct Framing {
    head_bytes: usize,
    body_bytes: u64,
}

impl Plain {
    pub(super) fn new(io: Io) -> Self {
        Self {
            io: TokioIo::new(io),
            unread: Vec::new(),
            request: Vec::new(),
        }
    }

    /// Sends a request and reads the head of its answer.
    pub(super) async fn ask(&mut self, request: &Request<Outgoing>) -> Asked {
        encode(request, &mut self.request);
        if !self.is_quiet() {
            return Asked::Closed;
        }
        match self.write(request.body()).await {
            Ok(()) => self.read_head().await,
            Err(_) if !request.body().is_sent() => Asked::Closed,
            // What the server said before it stopped listening may still be there.
            Err(_) => Asked::Odd,
        }
    }

    /// Nothing has come since the last answer: what comes unasked belongs to no request, and an end is an end.
    fn is_quiet(&mut self) -> bool {
        let mut unwoken = Context::from_waker(Waker::noop());
        self.unread.is_empty() && self.poll_fill(&mut unwoken, 0).is_pending()
    }

    /// The request counts as sent once the connection has taken the first of its bytes.
    async fn write(&mut self, body: &Outgoing) -> io::Result<()> {
        let mut written = 0;
        poll_fn(|context| {
            while written < self.request.len() {
                let rest = &self.request[written..];
                match Pin::new(&mut self.io).poll_write(context, rest) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(some)) => written += some,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                }
                body.tell_sent();
            }
            Pin::new(&mut self.io).poll_flush(context)
        })
        .await
    }

    async fn read_head(&mut self) -> Asked {
        loop {
            match poll_fn(|context| self.poll_fill(context, 0)).await {
                Ok(0) | Err(_) => return Asked::Odd,
                Ok(_) => {}
            }
            match head(&self.unread) {
                Head::Partial if self.unread.len() < HTTP_HEAD_BYTES_MAX => {}
                Head::Partial | Head::Odd => return Asked::Odd,
                Head::Usual(response, framing) => {
                    self.unread.drain(..framing.head_bytes);
                    return Asked::Answered(response, framing.body_bytes);
                }
            }
        }
    }

    /// The next piece of a body of which `left` bytes are missing, and more than none.
    pub(super) fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        left: u64,
    ) -> Poll<io::Result<Bytes>> {
        if self.unread.is_empty() {
            match self.poll_fill(context, left) {
                Poll::Ready(Ok(0)) => {
                    let cause = "the server closed it in the middle of the body";
                    let cut = io::Error::new(io::ErrorKind::UnexpectedEof, cause);
                    return Poll::Ready(Err(cut));
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let piece = left.min(self.unread.len());
        let bytes = Bytes::copy_from_slice(&self.unread[..piece]);
        self.unread.drain(..piece);
        Poll::Ready(Ok(bytes))
    }

    /// Reads once. `wanted` says how much is known to come.
    fn poll_fill(&mut self, context: &mut Context<'_>, wanted: u64) -> Poll<io::Result<usize>> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let room = wanted.clamp(PLAIN_BUFFER_BYTES, PLAIN_BUFFER_BYTES_MAX);
        self.unread.reserve(room);
        pin!(self.io.read_buf(&mut self.unread)).poll(context)
    }

    /// Lets go of the room that a large answer took. Whether it can take another request: it cannot where more came
    /// than the answer.
    pub(super) fn rest(&mut self) -> bool {
        self.unread.shrink_to(PLAIN_BUFFER_BYTES);
        self.request.shrink_to(PLAIN_BUFFER_BYTES);
        self.unread.is_empty()
    }

    /// The connection for `hyper`, with nothing in flight.
    pub(super) fn into_io(self) -> Rewound {
        Rewound::fresh(self.io.into_inner())
    }

    /// The connection for `hyper`, which is to send the last request again: its bytes go nowhere, and what came in
    /// answer is read anew.
    pub(super) fn into_rewound(self, request: &Request<Outgoing>) -> Rewound {
        let body_bytes = request.body().bytes().len();
        Rewound::new(self.io.into_inner(), self.unread, body_bytes)
    }
}

/// Whether a request can be sent here. Invariant: `Endpoint` takes no headers that say how a message is framed.
pub(super) fn is_usual(request: &Request<Outgoing>) -> bool {
    let bytes = request.body().bytes().len();
    request.method() == Method::POST && (1..=PLAIN_REQUEST_BYTES_MAX).contains(&bytes)
}

fn encode(request: &Request<Outgoing>, to: &mut Vec<u8>) {
    to.clear();
    let path = request.uri().path_and_query();
    let path = path.map_or("/", |path| path.as_str());
    for part in ["POST ", path, " HTTP/1.1\r\n"] {
        to.extend_from_slice(part.as_bytes());
    }
    let mut line = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            to.extend_from_slice(part);
        }
    };
    for (name, value) in request.headers() {
        line(name.as_str(), value.as_bytes());
    }
    let body = request.body().bytes();
    line(
        header::CONTENT_LENGTH.as_str(),
        body.len().to_string().as_bytes(),
    );
    to.extend_from_slice(b"\r\n");
    to.extend_from_slice(body);
}

/// Reads the head of an answer, if it is of the usual kind: HTTP/1.1, a body of one stated length, and a connection
/// that stays.
fn head(unread: &[u8]) -> Head {
    let mut headers = [httparse::EMPTY_HEADER; PLAIN_HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut headers);
    let head_bytes = match parsed.parse(unread) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(_) => return Head::Odd,
    };
    usual(&parsed, head_bytes).unwrap_or(Head::Odd)
}

fn usual(parsed: &httparse::Response<'_, '_>, head_bytes: usize) -> Option<Head> {
    let status = StatusCode::from_u16(parsed.code?).ok()?;
    let has_body = !matches!(status.as_u16(), 100..=199 | 204 | 304);
    if parsed.version != Some(1) || !has_body {
        return None;
    }
    let mut response = Response::new(());
    *response.status_mut() = status;
    let mut body_bytes = None;
    for own in parsed.headers.iter() {
        let is = |name: &HeaderName| own.name.eq_ignore_ascii_case(name.as_str());
        if is(&header::CONTENT_LENGTH) {
            if body_bytes.replace(content_length(own.value)?).is_some() {
                return None;
            }
        } else if is(&header::TRANSFER_ENCODING)
            || is(&header::UPGRADE)
            || (is(&header::CONNECTION) && !own.value.eq_ignore_ascii_case(b"keep-alive"))
        {
            return None;
        } else if let Some(name) = READ.iter().find(|name| is(name)) {
            let value = HeaderValue::from_bytes(own.value).ok()?;
            response.headers_mut().append(name, value);
        }
    }
    let framing = Framing {
        head_bytes,
        body_bytes: body_bytes?,
    };
    Some(Head::Usual(response, framing))
}
