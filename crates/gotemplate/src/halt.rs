//! Why a rendering stops, before the place is added to it.

/// Why a rendering stops.
#[derive(Debug)]
pub(crate) enum Halt {
    /// What Go reports.
    Fail(String),
    /// A key is missing and the option says that is an error.
    MissingKey(String),
    /// A bound was reached.
    Limit(String),
}

/// The result of anything that can stop a rendering. The error is boxed since it is rare and the values are small.
pub(crate) type Outcome<T> = Result<T, Box<Halt>>;

/// Stops with Go's words.
pub(crate) fn fail<T>(message: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Halt::Fail(message.into())))
}

/// Stops at a bound.
pub(crate) fn exceeded<T>(what: &str, limit: impl std::fmt::Display) -> Outcome<T> {
    Err(Box::new(Halt::Limit(format!(
        "{what} exceed the limit of {limit}"
    ))))
}
