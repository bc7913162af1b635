//! What a running jq program may use: steps, memory, depth, stack. The values and functions of jaq cannot
//! fail everywhere, so a program that has used up its budget is unwound; only `within` catches that.

use crate::limits::{JQ_MEMORY_BYTES_MAX, JQ_STACK_BYTES, JQ_STACK_USED_BYTES_MAX};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Steps,
    Memory,
    Depth,
    Stack,
}

struct Budget {
    steps: Cell<u64>,
    held: Cell<usize>,
    held_max: Cell<usize>,
    stack_floor: Cell<usize>,
}

thread_local! {
    static BUDGET: Budget = const {
        Budget {
            steps: Cell::new(0),
            held: Cell::new(0),
            held_max: Cell::new(0),
            stack_floor: Cell::new(0),
        }
    };
}

/// Does the work on a stack of known size, with a budget of its own.
pub(super) fn within<T>(steps: u64, work: impl FnOnce() -> T) -> Result<T, Spent> {
    stacker::grow(JQ_STACK_BYTES, || {
        let floor = here().saturating_sub(JQ_STACK_USED_BYTES_MAX);
        BUDGET.with(|budget| {
            budget.steps.set(steps);
            budget.held.set(0);
            budget.held_max.set(usize::MAX);
            budget.stack_floor.set(floor);
        });
        // What the work holds when it is unwound is dropped by that; nothing is looked at afterwards.
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Spent>() {
            Ok(spent) => *spent,
            Err(other) => resume_unwind(other),
        })
    })
}

/// What is held by now was given to the program; from here on it pays for what it makes.
pub(super) fn inputs_are_held() {
    BUDGET.with(|budget| {
        budget.held_max.set(budget.held.get() + JQ_MEMORY_BYTES_MAX);
    });
}

/// Counts one evaluated term, and looks at the stack.
pub(super) fn term() {
    BUDGET.with(|budget| {
        if here() < budget.stack_floor.get() {
            stop(Spent::Stack);
        }
    });
    steps(1);
}

/// Counts work that jaq does not see.
pub(super) fn steps(count: usize) {
    BUDGET.with(|budget| {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        match budget.steps.get().checked_sub(count) {
            Some(left) => budget.steps.set(left),
            None => stop(Spent::Steps),
        }
    });
}

/// Counts work on a text.
pub(super) fn text(bytes: usize) {
    steps(bytes / 8);
}

/// Counts memory that is about to be used.
pub(super) fn hold(bytes: usize) {
    BUDGET.with(|budget| {
        let held = budget.held.get().saturating_add(bytes);
        if held > budget.held_max.get() {
            stop(Spent::Memory);
        }
        budget.held.set(held);
    });
}

pub(super) fn release(bytes: usize) {
    BUDGET.with(|budget| budget.held.set(budget.held.get().saturating_sub(bytes)));
}

/// Leaves the program.
pub(super) fn stop(spent: Spent) -> ! {
    resume_unwind(Box::new(spent))
}

/// How far the stack has grown.
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(&local).addr()
}
