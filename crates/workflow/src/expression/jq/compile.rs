//! From the text of a jq program to a filter of jaq, or all of its faults with their places.

use super::budget;
use super::functions;
use super::reads::{self, Read};
use super::value::Val;
use super::{JqError, JqFault};
use crate::limits::{Bounds, JQ_BRACKETS_MAX, JQ_CODE_BYTES_MAX, JQ_FAULTS_MAX, JQ_TOKENS_MAX};
use jaq_core::compile::Undefined;
use jaq_core::data::{DataT, HasLut};
use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
use jaq_core::load::parse::Def;
use jaq_core::load::{Arena, Error, File, Loader, parse, span};
use jaq_core::{Compiler, Filter, Lut};
use onecall_source::counted;
use std::ops::Range;
use std::sync::LazyLock;

pub(super) type Compiled = Filter<Counted>;

/// Filters over our values; every look-up of a term is counted.
pub(super) struct Counted;

impl DataT for Counted {
    type V<'a> = Val;
    type Data<'a> = Terms<'a>;
}

#[derive(Clone, Copy)]
pub(super) struct Terms<'a>(pub(super) &'a Lut<Counted>);

impl<'a> HasLut<'a, Counted> for Terms<'a> {
    fn lut(&self) -> &'a Lut<Counted> {
        budget::term();
        self.0
    }
}

/// Definitions of jaq that reach outside, or that are ours.
const LEFT_OUT: [&str; 7] = [
    "stderr",
    "debug",
    "halt",
    "halt_error",
    "nan",
    "infinite",
    "isnan",
];

/// Definitions that jq has and jaq has not, or not so.
const OURS: &str = r#"
def totype(p; what): if p then . else fromjson | if p then . else error("cannot parse as " + what) end end;
def tonumber: totype(isnumber; "a number");
def toboolean: totype(isboolean; "a boolean");
def joined: if . == null then "" else tostring end;
def join($s): reduce .[1:][] as $x (.[0] | joined; . + $s + ($x | joined));
def transpose: [range([.[] | length] | max // 0) as $i | [.[][$i]]];
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def index($i): indices($i)[0];
def rindex($i): indices($i)[-1];
def toarray: if isarray then . else [.] end;
def IN(xs): . as $x | any(xs; . == $x);
def IN(ys; xs): any(ys; IN(xs));
def INDEX(xs; f): reduce xs as $x ({}; . + {($x | f | tostring): $x});
def INDEX(f): INDEX(.[]; f);
def ascii: [.] | implode;
def isvalid(f): try (f | true) catch false;
def @json: tojson;
def cell(f): if isstring then f elif . == null then "" else tostring end;
def @csv: map(cell("\"" + gsub("\""; "\"\"") + "\"")) | join(",");
def @tsv: map(cell(gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r"))) | join("\t");
"#;

static PRELUDE: LazyLock<Vec<Def<&'static str>>> = LazyLock::new(|| {
    let theirs = jaq_core::defs().chain(jaq_std::defs());
    let ours = parse(OURS, |parser| parser.defs()).unwrap_or_default();
    theirs
        .filter(|def| !LEFT_OUT.contains(&def.name))
        .chain(ours)
        .collect()
});

/// Everything that can be called, for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let natives = functions::all().map(|(name, ..)| name);
    PRELUDE.iter().map(|def| def.name).chain(natives)
}

/// The filter, and what it reads of its input.
pub(super) fn compile(code: &str) -> Result<(Compiled, Vec<Read>), JqError> {
    if code.len() > JQ_CODE_BYTES_MAX {
        let message = format!("it is longer than {JQ_CODE_BYTES_MAX} bytes");
        return Err(refused(code, message));
    }
    budget::within(Bounds::default().jq_steps(), || match too_large(code) {
        Some(message) => Err(refused(code, message)),
        None => on_large_stack(code),
    })
    .unwrap_or_else(|_| Err(refused(code, "it is nested too deeply".to_owned())))
}

fn refused(code: &str, message: String) -> JqError {
    JqError {
        faults: vec![fault(0..code.len(), message)],
    }
}

/// Parsing, compiling and the walk for reads recurse on terms, and no term is without a token of its own; so
/// the tokens bound the stack. What has none is left to the loader, which says why and does not parse it.
fn too_large(code: &str) -> Option<String> {
    let lexed = Lexer::new(code).lex().ok()?;
    let (mut count, mut open) = (0, vec![(lexed.as_slice(), 0)]);
    while let Some((tokens, depth)) = open.pop() {
        if depth > JQ_BRACKETS_MAX {
            let message = format!("its brackets are nested more than {JQ_BRACKETS_MAX} deep");
            return Some(message);
        }
        count += tokens.len();
        for Token(_, token) in tokens {
            match token {
                Tok::Block(inner) => open.push((inner, depth + 1)),
                Tok::Str(parts) => {
                    count += parts.len();
                    open.extend(parts.iter().filter_map(|part| match part {
                        StrPart::Term(Token(_, Tok::Block(inner))) => {
                            Some((inner.as_slice(), depth + 1))
                        }
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
    }
    (count > JQ_TOKENS_MAX).then(|| format!("it has more than {JQ_TOKENS_MAX} words and signs"))
}

fn on_large_stack(code: &str) -> Result<(Compiled, Vec<Read>), JqError> {
    let arena = Arena::default();
    let loader = Loader::new(PRELUDE.iter().cloned());
    let modules = loader
        .load(&arena, File { code, path: () })
        .map_err(|errors| JqError {
            faults: errors
                .into_iter()
                .flat_map(|(_, error)| load_faults(code, error))
                .take(JQ_FAULTS_MAX)
                .collect(),
        })?;
    let reads =
        parse(code, |parser| parser.term()).map_or_else(Vec::new, |term| reads::of(code, &term));
    let compiled = Compiler::default()
        .with_funs(functions::all())
        .compile(modules)
        .map_err(|errors| JqError {
            faults: errors
                .into_iter()
                .flat_map(|(_, errors)| errors)
                .map(|(name, undefined)| undefined_fault(code, name, &undefined))
                .take(JQ_FAULTS_MAX)
                .collect(),
        })?;
    Ok((compiled, reads))
}

fn load_faults(code: &str, error: Error<&str>) -> Vec<JqFault> {
    let unexpected =
        |expected: &str, found: &str| fault(short(code, found), format!("expected {expected}"));
    match error {
        Error::Io(imports) => imports
            .into_iter()
            .map(|(path, _)| fault(span(code, path), "modules cannot be imported".to_owned()))
            .collect(),
        Error::Lex(errors) => errors
            .into_iter()
            .map(|(expected, found)| unexpected(expected.as_str(), found))
            .collect(),
        Error::Parse(errors) => errors
            .into_iter()
            .map(|(expected, found)| unexpected(expected.as_str(), found))
            .collect(),
    }
}

fn undefined_fault(code: &str, name: &str, undefined: &Undefined) -> JqFault {
    let message = match undefined {
        Undefined::Filter(0) => "no function of this name".to_owned(),
        Undefined::Filter(count) => {
            let arguments = counted(*count, "argument");
            format!("no function of this name with {arguments}")
        }
        other => format!("no {} of this name", other.as_str()),
    };
    JqFault {
        undefined: Some(name.to_owned()),
        ..fault(span(code, name), message)
    }
}

fn fault(range: Range<usize>, message: String) -> JqFault {
    JqFault {
        range,
        message,
        undefined: None,
    }
}

/// The first word of what was found: the rest of the program says nothing.
fn short(code: &str, found: &str) -> Range<usize> {
    let whole = span(code, found);
    let word = found.find(char::is_whitespace).unwrap_or(found.len());
    whole.start..whole.start + word
}
