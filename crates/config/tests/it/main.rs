//! Files as users write them: read, checked, and their faults drawn.

mod diagnostics;
mod reading;
mod world;
