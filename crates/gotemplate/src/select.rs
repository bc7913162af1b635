//! Taking parts of values: fields, `index`, `slice` and `len`.

use bumpalo::Bump;

use crate::halt::{Halt, Outcome, fail};
use crate::json_read;
use crate::options::{MissingKey, Mode};
use crate::quote::quoted;
use crate::value::{Absence, Val};

/// What selecting needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Selector<'a> {
    pub(crate) mode: Mode,
    pub(crate) missing_key: MissingKey,
    pub(crate) arena: &'a Bump,
}

/// How a receiver's type stands in an error: containers hold interfaces, everything else is what it is.
fn receiver_type(value: Val<'_>, from_container: bool) -> &'static str {
    if from_container {
        "interface {}"
    } else {
        value.type_name()
    }
}

impl<'a> Selector<'a> {
    /// One field of a value. `from_container` says that the value was taken out of a list or map just now.
    pub(crate) fn field(
        self,
        value: Val<'a>,
        name: &str,
        from_container: bool,
    ) -> Outcome<Val<'a>> {
        let found = match value {
            Val::Object(map) => {
                crate::value::json_field(map, name).map(|value| Val::from_json(value, self.mode))
            }
            Val::None(_) => {
                if self.missing_key == MissingKey::Error {
                    let message = format!("nil data; no entry for key {}", quoted(name.as_bytes()));
                    return Err(Box::new(Halt::MissingKey(message)));
                }
                return Ok(Val::None(Absence::Missing));
            }
            Val::Nil(_) => return fail(format!("nil pointer evaluating interface {{}}.{name}")),
            Val::Raw(text) if json_read::is_object(text) => json_read::field(text, name)
                .map(|text| json_read::found(text, self.mode, self.arena)),
            _ => {
                if let Some(map) = value.map() {
                    map.get(name, self.mode)
                } else {
                    let kind = receiver_type(value, from_container);
                    return fail(format!("can't evaluate field {name} in type {kind}"));
                }
            }
        };
        match found {
            Some(value) => Ok(value),
            None => self.absent_key(name),
        }
    }

    fn absent_key(self, name: &str) -> Outcome<Val<'a>> {
        match self.missing_key {
            MissingKey::Default => Ok(Val::None(Absence::Missing)),
            MissingKey::Zero => Ok(Val::Nil(Absence::Missing)),
            MissingKey::Error => {
                let message = format!("map has no entry for key {}", quoted(name.as_bytes()));
                Err(Box::new(Halt::MissingKey(message)))
            }
        }
    }

    /// `index`: parts of a value by keys and places, one after another.
    pub(crate) fn index(self, item: Val<'a>, indexes: &[Val<'a>]) -> Outcome<Val<'a>> {
        if item.is_absent() {
            return fail("index of untyped nil");
        }
        let mut item = item;
        for &index in indexes {
            item = self.index_one(item, index)?;
        }
        Ok(item)
    }

    fn index_one(self, item: Val<'a>, index: Val<'a>) -> Outcome<Val<'a>> {
        if item.is_absent() {
            return fail("index of nil pointer");
        }
        if let Val::Raw(text) = item {
            return self.index_raw(text, index);
        }
        if let Some(list) = item.list() {
            let at = self.place(index, list.len(), None)?;
            if at == list.len() {
                return fail("reflect: slice index out of range");
            }
            return Ok(list.get(at, self.mode));
        }
        if let Some(map) = item.map() {
            let key = key_text(index)?;
            let found = std::str::from_utf8(key)
                .ok()
                .and_then(|key| map.get(key, self.mode));
            return Ok(found.unwrap_or(Val::Nil(Absence::Missing)));
        }
        if let Val::Str(text) = item {
            let at = self.place(index, text.len(), None)?;
            return match text.get(at) {
                Some(&byte) => Ok(Val::Byte(byte)),
                None => fail("reflect: string index out of range"),
            };
        }
        fail(format!("can't index item of type {}", item.type_name()))
    }

    fn index_raw(self, text: &'a [u8], index: Val<'a>) -> Outcome<Val<'a>> {
        if json_read::is_object(text) {
            let key = key_text(index)?;
            let found = std::str::from_utf8(key)
                .ok()
                .and_then(|key| json_read::field(text, key));
            return Ok(found.map_or(Val::Nil(Absence::Missing), |text| {
                json_read::found(text, self.mode, self.arena)
            }));
        }
        let wanted = self.place(index, usize::MAX >> 1, None)?;
        match json_read::element(text, wanted) {
            Ok(element) => Ok(json_read::found(element, self.mode, self.arena)),
            Err(count) if count == wanted => fail("reflect: slice index out of range"),
            Err(_) => fail(format!("index out of range: {wanted}")),
        }
    }

    /// An index as a place of at most `max`. `kind` names its type in an error where that is not its own.
    fn place(self, index: Val<'a>, max: usize, kind: Option<&str>) -> Outcome<usize> {
        let number = match index {
            Val::None(_) => return fail("cannot index slice/array with nil"),
            Val::Nil(_) if kind.is_none() => return fail("cannot index slice/array with nil"),
            _ if kind.is_some() && self.mode == Mode::Go => None,
            Val::Int(number) | Val::Whole(number) => Some(number),
            Val::Byte(number) => Some(i64::from(number)),
            Val::Fraction(number) | Val::Float(number)
                if self.mode == Mode::Workflow && number.fract() == 0.0 =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "saturates, and is out of range then"
                )]
                Some(number as i64)
            }
            _ => None,
        };
        let Some(number) = number else {
            let kind = kind.unwrap_or(index.type_name());
            return fail(format!("cannot index slice/array with type {kind}"));
        };
        match usize::try_from(number) {
            Ok(place) if place <= max => Ok(place),
            _ => fail(format!("index out of range: {number}")),
        }
    }

    /// `slice`. `from_container` marks the indexes that were taken out of a list or map just now, which Go refuses.
    pub(crate) fn slice(
        self,
        item: Val<'a>,
        indexes: &[Val<'a>],
        from_container: u64,
    ) -> Outcome<Val<'a>> {
        if item.is_absent() {
            return fail("slice of untyped nil");
        }
        if indexes.len() > 3 {
            return fail(format!("too many slice indexes: {}", indexes.len()));
        }
        let length = match (item, item.list()) {
            (Val::Str(_), _) if indexes.len() == 3 => return fail("cannot 3-index slice a string"),
            (Val::Str(text), _) => text.len(),
            (_, Some(list)) => list.len(),
            _ => return fail(format!("can't slice item of type {}", item.type_name())),
        };
        let capacity = if matches!(item, Val::Str(_)) {
            length
        } else {
            capacity(length)
        };
        let mut bounds = [0, length, capacity];
        for (at, &index) in indexes.iter().enumerate() {
            let held = from_container >> at & 1 == 1;
            bounds[at] = self.place(index, capacity, held.then_some("interface {}"))?;
        }
        if bounds[0] > bounds[1] {
            return fail(format!(
                "invalid slice index: {} > {}",
                bounds[0], bounds[1]
            ));
        }
        if bounds[1] > bounds[2] {
            return fail(format!(
                "invalid slice index: {} > {}",
                bounds[1], bounds[2]
            ));
        }
        match (item, item.list()) {
            (Val::Str(text), _) => Ok(Val::Str(&text[bounds[0]..bounds[1]])),
            (_, Some(list)) => Ok(list.slice(bounds[0], bounds[1], self.mode, self.arena)),
            _ => fail("slice of a value that is no list"),
        }
    }
}

fn key_text(index: Val<'_>) -> Outcome<&[u8]> {
    match index {
        Val::Str(text) => Ok(text),
        Val::None(_) | Val::Nil(_) => fail("value is nil; should be of type string"),
        _ => fail(format!(
            "value has type {}; should be string",
            index.type_name()
        )),
    }
}

/// How far Go lets a list of JSON values be sliced: it grew by doubling, and what lies beyond its end is null.
fn capacity(length: usize) -> usize {
    if length <= 512 {
        length.next_power_of_two().min(length * 2)
    } else {
        length
    }
}

/// `len`.
pub(crate) fn length(item: Val<'_>) -> Outcome<usize> {
    match item {
        Val::Nil(_) => fail("len of nil pointer"),
        Val::None(_) => fail("reflect: call of reflect.Value.Type on zero Value"),
        Val::Str(text) => Ok(text.len()),
        _ => match (item.list(), item.map()) {
            (Some(list), _) => Ok(list.len()),
            (_, Some(map)) => Ok(map.len()),
            _ => fail(format!("len of type {}", item.type_name())),
        },
    }
}
