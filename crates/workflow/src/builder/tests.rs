//! What the builder accepts and refuses.
