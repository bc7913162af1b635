//! Paths found from places.
