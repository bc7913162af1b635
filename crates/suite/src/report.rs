//! Reporters: they are given rows as they end and never call into the runner.

pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod program;
pub mod terminal;

use crate::row::Row;

/// Sees each row when it ends.
pub trait Reporter {
    fn row(&mut self, row: &Row);
}

/// Sees nothing: for reports that are written at the end.
#[derive(Debug)]
pub struct Silent;

impl Reporter for Silent {
    fn row(&mut self, _: &Row) {}
}
