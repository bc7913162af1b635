//! Counts what a rendering uses up against its limits.

use crate::halt::{Outcome, exceeded};
use crate::limits::RenderLimits;

/// What is left to a rendering.
#[derive(Debug)]
pub(crate) struct Budget {
    operations_left: u64,
    produced_left: usize,
    limits: RenderLimits,
}

impl Budget {
    pub(crate) fn new(limits: &RenderLimits) -> Self {
        Self {
            operations_left: limits.operations_max,
            produced_left: limits.produced_bytes_max,
            limits: limits.clone(),
        }
    }

    /// Counts one operation.
    #[inline]
    pub(crate) fn operation(&mut self) -> Outcome<()> {
        self.operations(1)
    }

    /// Counts several operations.
    #[inline]
    pub(crate) fn operations(&mut self, count: u64) -> Outcome<()> {
        match self.operations_left.checked_sub(count) {
            Some(left) => {
                self.operations_left = left;
                Ok(())
            }
            None => exceeded("operations", self.limits.operations_max),
        }
    }

    /// Counts bytes of strings and values made on the way.
    pub(crate) fn produced(&mut self, bytes: usize) -> Outcome<()> {
        match self.produced_left.checked_sub(bytes) {
            Some(left) => {
                self.produced_left = left;
                Ok(())
            }
            None => exceeded("bytes produced", self.limits.produced_bytes_max),
        }
    }

    /// Checks the length of a text against the bound on output.
    #[inline]
    pub(crate) fn text(&self, bytes: usize) -> Outcome<()> {
        if bytes > self.limits.output_bytes_max {
            return exceeded("bytes of text", self.limits.output_bytes_max);
        }
        Ok(())
    }

    /// Checks how many templates are open at once.
    pub(crate) fn depth(&self, depth: usize) -> Outcome<()> {
        if depth >= self.limits.template_depth_max {
            let limit = self.limits.template_depth_max;
            return Err(Box::new(crate::halt::Halt::Limit(format!(
                "exceeded maximum template depth ({limit})"
            ))));
        }
        Ok(())
    }
}
