//! Load: several clients that call again and again, at once or at a pace, and what each call took.

use crate::Failed;
use crate::client::{Call, Http, Lines};
use crate::process::{Cpu, Process, cpu_of};
use futures::future::try_join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whom a call is sent to.
#[derive(Clone)]
pub(crate) enum Target {
    Http(String),
    Lines(Arc<Lines>),
}

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) clients: usize,
    /// Calls of each client.
    pub(crate) calls: usize,
    /// The time between the calls of one client; without it the next one follows at once.
    pub(crate) pace: Option<Duration>,
}

/// What the calls took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Took {
    calls: Vec<Duration>,
    pub(crate) wall: Duration,
    pub(crate) cpu: Cpu,
}

impl Took {
    pub(crate) fn p50(&self) -> Duration {
        let mut calls = self.calls.clone();
        calls.sort_unstable();
        calls.get(calls.len() / 2).copied().unwrap_or_default()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub(crate) fn count(&self) -> f64 {
        self.calls.len() as f64
    }

    pub(crate) fn a_second(&self) -> f64 {
        self.count() / self.wall.as_secs_f64()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.calls.extend(other.calls);
        self.wall += other.wall;
        self.cpu = self.cpu.plus(other.cpu);
    }
}

/// The processes whose time is counted beside our own.
pub(crate) struct Watched {
    pub(crate) gateway: Process,
    pub(crate) backend: Process,
}

impl Watched {
    fn cpu(&self) -> Result<Cpu, Failed> {
        Ok(Cpu {
            gateway: self.gateway.cpu()?,
            backend: self.backend.cpu()?,
            generator: cpu_of("self")?,
        })
    }

    pub(crate) fn through(&self) -> Target {
        Target::Http(self.gateway.address.clone())
    }

    pub(crate) fn bare(&self) -> Target {
        Target::Http(self.backend.address.clone())
    }

    /// Sends calls of one shape.
    pub(crate) async fn load(
        &self,
        target: &Target,
        call: &Call,
        shape: Shape,
    ) -> Result<Took, Failed> {
        let mut clients = Vec::new();
        for _ in 0..shape.clients {
            clients.push(Client::open(target).await?);
        }
        let (cpu, began) = (self.cpu()?, Instant::now());
        let work = clients.into_iter().enumerate();
        let work = work.map(|(number, client)| client.work(number, call, shape));
        let calls = try_join_all(work).await?;
        Ok(Took {
            calls: calls.into_iter().flatten().collect(),
            wall: began.elapsed(),
            cpu: self.cpu()?.since(cpu),
        })
    }

    /// Two targets in turn, so that what else the machine does falls on both.
    pub(crate) async fn compare(
        &self,
        first: (&Target, &Call),
        second: (&Target, &Call),
        shape: Shape,
    ) -> Result<Compared, Failed> {
        let mut compared = Compared::default();
        for number in 0..=ROUNDS {
            let one = self.load(first.0, first.1, shape).await?;
            let other = self.load(second.0, second.1, shape).await?;
            // The first round warms both up.
            if number > 0 {
                compared.rounds.push((one.p50(), other.p50()));
                compared.one.add(one);
                compared.other.add(other);
            }
        }
        Ok(compared)
    }
}

/// Two targets side by side.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) one: Took,
    pub(crate) other: Took,
    /// The median of each round.
    rounds: Vec<(Duration, Duration)>,
}

impl Compared {
    /// How much longer a call of the other takes, in ms: the median of all rounds, since the machine is faster in one
    /// second than in the next.
    pub(crate) fn added_ms(&self) -> f64 {
        let added =
            |(one, other): &(Duration, Duration)| (other.as_secs_f64() - one.as_secs_f64()) * 1e3;
        median(self.rounds.iter().map(added))
    }
}

/// Of nothing it is 0.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

const ROUNDS: usize = 15;

enum Client {
    Http(Http),
    Lines(Arc<Lines>),
}

impl Client {
    async fn open(target: &Target) -> Result<Self, Failed> {
        Ok(match target {
            Target::Http(address) => Self::Http(Http::open(address).await?),
            Target::Lines(lines) => Self::Lines(Arc::clone(lines)),
        })
    }

    async fn call(&mut self, call: &Call) -> Result<(), Failed> {
        match self {
            Self::Http(http) => http.call(call).await,
            Self::Lines(lines) => lines.call(call).await,
        }
    }

    async fn work(
        mut self,
        number: usize,
        call: &Call,
        shape: Shape,
    ) -> Result<Vec<Duration>, Failed> {
        let mut ticks = shape.pace.map(|pace| {
            // Clients do not call in step.
            let apart = pace * u32::try_from(number).unwrap_or(0)
                / u32::try_from(shape.clients).unwrap_or(1);
            let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + apart, pace);
            // Calls that come late are not made up for in a burst.
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks
        });
        let mut calls = Vec::with_capacity(shape.calls);
        for _ in 0..shape.calls {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let began = Instant::now();
            self.call(call).await?;
            calls.push(began.elapsed());
        }
        Ok(calls)
    }
}
