//! The parts of a moment that a text says, and the moment that has them.

use super::{Moment, SaidZone};
use crate::value::calendar;

/// A part of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Year,
    Month,
    Day,
    DayOfYear,
    Weekday,
    Hour,
    HourFrom1,
    HalfHour,
    HalfHourFrom0,
    Half,
    Minute,
    Second,
    Micros,
    Zone,
}

const PARTS: usize = Said::Zone as usize + 1;
const NOON: u64 = 12;

/// What is said about a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'t> {
    Number(u64),
    /// Seconds that clocks are ahead of UTC.
    Offset(i64),
    /// A zone of the time zone database, if there is one of that name.
    Region(&'t str),
}

/// Everything that a text says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spoken<'t> {
    values: [Option<Value<'t>>; PARTS],
}

impl<'t> Spoken<'t> {
    /// Note what is said about a part; false if something else was said before.
    pub(super) fn hear(&mut self, part: Said, value: Value<'t>) -> bool {
        let place = self.values.get_mut(part as usize);
        place.is_some_and(|place| *place.get_or_insert(value) == value)
    }

    fn number(&self, part: Said) -> Option<u64> {
        match self.values.get(part as usize) {
            Some(Some(Value::Number(number))) => Some(*number),
            _ => None,
        }
    }

    /// The moment; parts that are not said are those of 1970-01-01 00:00:00.
    pub(super) fn moment(&self) -> Option<Moment<'t>> {
        let part =
            |part: Said, default: u64| u32::try_from(self.number(part).unwrap_or(default)).ok();
        let hour = u32::try_from(self.hour()?).ok()?;
        let year = part(Said::Year, 1970)?;
        let mut day = calendar::day(year, part(Said::Month, 1)?, part(Said::Day, 1)?)?;
        if let Some(number) = self.number(Said::DayOfYear) {
            let (month, within) = calendar::month_and_day(year, number)?;
            let agrees = |said: Said, value: u32| {
                self.number(said)
                    .is_none_or(|number| number == u64::from(value))
            };
            if !agrees(Said::Month, month) || !agrees(Said::Day, within) {
                return None;
            }
            day = calendar::day(year, month, within)?;
        }
        if self
            .number(Said::Weekday)
            .is_some_and(|weekday| weekday != calendar::weekday(day))
        {
            return None;
        }
        let (minute, second, micros) = (
            part(Said::Minute, 0)?,
            part(Said::Second, 0)?,
            part(Said::Micros, 0)?,
        );
        let shown_us = calendar::moment(day, hour, minute, second, micros)?;
        let zone = match self.values.get(Said::Zone as usize) {
            Some(Some(Value::Offset(seconds))) => Some(SaidZone::Offset(*seconds)),
            Some(Some(Value::Region(name))) => Some(SaidZone::Region(name)),
            _ => None,
        };
        Some(Moment {
            day,
            shown_us,
            zone,
        })
    }

    /// Hour of the day; `None` where one is out of range, or two contradict each other.
    fn hour(&self) -> Option<u64> {
        let half = self.number(Said::Half);
        let afternoon = NOON * half.unwrap_or(0);
        let hours = [
            (Said::Hour, 0, 23, 2 * NOON, 0),
            (Said::HourFrom1, 1, 24, 2 * NOON, 0),
            (Said::HalfHour, 1, 12, NOON, afternoon),
            (Said::HalfHourFrom0, 0, 11, NOON, afternoon),
        ];
        let mut found = None;
        for (part, least, most, circle, added) in hours {
            let Some(said) = self.number(part) else {
                continue;
            };
            let hour = said % circle + added;
            if !(least..=most).contains(&said) || *found.get_or_insert(hour) != hour {
                return None;
            }
        }
        match found {
            None => Some(afternoon),
            Some(hour) if half.is_some_and(|half| hour / NOON != half) => None,
            Some(hour) => Some(hour),
        }
    }
}
