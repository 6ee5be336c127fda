//! Times of day without a pattern.

use super::calendar::moment;
use super::digits::{self, number};
use super::without_controls;

/// Microseconds since midnight of `10:20`, `1:2:3`, `10:20:30.5`, or of these and an hour alone after a `T`; all of them
/// perhaps with AM or PM in any case.
#[inline]
pub fn parse(text: &str) -> Option<i64> {
    read(text.as_bytes())
}

/// The same of `bytes[start..stop]`, if it is written as `10:20:30`, perhaps with up to six digits of a fraction.
#[inline(always)] // once a value
pub fn quick(bytes: &[u8], start: usize, stop: usize) -> Option<i64> {
    let length = stop.wrapping_sub(start);
    let time_stop = start.wrapping_add(LENGTH);
    if length < LENGTH {
        return None;
    }
    let time = u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?); // 10:20:30
    if time >> 16 & 0xff != COLON || time >> 40 & 0xff != COLON {
        return None;
    }
    let digits = 0x3030 | (time & 0xffff) << 16 | (time >> 24 & 0xffff) << 32 | time >> 48 << 48;
    let number = digits::eight(&digits.to_le_bytes())? as u32; // six digits
    let micros = match length {
        LENGTH => 0,
        _ if bytes.get(time_stop) == Some(&b'.') => {
            let places = length.wrapping_sub(LENGTH + 1);
            let digits = digits::among(bytes, time_stop.wrapping_add(1), stop)?;
            u32::try_from(digits).ok()? * 10u32.pow(6u32.checked_sub(places as u32)?)
        }
        _ => return None,
    };
    moment(0, number / 10_000, number / 100 % 100, number % 100, micros)
}

/// Characters of a time to the second with all its digits.
pub(super) const LENGTH: usize = 8;
const COLON: u64 = b':' as u64;
const NOON: u32 = 12;

fn read(text: &[u8]) -> Option<i64> {
    let (text, afternoon) = half(text);
    let mut rest = without_controls(text);
    let has_letter = text.first() == Some(&b'T'); // as in Spark no blank may stand before it
    if has_letter {
        rest = rest.get(1..)?;
    }
    let (mut parts, mut count) = ([0; 3], 0);
    for part in &mut parts {
        if count > 0 {
            let Some(after) = rest.strip_prefix(b":") else {
                break;
            };
            rest = after;
        }
        *part = number(&mut rest, 1, 2)?;
        count += 1;
    }
    if count == 1 && !has_letter {
        return None;
    }
    let mut micros = 0;
    if let (3, [b'.', after @ ..]) = (count, rest) {
        rest = after;
        micros = fraction(&mut rest);
    }
    let [hour, minute, second] = parts;
    let hour = match afternoon {
        None => hour,
        Some(_) if !(1..=NOON).contains(&hour) => return None,
        Some(added) => hour % NOON + added,
    };
    match rest {
        [] => moment(0, hour, minute, second, micros),
        _ => None,
    }
}

/// What is before AM or PM, and the hours that it adds, if it is there. Spaces may follow it, and nothing else.
fn half(text: &[u8]) -> (&[u8], Option<u32>) {
    let mut end = text;
    while let [before @ .., b' '] = end {
        end = before;
    }
    match end {
        [before @ .., b'a' | b'A', b'm' | b'M'] => (before, Some(0)),
        [before @ .., b'p' | b'P', b'm' | b'M'] => (before, Some(NOON)),
        _ => (text, None),
    }
}

/// Digits of a fraction of a second, of which six count.
fn fraction(rest: &mut &[u8]) -> u32 {
    let (mut value, mut unit) = (0, 100_000);
    while let [digit @ b'0'..=b'9', after @ ..] = *rest {
        value += u32::from(digit - b'0') * unit;
        unit /= 10;
        *rest = after;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quick_times_are_times(text in "[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,8})?|[0-9:. T]{7,12}") {
            let bytes = format!("77777777{text}77777777");
            if let Some(found) = quick(bytes.as_bytes(), 8, 8 + text.len()) {
                prop_assert_eq!(parse(&text), Some(found));
            } else {
                let is_plain = text.len() == LENGTH && [2, 5].iter().all(|&at| text.as_bytes()[at] == b':');
                prop_assert!(!is_plain || parse(&text).is_none());
            }
        }
    }

    #[test]
    fn times_may_be_short_and_count_half_days() {
        let second = 1_000_000;
        for (text, seconds) in [
            ("1:2:3", 3723),
            ("10:20", 37_200),
            (" \t01:02:03\x1f\0", 3723),
            ("T10", 36_000),
            ("T1:2 ", 3720),
            ("1:2:3.", 3723),
            ("12:00 AM", 0),
            ("12:00 pM  ", 43_200),
            ("1:2:3.pm", 46_923),
            ("T1PM", 46_800),
        ] {
            assert_eq!(parse(text), Some(seconds * second), "{text:?}");
        }
        assert_eq!(parse("0:0:0.1234569999999999999999"), Some(123_456));
        assert_eq!(parse("23:59:59.999999"), Some(86_399_999_999));
        for text in [
            "",
            "T",
            "AM",
            "10",
            "10 AM",
            "24:00",
            "1:60",
            "1:2:60",
            "0:00 AM",
            "13:00 PM",
            " T10",
            "t10",
            "1:2:3Z",
            "1:2:3+01:00",
            "001:2",
            "1:2:",
            ":1",
            "1:2.5",
            "1:2:3:4",
            "-1:2",
            "1:2\u{a0}",
            "1:2 AM\t",
            "1 :2",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
