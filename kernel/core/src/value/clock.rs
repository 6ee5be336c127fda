//! Wall clock times as moments.

use std::sync::Arc;

use super::calendar::{CYCLE_DAYS, DAY_US, FIRST_US, LAST_US};
use crate::rules::{Table, Zone};

const CYCLE_US: i64 = CYCLE_DAYS * DAY_US;

/// Turns the wall clock times of a zone into moments. Keeps the offset that it found last: the next one is the same as a
/// rule.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: Arc<Zone>,
    from_us: i64,
    until_us: i64,
    offset_us: i64,
    named: Option<(String, Option<Box<Clock>>)>, // of the zone that a text named last, if there is one of that name
}

impl Clock {
    /// The clocks of a zone.
    pub fn new(zone: Arc<Zone>) -> Clock {
        Clock {
            zone,
            from_us: 0,
            until_us: 0,
            offset_us: 0,
            named: None,
        }
    }

    /// Clocks that show UTC.
    pub fn utc() -> Clock {
        Clock::new(Arc::new(Zone::Fixed(0)))
    }

    /// Microseconds since 1970 in UTC of what the clock shows; `None` if that is not within the years 1 to 9999.
    #[inline]
    pub fn moment(&mut self, shown_us: i64) -> Option<i64> {
        if !(self.from_us..self.until_us).contains(&shown_us) {
            self.find(shown_us);
        }
        within_years(shown_us.checked_sub(self.offset_us)?)
    }

    /// The same of what the clocks of another zone show, by its name; `None` if there is no such zone either.
    pub fn moment_in(&mut self, zone: &str, shown_us: i64) -> Option<i64> {
        if self.named.as_ref().is_none_or(|(name, _)| name != zone) {
            let found = super::zone::named(zone).map(|zone| Box::new(Clock::new(zone)));
            self.named = Some((zone.into(), found));
        }
        let (_, clock) = self.named.as_mut()?;
        clock.as_mut()?.moment(shown_us)
    }

    #[cold]
    fn find(&mut self, shown_us: i64) {
        (self.from_us, self.until_us, self.offset_us) = match self.zone.as_ref() {
            Zone::Fixed(seconds) => (i64::MIN, i64::MAX, seconds.saturating_mul(1_000_000)),
            Zone::Table(table) => stretch(table, shown_us),
        };
    }
}

/// The moment, if it is within the years 1 to 9999 in UTC.
#[inline]
pub fn within_years(moment_us: i64) -> Option<i64> {
    (FIRST_US..=LAST_US)
        .contains(&moment_us)
        .then_some(moment_us)
}

/// From when to when clocks have the offset that they have at a time, and that offset.
fn stretch(table: &Table, shown_us: i64) -> (i64, i64, i64) {
    let late = shown_us.saturating_sub(table.repeats_from_us);
    let moved = if late < 0 {
        0
    } else {
        (late / CYCLE_US).saturating_add(1).saturating_mul(CYCLE_US)
    };
    let shown = shown_us.saturating_sub(moved);
    let after = table
        .starts_us
        .partition_point(|&start| start <= shown)
        .max(1);
    let at = |index: usize| table.starts_us.get(index).copied();
    let from = if moved > 0 {
        at(after - 1)
            .unwrap_or(shown)
            .max(table.repeats_from_us - CYCLE_US)
    } else {
        at(after - 1).unwrap_or(i64::MIN)
    };
    let until = at(after).unwrap_or(i64::MAX).min(table.repeats_from_us);
    let offset = table.offsets_us.get(after - 1).copied().unwrap_or(0);
    (
        from.saturating_add(moved),
        until.saturating_add(moved),
        offset,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            starts_us: vec![i64::MIN, 100, CYCLE_US / 2],
            offsets_us: vec![10, 20, 30],
            repeats_from_us: CYCLE_US,
        }
    }

    #[test]
    fn offsets_hold_from_their_start_on() {
        let mut clock = Clock::new(Arc::new(Zone::Table(table())));
        for (shown, offset) in [
            (99, 10),
            (100, 20),
            (99, 10),
            (CYCLE_US / 2 - 1, 20),
            (CYCLE_US / 2, 30),
            (-1, 10),
            (CYCLE_US - 1, 30),
        ] {
            assert_eq!(clock.moment(shown), Some(shown - offset), "{shown}");
        }
    }

    #[test]
    fn offsets_repeat_every_400_years() {
        let mut clock = Clock::new(Arc::new(Zone::Table(table())));
        for cycles in [1, 2, 1, 15] {
            for (within, offset) in [
                (0, 10),
                (99, 10),
                (100, 20),
                (CYCLE_US / 2, 30),
                (CYCLE_US - 1, 30),
            ] {
                let shown = cycles * CYCLE_US + within;
                assert_eq!(
                    clock.moment(shown),
                    within_years(shown - offset),
                    "{cycles} {within}"
                );
            }
        }
    }

    #[test]
    fn moments_end_with_the_years() {
        let mut clock = Clock::new(Arc::new(Zone::Fixed(3600)));
        assert_eq!(clock.moment(FIRST_US), None);
        assert_eq!(clock.moment(LAST_US), Some(LAST_US - 3_600_000_000));
    }
}
