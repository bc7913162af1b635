//! Identities inside a run: the run itself, its attempts, its questions, and points in time.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A run: unguessable text made by whoever starts it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Arc<str>);

impl RunId {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// A run id from 128 random bits.
    pub fn from_bits(bits: u128) -> Self {
        Self(format!("r{bits:032x}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Microseconds since the Unix epoch. Only the driver and the world read a clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)),
        )
    }

    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// One attempt of one call: which step, which item of a loop, which try. Counts from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId {
    pub step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub attempt: u32,
}

impl CallId {
    pub fn slot(self) -> Slot {
        Slot {
            step: self.step,
            item: self.item,
        }
    }
}

/// Where work happens: a step, or one item of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    pub step: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

impl Slot {
    pub fn of_step(step: u32) -> Self {
        Self { step, item: None }
    }

    /// As people write it: `step`, or `step[3]` for an item of a loop.
    pub fn named(self, step: &str) -> String {
        match self.item {
            Some(item) => format!("{step}[{item}]"),
            None => step.to_owned(),
        }
    }

    pub fn attempt(self, attempt: u32) -> CallId {
        CallId {
            step: self.step,
            item: self.item,
            attempt,
        }
    }
}

impl Timestamp {
    /// `2026-07-28T09:30:00.123Z`, in UTC.
    pub fn to_rfc3339(self) -> String {
        let seconds = self.0 / 1_000_000;
        let millis = self.0 / 1_000 % 1_000;
        let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (
            second_of_day / 3_600,
            second_of_day / 60 % 60,
            second_of_day % 60,
        );
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

impl Timestamp {
    /// Reads a date, `2026-07-28`, or a date and time with its offset, `2026-07-28T11:30:00+02:00`.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let number = |text: &str, digits: usize| -> Option<u64> {
            let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse().ok()).flatten()
        };
        let (date, time) = match text.split_once(['T', 't', ' ']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let mut date = date.splitn(3, '-');
        let year = number(date.next()?, 4).filter(|year| *year >= 1970)?;
        let month = number(date.next()?, 2)?;
        let day = number(date.next()?, 2)?;
        let days = days_from_civil(year, month, day)?;
        let micros = days * 86_400_000_000;
        let Some(time) = time else {
            return Some(Self(micros));
        };
        let zone = time.find(['Z', 'z', '+', '-'])?;
        let (clock, zone) = time.split_at(zone);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let minutes = |text: &str| -> Option<u64> {
            let (hour, minute) = text.split_once(':')?;
            let (hour, minute) = (number(hour, 2)?, number(minute, 2)?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let (clock, second) = clock.rsplit_once(':')?;
        let second = number(second, 2).filter(|second| *second <= 60)?;
        let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
        let fraction = number(&digits, 6)?;
        let offset = match zone.split_at_checked(1)? {
            ("Z" | "z", "") => 0,
            (_, offset) => minutes(offset)? * 60_000_000,
        };
        let local = micros + (minutes(clock)? * 60 + second) * 1_000_000 + fraction;
        let is_east = zone.starts_with('+');
        Some(Self(if is_east {
            local.checked_sub(offset)?
        } else {
            local + offset
        }))
    }
}

/// Days since 1970-01-01 of a date that the calendar has.
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=last).contains(&day) {
        return None;
    }
    let (year, from_march) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let (era, of_era) = (year / 400, year % 400);
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The date of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    // Years start in March, so that the leap day comes last; eras are 400 years.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let text = |seconds: u64| Timestamp::from_millis(seconds * 1_000).to_rfc3339();
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59.000Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(text(1_785_231_000), "2026-07-28T09:30:00.000Z");
        assert_eq!(
            Timestamp::from_micros(1_123_456).to_rfc3339(),
            "1970-01-01T00:00:01.123Z"
        );
    }

    #[test]
    fn dates_are_read_back() {
        for seconds in [0, 951_782_399, 951_782_400, 1_785_231_000, 4_102_444_800] {
            let at = Timestamp::from_millis(seconds * 1_000 + 7);
            assert_eq!(Timestamp::from_rfc3339(&at.to_rfc3339()), Some(at));
        }
        let read = |text| Timestamp::from_rfc3339(text).map(Timestamp::to_rfc3339);
        let same = Some("2026-07-28T09:30:00.000Z".to_owned());
        assert_eq!(read("2026-07-28T11:30:00+02:00"), same);
        assert_eq!(read("2026-07-28 04:30:00-05:00"), same);
        for wrong in [
            "2026-02-29",
            "2026-13-01",
            "2026-07-28T25:00:00Z",
            "2026-07-28T09:30:00",
            "",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
