//! Configuration files: as written (`raw`) and as used (`settings`).
//!
//! Pure: texts and environment values are handed in; nobody reads the environment below `cli`.
#![deny(clippy::disallowed_methods)]

pub mod settings;
