//! Makes templates at random from a seed: well-typed, ill-typed and damaged ones, over one fixed document.

use serde_json::{Value, json};

/// A small generator of numbers; the same seed gives the same templates everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap_or(0) % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// The document all templates read.
pub(crate) fn document() -> Value {
    json!({
        "s": {"a": "alpha", "e": "", "u": "h\u{e9}llo \u{1F642}", "q": "a\"b'c<d>&\n\t\\", "n": "12", "t": "true",
              "j": "{\"k\":[1,2,{\"x\":\"y\",\"n\":null}],\"a\":{\"b\":1.5},\"dup\":1,\"dup\":2}", "bad": "{a:1}", "sp": " x y "},
        "f": {"zero": 0, "one": 1, "neg": -2, "half": 0.5, "big": 1_000_000, "huge": 1e21, "tiny": 1e-7, "pi": 3.25,
              "id": 1_234_567_890_123_i64, "frac": 123_456.789},
        "b": {"t": true, "f": false},
        "n": null,
        "l": {"e": [], "n": [3, 1, 2], "s": ["x", "y", "z"], "mix": [1, "a", null, true, [2], {"k": "v"}],
              "m": [{"id": 1, "name": "one"}, {"id": 2, "name": "two", "tags": ["p", "q"]}]},
        "m": {"e": {}, "n": {"b": 2, "a": 1, "c": 3.5}, "deep": {"x": {"y": {"z": "end", "l": [1, [2, 3]]}}},
              "nul": {"k": null}, "Z": "upper", "é": "acute"},
        "i": {"two": 2, "zero": 0, "list": [5, 6]},
        "nm": null
    })
}

/// Paths of the document that are native integers, and that are nil maps.
pub(crate) const INT_PATHS: [&str; 3] = ["i.two", "i.zero", "i.list.0"];
pub(crate) const NIL_MAP_PATHS: [&str; 1] = ["nm"];

const PATHS: &[&str] = &[
    ".s.a",
    ".s.e",
    ".s.u",
    ".s.q",
    ".s.n",
    ".s.j",
    ".s.bad",
    ".s.sp",
    ".f.zero",
    ".f.one",
    ".f.neg",
    ".f.half",
    ".f.big",
    ".f.huge",
    ".f.tiny",
    ".f.pi",
    ".f.id",
    ".f.frac",
    ".b.t",
    ".b.f",
    ".n",
    ".l.e",
    ".l.n",
    ".l.s",
    ".l.mix",
    ".l.m",
    ".m.e",
    ".m.n",
    ".m.deep",
    ".m.deep.x.y.z",
    ".m.deep.x.y.l",
    ".m.nul",
    ".m.nul.k",
    ".m.Z",
    ".m.é",
    ".i.two",
    ".i.zero",
    ".i.list",
    ".nm",
    ".nm.x",
    ".x",
    ".x.y",
    ".s",
    ".f",
    ".m.nope",
    ".m.n.a",
];
const LITERALS: &[&str] = &[
    "1",
    "0",
    "-1",
    "2",
    "3",
    "7",
    "0x1F",
    "0b101",
    "0o17",
    "1_000",
    "1.5",
    "-0.0",
    "1e6",
    "2.0",
    ".5",
    "1e-7",
    "'a'",
    "'\\n'",
    "'é'",
    "true",
    "false",
    "nil",
    "\"\"",
    "\"a\"",
    "\"x y\"",
    "\"k\"",
    "\"é\\n\\x41\\u00e9\"",
    "`raw\\n`",
    "\"\\xff\"",
    "\"alpha\"",
    "1i",
    "1+2i",
    "\"[1,{\\\"a\\\":null}]\"",
    "\"id\"",
    "9223372036854775807",
    "0x1p4",
];
const FUNCTIONS: &[&str] = &[
    "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "index", "slice", "len", "print",
    "printf", "println", "html", "js", "urlquery", "call", "json", "fromJson", "quote", "eq",
    "index", "printf", "json", "len", "and", "or",
];
const TEXTS: &[&str] = &[
    "x", " ", "\n", " a: ", "<p>", "é", "\t- ", "}}", "{", "\r\n", "", "text",
];

const STRINGS: &[&str] = &[
    "$.s.a",
    "$.s.e",
    "\"alpha\"",
    ".s.u",
    "$.s.n",
    "`x`",
    "$.m.Z",
    "(print 1)",
];
const FLOATS: &[&str] = &[
    "$.f.one", "1.0", "2.5", "$.f.big", ".f.half", "1e6", "$.f.neg", "$.x", "nil",
];

/// One template.
pub(crate) fn template(random: &mut Random) -> String {
    let mut maker = Maker {
        random,
        variables: Vec::new(),
        loops: 0,
        calls: true,
        defines: 0,
        budget: 30,
    };
    let mut text = maker.list(3);
    for index in 0..maker.defines {
        // A definition calls no other: Go has no bound on how often.
        let body = Maker {
            random: maker.random,
            variables: Vec::new(),
            loops: 0,
            calls: false,
            defines: 0,
            budget: 6,
        }
        .list(1);
        text = format!("{text}{{{{define \"t{index}\"}}}}{body}{{{{end}}}}");
    }
    if random.one_in(6) {
        damaged(&text, random)
    } else {
        text
    }
}

fn damaged(text: &str, random: &mut Random) -> String {
    const BITS: &[&str] = &[
        "{{", "}}", "-", " ", "(", ")", "|", ".", "$", "\"", "`", "'", "end", "else", ":=", "=",
        ",", "if", "range", "nil", "/*", "*/", "{{end}}", "{{else}}", "\\", "1", "é", "break",
        "define", "{{- ", " -}}", "²", "\u{a0}", "_", "0x", "@",
    ];
    let mut chars: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(chars.len() + 1);
        match random.below(4) {
            0 if at < chars.len() => {
                chars.remove(at);
            }
            1 if at < chars.len() => {
                let end = (at + random.below(6)).min(chars.len());
                chars.drain(at..end);
            }
            2 if at < chars.len() => {
                let other = random.below(chars.len());
                chars.swap(at, other);
            }
            _ => chars.insert(at, random.pick(BITS).to_owned()),
        }
    }
    chars.concat()
}

struct Maker<'r> {
    random: &'r mut Random,
    variables: Vec<String>,
    loops: usize,
    calls: bool,
    defines: usize,
    budget: usize,
}

impl Maker<'_> {
    fn list(&mut self, depth: usize) -> String {
        let mark = self.variables.len();
        let mut text = String::new();
        for _ in 0..=self.random.below(3) {
            let statement = self.statement(depth);
            text.push_str(&statement);
        }
        self.variables.truncate(mark);
        text
    }

    fn action(&mut self, inner: &str) -> String {
        let left = self.random.pick(&["{{", "{{", "{{ ", "{{- "]);
        let right = self.random.pick(&["}}", "}}", " }}", " -}}"]);
        format!("{left}{inner}{right}")
    }

    fn statement(&mut self, depth: usize) -> String {
        if self.budget == 0 {
            return String::new();
        }
        self.budget -= 1;
        let choice = if depth == 0 {
            self.random.below(9)
        } else {
            self.random.below(17)
        };
        match choice {
            0 | 1 => self.random.pick(TEXTS).to_owned(),
            2..=5 => {
                let pipe = self.pipeline(3);
                self.action(&pipe)
            }
            6 => {
                let pipe = self.pipeline(2);
                let name = format!("$v{}", self.random.below(4));
                let text = self.action(&format!("{name} := {pipe}"));
                self.variables.push(name);
                text
            }
            7 => {
                let (variable, pipe) = (self.variable(), self.pipeline(2));
                self.action(&format!("{variable} = {pipe}"))
            }
            8 => self
                .random
                .pick(&["{{/* c */}}", "{{- /* c */ -}}", "x"])
                .to_owned(),
            9 | 10 => self.branch("if", depth),
            11 => self.branch("with", depth),
            12 | 13 => self.range(depth),
            14 if self.loops > 0 => {
                let word = self.random.pick(&["break", "continue"]);
                let pipe = self.pipeline(1);
                format!("{{{{if {pipe}}}}}{{{{{word}}}}}{{{{end}}}}")
            }
            15 => {
                let name = format!("b{}", self.random.below(1000));
                let (pipe, variables) = (self.pipeline(2), std::mem::take(&mut self.variables));
                let (loops, calls) = (
                    std::mem::take(&mut self.loops),
                    std::mem::take(&mut self.calls),
                );
                let body = self.list(depth - 1);
                (self.variables, self.loops, self.calls) = (variables, loops, calls);
                format!("{{{{block \"{name}\" {pipe}}}}}{body}{{{{end}}}}")
            }
            _ if !self.calls => self.random.pick(TEXTS).to_owned(),
            _ => {
                let index = self.random.below(3);
                self.defines = self
                    .defines
                    .max(if self.random.one_in(12) { 0 } else { index + 1 });
                let pipe = if self.random.one_in(4) {
                    String::new()
                } else {
                    self.pipeline(2)
                };
                self.action(&format!("template \"t{index}\" {pipe}"))
            }
        }
    }

    fn branch(&mut self, word: &str, depth: usize) -> String {
        let mark = self.variables.len();
        let mut head = self.pipeline(2);
        if self.random.one_in(4) {
            head = format!("$w := {head}");
        }
        let mut text = self.action(&format!("{word} {head}"));
        if head.starts_with("$w") {
            self.variables.push("$w".to_owned());
        }
        text.push_str(&self.list(depth - 1));
        if self.random.one_in(3) {
            let pipe = self.pipeline(2);
            text.push_str(&self.action(&format!("else {word} {pipe}")));
            text.push_str(&self.list(depth - 1));
        }
        if self.random.one_in(2) {
            text.push_str(&self.action("else"));
            text.push_str(&self.list(depth - 1));
        }
        text.push_str(&self.action("end"));
        self.variables.truncate(mark);
        text
    }

    fn range(&mut self, depth: usize) -> String {
        let mark = self.variables.len();
        let over = if self.random.one_in(2) {
            let paths = [
                ".l.n", ".l.s", ".l.m", ".l.mix", ".m.n", "$.l.m", "3", "$.m.n", ".l.e", "$.i.two",
                ".nm", "$.l.s",
            ];
            self.random.pick(&paths).to_owned()
        } else {
            self.pipeline(2)
        };
        let names: &[&str] = match self.random.below(6) {
            0 => &["$e"],
            1 | 2 => &["$i", "$e"],
            _ => &[],
        };
        let declared = if names.is_empty() {
            String::new()
        } else {
            format!("{} := ", names.join(", "))
        };
        let mut text = self.action(&format!("range {declared}{over}"));
        self.variables
            .extend(names.iter().map(|&name| name.to_owned()));
        self.loops += 1;
        text.push_str(&self.list(depth - 1));
        self.loops -= 1;
        if self.random.one_in(3) {
            text.push_str("{{else}}");
            text.push_str(&self.list(depth - 1));
        }
        text.push_str(&self.action("end"));
        self.variables.truncate(mark);
        text
    }

    fn variable(&mut self) -> String {
        if self.variables.is_empty() || self.random.one_in(8) {
            return if self.random.one_in(30) {
                "$undefined".to_owned()
            } else {
                "$".to_owned()
            };
        }
        let index = self.random.below(self.variables.len());
        self.variables[index].clone()
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut text = self.command(depth);
        while self.random.one_in(4) {
            let function = self.function();
            let arguments = self.arguments(function, depth.saturating_sub(1), true);
            text = format!("{text} | {function}{arguments}");
        }
        text
    }

    fn function(&mut self) -> &'static str {
        const SAFE: &[&str] = &[
            "and", "or", "not", "print", "printf", "println", "html", "js", "urlquery", "json",
            "printf",
        ];
        if self.random.one_in(2) {
            self.random.pick(SAFE)
        } else {
            self.random.pick(FUNCTIONS)
        }
    }

    fn command(&mut self, depth: usize) -> String {
        if self.random.one_in(2) {
            return self.operand(depth);
        }
        let function = self.function();
        let arguments = self.arguments(function, depth.saturating_sub(1), false);
        format!("{function}{arguments}")
    }

    fn arguments(&mut self, function: &str, depth: usize, piped: bool) -> String {
        let wanted = match function {
            "not" | "len" | "json" | "fromJson" | "quote" => 1,
            "ne" | "lt" | "le" | "gt" | "ge" | "eq" => 2,
            "slice" => 1 + self.random.below(4),
            _ => 1 + self.random.below(3),
        };
        let mut count = wanted - usize::from(piped);
        if self.random.one_in(20) {
            count = self.random.below(4);
        }
        let (wild, kind) = (self.random.one_in(4), self.random.below(2));
        let mut text = String::new();
        for place in 0..count {
            text.push(' ');
            let argument = match (function, place) {
                ("eq" | "ne" | "lt" | "le" | "gt" | "ge", _) if !wild => self
                    .random
                    .pick(if kind == 0 { STRINGS } else { FLOATS })
                    .to_owned(),
                ("len", _) if !wild => self
                    .random
                    .pick(&["$.l.n", "$.m.n", "$.s.u", ".l.s", "\"é\"", "$.nm"])
                    .to_owned(),
                ("index", 0) if !wild => self
                    .random
                    .pick(&[
                        "$.l.mix",
                        "$.m.n",
                        "$.l.m",
                        "$.s.u",
                        "$.m",
                        "(fromJson $.s.j)",
                    ])
                    .to_owned(),
                ("slice", 0) if !wild => self
                    .random
                    .pick(&["$.l.mix", "$.l.n", "$.s.u", "\"abcdef\""])
                    .to_owned(),
                ("printf", 0) => self.format(),
                ("fromJson" | "quote", 0) if !self.random.one_in(4) => self
                    .random
                    .pick(&["$.s.j", "\"[1,2]\"", "$.s.a", "\"{}\"", "$.s.q", "\"null\""])
                    .to_owned(),
                ("index" | "slice", place) if place > 0 && !self.random.one_in(4) => self
                    .random
                    .pick(&["0", "1", "2", "\"a\"", "\"x\"", "$.i.two", "\"id\"", "3"])
                    .to_owned(),
                _ => self.operand(depth),
            };
            text.push_str(&argument);
        }
        text
    }

    fn operand(&mut self, depth: usize) -> String {
        if self.random.one_in(60) {
            const WRONG: &[&str] = &[
                ".n.x",
                ".s.a.b",
                ".l.n.x",
                "08",
                "18446744073709551615",
                "100000000000000000000",
                "$q",
                "\"\\q\"",
            ];
            return self.random.pick(WRONG).to_owned();
        }
        match self.random.below(10) {
            0..=3 => {
                let root = self.random.pick(&["$", "", "$"]);
                format!("{root}{}", self.random.pick(PATHS))
            }
            4 => {
                let field = self
                    .random
                    .pick(&["", "", ".id", ".name", ".k", ".a", ".x"]);
                format!("{}{field}", self.variable())
            }
            5 => self
                .random
                .pick(&[".", ".id", ".name", ".", ".k", ".x"])
                .to_owned(),
            6 if depth > 0 => {
                let field = self.random.pick(&["", "", ".k", ".a.b", ".x", ".id"]);
                format!("({}){field}", self.pipeline(depth - 1))
            }
            7 if depth > 0 && self.random.one_in(3) => {
                let name = format!("$v{}", self.random.below(4));
                let pipe = self.pipeline(depth - 1);
                let sign = self.random.pick(&[":=", "="]);
                format!("({name} {sign} {pipe})")
            }
            _ => self.random.pick(LITERALS).to_owned(),
        }
    }

    fn format(&mut self) -> String {
        const VERBS: &[&str] = &[
            "v", "d", "s", "q", "x", "X", "f", "F", "e", "E", "g", "G", "t", "T", "c", "U", "b",
            "o", "O", "w", "z", "%", "!",
        ];
        let mut text = String::from("\"");
        for _ in 0..=self.random.below(3) {
            text.push_str(self.random.pick(&["", "a", " ", "é|"]));
            text.push('%');
            for _ in 0..self.random.below(3) {
                text.push_str(self.random.pick(&["#", "0", "+", "-", " "]));
            }
            if self.random.one_in(8) {
                text.push_str(
                    self.random
                        .pick(&["[1]", "[2]", "[3]", "[0]", "[x]", "[", "[1]*", "*"]),
                );
            }
            if self.random.one_in(2) {
                text.push_str(self.random.pick(&["1", "3", "8", "12", "20"]));
            }
            if self.random.one_in(3) {
                text.push_str(
                    self.random
                        .pick(&[".", ".0", ".1", ".3", ".10", ".*", ".17", ".25"]),
                );
            }
            text.push_str(self.random.pick(VERBS));
        }
        text.push('"');
        text
    }
}
