//! Any template over any data renders to a result or an error, in both modes, within its limits.
//! The input is a template, a zero byte, and JSON; without the latter a fixed document is used.
#![no_main]

use gotemplate::{Mode, ParseOptions, RenderLimits, RenderOptions, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: &str| {
    let (source, data) = input.split_once('\0').unwrap_or((input, ""));
    let Ok(template) = parse(source, &ParseOptions::default()) else { return };
    let data: Value = serde_json::from_str(data)
        .unwrap_or_else(|_| json!({"s": "a\"<é>", "n": 1e21, "l": [1, null, {"k": [true]}], "m": {"b": 2, "a": "x"}, "j": "{\"a\":[1,2]}"}));
    let limits = RenderLimits { operations_max: 50_000, output_bytes_max: 1 << 20, produced_bytes_max: 1 << 22, ..RenderLimits::default() };
    for mode in [Mode::Go, Mode::Workflow] {
        let options = RenderOptions { mode, limits: limits.clone(), ..RenderOptions::default() };
        let first = template.render(&data, &options);
        assert_eq!(first, template.render(&data, &options));
        if let Ok(rendered) = first {
            assert!(rendered.bytes.len() <= 1 << 20);
        }
        let _ = template.value(&data, &options);
    }
});
