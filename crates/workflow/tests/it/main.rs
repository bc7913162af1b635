//! Tests of the representation that need a process of their own.
#![expect(clippy::unwrap_used, reason = "tests may unwrap, their helpers too")]

mod hostile;
mod shapes;
