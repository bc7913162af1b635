//! Whatever the template and the data, parsing and rendering end in a result or an error, the same each time.

use gotemplate::{Mode, ParseOptions, RenderLimits, RenderOptions, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generate::{Random, document, template};

fn small_options(mode: Mode) -> RenderOptions {
    let limits = RenderLimits {
        operations_max: 20_000,
        output_bytes_max: 1 << 16,
        ..RenderLimits::default()
    };
    RenderOptions {
        mode,
        limits,
        ..RenderOptions::default()
    }
}

fn check(source: &str, data: &Value) -> Result<(), TestCaseError> {
    let Ok(template) = parse(source, &ParseOptions::default()) else {
        return Ok(());
    };
    for mode in [Mode::Go, Mode::Workflow] {
        let options = small_options(mode);
        let first = template.render(data, &options);
        prop_assert_eq!(&first, &template.render(data, &options));
        if let Ok(rendered) = &first {
            prop_assert!(rendered.bytes.len() <= 1 << 16);
            for span in &rendered.missing {
                prop_assert!(source.get(span.range()).is_some());
            }
        }
        let _ = template.value(data, &options);
    }
    for read in template.analysis().reads {
        prop_assert!(source.get(read.span.range()).is_some());
    }
    Ok(())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_templates_are_safe(seed in any::<u64>()) {
        check(&template(&mut Random::new(seed)), &document())?;
    }

    #[test]
    fn any_text_is_safe(inner in "[\\PC\n]{0,40}", data in json_value()) {
        check(&inner, &data)?;
        check(&format!("{{{{{inner}}}}}"), &data)?;
        check(&format!("{{{{range .}}}}{{{{{inner}}}}}{{{{end}}}}"), &data)?;
    }

    #[test]
    fn formats_are_safe(format in "[%a-zA-Z0-9#+ .*\\[\\]-]{0,16}", data in json_value()) {
        check(&format!("{{{{printf \"{format}\" . 1 \"é\"}}}}"), &data)?;
    }

    #[test]
    fn json_comes_back(data in json_value()) {
        let template = parse("{{fromJson (json .)}}", &ParseOptions::default()).unwrap();
        let options = RenderOptions::default();
        let gotemplate::Evaluated::Value(value) = template.value(&data, &options).unwrap() else {
            return Err(TestCaseError::fail("missing"));
        };
        prop_assert_eq!(normal(&value), normal(&data));
    }
}

/// JSON does not tell 1.0 from 1, nor does `json`.
fn normal(value: &Value) -> String {
    let template = parse("{{json .}}", &ParseOptions::default()).unwrap();
    template
        .render(value, &RenderOptions::default())
        .unwrap()
        .into_string()
}
