//! `operational`: time-outs act; the rest has no effect yet.

use crate::keys;
use crate::workloads::Workloads;
use onecall_dialects::toolhive::{parse_duration, read_duration};
use onecall_source::{Diagnostic, Diagnostics, Fields, codes};

pub(super) fn read(
    mut fields: Fields<'_>,
    workloads: &mut Workloads,
    diagnostics: &mut Diagnostics,
) {
    if let Some(own) = fields.optional_fields("timeouts", diagnostics) {
        timeouts(own, workloads, diagnostics);
    }
    let inert = ["logLevel", "failureHandling"];
    keys::warn_inert(&mut fields, "operational.", &inert, diagnostics);
    fields.finish(diagnostics);
}

fn timeouts(mut fields: Fields<'_>, workloads: &mut Workloads, diagnostics: &mut Diagnostics) {
    let default = read_duration(&mut fields, "default", diagnostics);
    workloads.default_timeout = default.map(|default| default.value);
    let own = fields.mapping("perWorkload", diagnostics);
    fields.finish(diagnostics);
    for entry in own {
        let Some(text) = entry.value.expect_string(&entry.key, diagnostics) else {
            continue;
        };
        let Some(duration) = parse_duration(text) else {
            diagnostics.push(
                Diagnostic::error(
                    codes::INVALID_DURATION,
                    format!("`{}` is `{text}`, which is no duration", entry.key),
                )
                .label(text.place(), "not a duration")
                .help("write a number and a unit, such as `30s`"),
            );
            continue;
        };
        workloads.names.push(entry.key.clone());
        workloads.timeouts.push((entry.key.clone(), duration));
    }
}
