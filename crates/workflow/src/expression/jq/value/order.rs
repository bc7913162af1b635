//! The order of jq: null, false, true, numbers, strings, arrays, objects. Comparing is work and is counted,
//! since values that share their parts can be far larger than what they hold.

use super::super::budget;
use super::{Fields, Num, Val};
use std::cmp::Ordering;

impl PartialEq for Val {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Val {}

impl PartialOrd for Val {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Val {
    fn cmp(&self, other: &Self) -> Ordering {
        budget::steps(1);
        match (self, other) {
            (Self::Num(left), Self::Num(right)) => left.order(*right),
            (Self::Str(left), Self::Str(right)) => {
                budget::text(left.inner.len().min(right.inner.len()));
                left.inner.cmp(&right.inner)
            }
            (Self::Arr(left), Self::Arr(right)) => left.inner.cmp(&right.inner),
            (Self::Obj(left), Self::Obj(right)) => objects(&left.inner, &right.inner),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl Val {
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(false) => 1,
            Self::Bool(true) => 2,
            Self::Num(_) => 3,
            Self::Str(_) => 4,
            Self::Arr(_) => 5,
            Self::Obj(_) => 6,
        }
    }
}

/// First the sorted keys, then the values in that order.
fn objects(left: &Fields, right: &Fields) -> Ordering {
    budget::steps(left.len() + right.len());
    let sorted = |fields: &Fields| {
        let mut keys: Vec<_> = fields.keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    let (own, others) = (sorted(left), sorted(right));
    own.cmp(&others).then_with(|| {
        let values = own.iter().map(|key| left.get(key));
        values.cmp(others.iter().map(|key| right.get(key)))
    })
}

impl Num {
    /// A total order, exact also between integers and floats; what is no number comes first.
    pub(in super::super) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => floats(left, right),
            (Self::Int(left), Self::Float(right)) => mixed(left, right),
            (Self::Float(left), Self::Int(right)) => mixed(right, left).reverse(),
        }
    }
}

fn floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
}

fn mixed(left: i128, right: f64) -> Ordering {
    if right.is_nan() {
        return Ordering::Greater;
    }
    floats(super::nearest(left), right).then_with(|| left.cmp(&super::truncated(right)))
}
