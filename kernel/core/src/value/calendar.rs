//! Days and moments of the calendar that all engines share: Gregorian, years 1 to 9999.

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY_US: i64 = 86_400 * SECOND_US;
/// 0001-01-01 in UTC: the first moment that every engine can show.
pub const FIRST_US: i64 = -62_135_596_800_000_000;
/// The last microsecond of 9999.
pub const LAST_US: i64 = 253_402_300_799_999_999;
/// Days of 400 years, after which the calendar and the days of the week repeat.
pub const CYCLE_DAYS: i64 = 146_097;

const DAYS_BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
const YEAR_1: i64 = -719_162; // its first day

/// Whether February has 29 days.
pub fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// The day since 1970-01-01; `None` if there is no such day in the years 1 to 9999.
#[inline]
pub fn day(year: u32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let index = month as usize;
    let is_long = is_leap(year);
    let (before, after) = (DAYS_BEFORE.get(index - 1)?, DAYS_BEFORE.get(index)?);
    if i64::from(day) > after - before + i64::from(is_long && month == 2) {
        return None;
    }
    let past = i64::from(year) - 1;
    let days =
        past * 365 + past / 4 - past / 100 + past / 400 + before + i64::from(is_long && month > 2);
    i32::try_from(YEAR_1 + days + i64::from(day) - 1).ok()
}

/// Month and day of the day with that number in a year, from 1 on; `None` if the year has not so many.
pub fn month_and_day(year: u32, number: u64) -> Option<(u32, u32)> {
    let first = i64::from(day(year, 1, 1)?);
    let wanted = first.checked_add(i64::try_from(number).ok()?.checked_sub(1)?)?;
    (1..=12).rev().find_map(|month| {
        let start = i64::from(day(year, month, 1)?);
        let within = u32::try_from(wanted - start).ok()? + 1;
        day(year, month, within).map(|_| (month, within))
    })
}

/// Day of the week from Monday, which is 0.
pub fn weekday(day: i32) -> u64 {
    (i64::from(day) + 3).rem_euclid(7).unsigned_abs()
}

/// Microseconds since 1970 of a time of day; `None` if there is no such time.
#[inline]
pub fn moment(day: i32, hour: u32, minute: u32, second: u32, micros: u32) -> Option<i64> {
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Some(i64::from(day) * DAY_US + seconds * SECOND_US + i64::from(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_name() {
        let mut expected = day(1, 1, 1).expect("the first day");
        assert_eq!(i64::from(expected) * DAY_US, FIRST_US);
        for year in 1..=9999 {
            let mut number = 0;
            for month in 1..=12 {
                for within in 1..=31 {
                    let Some(found) = day(year, month, within) else {
                        continue;
                    };
                    number += 1;
                    assert_eq!(found, expected);
                    if year % 97 == 4 {
                        assert_eq!(month_and_day(year, number), Some((month, within)));
                    }
                    expected += 1;
                }
            }
            assert_eq!(number, 365 + u64::from(is_leap(year)));
            assert_eq!(month_and_day(year, number + 1), None);
        }
        assert_eq!(i64::from(expected) * DAY_US, LAST_US + 1);
        assert_eq!(day(2024, 2, 29), Some(19_782));
        assert_eq!(weekday(0), 3);
    }

    #[test]
    fn there_are_no_other_days() {
        for (year, month, within) in [
            (0, 1, 1),
            (10_000, 1, 1),
            (2023, 2, 29),
            (1900, 2, 29),
            (1, 13, 1),
            (1, 0, 1),
            (1, 1, 0),
        ] {
            assert_eq!(day(year, month, within), None);
        }
        assert_eq!(month_and_day(2023, 0), None);
        assert_eq!(month_and_day(2023, u64::MAX), None);
    }
}
