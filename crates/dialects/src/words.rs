//! The words of policies that dialects share, and what each stands for.

use onecall_source::{Diagnostics, Fields};
use onecall_workflow::policy::{AllFailed, AnyFailed, Durability, OnDisconnect, Then, WhileAsking};
use onecall_workflow::step::{Reading, Truth, Unfound};

/// A word and what it stands for.
pub(crate) type Word<T> = (&'static str, T);

pub(crate) const ALL_FAILED: [Word<AllFailed>; 2] = [
    ("completes", AllFailed::Completes),
    ("fails", AllFailed::Fails),
];

pub(crate) const ANY_FAILED: [Word<AnyFailed>; 2] = [
    ("completes", AnyFailed::Completes),
    ("is_error", AnyFailed::IsError),
];

pub(crate) const DURABILITY: [Word<Durability>; 3] = [
    ("none", Durability::None),
    ("async", Durability::Async),
    ("sync", Durability::Sync),
];

pub(crate) const ON_DISCONNECT: [Word<OnDisconnect>; 2] = [
    ("cancel", OnDisconnect::Cancel),
    ("continue", OnDisconnect::Continue),
];

pub(crate) const WHILE_ASKING: [Word<WhileAsking>; 2] = [
    ("ticks", WhileAsking::Ticks),
    ("stands", WhileAsking::Stands),
];

pub(crate) const ON_ERROR: [Word<Then>; 2] = [("abort", Then::Abort), ("continue", Then::Continue)];

pub(crate) const TRUTH: [Word<Truth>; 2] = [("jq", Truth::Jq), ("words", Truth::Words)];

pub(crate) const READING: [Word<Reading>; 2] = [
    ("payload", Reading::Payload),
    ("content_map", Reading::ContentMap),
];

pub(crate) const MISSING: [Word<Unfound>; 2] =
    [("leave_out", Unfound::LeftOut), ("fail", Unfound::Fails)];

/// Whether a failed item ends its loop in any case.
pub(crate) const FAILED_ITEM: [Word<bool>; 2] = [("by_on_error", false), ("ends_loop", true)];

/// What the word under a key stands for.
pub(crate) fn stated<T: Copy>(
    fields: &mut Fields<'_>,
    key: &'static str,
    words: &[Word<T>],
    diagnostics: &mut Diagnostics,
) -> Option<T> {
    let choices: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
    let stated = fields.optional_choice(key, &choices, diagnostics)?;
    let meant = words.iter().find(|(word, _)| *word == stated.value)?;
    Some(meant.1)
}
