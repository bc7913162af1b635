//! A run as one JSON text, with its plan, events and values, to be looked at or imported elsewhere.
//! Works over any store. What to show of sensitive values is for the caller, who hands over what may be seen.

use crate::limits;
use crate::record;
use onecall_engine::event::Event;
use onecall_engine::identity::RunId;
use onecall_engine::journal::{Journal, JournalError, Mark, NewRun, StoredRun, Summary};
use onecall_workflow::policy::Durability;
use onecall_workflow::stored::read_plan;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

const FORMAT: &str = "onecall.dev/run";
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Exported {
    format: String,
    version: u32,
    run: Summary,
    durability: Durability,
    plan_hash: String,
    plan: Value,
    /// Sensitive values are not in it.
    #[serde(default)]
    masked: bool,
    events: Vec<Event>,
}

/// What every version of the format begins with.
#[derive(Debug, Deserialize)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("this is not an exported run")]
    NotARun(#[source] serde_json::Error),
    #[error("this is `{found}`, not an exported run (`{FORMAT}`)")]
    Foreign { found: String },
    #[error("the run was exported by a newer version ({found}; this one reads up to {VERSION})")]
    TooNew { found: u32 },
    #[error("the text is too long or too deeply nested to be an exported run")]
    TooLong,
    #[error("the run has not ended and lacks its sensitive values; export it with --reveal")]
    Masked,
    #[error(transparent)]
    Store(#[from] JournalError),
}

/// The run as text. `masked`: what was handed over lacks sensitive values that the run has.
pub fn export(stored: StoredRun, masked: bool) -> Result<String, serde_json::Error> {
    let StoredRun {
        summary,
        plan,
        plan_hash,
        durability,
        events,
    } = stored;
    // Whoever reveals an imported run cannot reveal what did not come with it.
    let is_masked = summary.masked;
    let exported = Exported {
        format: FORMAT.to_owned(),
        version: VERSION,
        run: summary,
        durability,
        plan_hash,
        plan: record::parse(plan.as_bytes())?,
        masked: masked || is_masked,
        events,
    };
    serde_json::to_string_pretty(&exported)
}

/// Stores an exported run under its own id. An unfinished one is parked without a time to wake: nothing of it
/// happens here before somebody tells it to.
pub async fn import(journal: &dyn Journal, text: &str) -> Result<RunId, ImportError> {
    let exported = read(text)?;
    let plan = exported.plan.to_string();
    // What a plan of another version marks is not known, so it may mark anything.
    let sensitive = read_plan(&plan).map_or(true, |plan| plan.is_sensitive());
    // A run without any sensitive value lacks none, whatever earlier versions wrote.
    let may_lack = sensitive || exported.events.iter().any(Event::asks_for_a_secret);
    let masked = (exported.masked && may_lack) || exported.run.masked;
    if masked && !exported.run.phase.is_ended() {
        return Err(ImportError::Masked);
    }
    let Summary {
        id,
        workflow,
        version,
        phase,
        created,
        due,
        failure,
        principal,
        tenant,
        labels,
        client_key,
        retry_of,
        ..
    } = exported.run;
    let new = NewRun {
        id: id.clone(),
        workflow,
        version,
        plan_hash: exported.plan_hash,
        plan: Arc::from(plan),
        durability: exported.durability,
        principal,
        tenant,
        labels,
        client_key,
        retry_of,
        sensitive,
        masked,
        at: created,
        mark: Mark {
            phase,
            due,
            failure,
        },
    };
    journal.create(new, exported.events).await?;
    if !phase.is_ended() {
        journal.park(&id, None).await?;
    }
    Ok(id)
}

fn read(text: &str) -> Result<Exported, ImportError> {
    if text.len() > limits::IMPORT_BYTES_MAX || nesting(text) > limits::IMPORT_NESTING_MAX {
        return Err(ImportError::TooLong);
    }
    let header: Header = record::parse(text.as_bytes()).map_err(ImportError::NotARun)?;
    if header.format != FORMAT {
        return Err(ImportError::Foreign {
            found: header.format,
        });
    }
    if header.version > VERSION {
        return Err(ImportError::TooNew {
            found: header.version,
        });
    }
    record::parse(text.as_bytes()).map_err(ImportError::NotARun)
}

/// How deep brackets are nested, without a parser that could be sent too deep.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{MemoryJournal, MemoryStore};
    use crate::suite::samples::{append, at, ending, id, new_run, note, refusal, returned};
    use onecall_workflow::plan::Plan;
    use onecall_workflow::stored::write_plan;
    use onecall_workflow::workflow::Workflow;
    use serde_json::json;
    use std::time::Duration;

    fn journal() -> MemoryJournal {
        MemoryStore::default().open(at(0), Duration::from_secs(10))
    }

    async fn load(journal: &MemoryJournal) -> StoredRun {
        journal.load(&id("a")).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn an_imported_run_is_the_exported_one() {
        let one = journal();
        one.create(new_run("a"), vec![note("0")]).await.unwrap();
        let mut deep = json!("\\\"[[");
        for _ in 0..200 {
            deep = json!([deep]);
        }
        one.append(append("a", 1, vec![returned(deep)]))
            .await
            .unwrap();
        one.append(ending("a", 2, 7)).await.unwrap();
        let text = export(load(&one).await, false).unwrap();

        let two = journal();
        assert_eq!(import(&two, &text).await.unwrap(), id("a"));
        let again = refusal(import(&two, &text).await.map_err(|error| match error {
            ImportError::Store(error) => error,
            other => panic!("{other}"),
        }));
        assert_eq!(again, "run `a` already exists");
        let (before, after) = (
            one.load(&id("a")).await.unwrap().unwrap(),
            two.load(&id("a")).await.unwrap().unwrap(),
        );
        assert_eq!(after.events, before.events);
        assert_eq!(after.plan, before.plan);
        assert_eq!(after.summary.phase, before.summary.phase);
        assert_eq!(after.summary.created, before.summary.created);
    }

    #[tokio::test]
    async fn an_unfinished_run_does_nothing_until_it_is_told() {
        let one = journal();
        one.create(new_run("a"), vec![note("0")]).await.unwrap();
        let masked = export(load(&one).await, true).unwrap();
        let refused = import(&journal(), &masked).await.unwrap_err().to_string();
        assert!(refused.contains("--reveal"), "{refused}");
        let text = export(load(&one).await, false).unwrap();
        let store = MemoryStore::default();
        import(&store.open(at(0), Duration::from_secs(10)), &text)
            .await
            .unwrap();
        let later = store.open(at(90), Duration::from_secs(10));
        assert!(later.claimable(at(90)).await.unwrap().is_empty());
        assert!(later.claim(&id("a"), at(90)).await.unwrap().is_some());
    }

    /// A run of a workflow whose parameters are these.
    fn run_with(inputs: Value) -> NewRun {
        let mut workflow = Workflow::plain("w", Vec::new());
        workflow.inputs = inputs;
        let (plan, plan_hash) = write_plan(&Plan::plain(workflow, Vec::new()));
        NewRun {
            plan: Arc::from(plan),
            plan_hash,
            ..new_run("a")
        }
    }

    #[tokio::test]
    async fn a_run_without_sensitive_values_lacks_none() {
        let one = journal();
        let new = run_with(json!({ "type": "object" }));
        one.create(new, vec![note("0")]).await.unwrap();
        // As it was written before the form said so of those alone that lack some.
        let text = export(load(&one).await, true).unwrap();
        let two = journal();
        import(&two, &text).await.unwrap();
        assert!(!load(&two).await.summary.masked);
    }

    #[tokio::test]
    async fn an_imported_run_that_lacks_its_values_says_so_wherever_it_goes() {
        let one = journal();
        let new = run_with(json!({ "properties": { "pin": { "format": "password" } } }));
        one.create(new, vec![note("0")]).await.unwrap();
        one.append(ending("a", 1, 7)).await.unwrap();
        let mut text = export(load(&one).await, true).unwrap();
        for _ in 0..2 {
            let next = journal();
            import(&next, &text).await.unwrap();
            let stored = load(&next).await;
            assert!(stored.summary.masked);
            text = export(stored, false).unwrap();
        }
    }

    #[tokio::test]
    async fn what_is_not_a_run_is_refused() {
        let deep = "[".repeat(100_000);
        for (text, expected) in [
            ("nonsense", "this is not an exported run"),
            ("{}", "this is not an exported run"),
            (
                r#"{"format": "x", "version": 1}"#,
                "this is `x`, not an exported run (`onecall.dev/run`)",
            ),
            (
                r#"{"format": "onecall.dev/run", "version": 7}"#,
                "the run was exported by a newer version (7; this one reads up to 1)",
            ),
            (
                &deep,
                "the text is too long or too deeply nested to be an exported run",
            ),
        ] {
            let error = import(&journal(), text).await.unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
