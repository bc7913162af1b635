//! Identities inside a run: the run itself, its attempts, its questions, and points in time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A run: unguessable text made by whoever starts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A run id from 128 random bits.
    pub fn from_bits(bits: u128) -> Self {
        Self(format!("r{bits:032x}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Microseconds since the Unix epoch. Only the driver and the world read a clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
        )
    }

    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// One attempt of one call: which step, which item of a loop, which try. Counts from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId {
    pub step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub attempt: u32,
}

impl CallId {
    pub fn slot(self) -> Slot {
        Slot {
            step: self.step,
            item: self.item,
        }
    }
}

/// Where work happens: a step, or one item of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    pub step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

impl Slot {
    pub fn of_step(step: u32) -> Self {
        Self { step, item: None }
    }

    pub fn attempt(self, attempt: u32) -> CallId {
        CallId {
            step: self.step,
            item: self.item,
            attempt,
        }
    }
}
