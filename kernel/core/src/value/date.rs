//! Dates without a pattern.

use super::calendar::day;
use super::digits::{self, number};
use super::without_space;

/// The day since 1970-01-01 of `2024-01-31`, `2024-1`, `2024`, or of such a date with `T` or a space and anything.
#[inline]
pub fn parse(text: &str) -> Option<i32> {
    read(without_space(text).as_bytes())
}

/// The same of `bytes[start..stop]`, if it is written as `2024-01-31`.
#[inline(always)] // once a value
pub fn quick(bytes: &[u8], start: usize, stop: usize) -> Option<i32> {
    if stop.wrapping_sub(start) != LENGTH {
        return None;
    }
    let front = u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?); // 2024-01-
    let back = u64::from_le_bytes(*bytes.get(..stop)?.last_chunk()?); // 24-01-31
    if front >> 32 & 0xff != HYPHEN || front >> 56 != HYPHEN {
        return None;
    }
    let digits = front & 0xffff_ffff | (front >> 40 & 0xffff) << 32 | back >> 48 << 48;
    let number = digits::eight(&digits.to_le_bytes())? as u32; // eight digits
    day(number / 10_000, number / 100 % 100, number % 100)
}

/// Characters of a date with all its digits.
pub(super) const LENGTH: usize = 10;
const HYPHEN: u64 = b'-' as u64;

fn read(mut text: &[u8]) -> Option<i32> {
    let (year, month, within) = year_month_day(&mut text)?;
    let is_whole = match (within, text) {
        (_, []) => true,
        (Some(_), [b' ' | b'T', rest @ ..]) => !rest.contains(&b'\n'),
        _ => false,
    };
    if is_whole {
        day(year, month.unwrap_or(1), within.unwrap_or(1))
    } else {
        None
    }
}

/// Take four digits of a year, and month and day as far as they are there.
#[inline]
pub(super) fn year_month_day(text: &mut &[u8]) -> Option<(u32, Option<u32>, Option<u32>)> {
    let year = number(text, 4, 4)?;
    let month = part(text)?;
    let within = if month.is_some() { part(text)? } else { None };
    Some((year, month, within))
}

/// A hyphen and one or two digits; `None` inside if there is no hyphen, `None` if there are no digits.
#[inline]
fn part(text: &mut &[u8]) -> Option<Option<u32>> {
    let [b'-', rest @ ..] = *text else {
        return Some(None);
    };
    *text = rest;
    number(text, 1, 2).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quick_dates_are_dates(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]|[0-9]{4}.[0-9]{2}.[0-9]{2}|[-0-9 T]{9,11}") {
            let bytes = format!("77777777{text}77777777");
            if let Some(found) = quick(bytes.as_bytes(), 8, 8 + text.len()) {
                prop_assert_eq!(parse(&text), Some(found));
            } else {
                let is_long = text.len() == LENGTH && [4, 7].iter().all(|&at| text.as_bytes()[at] == b'-');
                prop_assert!(!is_long || parse(&text).is_none());
            }
        }
    }

    #[test]
    fn dates_may_be_short_and_have_a_time() {
        for text in [
            "1970-01-03",
            " 1970-1-3\u{a0}",
            "1970-01-03T",
            "1970-1-03 no time at all",
            "\x1c1970-01-03",
        ] {
            assert_eq!(parse(text), Some(2), "{text:?}");
        }
        assert_eq!(parse("1970"), Some(0));
        assert_eq!(parse("1970-2"), Some(31));
        for text in [
            "",
            "abc",
            "197",
            "19700103",
            "1970-",
            "1970-01-",
            "1970-01-32",
            "1970-01-03x",
            "1970-01-03 a\nb",
            "1970-01 1",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
