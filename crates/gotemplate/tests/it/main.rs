//! Tests of the crate from outside.

mod generate;

#[test]
#[ignore = "writes cases"]
fn dump() {
    use std::io::Write as _;
    let seed = std::env::var("SEED").map_or(1, |s| s.parse().unwrap());
    let count: usize = std::env::var("COUNT").map_or(5000, |s| s.parse().unwrap());
    let mut out = std::io::BufWriter::new(
        std::fs::File::create("/work/tmp-gotemplate/random.jsonl").unwrap(),
    );
    let mut random = generate::Random::new(seed);
    for id in 0..count {
        let template = generate::template(&mut random);
        let mut case = serde_json::json!({"id": id, "template": template, "data": generate::document(), "int_paths": generate::INT_PATHS, "nilmap_paths": generate::NIL_MAP_PATHS});
        match id % 12 {
            0 => case["missingkey"] = "error".into(),
            1 => case["missingkey"] = "zero".into(),
            _ => {}
        }
        writeln!(out, "{case}").unwrap();
    }
}
