//! Results of backends on their way through `rmcp`, which knows results as JSON values only: numbers of any length,
//! `1.10` and lone surrogates would not survive that. So it is handed a value that holds the text, and the text takes
//! the place of that value again where messages become bytes.

use crate::admit::is_json;
use crate::priming::is_stream;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use hyper::body::{Frame, SizeHint};
use memchr::memmem::Finder;
use onecall_mcp::on_one_line;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The form in which unread results go through one face. Its name is random, so that nothing which a client or a
/// backend sends is taken for one. Whoever learned it could have a JSON value of his own put where he could have sent
/// that value as well, and no more: what is put in place must be one.
#[derive(Clone, Debug)]
pub(crate) struct Unread(Arc<Form>);

#[derive(Debug)]
struct Form {
    key: String,
    /// What such a value begins with.
    opening: Finder<'static>,
}

impl Unread {
    pub(crate) fn new() -> Self {
        let key = format!("dev.onecall/unread-{:032x}", rand::random::<u128>());
        let opening = format!("{{\"{key}\":");
        Self(Arc::new(Form {
            opening: Finder::new(opening.as_bytes()).into_owned(),
            key,
        }))
    }

    /// A value that stands for a JSON text.
    pub(crate) fn hide(&self, text: String) -> Value {
        let hidden = (self.0.key.clone(), Value::String(text));
        Value::Object(Map::from_iter([hidden]))
    }

    /// The message with the text in the place of the value that stands for it; `None` where there is no such value.
    pub(crate) fn show(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Form { opening, .. } = &*self.0;
        let begin = opening.find(message)?;
        let behind = &message[begin + opening.needle().len()..];
        let mut strings = serde_json::Deserializer::from_slice(behind).into_iter::<String>();
        let text = strings.next()?.ok()?;
        serde_json::from_str::<IgnoredAny>(&text).ok()?;
        // The text and the brace behind it.
        let end = message.len() - behind.len() + strings.byte_offset() + 1;
        let mut shown = Vec::with_capacity(message.len());
        shown.extend_from_slice(&message[..begin]);
        shown.extend_from_slice(on_one_line(&text).as_bytes());
        shown.extend_from_slice(message.get(end..)?);
        Some(shown)
    }
}

/// Shows what is unread in an answer of `rmcp`, be it a message or a stream of them.
pub(crate) async fn shown(unread: &Unread, response: Response) -> Response {
    if is_stream(&response) {
        let unread = unread.clone();
        return response.map(|body| Body::new(Shown { body, unread }));
    }
    if !is_json(&response) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // Limit: it was made in this process, of a result that was bounded when it came.
    let Ok(message) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    let Some(shown) = unread.show(&message) else {
        return Response::from_parts(parts, Body::from(message));
    };
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(shown))
}

/// The body of a stream; `rmcp` gives each event in a frame of its own.
struct Shown {
    body: Body,
    unread: Unread,
}

impl HttpBody for Shown {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(shown) = frame.data_ref().and_then(|event| self.unread.show(event))
        {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from(shown)))));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::Unread;
    use serde_json::json;

    #[test]
    fn a_text_takes_its_place_again_as_it_was() {
        let unread = Unread::new();
        let text =
            "{\"a\": 1.10,\n \"b\":\"\\ud800 \\\"}\",\r\n\"c\":123456789012345678901234567890}";
        let message = json!({ "id": 1, "result": unread.hide(text.to_owned()), "z": 2 });
        let line = format!("data: {message}\nid: 0\n\n");
        let shown = String::from_utf8(unread.show(line.as_bytes()).unwrap()).unwrap();
        let expected = text.replace(['\n', '\r'], " ");
        assert_eq!(
            shown,
            format!("data: {{\"id\":1,\"result\":{expected},\"z\":2}}\nid: 0\n\n")
        );
    }

    #[test]
    fn what_would_break_out_of_its_place_stays_as_it_is() {
        let unread = Unread::new();
        for forged in ["1},\"isError\":false,\"x\":{\"y\":0", "", "{", "1 2", "1,2"] {
            let message = json!({ "result": { "v": unread.hide(forged.to_owned()) } }).to_string();
            assert_eq!(unread.show(message.as_bytes()), None, "{forged}");
        }
    }

    #[test]
    fn what_nobody_hid_stays_as_it_is() {
        let (unread, other) = (Unread::new(), Unread::new());
        let foreign = json!({ "result": other.hide("1".to_owned()) }).to_string();
        assert_eq!(unread.show(foreign.as_bytes()), None);
        assert_eq!(unread.show(b":\n\n"), None);
    }
}
