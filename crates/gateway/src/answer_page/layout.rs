//! How every page looks: one self-contained document, for light and dark, without scripts.

use super::form::escape;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}\
pre{white-space:pre-wrap}pre,dd,code{overflow-wrap:anywhere}dl{display:grid;\
grid-template-columns:minmax(6rem,max-content) 1fr;gap:.2rem 1rem}dt{color:#555}dd{margin:0;white-space:pre-wrap}\
li{margin-bottom:1rem}label,legend{font-weight:600}label.box{display:block;font-weight:400}\
form p{margin:1rem 0 .2rem}input:not([type=checkbox],[type=radio]),select,textarea{display:block;width:100%;\
box-sizing:border-box;padding:.4rem;font:inherit;color:inherit;background:inherit;border:1px solid #888;\
border-radius:.3rem}input[type=checkbox],input[type=radio]{width:1.1rem;height:1.1rem;vertical-align:middle}\
fieldset{border:1px solid #bbb;border-radius:.3rem;margin:1rem 0}.note{color:#555;font-weight:400}\
p.note{margin:.2rem 0}em{color:#555}button{font:inherit;padding:.5rem 1.2rem;margin:.5rem .5rem 0 0;\
border:1px solid #888;border-radius:.3rem;color:inherit;background:#eee}button[value=accept]{color:#fff;\
background:#1a5fb4;border-color:#1a5fb4}:focus-visible{outline:3px solid #62a0ea;outline-offset:1px}\
.fault{color:#a00;border:1px solid;border-radius:.3rem;padding:.5rem .8rem}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}dt,.note,em{color:#aaa}.fault{color:#f88}\
button{background:#333}}";

/// A page with nothing to do on it.
pub(super) fn notice(status: StatusCode, text: &str) -> Response {
    page(status, &format!("<h1>{}</h1>", escape(text)))
}

pub(super) fn page(status: StatusCode, body: &str) -> Response {
    let document = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>A question</title>\
         <style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    );
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
                  frame-ancestors 'none'; base-uri 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        // The link goes nowhere else; with `no-referrer` browsers would send the form from nowhere, `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, headers, document).into_response()
}
