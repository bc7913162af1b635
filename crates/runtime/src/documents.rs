//! Runs as documents under URIs of our own: what a run came to, and what each of its steps did.
//! Only the one who started a run can read them. How a protocol lists and links them is left to the front doors.

use crate::history;
use crate::questions::LookError;
use crate::result;
use crate::runs::standing_of;
use crate::runtime::Runtime;
use crate::sensitive::masked;
use onecall_engine::identity::RunId;

const PREFIX: &str = "onecall://runs/";
const STEPS: &str = "/steps/";

/// The URI of a run; of a placeholder, the template of all.
pub fn run_uri(run: &str) -> String {
    format!("{PREFIX}{run}")
}

pub fn step_uri(run: &str, step: &str) -> String {
    format!("{PREFIX}{run}{STEPS}{step}")
}

impl Runtime {
    /// Whether a run can be read by its URI once it has ended.
    pub async fn is_stored(&self, run: &RunId) -> Result<bool, LookError> {
        Ok(self.inner.journal.load(run).await?.is_some())
    }

    /// The JSON text under a URI: what a run came to, exactly as its caller received it, or the output or failure of
    /// a step, with sensitive values covered. `None` where there is nothing (yet), or nothing for this principal.
    pub async fn document(
        &self,
        uri: &str,
        principal: Option<&str>,
    ) -> Result<Option<String>, LookError> {
        let Some(path) = uri.strip_prefix(PREFIX) else {
            return Ok(None);
        };
        let (run, step) = match path.split_once(STEPS) {
            Some((run, step)) => (run, Some(step)),
            None => (path, None),
        };
        let (stored, state) = match self.stored(&RunId::new(run)).await {
            Ok(found) => found,
            Err(LookError::UnknownRun(run)) if step.is_none() => {
                return Ok(self.unstored_document(&run, principal));
            }
            Err(LookError::UnknownRun(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if stored.summary.principal.as_deref() != principal {
            return Ok(None);
        }
        let Some(step) = step else {
            let result = standing_of(&state).result;
            return Ok(result.map(|result| result::document(&result).into_owned()));
        };
        let history = history::of(&masked(stored)?)?;
        Ok(history.step(step).and_then(|step| {
            let failure = step.failure.as_ref();
            let failed = || failure.map(|failure| failure.to_json().to_string());
            step.output
                .as_ref()
                .map(ToString::to_string)
                .or_else(failed)
        }))
    }

    /// What a run came to that is not stored and whose caller was told to come back.
    fn unstored_document(&self, run: &RunId, principal: Option<&str>) -> Option<String> {
        let (owner, standing) = self.inner.unstored.find(run)?;
        let result = standing.result.filter(|_| owner.as_deref() == principal)?;
        Some(result::document(&result).into_owned())
    }
}
