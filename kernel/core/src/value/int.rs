//! Whole numbers.

use super::{digits, without_blanks};

const MOST_CHARS: usize = 40; // of a number, its sign included
const SHORT: usize = 18; // digits that always fit into 64 bits

/// A whole number with blanks around it and any sign, as CSV has it.
#[inline]
pub fn parse<T: TryFrom<i64>>(text: &str) -> Option<T> {
    let bytes = without_blanks(text).as_bytes();
    match bytes {
        [b'-', digits @ ..] => fitting(digits, bytes.len(), true),
        [b'+', digits @ ..] => fitting(digits, bytes.len(), false),
        digits => fitting(digits, bytes.len(), false),
    }
}

/// The same of `bytes[start..stop]`, if it has few digits, no blanks and no plus.
#[inline(always)] // once a value
pub fn quick<T: TryFrom<i64>>(bytes: &[u8], start: usize, stop: usize) -> Option<T> {
    let is_negative = *bytes.get(start)? == b'-';
    let digits = digits::among(bytes, start.wrapping_add(usize::from(is_negative)), stop)?;
    let value = digits as i64; // below 10 to the power of 16
    T::try_from(if is_negative { -value } else { value }).ok()
}

/// A whole number as JSON has it: nothing around it, no plus. Leading zeros are for the caller to refuse.
#[inline]
pub fn parse_json<T: TryFrom<i64>>(text: &str) -> Option<T> {
    match text.as_bytes() {
        [b'-', digits @ ..] => fitting(digits, text.len(), true),
        digits => fitting(digits, text.len(), false),
    }
}

#[inline]
fn fitting<T: TryFrom<i64>>(digits: &[u8], chars: usize, is_negative: bool) -> Option<T> {
    let value = if digits.len() <= SHORT {
        short(digits, is_negative)
    } else {
        long(digits, chars, is_negative)
    };
    value.and_then(|value| T::try_from(value).ok())
}

/// At least one digit, and so few that nothing overflows.
#[inline]
fn short(digits: &[u8], is_negative: bool) -> Option<i64> {
    let value = i64::try_from(digits::all(digits)?).ok()?;
    Some(if is_negative { -value } else { value })
}

/// Many digits: leading zeros, or close to the limits.
#[cold]
fn long(digits: &[u8], chars: usize, is_negative: bool) -> Option<i64> {
    if chars > MOST_CHARS {
        return None;
    }
    let mut value: i64 = 0; // negative all the way: the least number has no positive twin
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if is_negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_exact() {
        assert_eq!(parse::<i8>("-128"), Some(-128));
        assert_eq!(parse::<i8>("128"), None);
        assert_eq!(parse("9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse::<i64>("9223372036854775808"), None);
        assert_eq!(parse::<i64>(&format!("{}1", "0".repeat(39))), Some(1));
        assert_eq!(parse::<i64>(&format!("{}1", "0".repeat(40))), None);
    }

    #[test]
    fn signs_and_blanks_are_for_csv_alone() {
        assert_eq!(parse::<i32>("\t +7 "), Some(7));
        assert_eq!(parse_json::<i32>("+7"), None);
        for text in ["", "+", "-", "1 2", "1.0", "n/a", "\u{a0}1", "1_000", "--1"] {
            assert_eq!(parse::<i32>(text), None, "{text:?}");
        }
    }
}
