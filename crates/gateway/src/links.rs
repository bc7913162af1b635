//! Links to answer pages: in results of tools, and from the store without the server.

use crate::seal::{self, AnswerLink, Purpose, Sealer};
use crate::server::Shared;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Journal, JournalError};
use onecall_runtime::runs::Asked;
use serde_json::Value;
use std::time::Duration;

/// The name under which the store has the URL of the server that serves the pages.
const BASE: &str = "gateway/answer pages";

/// Leaves the server's URL in the store. Of several servers on one store each can serve the pages of all runs.
pub(crate) async fn publish(shared: &Shared) {
    let Some(base) = shared.base() else {
        return;
    };
    let kept = shared
        .runtime
        .journal()
        .keep(BASE, &Value::from(base))
        .await;
    if let Err(error) = kept {
        tracing::warn!(%error, "`onecall runs list --waiting` cannot link to answer pages");
    }
}

/// A question of a run, and whose run it is.
pub(crate) struct Question<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) asked: &'a Asked,
    pub(crate) principal: Option<&'a str>,
    pub(crate) client: Option<String>,
    /// How long it can be answered if it has no deadline.
    pub(crate) timeout: Duration,
}

/// The page on which a question is answered.
pub(crate) fn to_answer(sealer: &Sealer, base: &str, question: Question<'_>) -> String {
    let Question { run, asked, .. } = question;
    let link = AnswerLink {
        run: run.as_str().to_owned(),
        step: asked.step.clone(),
        round: asked.round,
        principal: question.principal.map(str::to_owned),
        client: question.client,
        expires: seal::expiry_of(asked, question.timeout),
    };
    let token = sealer.seal(Purpose::AnswerLink, &link);
    format!("{base}/answer/{token}")
}

/// The same from the store alone. `None` if no server on it has served such pages.
pub async fn link_to_answer(
    journal: &dyn Journal,
    run: &RunId,
    principal: Option<&str>,
    asked: &Asked,
) -> Result<Option<String>, JournalError> {
    let base = journal.kept(BASE).await?;
    let sealer = Sealer::of(journal);
    let link = |base| {
        let question = Question {
            run,
            asked,
            principal,
            client: None,
            timeout: Duration::ZERO,
        };
        to_answer(&sealer, base, question)
    };
    Ok(base.as_ref().and_then(Value::as_str).map(link))
}
