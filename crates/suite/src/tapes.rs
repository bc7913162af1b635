//! The tapes of one suite, and which calls use them.

use crate::scrub::Scrub;
use crate::tape::{Call, Tape, key};
use onecall_dialects::mcptest::Freeze;
use onecall_engine::event::Outcome;
use onecall_engine::failure::{Code, Failure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The source of the result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the server.
    Live,
    /// From the tape, else from the server, and is then recorded.
    Record,
    /// From the tape alone.
    Tape,
}

/// The mode of the command line for all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// As the suite states it.
    #[default]
    AsStated,
    Record,
    Replay,
}

/// The tapes of one suite by server.
#[derive(Debug, Default)]
pub struct Tapes {
    by_server: Mutex<BTreeMap<String, Tape>>,
    recording: Recording,
    /// The servers that have a tape of their own in the suite.
    taped: BTreeSet<String>,
    scrub: Scrub,
    /// The file of each tape, for messages.
    files: BTreeMap<String, String>,
}

impl Tapes {
    /// `taped`: the servers whose entry names a cassette.
    pub fn new(recording: Recording, taped: BTreeSet<String>, scrub: Scrub) -> Self {
        Self {
            recording,
            taped,
            scrub,
            ..Self::default()
        }
    }

    /// Gives a server its tape. `None` if its file does not exist yet.
    pub fn insert(&mut self, server: &str, file: String, tape: Option<Tape>) {
        self.files.insert(server.to_owned(), file);
        if let Some(tape) = tape {
            self.lock().insert(server.to_owned(), tape);
        }
    }

    pub fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// Where results of a node come from.
    pub fn source(&self, freeze: Option<Freeze>, server: &str) -> Source {
        match (self.recording, freeze) {
            (Recording::Record, _) | (Recording::AsStated, Some(Freeze::Record)) => Source::Record,
            (Recording::Replay, _) | (Recording::AsStated, Some(Freeze::Golden)) => Source::Tape,
            (Recording::AsStated, None) if self.taped.contains(server) => Source::Tape,
            (Recording::AsStated, None) => Source::Live,
        }
    }

    /// The tapes that were recorded to, as text by server.
    pub fn changed(&self) -> Vec<(String, String)> {
        let tapes = self.lock();
        let changed = tapes.iter().filter(|(_, tape)| tape.is_changed());
        changed
            .map(|(server, tape)| (server.clone(), tape.text()))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Tape>> {
        let tapes = self.by_server.lock();
        tapes.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tapes as one row uses them: every row begins with the first record of each call, so that the result of a row
/// does not depend on which other rows run.
#[derive(Debug)]
pub(crate) struct RowTapes {
    tapes: Arc<Tapes>,
    used: Mutex<HashMap<(String, String), usize>>,
}

impl RowTapes {
    pub(crate) fn new(tapes: Arc<Tapes>) -> Self {
        Self {
            tapes,
            used: Mutex::default(),
        }
    }

    pub(crate) fn source(&self, freeze: Option<Freeze>, server: &str) -> Source {
        self.tapes.source(freeze, server)
    }

    /// The next record of a call.
    pub(crate) fn find(&self, server: &str, call: &Call<'_>) -> Option<Outcome> {
        self.look(server, call).ok()
    }

    /// The next record of a call, or a failure that shows the nearest one.
    pub(crate) fn replay(&self, server: &str, call: &Call<'_>) -> Outcome {
        self.look(server, call).unwrap_or_else(|recorded| {
            let tapes = self.tapes.lock();
            let file = self.tapes.files.get(server).map_or(server, String::as_str);
            let text = match tapes.get(server) {
                Some(tape) => {
                    let miss = tape.miss(call, recorded, &self.tapes.scrub);
                    format!("{miss} (tape `{file}`; `--record` adds what is missing)")
                }
                None => {
                    format!("there is no tape `{file}`; record it with `onecall test --record`")
                }
            };
            let result = None;
            let failure = Failure::new(Code::TransportUnavailable, text);
            Outcome::Failed { failure, result }
        })
    }

    pub(crate) fn record(&self, server: &str, call: &Call<'_>, outcome: &Outcome) {
        let mut tapes = self.tapes.lock();
        let tape = tapes
            .entry(server.to_owned())
            .or_insert_with(|| Tape::empty(server));
        tape.record(call, outcome, &self.tapes.scrub);
    }

    fn look(&self, server: &str, call: &Call<'_>) -> Result<Outcome, usize> {
        let key = key(call.tool, call.arguments, &self.tapes.scrub);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = used.entry((server.to_owned(), key.clone())).or_default();
        let tapes = self.tapes.lock();
        let found = tapes
            .get(server)
            .map_or(Err(0), |tape| tape.find(&key, *used));
        // A call that is recorded now counts as used too.
        *used += 1;
        found
    }
}
