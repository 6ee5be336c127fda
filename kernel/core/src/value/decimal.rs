//! Decimal fractions of fixed precision.

use super::{digits, without_blanks};
use crate::rules::NumberSymbols;

const MOST_CHARS: usize = 400; // of a number, commas apart
const MOST_DIGITS: i64 = 38; // of any type
const SHORT: usize = 18; // digits that always fit into 64 bits
const SHORT_POWERS: [u64; SHORT + 1] = {
    let mut powers = [1; SHORT + 1];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = 10 * powers[index - 1];
        index += 1;
    }
    powers
};
const LEAST_EXPONENT: i64 = -1_999_999_999_999_999_997; // of Python's decimals: below it there are none
const MOST_EXPONENT: i64 = 999_999_999_999_999_999; // the same, above

/// The value times 10 to the power of `scale`, rounded half up. With blanks around it, any sign, an exponent, and commas
/// between groups of three digits; `None` if it has more than `precision` digits.
pub fn parse(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let text = without_blanks(text).as_bytes();
    match text {
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => short(text, scale).map_or_else(
            || read(text, precision, scale),
            |value| fitting(value, precision),
        ),
        _ => None,
    }
}

/// A number as it is written in English; `None` for a text with symbols that the locale does not have.
pub fn in_english(text: &str, symbols: &NumberSymbols) -> Option<String> {
    let text = without_blanks(text);
    let (sign, rest) = match text.strip_prefix(symbols.minus.as_str()) {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let mut plain = String::from(sign);
    for symbol in rest.chars() {
        let digit = u32::from(symbol).wrapping_sub(u32::from(symbols.zero));
        plain.push(match symbol {
            _ if symbol == symbols.decimal => '.',
            _ if symbol == symbols.grouping => ',',
            '.' | ',' => return None,
            _ => char::from_digit(digit, 10).unwrap_or(symbol),
        });
    }
    if symbols.pairs && is_in_pairs(&plain) {
        plain.retain(|symbol| symbol != ',');
    }
    Some(plain)
}

/// Whether commas stand between groups of two digits, and before the last one, of three.
fn is_in_pairs(text: &str) -> bool {
    let (_, digits) = signed(text.as_bytes());
    let mut parts = digits.splitn(2, |&byte| byte == b'.');
    let groups: Vec<&[u8]> = parts
        .next()
        .unwrap_or_default()
        .split(|&byte| byte == b',')
        .collect();
    let are_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    let is_fraction = parts.next().is_none_or(are_digits);
    match groups.as_slice() {
        [first, pairs @ .., last] if !pairs.is_empty() => {
            (1..=2).contains(&first.len())
                && pairs.iter().all(|pair| pair.len() == 2)
                && last.len() == 3
                && groups.iter().all(|group| are_digits(group))
                && is_fraction
        }
        _ => false,
    }
}

/// Whether a text is written otherwise than whole numbers, or fractions of at most `scale` digits, are.
pub fn is_written_otherwise(text: &[u8], scale: i8) -> bool {
    let places = text.iter().rev().position(|&byte| byte == b'.');
    text.iter().any(|byte| matches!(byte, b'e' | b'E' | b','))
        || places.is_some_and(|places| scale <= 0 || places > usize::from(scale.unsigned_abs()))
}

/// The same as [`parse`] of `bytes[start..stop]`, if it is at most 16 characters: digits, a minus, a point.
#[inline(always)] // once a value
pub fn quick(bytes: &[u8], start: usize, stop: usize, precision: u8, scale: i8) -> Option<i128> {
    let is_negative = *bytes.get(start)? == b'-';
    let (digits, places) =
        digits::with_point(bytes, start.wrapping_add(usize::from(is_negative)), stop)?;
    let missing = usize::try_from(i64::from(scale) - i64::from(places)).ok()?;
    let value = i128::from(digits) * i128::from(*SHORT_POWERS.get(missing)?);
    fitting(if is_negative { -value } else { value }, precision)
}

/// The value of up to 18 digits with a point among them, times 10 to the power of `scale`; `None` if it is something
/// else, or has more decimals than that.
#[inline]
fn short(text: &[u8], scale: i8) -> Option<i128> {
    let (is_negative, rest) = signed(text);
    let (mut value, mut decimals) = (0, 0);
    let mut after = digits::take(rest, &mut value);
    let mut count = rest.len() - after.len();
    if let [b'.', fraction @ ..] = after {
        after = digits::take(fraction, &mut value);
        decimals = fraction.len() - after.len();
        count += decimals;
    }
    if !after.is_empty() || !(1..=SHORT).contains(&count) {
        return None;
    }
    let missing = usize::try_from(scale).ok()?.checked_sub(decimals)?;
    let value = i128::from(value) * i128::from(*SHORT_POWERS.get(missing)?);
    Some(if is_negative { -value } else { value })
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

#[inline]
fn fitting(value: i128, precision: u8) -> Option<i128> {
    let limit = 10u128.checked_pow(u32::from(precision))?;
    (value.unsigned_abs() < limit).then_some(value)
}

fn read(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let (is_negative, exponent, parts) = parted(text)?;
    let least = exponent.checked_sub(i64::try_from(parts.fraction).ok()?)?;
    if !(LEAST_EXPONENT..=MOST_EXPONENT).contains(&least) {
        return None;
    }
    let value = parts.rounded(least + i64::from(scale))?;
    fitting(if is_negative { -value } else { value }, precision)
}

/// Whether a number is negative, its exponent, and its digits.
fn parted(text: &[u8]) -> Option<(bool, i64, Parts<'_>)> {
    let has_commas = text.contains(&b',');
    let commas = text.iter().filter(|&&byte| byte == b',').count();
    if text.len() - commas > MOST_CHARS || (has_commas && !is_grouped(text)) {
        return None;
    }
    let (is_negative, rest) = signed(text);
    let stop = rest.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match stop {
        Some(stop) => (rest.get(..stop)?, read_exponent(rest.get(stop + 1..)?)?),
        None => (rest, 0),
    };
    Some((is_negative, exponent, Parts::of(mantissa)?))
}

/// The number that a text is with all its digits: the value without its point, how many digits that has, and how many of
/// them are decimals. As [`parse`], but without blanks; `None` for more digits than any type has.
pub fn exact(text: &str) -> Option<(i128, usize, usize)> {
    let text = text.as_bytes();
    let (is_negative, exponent, parts) = parted(text)?;
    let scale = i64::try_from(parts.fraction).ok()?.checked_sub(exponent)?;
    if !(-MOST_DIGITS..=MOST_DIGITS).contains(&scale) {
        return None;
    }
    let zeros = (-scale).max(0);
    let digits = match parts.digits {
        0 => 1,
        digits => digits + zeros,
    };
    if digits > MOST_DIGITS {
        return None;
    }
    let value = parts.rounded(zeros)?;
    let value = if is_negative { -value } else { value };
    Some((value, digits as usize, scale.max(0) as usize)) // both are from 0 to 38
}

/// Whether commas stand between groups of three digits; in an exponent they may stand anywhere.
fn is_grouped(text: &[u8]) -> bool {
    let digits = text
        .strip_prefix(b"+")
        .or_else(|| text.strip_prefix(b"-"))
        .unwrap_or(text);
    let stop = digits
        .iter()
        .position(|byte| matches!(byte, b'.' | b'e' | b'E'))
        .unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(stop);
    let mut groups = whole.split(|&byte| byte == b',');
    let has_first = groups
        .next()
        .is_some_and(|first| (1..=3).contains(&first.len()));
    let before_exponent = rest.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    whole.contains(&b',')
        && has_first
        && groups.all(|group| group.len() == 3)
        && !before_exponent.clone().any(|&byte| byte == b',')
}

/// A sign and digits; too many of them become the largest exponent that there is.
fn read_exponent(text: &[u8]) -> Option<i64> {
    let text = text.get(text.iter().take_while(|&&byte| byte == b',').count()..)?;
    let (is_negative, digits) = signed(text);
    let (mut value, mut count) = (0i64, 0usize);
    for &byte in digits.iter().filter(|&&byte| byte != b',') {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(i64::from(byte - b'0'));
        count += 1;
    }
    (count > 0).then_some(if is_negative { -value } else { value })
}

/// Digits of a number, the leading zeros left out.
struct Parts<'a> {
    mantissa: &'a [u8],
    digits: i64,
    fraction: usize,
}

impl<'a> Parts<'a> {
    /// Digits with a point among them, and commas, which count for nothing.
    fn of(mantissa: &'a [u8]) -> Option<Parts<'a>> {
        let mut found = Parts {
            mantissa,
            digits: 0,
            fraction: 0,
        };
        let (mut any, mut point) = (false, false);
        for &byte in mantissa {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    found.digits += i64::from(found.digits > 0 || byte != b'0');
                    found.fraction += usize::from(point);
                }
                b'.' if !point => point = true,
                b',' => {}
                _ => return None,
            }
        }
        any.then_some(found)
    }

    /// The digits as a number, times 10 to the power of `shift`, rounded half up; `None` if that has too many digits.
    fn rounded(&self, shift: i64) -> Option<i128> {
        let kept = self.digits.checked_add(shift)?; // digits that the value has
        if self.digits == 0 || kept < 0 {
            return Some(0);
        }
        if kept > MOST_DIGITS {
            return None;
        }
        let digits = self
            .mantissa
            .iter()
            .filter(|byte| byte.is_ascii_digit())
            .skip_while(|&&byte| byte == b'0');
        let mut digits = digits.map(|byte| i128::from(byte - b'0'));
        let mut value = 0;
        for _ in 0..kept {
            value = value * 10 + digits.next().unwrap_or(0);
        }
        Some(value + i128::from(digits.next().is_some_and(|digit| digit >= 5)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cents(text: &str) -> Option<i128> {
        parse(text, 10, 2)
    }

    #[test]
    fn values_are_rounded_half_up() {
        for (text, expected) in [
            ("1", 100),
            (" 1.5\t", 150),
            ("0.005", 1),
            ("0.0049999", 0),
            ("-0.005", -1),
            ("1e-3", 0),
            ("5e-3", 1),
            ("12.345", 1235),
            ("1E2", 10_000),
            (".5", 50),
            ("5.", 500),
            ("+000000000000000000001.00", 100),
            ("99999999.994", 9_999_999_999),
            ("0e999999999", 0),
            ("1e-999999999", 0),
        ] {
            assert_eq!(cents(text), Some(expected), "{text}");
        }
        for text in [
            "99999999.995",
            "100000000",
            "1e8",
            "1e999999999999999999999",
            "0e1000000000000000000",
            "1e-1999999999999999998",
        ] {
            assert_eq!(cents(text), None, "{text}");
        }
        assert_eq!(parse(&"9".repeat(38), 38, 0), Some(10i128.pow(38) - 1));
        assert_eq!(parse(&format!("{}.5", "9".repeat(38)), 38, 0), None);
        assert_eq!(cents(&format!("1.{}", "0".repeat(398))), Some(100));
        assert_eq!(cents(&format!("1.{}", "0".repeat(399))), None);
    }

    #[test]
    fn commas_stand_between_groups() {
        for (text, expected) in [
            ("1,234.5", 123_450),
            ("-1,234", -123_400),
            ("1,234e0,1", 1_234_000),
            ("1,234.", 123_400),
            ("1,234e,1", 1_234_000),
        ] {
            assert_eq!(cents(text), Some(expected), "{text}");
        }
        for text in [
            "1,5",
            "1234,567",
            "1,234.5,6",
            ",123",
            "1,,234",
            "1,234,",
            "1e1,0",
            "1.5f",
            "",
            ".",
            "e5",
            "1e",
            "1e+",
            "n/a",
            "abc",
            "Infinity",
        ] {
            assert_eq!(cents(text), None, "{text}");
        }
    }
}
