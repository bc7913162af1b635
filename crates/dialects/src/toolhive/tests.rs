//! Composite tools become workflows, or faults at their places.
