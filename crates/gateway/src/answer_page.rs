//! The page on which a person answers one question of a run: one self-contained document, without scripts.
//! The link is sealed and expires; what was answered once can only be answered the same again.

mod form;

use crate::limits::FORM_BYTES_MAX;
use crate::seal::{self, AnswerLink, Purpose};
use crate::server::Shared;
use axum::extract::{DefaultBodyLimit, FromRequest as _};
use axum::extract::{Form, Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use form::escape;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use http::{HeaderMap, StatusCode};
use onecall_engine::event::AnswerAction;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_runtime::ahead::Ahead;
use onecall_runtime::questions::{AnswerError, Answered, Given, LookError};
use onecall_runtime::runs::Asked;
use std::fmt::Write as _;
use std::sync::Arc;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;\
color:#222;background:#fff}h1{font-size:1.3rem}h2{font-size:1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}dd{overflow-wrap:anywhere}dl{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem;\
color:#555}dd{margin:0}label,legend{font-weight:600}input:not([type=checkbox]),select,textarea{display:block;\
width:100%;box-sizing:border-box;padding:.4rem;font:inherit}fieldset{border:1px solid #ccc}p.note{color:#555;\
font-weight:400;margin:.2rem 0}button{font:inherit;padding:.5rem 1rem;margin-right:.5rem}.fault{color:#a00}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}dl,p.note{color:#aaa}.fault{color:#f88}}";

/// Where the page stands, under the path of its server.
pub(crate) const ROUTE: &str = "/answer/{token}";

/// Shows the question.
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(link) = open(&shared, &token, &headers).await else {
        return gone();
    };
    match question(&shared, &link).await {
        Ok(question) => question_page(StatusCode::OK, &shared, &link, &question, None).await,
        Err(refusal) => refusal,
    }
}

/// Takes the filled-in form.
pub(crate) async fn take(
    State(shared): State<Arc<Shared>>,
    Path(token): Path<String>,
    mut request: Request,
) -> Response {
    let Some(link) = open(&shared, &token, request.headers()).await else {
        return gone();
    };
    DefaultBodyLimit::apply(DefaultBodyLimit::max(FORM_BYTES_MAX), &mut request);
    let fields = match Form::<Vec<(String, String)>>::from_request(request, &()).await {
        Ok(Form(fields)) => fields,
        Err(error) => return notice(error.status(), "The form could not be read."),
    };
    let given = match given(&shared, &link, &fields).await {
        Ok(given) => given,
        Err(Refusal::Page(response)) => return *response,
        Err(Refusal::Fault(question, fault)) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return question_page(status, &shared, &link, &question, Some(&fault)).await;
        }
    };
    let run = RunId::new(link.run.as_str());
    match shared.runtime.answer(&run, given).await {
        Ok(Answered::Taken) => notice(
            StatusCode::OK,
            "Your answer was taken. You can close this page.",
        ),
        Ok(Answered::AskedAgain { reason }) => {
            let text = format!("The answer does not fit and the question is asked again: {reason}");
            notice(StatusCode::UNPROCESSABLE_ENTITY, &text)
        }
        Ok(Answered::TooLate) => notice(
            StatusCode::GONE,
            "The time to answer is over; the run has gone on without.",
        ),
        Err(error) => refused(&error),
    }
}

enum Refusal {
    Page(Box<Response>),
    Fault(Asked, String),
}

/// What the form says. Its fields are read by the schema; once answered, the schema no longer matters.
async fn given(
    shared: &Shared,
    link: &AnswerLink,
    fields: &[(String, String)],
) -> Result<Given, Refusal> {
    let button = fields.iter().find(|(name, _)| name == "action");
    let action = match button.map(|(_, value)| value.as_str()) {
        Some("accept") => AnswerAction::Accept,
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => {
            let refusal = notice(StatusCode::BAD_REQUEST, "Choose accept, decline or cancel.");
            return Err(Refusal::Page(Box::new(refusal)));
        }
    };
    let mut content = None;
    if action == AnswerAction::Accept {
        let question = question(shared, link)
            .await
            .map_err(|response| Refusal::Page(Box::new(response)))?;
        let read = form::read(question.schema.as_deref(), fields);
        content = Some(read.map_err(|fault| Refusal::Fault(question, fault))?);
    }
    Ok(Given {
        step: link.step.clone(),
        round: Some(link.round),
        action,
        content,
    })
}

/// What a link leads to. It lets in whoever has it, but nobody who shows to be another than the run's owner.
async fn open(shared: &Shared, token: &str, headers: &HeaderMap) -> Option<AnswerLink> {
    let link: AnswerLink = shared.sealer.unseal(Purpose::AnswerLink, token)?;
    if link.expires < seal::now() {
        return None;
    }
    let owner = link.principal.as_deref();
    if let Some(access) = &shared.access
        && let Some(caller) = access.glimpse(headers).await
        && caller.name() != owner
    {
        return None;
    }
    let run = RunId::new(link.run.as_str());
    let owned = shared.runtime.owned(&run, owner).await;
    owned.is_ok().then_some(link)
}

/// The question behind a link, while it is open.
async fn question(shared: &Shared, link: &AnswerLink) -> Result<Asked, Response> {
    let run = RunId::new(link.run.as_str());
    let standing = shared.runtime.standing(&run).await;
    let standing = standing.map_err(|error| refused(&AnswerError::Look(error)))?;
    let mut questions = standing.questions.into_iter();
    let is_it = |asked: &Asked| asked.step == link.step && asked.round == link.round;
    questions.find(is_it).ok_or_else(|| {
        let text = "This question is closed: it was answered, or its time has passed.";
        notice(StatusCode::GONE, text)
    })
}

fn refused(error: &AnswerError) -> Response {
    let (status, text) = match error {
        AnswerError::NotAsked { .. } => (
            StatusCode::GONE,
            "This question is closed: it was answered, or its time has passed.",
        ),
        AnswerError::Otherwise { .. } => (
            StatusCode::CONFLICT,
            "This question was answered otherwise; that answer counts.",
        ),
        AnswerError::Slow => (
            StatusCode::ACCEPTED,
            "Your answer is stored; its run has not taken it up yet.",
        ),
        AnswerError::Look(LookError::UnknownRun(_)) => {
            (StatusCode::GONE, "The run that asked is not kept any more.")
        }
        AnswerError::Look(_) => {
            tracing::error!(%error, "cannot answer from the page");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The run could not be read.",
            )
        }
    };
    notice(status, text)
}

/// The page for a person whose request is refused by where it comes from.
pub(crate) fn not_let_in(status: StatusCode, reason: &str) -> Response {
    let text = format!("This page cannot be used from here: {reason}.");
    notice(status, &text)
}

fn gone() -> Response {
    let text = "This link is not valid, or it has expired.";
    notice(StatusCode::NOT_FOUND, text)
}

/// The question, who asks it, what follows from it, and the form.
async fn question_page(
    status: StatusCode,
    shared: &Shared,
    link: &AnswerLink,
    question: &Asked,
    fault: Option<&str>,
) -> Response {
    let run = RunId::new(link.run.as_str());
    let ahead = match shared.runtime.ahead(&run, &link.step).await {
        Ok(ahead) => ahead,
        Err(error) => return refused(&AnswerError::Look(error)),
    };
    let mut body = format!("<h1>{}</h1>", escape(&question.message));
    if let Some(url) = &question.url {
        let url = escape(url);
        let _ = write!(
            body,
            "<p><a href=\"{url}\" rel=\"noreferrer\">{url}</a></p>"
        );
    }
    body.push_str(&who_asks(shared, link, &ahead));
    if let Some(fault) = fault {
        let _ = write!(
            body,
            "<p class=\"fault\" role=\"alert\">{}</p>",
            escape(fault)
        );
    }
    body.push_str("<form method=\"post\">");
    body.push_str(&form::fields(question.schema.as_deref()));
    body.push_str(
        "<p><button name=\"action\" value=\"accept\">Accept</button>\
         <button name=\"action\" value=\"decline\" formnovalidate>Decline</button>\
         <button name=\"action\" value=\"cancel\" formnovalidate>Cancel</button></p></form>",
    );
    body.push_str(&what_follows(&ahead));
    page(status, &body)
}

fn who_asks(shared: &Shared, link: &AnswerLink, ahead: &Ahead) -> String {
    let server = shared.server_info["name"].as_str().unwrap_or_default();
    let caller = ahead.principal.as_deref().unwrap_or("nobody in particular");
    let expires = Timestamp::from_micros(link.expires.saturating_mul(1_000_000));
    let rows = [
        ("Server", server.to_owned()),
        ("Workflow", ahead.workflow.clone()),
        ("Called by", caller.to_owned()),
        ("Called at", ahead.since.to_rfc3339()),
        ("Called with", ahead.input.to_string()),
        ("Run", link.run.clone()),
        ("Step", link.step.clone()),
        ("Link expires", expires.to_rfc3339()),
    ];
    let mut list = "<dl>".to_owned();
    for (name, value) in rows {
        let _ = write!(list, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
    }
    list.push_str("</dl>");
    list
}

/// The steps still to come, with their tools and arguments.
fn what_follows(ahead: &Ahead) -> String {
    if ahead.steps.is_empty() {
        return "<p class=\"note\">No step of the run follows.</p>".to_owned();
    }
    let mut text = "<h2>What runs next</h2>".to_owned();
    for step in &ahead.steps {
        let _ = write!(text, "<pre>{}</pre>", escape(step));
    }
    if ahead.more > 0 {
        let _ = write!(text, "<p class=\"note\">And {} more steps.</p>", ahead.more);
    }
    text
}

fn notice(status: StatusCode, text: &str) -> Response {
    page(status, &format!("<h1>{}</h1>", escape(text)))
}

fn page(status: StatusCode, body: &str) -> Response {
    let document = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>A question</title>\
         <style>{STYLE}</style></head><body>{body}</body></html>\n"
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
