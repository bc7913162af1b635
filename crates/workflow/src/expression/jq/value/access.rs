//! What jaq asks of values: reading and changing parts, and conversions.

use super::super::budget;
use super::{Fields, Kept, Num, Val};
use jaq_core::box_iter::{BoxIter, box_once};
use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{Error, Exn, ValR, ValX};
use std::rc::Rc;

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<isize> for Val {
    fn from(value: isize) -> Self {
        Self::Num(Num::integer(i128::try_from(value).unwrap_or(i128::MAX)))
    }
}

impl From<usize> for Val {
    fn from(value: usize) -> Self {
        Self::Num(Num::integer(i128::try_from(value).unwrap_or(i128::MAX)))
    }
}

impl From<f64> for Val {
    fn from(value: f64) -> Self {
        Self::Num(Num::Float(value))
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}

impl From<Range<Self>> for Val {
    fn from(range: Range<Self>) -> Self {
        let ends = [("start", range.start), ("end", range.end)];
        Self::object(ends.into_iter().filter_map(|(key, end)| Some((key, end?))))
    }
}

impl FromIterator<Self> for Val {
    fn from_iter<T: IntoIterator<Item = Self>>(items: T) -> Self {
        Self::list(items)
    }
}

impl jaq_core::ValT for Val {
    fn from_num(text: &str) -> ValR<Self> {
        let number = match text.parse::<i128>() {
            Ok(value) => Num::integer(value),
            Err(_) => Num::Float(text.parse().unwrap_or(f64::NAN)),
        };
        Ok(Self::Num(number))
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(entries: I) -> ValR<Self> {
        let mut fields = Vec::new();
        for (key, value) in entries {
            match key {
                Self::Str(key) => fields.push((key.inner.clone(), value)),
                other => return Err(Error::typ(other, "string")),
            }
        }
        Ok(Self::object(fields))
    }

    fn key_values(self) -> BoxIter<'static, ValR<(Self, Self), Self>> {
        match self {
            Self::Arr(list) => Box::new(
                (0..list.inner.len())
                    .map(move |index| Ok((Self::from(index), list.inner[index].clone()))),
            ),
            Self::Obj(object) => Box::new((0..object.inner.len()).filter_map(move |index| {
                let (key, value) = object.inner.get_index(index)?;
                Some(Ok((Self::string(&**key), value.clone())))
            })),
            other => box_once(Err(Error::typ(other, "iterable (array or object)"))),
        }
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR<Self>>> {
        match self {
            Self::Arr(list) => {
                Box::new((0..list.inner.len()).map(move |index| Ok(list.inner[index].clone())))
            }
            Self::Obj(object) => Box::new((0..object.inner.len()).filter_map(move |index| {
                let (_, value) = object.inner.get_index(index)?;
                Some(Ok(value.clone()))
            })),
            other => box_once(Err(Error::typ(other, "iterable (array or object)"))),
        }
    }

    fn index(self, index: &Self) -> ValR<Self> {
        self.part(index).map(|part| part.unwrap_or(Self::Null))
    }

    fn range(self, range: Range<&Self>) -> ValR<Self> {
        match &self {
            Self::Null => Ok(Self::Null),
            Self::Str(text) => {
                let range = bounds(&range, text.inner.chars().count())?;
                budget::text(text.inner.len());
                let taken = text.inner.chars().skip(range.start).take(range.len());
                Ok(Self::string(taken.collect::<String>()))
            }
            Self::Arr(list) => {
                let range = bounds(&range, list.inner.len())?;
                Ok(Self::list(list.inner[range].iter().cloned()))
            }
            _ => Err(Error::typ(self, "rangeable (array or string)")),
        }
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match self {
            Self::Arr(list) => {
                let items = (0..list.inner.len()).flat_map(|index| f(list.inner[index].clone()));
                items.collect()
            }
            Self::Obj(object) => {
                let mut fields = Vec::with_capacity(object.inner.len());
                for (key, value) in &object.inner {
                    if let Some(value) = f(value.clone()).next() {
                        fields.push((Rc::clone(key), value?));
                    }
                }
                Ok(Self::object(fields))
            }
            other => opt.fail(other, |other| {
                Exn::from(Error::typ(other, "iterable (array or object)"))
            }),
        }
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        match (self, index) {
            (value @ (Self::Str(_) | Self::Arr(_)), Self::Obj(range)) => {
                let range = range.inner.get("start")..range.inner.get("end");
                value.map_range(range, opt, f)
            }
            (Self::Null, Self::Str(_)) => Self::object::<&str>([]).map_index(index, opt, f),
            (Self::Obj(mut object), Self::Str(key)) => {
                let key = key.inner.as_str();
                let old = object.inner.get(key).cloned().unwrap_or(Self::Null);
                match f(old).next().transpose()? {
                    Some(value) => set(Rc::make_mut(&mut object), key, value),
                    None => {
                        Rc::make_mut(&mut object).inner.shift_remove(key);
                    }
                }
                Ok(Self::Obj(object))
            }
            (Self::Null, Self::Num(_)) => Self::list([]).map_index(index, opt, f),
            (Self::Arr(list), Self::Num(number)) => map_item(list, *number, opt, &f),
            (value, _) => opt.fail(value, |value| Exn::from(Error::index(value, index.clone()))),
        }
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        let Self::Arr(list) = &self else {
            return opt.fail(self, |value| Exn::from(Error::typ(value, "array")));
        };
        let range = match bounds(&range, list.inner.len()) {
            Ok(range) => range,
            Err(error) => return opt.fail(self, |_| Exn::from(error)),
        };
        let middle = Self::list(list.inner[range.clone()].iter().cloned());
        let middle = match f(middle).next().transpose()? {
            None => Self::list([]),
            Some(value @ Self::Arr(_)) => value,
            Some(other) => return Err(Exn::from(Error::typ(other, "array"))),
        };
        let before = Self::list(list.inner[..range.start].iter().cloned());
        let after = Self::list(list.inner[range.end..].iter().cloned());
        let joined = (before + middle).and_then(|joined| joined + after);
        joined.map_err(Exn::from)
    }

    fn as_bool(&self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false))
    }

    fn into_string(self) -> Self {
        match self {
            Self::Str(_) => self,
            other => Self::string(other.json_text()),
        }
    }
}

impl Val {
    /// The part at a key or index, or `None` if there is none.
    pub(in super::super) fn part(self, index: &Self) -> ValR<Option<Self>, Self> {
        match (&self, index) {
            (Self::Null, Self::Null | Self::Num(_) | Self::Str(_) | Self::Obj(_)) => Ok(None),
            (Self::Obj(object), Self::Str(key)) => {
                Ok(object.inner.get(key.inner.as_str()).cloned())
            }
            (Self::Arr(list), Self::Num(number)) => Ok(position(*number, list.inner.len())
                .and_then(|position| list.inner.get(position).cloned())),
            (Self::Arr(list), Self::Arr(wanted)) => Ok(Some(positions(&list.inner, &wanted.inner))),
            (Self::Str(_) | Self::Arr(_), Self::Obj(range)) => {
                let (start, end) = (range.inner.get("start"), range.inner.get("end"));
                jaq_core::ValT::range(self.clone(), start..end).map(Some)
            }
            _ => Err(Error::index(self, index.clone())),
        }
    }
}

/// Where one list begins inside of another.
pub(in super::super) fn positions(list: &[Val], wanted: &[Val]) -> Val {
    if wanted.is_empty() {
        return Val::Null;
    }
    let windows = list.windows(wanted.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == wanted);
    Val::list(found.map(|(start, _)| Val::from(start)))
}

fn set(object: &mut Kept<Fields>, key: &str, value: Val) {
    let is_new = !object.inner.contains_key(key);
    let bytes = if is_new {
        super::FIELD_BYTES + key.len()
    } else {
        0
    };
    object.grow(bytes, value.depth() + 1);
    object.inner.insert(Rc::from(key), value);
}

fn map_item<'a, I: Iterator<Item = ValX<'a, Val>>>(
    mut list: Rc<Kept<Vec<Val>>>,
    number: Num,
    opt: Opt,
    f: &impl Fn(Val) -> I,
) -> ValX<'a, Val> {
    let length = list.inner.len();
    let Some(position) = position(number, length) else {
        return opt.fail(Val::Arr(list), |_| {
            Exn::from(Error::str("index is before the start of the array"))
        });
    };
    let old = list.inner.get(position).cloned().unwrap_or(Val::Null);
    let new = f(old).next().transpose()?;
    let kept = Rc::make_mut(&mut list);
    match new {
        Some(value) => {
            let missing = (position + 1).saturating_sub(length);
            budget::steps(missing);
            kept.grow(missing.saturating_mul(super::ITEM_BYTES), value.depth() + 1);
            if missing > 0 {
                kept.inner.resize(position + 1, Val::Null);
            }
            kept.inner[position] = value;
        }
        None if position < length => {
            kept.inner.remove(position);
        }
        None => {}
    }
    Ok(Val::Arr(list))
}

/// The position of an index that may count from the end; it may lie behind the last item.
fn position(number: Num, length: usize) -> Option<usize> {
    let index = match number {
        Num::Int(value) => value,
        Num::Float(value) if value.is_finite() => super::truncated(value.floor()),
        Num::Float(_) => return None,
    };
    let from_start = if index < 0 {
        index + i128::try_from(length).ok()?
    } else {
        index
    };
    usize::try_from(from_start).ok()
}

/// A range of jq, cut to what is there.
fn bounds(range: &Range<&Val>, length: usize) -> Result<std::ops::Range<usize>, Error<Val>> {
    let end_of = |bound: Option<&Val>, otherwise: usize, round: fn(f64) -> f64| match bound {
        None | Some(Val::Null) => Ok(otherwise),
        Some(Val::Num(number)) => {
            let number = match *number {
                Num::Float(value) => Num::Float(round(value)),
                whole @ Num::Int(_) => whole,
            };
            Ok(position(number, length).unwrap_or(0).min(length))
        }
        Some(other) => Err(Error::typ(other.clone(), "integer")),
    };
    let start = end_of(range.start, 0, f64::floor)?;
    let end = end_of(range.end, length, f64::ceil)?;
    Ok(start..end.max(start))
}

impl jaq_std::ValT for Val {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self {
            Self::Arr(list) => {
                budget::steps(list.inner.len());
                Ok(list.inner.iter().cloned().collect())
            }
            other => Err(other),
        }
    }

    fn is_int(&self) -> bool {
        matches!(self, Self::Num(number) if number.whole().is_some())
    }

    fn as_isize(&self) -> Option<isize> {
        match self {
            Self::Num(number) => isize::try_from(number.whole()?).ok(),
            _ => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Num(number) => Some(number.to_f64()),
            _ => None,
        }
    }

    fn is_utf8_str(&self) -> bool {
        matches!(self, Self::Str(_))
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        let text = self.as_str()?;
        // Whoever asks for the bytes may match a pattern against them.
        budget::text(text.len().saturating_mul(2));
        Some(text.as_bytes())
    }

    fn as_sub_str(&self, sub: &[u8]) -> Self {
        Self::string(String::from_utf8_lossy(sub))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Self::string(String::from_utf8_lossy(bytes.as_ref()))
    }
}
