//! Files as users write them: read, checked, and their faults drawn.

mod reading;
mod world;
