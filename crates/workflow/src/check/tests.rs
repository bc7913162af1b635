//! Rules against a small catalog.
