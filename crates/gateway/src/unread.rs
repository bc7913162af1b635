//! What backends say, and what clients answer them, on its way through `rmcp`, which knows results, parameters and
//! errors as JSON values only: numbers of any length, `1.10` and lone surrogates would not survive that. So it is
//! handed a value that holds the text, and the text takes the place of that value again where messages become bytes.

use crate::admit::is_json;
use crate::priming::is_stream;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use hyper::body::{Frame, SizeHint};
use memchr::memmem::Finder;
use onecall_mcp::{Exact, RequestId, RpcError, on_one_line};
use rmcp::model::{CustomNotification, CustomRequest, ErrorCode, ErrorData};
use rmcp::service::ServiceError;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The form in which unread texts go through one face. Its name is random, so that nothing which a client or a
/// backend sends is taken for one, and it leaves the process in no message. Whoever learned it could have a JSON value
/// of his own put where he could have sent that value as well, and no more: what is put in place must be one.
#[derive(Clone)]
pub(crate) struct Unread(Arc<Form>);

struct Form {
    key: String,
    /// The key as it stands in a message, with its colon.
    written: Finder<'static>,
}

impl fmt::Debug for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its name is told to nobody.
        formatter.write_str("Unread(•••)")
    }
}

/// What stands in the place of the name where a text cannot be put into its own.
const NAMELESS: &[u8] = b"\"dev.onecall/unread\":";

impl Unread {
    pub(crate) fn new() -> Self {
        let key = format!("dev.onecall/unread-{:032x}", rand::random::<u128>());
        let written = format!("\"{key}\":");
        Self(Arc::new(Form {
            written: Finder::new(written.as_bytes()).into_owned(),
            key,
        }))
    }

    /// A value that stands for a JSON text.
    pub(crate) fn hide(&self, text: String) -> Value {
        let hidden = (self.0.key.clone(), Value::String(text));
        Value::Object(Map::from_iter([hidden]))
    }

    /// A notification whose parameters are not read.
    pub(crate) fn notification(&self, method: &str, params: &str) -> CustomNotification {
        CustomNotification::new(method, Some(self.hide(params.to_owned())))
    }

    /// A request whose parameters are not read. `rmcp` puts a progress token beside them, which does not go out.
    pub(crate) fn request(&self, method: &str, params: &Exact) -> CustomRequest {
        CustomRequest::new(method, Some(self.hide(params.text().to_owned())))
    }

    /// An error as `rmcp` takes it, whose codes have 32 bits and whose errors have no further fields: one that is more
    /// than that goes through as a text. The code is what the status of an answer goes by.
    pub(crate) fn error(&self, error: &RpcError) -> ErrorData {
        let code = i32::try_from(error.code);
        if let Ok(code) = code
            && error.is_bare()
        {
            return ErrorData::new(ErrorCode(code), error.message.clone(), None);
        }
        let code = code.unwrap_or(ErrorCode::INTERNAL_ERROR.0);
        let text = serde_json::to_string(error).expect("an error is JSON");
        ErrorData::new(ErrorCode(code), "", Some(self.hide(text)))
    }

    /// The answer of a client to a question, as `rmcp` is given it: its types would drop what they do not know.
    pub(crate) fn answer(
        &self,
        id: &RequestId,
        outcome: &Result<Box<RawValue>, RpcError>,
    ) -> Value {
        let (key, outcome) = match outcome {
            Ok(result) => ("result", self.hide(result.get().to_owned())),
            Err(error) => ("error", json!(self.error(error))),
        };
        json!({ "jsonrpc": "2.0", "id": id.to_value(), key: outcome })
    }

    /// What `rmcp` made of such an answer, as the client wrote it.
    pub(crate) fn answered(&self, answer: Value) -> Exact {
        let Some(raw) = self.hidden(&answer) else {
            return answer.into();
        };
        // It was read when it came in; the key goes to nobody all the same.
        Exact::from_raw(&raw).unwrap_or_else(|_| Value::Null.into())
    }

    /// The error that a client answered a question with, as it wrote it; `None` where it did not answer.
    pub(crate) fn refusal(&self, error: &ServiceError) -> Option<RpcError> {
        let ServiceError::McpError(error) = error else {
            return None;
        };
        let raw = self.hidden(error.data.as_ref()?)?;
        Some(RpcError::from_raw(&raw))
    }

    /// The text that this stands for, if it stands for one.
    fn hidden(&self, value: &Value) -> Option<Box<RawValue>> {
        let text = value.get(&self.0.key)?.as_str()?;
        let nothing = || RawValue::NULL.to_owned();
        Some(RawValue::from_string(text.to_owned()).unwrap_or_else(|_| nothing()))
    }

    /// The message with the texts in the places of the values that stand for them; `None` where there is no such value.
    pub(crate) fn show(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Form { written, .. } = &*self.0;
        let mut at = written.find(message)?;
        let mut shown = Vec::with_capacity(message.len());
        let mut copied = 0;
        loop {
            let behind = at + written.needle().len();
            if let Some(hidden) = Hidden::read(&message[copied..at], &message[behind..]) {
                shown.extend_from_slice(&message[copied..copied + hidden.begin]);
                shown.extend_from_slice(on_one_line(&hidden.text).as_bytes());
                copied = behind + hidden.behind;
            } else {
                // Invariant: nobody but us writes it, and we write what can be put in place.
                tracing::error!("a text was found out of its place in a message");
                shown.extend_from_slice(&message[copied..at]);
                shown.extend_from_slice(NAMELESS);
                copied = behind;
            }
            match written.find(&message[copied..]) {
                Some(found) => at = copied + found,
                None => break,
            }
        }
        shown.extend_from_slice(&message[copied..]);
        Some(shown)
    }
}

/// A text in a message.
struct Hidden {
    text: String,
    /// Where the value begins that it stands for, in what is before the key.
    begin: usize,
    /// How much behind the key belongs to that value.
    behind: usize,
}

impl Hidden {
    fn read(before: &[u8], behind: &[u8]) -> Option<Self> {
        let (begin, closing) = place(before)?;
        let mut strings = serde_json::Deserializer::from_slice(behind).into_iter::<String>();
        let text = strings.next()?.ok()?;
        serde_json::from_str::<IgnoredAny>(&text).ok()?;
        let end = strings.byte_offset();
        let is_closed = behind.get(end..)?.starts_with(closing);
        is_closed.then(|| Self {
            text,
            begin,
            behind: end + closing.len(),
        })
    }
}

/// Where the value begins whose text is hidden behind this, and what closes it: the object that holds nothing else, the
/// parameters of a request, beside which `rmcp` writes a token, or an error, see [`Unread::error`].
fn place(before: &[u8]) -> Option<(usize, &'static [u8])> {
    let Some(outside) = before.strip_suffix(b"{") else {
        let outside = before.strip_suffix(b"},")?;
        let outside = without_number(outside).strip_suffix(b"{\"_meta\":{\"progressToken\":")?;
        return Some((outside.len(), b"}"));
    };
    let error = outside.strip_suffix(b",\"message\":\"\",\"data\":");
    let error = error.and_then(|own| without_number(own).strip_suffix(b"{\"code\":"));
    match error {
        Some(error) => Some((error.len(), b"}}")),
        None => Some((outside.len(), b"}")),
    }
}

fn without_number(text: &[u8]) -> &[u8] {
    let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
    let length = text.iter().rev().take_while(is_part).count();
    &text[..text.len() - length]
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
    use crate::typed;
    use onecall_mcp::{RequestId, RpcError};
    use rmcp::model::{ErrorData, JsonRpcMessage};
    use rmcp::service::ServiceError;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

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
    fn every_text_is_shown_and_what_rmcp_puts_around_it_is_not() {
        let unread = Unread::new();
        let hidden = |text: &str| unread.hide(text.to_owned());
        let shown = |message: &Value| {
            let shown = unread.show(message.to_string().as_bytes());
            String::from_utf8(shown.unwrap()).unwrap()
        };
        let several = json!({ "a": [hidden("1.10"), hidden("{}")], "b": hidden("\"\\/\"") });
        assert_eq!(shown(&several), r#"{"a":[1.10,{}],"b":"\/"}"#);
        let mut request = hidden("{\"_meta\":{\"a\":1.10}}");
        request["_meta"] = json!({ "progressToken": 12 });
        request.as_object_mut().unwrap().sort_keys();
        let request = json!({ "method": "m", "params": request });
        assert_eq!(
            shown(&request),
            r#"{"method":"m","params":{"_meta":{"a":1.10}}}"#
        );
        let error = hidden("{\"code\":1e400}");
        let error = json!({ "error": { "code": -7, "message": "", "data": error }, "id": 1 });
        assert_eq!(shown(&error), r#"{"error":{"code":1e400},"id":1}"#);
        let data = json!({ "error": { "code": -7, "message": "m", "data": hidden("1.10") } });
        let said = r#"{"error":{"code":-7,"message":"m","data":1.10}}"#;
        assert_eq!(shown(&data), said);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let unread = Unread::new();
        let text = "{\"n\":1.10,\"e\":1e400}";
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let message = unread.answer(&RequestId::Number(7), &Ok(raw));
        assert_eq!(message["id"], 7);
        assert_eq!(unread.answered(message["result"].clone()).text(), text);
        let plain = json!({ "action": "accept" });
        assert_eq!(*unread.answered(plain.clone()).value(), plain);
        let broken = unread.hide("{".to_owned());
        assert_eq!(unread.answered(broken).text(), "null");
    }

    #[test]
    fn an_error_is_read_as_it_was_written() {
        let unread = Unread::new();
        let text = "{\"code\":5000000000,\"data\":1e400,\"x\":1.10,\"message\":\"m\"}";
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let message = unread.answer(&RequestId::Number(7), &Err(RpcError::from_raw(&raw)));
        let message = typed::of_value(message).unwrap();
        let JsonRpcMessage::Error(taken) = message else {
            panic!("{message:?} is no error");
        };
        let refusal = unread.refusal(&ServiceError::McpError(taken.error));
        assert_eq!(serde_json::to_string(&refusal.unwrap()).unwrap(), text);
        let own = ErrorData::internal_error("of `rmcp`", None);
        for unanswered in [ServiceError::TransportClosed, ServiceError::McpError(own)] {
            assert_eq!(unread.refusal(&unanswered), None);
        }
    }

    #[test]
    fn what_would_break_out_of_its_place_stays_there_without_the_name() {
        let unread = Unread::new();
        for forged in ["1},\"isError\":false,\"x\":{\"y\":0", "", "{", "1 2", "1,2"] {
            let (forged, sound) = (
                unread.hide(forged.to_owned()),
                unread.hide("1.10".to_owned()),
            );
            let message = json!({ "v": forged, "w": sound }).to_string();
            let shown = String::from_utf8(unread.show(message.as_bytes()).unwrap()).unwrap();
            let named = message.replace(&unread.0.key, "dev.onecall/unread");
            let (left, _) = named.split_once(",\"w\":").unwrap();
            assert_eq!(shown, format!("{left},\"w\":1.10}}"));
        }
        assert_eq!(format!("{unread:?}"), "Unread(•••)");
    }

    #[test]
    fn what_nobody_hid_stays_as_it_is() {
        let (unread, other) = (Unread::new(), Unread::new());
        let foreign = json!({ "result": other.hide("1".to_owned()) }).to_string();
        assert_eq!(unread.show(foreign.as_bytes()), None);
        assert_eq!(unread.show(b":\n\n"), None);
    }
}
