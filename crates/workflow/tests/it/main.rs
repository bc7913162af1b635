//! Tests of the representation that need a process of their own.

mod hostile;
mod shapes;
