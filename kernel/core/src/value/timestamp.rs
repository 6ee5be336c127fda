//! Moments without a pattern.

use super::calendar::{DAY_US, SECOND_US, day, moment};
use super::clock::{Clock, within_years};
use super::date::{self, year_month_day};
use super::digits::number;
use super::time;
use super::zone::{self, ZoneText};
use super::{is_space, without_space};

/// A time as it is written.
struct Written<'a> {
    shown_us: i64,
    zone: &'a [u8],
}

/// Microseconds since 1970 of a date with or without a time, such as `2024-01-31T10:30:00.5+01:00`.
///
/// A time that names no zone is read from `clock`. Where there is no clock, the column has no zones: a time that names one
/// is none of its values.
#[inline]
pub fn parse(text: &str, clock: Option<&mut Clock>) -> Option<i64> {
    match (read(without_space(text)), clock) {
        (None, _) => None,
        (
            Some(Written {
                shown_us,
                zone: b"",
            }),
            Some(clock),
        ) => clock.moment(shown_us),
        (
            Some(Written {
                shown_us,
                zone: b"",
            }),
            None,
        ) => within_years(shown_us),
        (Some(_), None) => None,
        (Some(Written { shown_us, zone }), Some(clock)) => match zone::read(zone) {
            ZoneText::Offset(seconds) => within_years(shown_us - seconds * SECOND_US),
            ZoneText::Region => clock.moment_in(std::str::from_utf8(zone).ok()?, shown_us),
            ZoneText::Bad => None,
        },
    }
}

/// Seconds since 1970, as JSON may have them in a number.
pub fn parse_seconds(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds: Option<i64> = if text.len() <= LONGEST_SECONDS {
        text.parse().ok()
    } else {
        None
    };
    seconds
        .and_then(|seconds| seconds.checked_mul(SECOND_US))
        .and_then(within_years)
}

/// What the clock shows at `bytes[start..stop]`, if it is written as `2024-01-31T10:30:00`, perhaps with up to six
/// digits of a fraction.
#[inline(always)] // once a value
pub fn quick(bytes: &[u8], start: usize, stop: usize) -> Option<i64> {
    let length = stop.wrapping_sub(start);
    let date_stop = start.wrapping_add(date::LENGTH);
    if length < LENGTH || !matches!(bytes.get(date_stop), Some(b' ' | b'T')) {
        return None;
    }
    let days = date::quick(bytes, start, date_stop)?;
    let within = time::quick(bytes, date_stop.wrapping_add(1), stop)?;
    Some(i64::from(days) * DAY_US + within)
}

const LENGTH: usize = date::LENGTH + 1 + time::LENGTH; // to the second
const LONGEST_SECONDS: usize = 40; // characters

fn read(text: &str) -> Option<Written<'_>> {
    let mut rest = text.as_bytes();
    let (year, month, within) = year_month_day(&mut rest)?;
    let days = day(year, month.unwrap_or(1), within.unwrap_or(1));
    match (within, rest) {
        (_, []) => {
            return Some(Written {
                shown_us: moment(days?, 0, 0, 0, 0)?,
                zone: b"",
            });
        }
        (Some(_), [b' ' | b'T', after @ ..]) => rest = after,
        _ => return None,
    }
    let hour = number(&mut rest, 1, 2)?;
    if rest.is_empty() {
        return Some(Written {
            shown_us: moment(days?, hour, 0, 0, 0)?,
            zone: b"",
        });
    }
    let minute = part(&mut rest)?;
    let (mut second, mut micros) = (0, 0);
    if rest.first() == Some(&b':') {
        second = part(&mut rest)?;
        if let [b'.', after @ ..] = rest {
            rest = after;
            micros = fraction(&mut rest);
        }
    }
    let zone = zone(text.get(text.len() - rest.len()..)?)?;
    Some(Written {
        shown_us: moment(days?, hour, minute, second, micros)?,
        zone,
    })
}

/// A colon and one or two digits.
#[inline]
fn part(rest: &mut &[u8]) -> Option<u32> {
    *rest = rest.strip_prefix(b":")?;
    number(rest, 1, 2)
}

/// Up to nine digits of a fraction of a second, of which six count.
#[inline]
fn fraction(rest: &mut &[u8]) -> u32 {
    let before = rest.len();
    let value = number(rest, 0, 9).unwrap_or(0);
    let digits = before - rest.len();
    let scale = |places: usize| 10u32.pow(places as u32);
    if digits <= 6 {
        value * scale(6 - digits)
    } else {
        value / scale(digits - 6)
    }
}

/// What follows a time, as the name of a zone: nothing, or one of the forms that are read without a pattern, which begins
/// after one white space or none.
fn zone(text: &str) -> Option<&[u8]> {
    let name = text.strip_prefix(is_space).unwrap_or(text).as_bytes();
    match name {
        b"" | b"Z" | b"UTC" | b"GMT" => return Some(name),
        _ => {}
    }
    let offset = name
        .strip_prefix(b"UTC")
        .or_else(|| name.strip_prefix(b"GMT"))
        .unwrap_or(name);
    let is_offset = matches!(offset, [b'+' | b'-', ..]);
    (is_offset || is_region(name)).then_some(name)
}

/// Letters, and at least one more part after a slash.
fn is_region(name: &[u8]) -> bool {
    let mut parts = name.split(|&byte| byte == b'/');
    let is_part = |part: &[u8]| {
        !part.is_empty()
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(byte))
    };
    let first = parts.next().unwrap_or_default();
    let starts = !first.is_empty() && first.iter().all(u8::is_ascii_alphabetic);
    starts && name.contains(&b'/') && parts.all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quick_times_are_times(
            text in "[12][0-9]{3}-[01][0-9]-[0-3][0-9][ Tx-][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,8})?|[-0-9:.T ]{18,22}",
        ) {
            let bytes = format!("77777777{text}77777777");
            match (quick(bytes.as_bytes(), 8, 8 + text.len()), parse(&text, None)) {
                (Some(found), expected) => prop_assert_eq!(Some(found), expected),
                (None, Some(_)) => prop_assert!(!(19..26).contains(&text.len()) || text.ends_with('.') || text.as_bytes()[18] == b'.'),
                (None, _) => {}
            }
        }
    }

    fn with_zone(text: &str) -> Option<i64> {
        parse(text, Some(&mut Clock::utc()))
    }

    #[test]
    fn times_may_lack_their_end() {
        for text in [
            "1970-01-01T01:00:00",
            "1970-1-1 1",
            "1970-1-1 1:0",
            " 1970-01-01T1:0:0. \n",
            "1970-01-01 02:00:00+1",
            "1970-01-01 02:00 +01:00",
            "1970-01-01 01:00Z",
            "1970-01-01 00:30\u{2003}UTC-0030",
        ] {
            assert_eq!(with_zone(text), Some(3_600_000_000), "{text:?}");
        }
        assert_eq!(with_zone("1970-01-01 00:00:00.1234567"), Some(123_456));
    }

    #[test]
    fn what_is_none_is_decided() {
        for text in [
            "",
            "abc",
            "n/a",
            "1970-01-01T",
            "1970-01-01 24:00",
            "1970-01-01 1Z",
            "1970-01-01 1:0  Z",
            "1970-01-01 1:0 z",
            "1970-01-01 1:0:0.1234567890",
            "1970-02-30 1:0 Europe/Berlin",
            "1970-01-01 1:0 n/",
            "1970-01-01 1:0 n/a",
            "1970-01-01 1:0 UTC+1/x",
            "1970-01-01 1:0 europe/Berlin",
            "1970-01-01 1:0 +19",
            "0001-01-01 00:00 +01:00",
        ] {
            assert_eq!(with_zone(text), None, "{text:?}");
        }
        assert_eq!(with_zone("1970-01-01 1:0 Europe/Berlin"), Some(0));
    }

    #[test]
    fn columns_without_zones_refuse_zones() {
        assert_eq!(parse("1970-01-01 00:00", None), Some(0));
        assert_eq!(parse("1970-01-01 00:00Z", None), None);
        assert_eq!(parse("1970-01-01 00:00 Europe/Berlin", None), None);
    }

    #[test]
    fn seconds_are_whole() {
        assert_eq!(parse_seconds("-1"), Some(-1_000_000));
        for text in [
            "1.0",
            "1e3",
            "-",
            "+1",
            "99999999999999999999999999999999999999999",
            "253402300800",
        ] {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
    }
}
