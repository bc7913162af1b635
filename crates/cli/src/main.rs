//! The binary `onecall`: builds everything and hands it over.
fn main() {}
