//! Go's `fmt`: values to text by verbs and flags. Numbers to digits are in `number`, one value at a time in
//! `printer`, whole format strings in `printf`.

pub(crate) mod number;
pub(crate) mod printer;
pub(crate) mod printf;
mod scalar;
