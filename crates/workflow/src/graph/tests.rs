//! Order and cycles of small graphs.
