//! Tests of the binary `onecall` as a user meets it: real processes, real files, a real client.

mod render;
mod skeleton;
mod support;
