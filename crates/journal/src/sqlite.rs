//! The journal in one SQLite file, shared by any number of processes on one machine.
//!
//! Rows of a run that need no flush are written by one of those who wait for them, many at once (`desk`). Three
//! threads do what may take longer: one writes, one reads, one keeps the file tidy. So nothing here holds up an async
//! thread for more than a few rows. A run of durability `none` never reaches the file.

mod compact;
mod desk;
mod inbox;
mod keeper;
mod owners;
mod read;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod writer;

use crate::inbox::Kind;
use crate::limits;
use crate::open::{OpenStoreError, Options, Retention};
use crate::private::Rules;
use crate::record::{self, Encoded};
use crate::seal::{self, Sealer};
use desk::Desk;
use futures::future::BoxFuture;
use onecall_engine::event::Event;
use onecall_engine::identity::{RunId, Timestamp};
use onecall_engine::journal::{
    Append, Command, Filter, Journal, JournalError, NewRun, OpenRun, Order, StoredPlan, StoredRun,
    Summary,
};
use onecall_workflow::policy::Durability;
use read::{Loaded, Reader};
use serde_json::Value;
use session::{Addition, Creation, Session, WriteError};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};
use writer::{Counters, Nudge, Pace, Task, Weight, Writer, stopped, store_error};

type Read = Box<dyn FnOnce(&Reader) + Send>;

/// One owner of a store in SQLite. Dropping it leaves its runs to the others.
#[derive(Debug)]
pub struct SqliteJournal {
    retention: Retention,
    sealer: Arc<Sealer>,
    /// Runs that were created or claimed here and whose events are sealed.
    sealed: Mutex<BTreeSet<RunId>>,
    counters: Arc<Counters>,
    desk: Arc<Desk>,
    /// Always there until the journal is dropped.
    reads: Option<mpsc::Sender<Read>>,
    threads: Vec<JoinHandle<()>>,
}

/// How often the store was written since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Requests that were written, such as appends.
    pub requests: u64,
    /// Transactions they were written in.
    pub groups: u64,
    /// Transactions that waited for the disk.
    pub flushes: u64,
}

impl SqliteJournal {
    /// Blocks until the store is ready.
    pub fn open(options: Options) -> Result<Self, OpenStoreError> {
        let Options {
            path,
            chosen_by,
            now,
            lease,
            retention,
            bytes_max,
            seal_key,
        } = options;
        let failed = |cause| schema::open_error(&path, cause);
        let connection = schema::prepare(&path, chosen_by, bytes_max)?;
        let key = match seal_key {
            Some(key) => Ok(key),
            None => seal::read_or_make(&path, Rules::of_key_next_to(chosen_by)),
        };
        let sealer = Arc::new(Sealer::new(key.map_err(|cause| OpenStoreError::Key {
            path: path.clone(),
            cause,
        })?));
        let me = owners::join(&connection, lease, now).map_err(failed)?;
        let reader = Reader {
            connection: schema::connect(&path).map_err(failed)?,
            me: me.clone(),
            sealer: Arc::clone(&sealer),
        };
        let (reads, mut reading) = mpsc::channel::<Read>(limits::QUEUE_MAX);
        let (nudge, nudges) = std::sync::mpsc::channel();
        // Runs that ended before their process did are still in the log.
        let _ = nudge.send(Nudge::Compact);
        let counters = Arc::new(Counters::default());
        let writer = Writer {
            connection,
            me,
            nudge,
            counters: Arc::clone(&counters),
            sealer: Arc::clone(&sealer),
            cache: session::Cache::default(),
            ended: session::Ended::default(),
            numbers: session::Numbers::default(),
            flushing: false,
            patience: limits::LOCK_WAIT_MAX,
            bytes_since_checkpoint: 0,
        };
        let desk = Arc::new(Desk::new(writer));
        let keeper = keeper::Keeper {
            connection: schema::connect(&path).map_err(failed)?,
            nudges,
            desk: Arc::clone(&desk),
        };
        let writing = Arc::clone(&desk);
        let threads = vec![
            start("journal-write", move || writing.run())?,
            start("journal-read", move || {
                while let Some(read) = reading.blocking_recv() {
                    read(&reader);
                }
            })?,
            start("journal-keep", move || keeper.run())?,
        ];
        Ok(Self {
            retention,
            sealer,
            sealed: Mutex::default(),
            counters,
            desk,
            reads: Some(reads),
            threads,
        })
    }

    pub fn counts(&self) -> Counts {
        Counts {
            requests: self.counters.requests.load(Ordering::Relaxed),
            groups: self.counters.groups.load(Ordering::Relaxed),
            flushes: self.counters.flushes.load(Ordering::Relaxed),
        }
    }

    /// Has something written and waits until it is committed.
    async fn write<T, F>(
        &self,
        action: &'static str,
        weight: Weight,
        act: F,
    ) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnMut(&mut Session<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Task {
            weight,
            action,
            act,
            result: None,
            reply,
        };
        // Given back when the answer is there.
        let _place = self
            .desk
            .room
            .acquire()
            .await
            .map_err(|_| stopped(action))?;
        if !self.desk.put(Box::new(job)) {
            return Err(stopped(action));
        }
        if weight.pace == Pace::Light {
            self.desk.let_others_ask().await;
            // Whoever was first may have written for all. What waits by now is for those who asked it.
            if answer.is_empty() {
                self.desk.write_light();
            }
        }
        answer.await.map_err(|_| stopped(action))?
    }

    /// Has something done by the reading thread.
    async fn read<T, F>(&self, read: F) -> Result<T, JournalError>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, JournalError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Read = Box::new(move |reader| {
            // Whoever asked may have gone away.
            let _ = reply.send(read(reader));
        });
        let reads = self.reads.as_ref().ok_or_else(|| stopped("read"))?;
        reads.send(job).await.map_err(|_| stopped("read"))?;
        answer.await.map_err(|_| stopped("read"))?
    }

    /// Short events are encoded here; long ones would hold up an async thread and are encoded beside it.
    async fn encode(
        &self,
        run: &RunId,
        events: Vec<Event>,
    ) -> Result<(Vec<Event>, Encoded), JournalError> {
        let asks = events.iter().any(Event::asks_for_a_secret);
        let is_sealed = asks || self.sealed().contains(run);
        if asks {
            self.sealed().insert(run.clone());
        }
        let seal = is_sealed.then(|| self.sealer.of(run));
        if let Some(encoded) = record::encode_short(&events, seal) {
            return Ok((events, encoded));
        }
        let (sealer, run) = (Arc::clone(&self.sealer), run.clone());
        self.read(move |_| {
            let seal = is_sealed.then(|| sealer.of(&run));
            let encoded = record::encode(&events, seal).map_err(unwritable)?;
            Ok((events, encoded))
        })
        .await
    }

    fn sealed(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn create_run(&self, run: NewRun, events: Vec<Event>) -> Result<(), JournalError> {
        let flush = match run.durability {
            Durability::None => return Ok(()),
            Durability::Async => false,
            Durability::Sync => true,
        };
        if run.sensitive {
            self.sealed().insert(run.id.clone());
        }
        let (events, encoded) = self.encode(&run.id, events).await?;
        let weight = Weight::of_rows(encoded.bytes() + run.plan.len(), flush);
        let creation = Creation::new(run, &events, encoded).map_err(unwritable)?;
        self.write("add a run to", weight, move |session| {
            session.create(&creation)
        })
        .await
    }

    async fn append_events(&self, append: Append) -> Result<(), JournalError> {
        let flush = match append.durability {
            Durability::None => return Ok(()),
            Durability::Async => false,
            Durability::Sync => true,
        };
        let settled = append
            .events
            .iter()
            .filter_map(|event| Kind::settled_by(&event.what))
            .collect();
        let (_, events) = self.encode(&append.run, append.events).await?;
        let weight = Weight::of_rows(events.bytes(), flush);
        let ended = append.mark.phase.is_ended().then(|| append.run.clone());
        let addition = Addition {
            run: append.run,
            first: append.first,
            events,
            settled,
            mark: append.mark,
            at: append.at,
        };
        self.write("append to", weight, move |session| {
            session.append(&addition)
        })
        .await?;
        // What may still come is a note without values.
        if let Some(run) = ended {
            self.sealed().remove(&run);
        }
        Ok(())
    }

    async fn claim_run(
        &self,
        run: &RunId,
        now: Timestamp,
    ) -> Result<Option<StoredRun>, JournalError> {
        let wanted = run.clone();
        let ours = self
            .write("claim a run of", Weight::default(), move |session| {
                session.claim(&wanted, now)
            })
            .await?;
        if !ours {
            return Ok(None);
        }
        let wanted = run.clone();
        let loaded = self.read(move |reader| reader.load(&wanted)).await;
        if let Ok(Some(Loaded {
            is_sealed: true, ..
        })) = &loaded
        {
            self.sealed().insert(run.clone());
        }
        if let Err(JournalError::Unreadable { .. }) = &loaded {
            let held = run.clone();
            self.write("hold a run of", Weight::default(), move |session| {
                session.hold(&held)
            })
            .await?;
        }
        Ok(loaded?.map(|loaded| loaded.run))
    }

    async fn tell_run(&self, command: Command) -> Result<(), JournalError> {
        let what = serde_json::to_string(&command.what).map_err(unwritable)?;
        if what.len() > limits::COMMAND_BYTES_MAX {
            return Err(JournalError::Store {
                action: "put a command into",
                cause: "the command is too long".into(),
            });
        }
        let kind = Kind::of(&command.what);
        let what = record::seal_text(&what, self.sealer.of(&command.run));
        // A person's word is worth a flush, whatever the run is worth.
        let weight = Weight::of_rows(what.len(), true);
        self.write("put a command into", weight, move |session| {
            session.tell(&command.run, kind, &what)
        })
        .await
    }
}

fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenStoreError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(limits::READER_STACK_BYTES)
        .spawn(work)
        .map_err(OpenStoreError::Thread)
}

fn unwritable(error: serde_json::Error) -> JournalError {
    JournalError::Store {
        action: "write a value to",
        cause: error.into(),
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        self.desk.close();
        self.reads = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has told so already.
            let _ = thread.join();
        }
    }
}

impl Journal for SqliteJournal {
    fn create(&self, run: NewRun, events: Vec<Event>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.create_run(run, events))
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.append_events(append))
    }

    fn load<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        let run = run.clone();
        Box::pin(self.read(move |reader| Ok(reader.load(&run)?.map(|loaded| loaded.run))))
    }

    fn plan<'a>(
        &'a self,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<StoredPlan>, JournalError>> {
        let run = run.clone();
        Box::pin(self.read(move |reader| {
            reader
                .plan(&run)
                .map_err(|error| store_error("read a plan of", &error))
        }))
    }

    fn list(&self, filter: Filter) -> BoxFuture<'_, Result<Vec<Summary>, JournalError>> {
        Box::pin(self.read(move |reader| {
            reader
                .list(&filter)
                .map_err(|error| store_error("list the runs of", &error))
        }))
    }

    fn open_runs(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<OpenRun>, JournalError>> {
        Box::pin(self.read(move |reader| {
            reader
                .open_runs(now)
                .map_err(|error| store_error("count the runs of", &error))
        }))
    }

    fn bytes(&self) -> BoxFuture<'_, Result<u64, JournalError>> {
        Box::pin(self.read(|reader| {
            reader
                .bytes()
                .map_err(|error| store_error("measure", &error))
        }))
    }

    fn rebind<'a>(
        &'a self,
        run: &'a RunId,
        plan: StoredPlan,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, JournalError>> {
        let run = run.clone();
        Box::pin(
            self.write("bind a run of", Weight::default(), move |session| {
                session.rebind(&run, &plan, now)
            }),
        )
    }

    fn claimable(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<RunId>, JournalError>> {
        Box::pin(self.read(move |reader| {
            reader
                .claimable(now)
                .map_err(|error| store_error("find runs in", &error))
        }))
    }

    fn claim<'a>(
        &'a self,
        run: &'a RunId,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(self.claim_run(run, now))
    }

    fn park<'a>(
        &'a self,
        run: &'a RunId,
        due: Option<Timestamp>,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        let run = run.clone();
        Box::pin(
            self.write("park a run of", Weight::default(), move |session| {
                session.park(&run, due)
            }),
        )
    }

    fn heartbeat(&self, now: Timestamp) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(
            self.write("show life to", Weight::default(), move |session| {
                // A newer version may have changed the file under us.
                let found = schema::version(session.connection)?;
                if found > schema::VERSION {
                    let known = schema::VERSION;
                    return Err(JournalError::TooNew { found, known }.into());
                }
                Ok(owners::show_life(session.connection, session.me, now)?)
            }),
        )
    }

    fn tell(&self, command: Command) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(self.tell_run(command))
    }

    fn commands(&self, now: Timestamp) -> BoxFuture<'_, Result<Vec<Command>, JournalError>> {
        Box::pin(async move {
            let look = |reader: &Reader| {
                reader
                    .has_commands()
                    .map_err(|error| store_error("read commands of", &error))
            };
            if !self.read(look).await? {
                return Ok(Vec::new());
            }
            self.write("take commands of", Weight::default(), move |session| {
                session.take(now)
            })
            .await
        })
    }

    fn give_back<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        let run = run.clone();
        Box::pin(
            self.write("give commands back to", Weight::default(), move |session| {
                Ok(session.give_back(&run)?)
            }),
        )
    }

    fn told<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Vec<Order>, JournalError>> {
        let run = run.clone();
        Box::pin(self.read(move |reader| {
            reader
                .told(&run)
                .map_err(|error| store_error("read commands of", &error))
        }))
    }

    fn keep<'a>(
        &'a self,
        name: &'a str,
        value: &'a Value,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let name = name.to_owned();
            let text = serde_json::to_string(value).map_err(unwritable)?;
            let weight = Weight {
                bytes: text.len(),
                pace: Pace::Heavy,
            };
            self.write("keep a value in", weight, move |session| {
                Ok(session.keep(&name, &text)?)
            })
            .await
        })
    }

    fn kept<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, JournalError>> {
        let name = name.to_owned();
        Box::pin(self.read(move |reader| {
            let text = reader
                .kept(&name)
                .map_err(|error| store_error("read a value of", &error))?;
            // A kept value is a copy of something: one that cannot be read is one that is not there.
            Ok(text.and_then(|text| record::parse(text.as_bytes()).ok()))
        }))
    }

    fn secret(&self, purpose: &str) -> [u8; 32] {
        self.sealer.secret(purpose)
    }

    fn maintain(&self, now: Timestamp) -> BoxFuture<'_, Result<bool, JournalError>> {
        let retention = self.retention;
        Box::pin(
            self.write("remove runs from", Weight::default(), move |session| {
                session.retain(now, retention)
            }),
        )
    }
}
