//! What each reader reports.
