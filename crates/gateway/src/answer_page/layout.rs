//! How every page looks: one self-contained document, for light and dark. Its one script shows times in the time zone
//! of the browser; without it they are in UTC. The policy allows that script alone, by its hash.

use super::form::escape;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;\
color:#222;background:#fff}h1{font-size:1.4rem;overflow-wrap:anywhere}.message{white-space:pre-line;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}\
pre{white-space:pre-wrap}pre,dd,code{overflow-wrap:anywhere}dl{display:grid;\
grid-template-columns:minmax(6rem,max-content) 1fr;gap:.2rem 1rem}dt{color:#555}dd{margin:0;white-space:pre-wrap}\
li{margin-bottom:1rem}label,legend{font-weight:600}label.box{display:flex;align-items:center;gap:.6rem;min-height:44px;font-weight:400}\
form p{margin:1rem 0 .2rem}input:not([type=checkbox],[type=radio]),select,textarea{display:block;width:100%;\
box-sizing:border-box;min-height:44px;padding:.4rem;font:inherit;color:inherit;background:inherit;border:1px solid #888;\
border-radius:.3rem}input[type=checkbox],input[type=radio]{width:1.5rem;height:1.5rem;flex:none;vertical-align:middle}\
fieldset{border:1px solid #bbb;border-radius:.3rem;margin:1rem 0}.note{color:#555;font-weight:400}\
p.note{margin:.2rem 0}em{color:#555}button{font:inherit;min-height:44px;min-width:7rem;padding:.5rem 1.2rem;\
border:1px solid #888;border-radius:.3rem;color:inherit;background:#eee}button[value=accept]{color:#fff;\
background:#1a5fb4;border-color:#1a5fb4}:focus-visible{outline:3px solid #62a0ea;outline-offset:1px}\
summary{min-height:44px;line-height:44px;cursor:pointer}.until{font-weight:600}\
.choice{display:flex;align-items:center;gap:1rem;margin:.8rem 0}\
.destructive{display:inline-block;color:#a00;border:1px solid;border-radius:.3rem;padding:0 .4rem;font-weight:600}\
.fault{color:#a00;border:1px solid;border-radius:.3rem;padding:.5rem .8rem}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}dt,.note,em{color:#aaa}.fault,.destructive{color:#f88}\
button{background:#333}}";

/// A page with nothing to do on it.
pub(super) fn notice(status: StatusCode, text: &str) -> Response {
    page(status, text, &format!("<h1>{}</h1>", escape(text)))
}

/// Times in the time zone and the language of the browser, and what is left of them.
const SCRIPT: &str = "for(const t of document.querySelectorAll('time')){const d=new Date(t.dateTime);\
if(isNaN(d))continue;t.title=t.textContent;t.textContent=d.toLocaleString([],\
{dateStyle:'medium',timeStyle:'short'})}\
const left=()=>{for(const e of document.querySelectorAll('[data-until]')){\
const s=Math.max(0,Math.floor((new Date(e.dataset.until)-Date.now())/1000)),d=Math.floor(s/86400),\
h=Math.floor(s/3600)%24,m=Math.floor(s/60)%60;\
e.textContent=d?d+' d '+h+' h':h?h+' h '+m+' min':m?m+' min':s+' s'}};left();setInterval(left,1000)";

/// The browser may load nothing, and run only the script of the page.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'"
    )
});

pub(super) fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let title = escape(title);
    let document = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><main>{body}</main><script>{SCRIPT}</script></body></html>\n"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY.as_str()),
        // The link goes nowhere else; with `no-referrer` browsers would send the form from nowhere, `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, headers, document).into_response()
}
