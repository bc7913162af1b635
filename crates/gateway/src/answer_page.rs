//! The page on which a person answers one question of a run: one self-contained document that works without scripts.
//! The link is sealed and expires, and follows its question through its rounds; what was answered once can only be
//! answered the same again.

mod context;
mod form;
mod layout;

use crate::limits::{FORM_BYTES_MAX, TITLE_CHARS_MAX};
use crate::seal::{self, AnswerLink, Purpose};
use crate::server::Shared;
use axum::extract::{DefaultBodyLimit, FromRequest as _};
use axum::extract::{Form, Path, Request, State};
use axum::response::Response;
use context::{buttons, until, what_follows, what_was_answered, who_asks};
use form::{Entered, escape};
use http::{HeaderMap, StatusCode};
use layout::{notice, page};
use onecall_engine::event::AnswerAction;
use onecall_engine::identity::RunId;
use onecall_runtime::questions::{AnswerError, Answered, Given, LookError};
use onecall_runtime::rounds::{Closed, Whereabouts};
use onecall_runtime::runs::Asked;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

/// Where the page stands, under the path of its server.
pub(crate) const ROUTE: &str = "/answer/{token}";

/// The field that says in which round the form was shown.
const ROUND: &str = "round";

/// Shows the question.
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let (place, stands) = match Place::find(&shared, &token, &headers).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    if let Some(how) = stands.closed {
        return closed(how);
    }
    let shown = Shown {
        question: &stands.question,
        fault: stands.question.fault.as_deref(),
        entered: None,
    };
    place.page(StatusCode::OK, shown).await
}

/// Takes the filled-in form.
pub(crate) async fn take(
    State(shared): State<Arc<Shared>>,
    Path(token): Path<String>,
    mut request: Request,
) -> Response {
    let (place, stands) = match Place::find(&shared, &token, request.headers()).await {
        Ok(found) => found,
        Err(refusal) => return refusal,
    };
    DefaultBodyLimit::apply(DefaultBodyLimit::max(FORM_BYTES_MAX), &mut request);
    let fields = match Form::<Vec<(String, String)>>::from_request(request, &()).await {
        Ok(Form(fields)) => fields,
        Err(error) => return notice(error.status(), "The form could not be read."),
    };
    let entered = Entered(&fields);
    let given = match given(&stands, entered) {
        Ok(given) => given,
        Err(Unread::Button) => {
            return notice(StatusCode::BAD_REQUEST, "Choose accept, decline or cancel.");
        }
        Err(Unread::Fault(fault)) => return place.again(&fault, entered).await,
    };
    let schema = stands.question.schema.as_deref();
    let answer = taken(schema, &given);
    match shared.runtime.answer(&place.run(), given).await {
        Ok(Answered::Taken) => page(StatusCode::OK, "Your answer was taken", &answer),
        Ok(Answered::AskedAgain { reason }) => place.again(&reason, entered).await,
        Ok(Answered::TooLate) => closed(Closed::TimedOut),
        Err(AnswerError::NotAsked { .. }) => closed(stands.closed.unwrap_or(Closed::Withdrawn)),
        Err(error) => refused(&error),
    }
}

/// The page that ends it repeats the answer, so that a slip is seen while the run can still be stopped.
fn taken(schema: Option<&Value>, given: &Given) -> String {
    let how = match given.action {
        AnswerAction::Accept => "Your answer was taken: accepted.",
        AnswerAction::Decline => "Your answer was taken: declined.",
        AnswerAction::Cancel | AnswerAction::Timeout | AnswerAction::Invalid => {
            "Your answer was taken: cancelled."
        }
    };
    let content = given.content.as_ref();
    let rows = content.map_or_else(Vec::new, |content| form::told(schema, content));
    let rows = what_was_answered(&rows);
    format!("<h1>{how}</h1>{rows}<p>You can close this page.</p>")
}

/// Why a form holds no answer.
enum Unread {
    Button,
    Fault(String),
}

/// What the form says, of the round in which it was shown: a form that is sent twice counts once.
fn given(stands: &Whereabouts, entered: Entered<'_>) -> Result<Given, Unread> {
    let question = &stands.question;
    let action = match entered.first("action") {
        Some("accept") => AnswerAction::Accept,
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => return Err(Unread::Button),
    };
    let mut content = None;
    if action == AnswerAction::Accept {
        let read = form::read(question.schema.as_deref(), entered);
        content = Some(read.map_err(Unread::Fault)?);
    }
    let shown = entered.first(ROUND).and_then(|round| round.parse().ok());
    let round = shown.map_or(question.round, |shown: u32| shown.min(question.round));
    Ok(Given {
        step: question.step.clone(),
        round: Some(round),
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

/// Where a link leads.
struct Place<'a> {
    shared: &'a Shared,
    link: AnswerLink,
}

impl<'a> Place<'a> {
    /// Where a token leads, and how its question stands; else the page that says why it leads nowhere.
    async fn find(
        shared: &'a Shared,
        token: &str,
        headers: &HeaderMap,
    ) -> Result<(Self, Whereabouts), Response> {
        let link = open(shared, token, headers).await.ok_or_else(gone)?;
        let place = Self { shared, link };
        let stands = place.question().await?;
        Ok((place, stands))
    }

    fn run(&self) -> RunId {
        RunId::new(self.link.run.as_str())
    }

    /// The question behind the link, through all of its rounds.
    async fn question(&self) -> Result<Whereabouts, Response> {
        let (step, round) = (&self.link.step, self.link.round);
        let run = self.run();
        let looked = self.shared.runtime.whereabouts(&run, step, round).await;
        let looked = looked.map_err(|error| refused(&AnswerError::Look(error)))?;
        looked.ok_or_else(|| closed(Closed::Withdrawn))
    }

    /// The form once more, with what is wrong and what was entered.
    async fn again(&self, fault: &str, entered: Entered<'_>) -> Response {
        let question = match self.question().await {
            Ok(stands) => match stands.closed {
                Some(how) => return closed(how),
                None => stands.question,
            },
            Err(refusal) => return refusal,
        };
        let shown = Shown {
            question: &question,
            fault: Some(fault),
            entered: Some(entered),
        };
        self.page(StatusCode::UNPROCESSABLE_ENTITY, shown).await
    }

    /// The question, who asks it, what follows from it, and the form.
    async fn page(&self, status: StatusCode, shown: Shown<'_>) -> Response {
        let question = shown.question;
        let run = self.run();
        let ahead = match self.shared.runtime.ahead(&run, &self.link.step).await {
            Ok(ahead) => ahead,
            Err(error) => return refused(&AnswerError::Look(error)),
        };
        let message = question.message.trim();
        let (headline, rest) = message.split_once('\n').unwrap_or((message, ""));
        let mut body = format!("<h1>{}</h1>", escape(headline.trim_end()));
        if !rest.is_empty() {
            let _ = write!(
                body,
                "<p class=\"message\">{}</p>",
                escape(rest.trim_start_matches('\n'))
            );
        }
        if let Some(url) = &question.url {
            let url = escape(url);
            let _ = write!(
                body,
                "<p><a href=\"{url}\" rel=\"noreferrer\">{url}</a></p>"
            );
        }
        let server = self.shared.server_info.value()["name"].as_str();
        let server = server.unwrap_or_default();
        body.push_str(&until(&self.link, question, onecall_runtime::now()));
        body.push_str(&who_asks(server, &self.link, &ahead));
        body.push_str(&what_follows(&ahead));
        if let Some(fault) = shown.fault {
            let fault = escape(fault);
            let _ = write!(
                body,
                "<p class=\"fault\" role=\"alert\">The last answer did not fit: {fault}</p>"
            );
        }
        let _ = write!(
            body,
            "<form method=\"post\"><input type=\"hidden\" name=\"{ROUND}\" value=\"{}\">",
            question.round
        );
        body.push_str(&form::fields(question.schema.as_deref(), shown.entered));
        body.push_str(&buttons(&ahead));
        body.push_str("</form>");
        page(status, &title(message, &ahead.workflow), &body)
    }
}

/// The beginning of the question, and who asks it.
fn title(message: &str, workflow: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let mut title: String = line.chars().take(TITLE_CHARS_MAX).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    format!("{title} · {workflow}")
}

/// A question as it is shown.
struct Shown<'a> {
    question: &'a Asked,
    /// Why the last answer did not fit.
    fault: Option<&'a str>,
    entered: Option<Entered<'a>>,
}

/// What a person is told who comes to a question that is open no longer.
fn closed(how: Closed) -> Response {
    let text = match how {
        Closed::Answered(AnswerAction::Decline) => "This question is closed: it was declined.",
        Closed::Answered(AnswerAction::Cancel) => "This question is closed: it was cancelled.",
        Closed::Answered(AnswerAction::Accept | AnswerAction::Timeout) => {
            "This question is closed: it was answered."
        }
        Closed::Unfit | Closed::Answered(AnswerAction::Invalid) => {
            "This question is closed: too many answers did not fit, so it was given up."
        }
        Closed::TimedOut => "This question is closed: the time to answer it is over.",
        Closed::RunEnded => "This question is closed: the run that asked has ended.",
        Closed::Withdrawn => "This question is closed: the run has gone on without an answer.",
    };
    notice(StatusCode::GONE, text)
}

fn refused(error: &AnswerError) -> Response {
    let (status, text) = match error {
        AnswerError::NotAsked { .. } => return closed(Closed::Withdrawn),
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
