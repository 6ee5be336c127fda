//! Decimal digits, eight at a time.

/// The number that eight digits make; `None` if one is no digit.
#[inline]
pub(super) fn eight(bytes: &[u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(*bytes);
    let low = word.wrapping_sub(0x3030_3030_3030_3030); // a digit becomes 0 to 9
    let high = word.wrapping_add(0x4646_4646_4646_4646); // what is above 9 reaches the top bit of its byte
    if (low | high) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // pairs, then fours, then all eight: each step adds ten, a hundred, ten thousand times the digits in front
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Add the digits at the front of `bytes` to `value`, which wraps around after 19 of them; answers what follows them.
#[inline]
pub(super) fn take<'a>(mut bytes: &'a [u8], value: &mut u64) -> &'a [u8] {
    while let Some((front, rest)) = bytes.split_first_chunk()
        && let Some(number) = eight(front)
    {
        *value = value.wrapping_mul(100_000_000).wrapping_add(number);
        bytes = rest;
    }
    while let [first, rest @ ..] = bytes
        && first.is_ascii_digit()
    {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(first - b'0'));
        bytes = rest;
    }
    bytes
}

/// The number that all these bytes make, one digit each, at most 19 of them; `None` if one is no digit, or there is none.
#[inline]
pub(super) fn all(bytes: &[u8]) -> Option<u64> {
    match bytes.split_first_chunk() {
        Some((front, rest)) if !rest.is_empty() => {
            let (front, power) = (eight(front)?, POWERS.get(rest.len())?);
            Some(front.wrapping_mul(*power).wrapping_add(all(rest)?))
        }
        _ => eight(&padded(bytes)?),
    }
}

/// The number that up to 16 digits make, which lie among other bytes; `None` if there is none, if one is no digit, or
/// for any other reason.
#[inline(always)] // once a value
pub(super) fn among(bytes: &[u8], start: usize, stop: usize) -> Option<u64> {
    let count = stop.wrapping_sub(start);
    if count <= 8 {
        return eight(&last(bytes, stop, count)?);
    }
    let low = eight(&last(bytes, stop, 8)?)?;
    let high = eight(&last(bytes, stop.wrapping_sub(8), count.wrapping_sub(8))?)?;
    Some(high.wrapping_mul(100_000_000).wrapping_add(low)) // below 10 to the power of 16
}

/// The digits of up to 16 characters, of which one may be a point, as a number, and how many are after the point; `None`
/// if there are none, if something else is there, or for any other reason.
#[inline(always)] // once a value
pub(super) fn with_point(bytes: &[u8], start: usize, stop: usize) -> Option<(u64, u32)> {
    let count = stop.wrapping_sub(start);
    if count <= 8 {
        let word = u64::from_le_bytes(last(bytes, stop, count)?);
        let found = points(word);
        if found == 0 {
            return Some((eight(&word.to_le_bytes())?, 0));
        }
        let at = found.trailing_zeros() & !7; // of the point; what is before it moves up by a byte
        let before = word & !(u64::MAX << at);
        let moved = word & (u64::MAX << at << 8) | before << 8 | 0x30;
        let digits = eight(&moved.to_le_bytes())?;
        return (count > 1).then_some((digits, 7 - at / 8));
    }
    let back = u64::from_le_bytes(last(bytes, stop, 8)?);
    let front = u64::from_le_bytes(last(bytes, stop.wrapping_sub(8), count.wrapping_sub(8))?);
    let word = u128::from(back) << 64 | u128::from(front);
    let found = u128::from(points(back)) << 64 | u128::from(points(front));
    let (moved, places) = match found {
        0 => (word, 0),
        _ => {
            let at = found.trailing_zeros() & !7;
            let before = word & !(u128::MAX << at);
            (
                word & (u128::MAX << at << 8) | before << 8 | 0x30,
                15 - at / 8,
            )
        }
    };
    let [high, low] = [moved as u64, (moved >> 64) as u64].map(|half| eight(&half.to_le_bytes()));
    Some((high?.wrapping_mul(100_000_000).wrapping_add(low?), places))
}

/// The top bit of each byte that is a point.
#[inline(always)] // once a value
fn points(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let others = word ^ 0x2e2e_2e2e_2e2e_2e2e; // 0 where one is
    !((others & LOW).wrapping_add(LOW) | others | LOW)
}

/// The one to eight bytes before `stop`, after as many zeros as are missing.
#[inline(always)] // once a value
pub(super) fn last(bytes: &[u8], stop: usize, count: usize) -> Option<[u8; 8]> {
    let word = u64::from_le_bytes(*bytes.get(..stop)?.last_chunk()?);
    let missing = 8usize.wrapping_sub(count);
    if missing >= 8 {
        return None;
    }
    let there = u64::MAX << (8 * missing);
    Some((word & there | ZEROS & !there).to_le_bytes())
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

const POWERS: [u64; 12] = {
    let mut powers = [1; 12];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = 10 * powers[index - 1];
        index += 1;
    }
    powers
};

/// One to eight bytes after as many zeros as are missing. Reads some of them twice instead of asking how many there are:
/// lengths change from value to value, and a branch that is guessed wrong costs more than all the rest.
#[inline]
fn padded(bytes: &[u8]) -> Option<[u8; 8]> {
    let missing = 8 * u32::try_from(8usize.checked_sub(bytes.len())?).ok()?;
    let zeros = ZEROS & !u64::MAX.checked_shl(missing)?;
    let word = if let (Some(front), Some(back)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u32::from_le_bytes(*back)) << 32
            | u64::from(u32::from_le_bytes(*front)) << missing
    } else {
        let (half, byte) = (bytes.len() / 2, |index: usize| {
            bytes.get(index).copied().map(u64::from)
        });
        let middle = byte(half)? << (missing + 8 * u32::try_from(half).ok()?);
        byte(bytes.len() - 1)? << 56 | middle | byte(0)? << missing
    };
    Some((word | zeros).to_le_bytes())
}

/// Take a number of `least` to `most` digits from the front, as many as there are.
#[inline]
pub(super) fn number(bytes: &mut &[u8], least: usize, most: usize) -> Option<u32> {
    let (mut value, mut count) = (0u32, 0);
    while count < most
        && let [first, rest @ ..] = *bytes
        && first.is_ascii_digit()
    {
        value = value * 10 + u32::from(first - b'0');
        *bytes = rest;
        count += 1;
    }
    (count >= least).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_that_is_no_digit_is_seen() {
        for place in 0..8 {
            for byte in 0..=255 {
                let mut bytes = *b"12345678";
                bytes[place] = byte;
                let expected = std::str::from_utf8(&bytes)
                    .ok()
                    .filter(|_| byte.is_ascii_digit());
                assert_eq!(
                    eight(&bytes),
                    expected.map(|text| text.parse().expect("digits"))
                );
            }
        }
    }

    /// A text wherever it may lie among others, and that it is found there alone.
    fn everywhere<T: PartialEq + std::fmt::Debug>(
        text: &str,
        find: impl Fn(&[u8], usize, usize) -> Option<T>,
    ) -> Option<T> {
        let found = find(
            format!("{0}{text}{0}", "7".repeat(16)).as_bytes(),
            16,
            16 + text.len(),
        );
        for around in ["x", ".", "-", "\u{ff}", "9,"] {
            let before = around.repeat(20);
            let bytes = format!("{before}{text}{before}");
            assert_eq!(
                find(bytes.as_bytes(), before.len(), before.len() + text.len()),
                found,
                "{text}"
            );
        }
        found
    }

    proptest! {
        #[test]
        fn digits_among_others_are_those_of_the_standard_library(text in "[0-9]{1,16}|[0-9]{0,9}[^0-9][0-9]{0,9}|.{0,20}") {
            let is_number = text.len() <= 16 && text.parse::<u64>().is_ok() && !text.starts_with('+');
            let expected = text.parse::<u64>().ok().filter(|_| is_number);
            prop_assert_eq!(everywhere(&text, among), expected);
        }

        #[test]
        fn points_among_digits_are_found(text in "[0-9]{0,9}\\.[0-9]{0,9}|[0-9]{1,17}|[0-9.]{0,17}|.{0,20}") {
            let digits: String = text.chars().filter(|&c| c != '.').collect();
            let is_number = text.len() <= 16 && text.len() - digits.len() <= 1 && !digits.starts_with('+');
            let value = digits.parse::<u64>().ok().filter(|_| is_number);
            let places = text.find('.').map_or(0, |at| text.len() - at - 1) as u32;
            prop_assert_eq!(everywhere(&text, with_point), value.map(|value| (value, places)));
        }

        #[test]
        fn numbers_are_those_of_the_standard_library(text in "[0-9]{1,19}", rest in "([^0-9].{0,3})?") {
            let both = format!("{text}{rest}");
            let mut value = 0;
            prop_assert_eq!(take(both.as_bytes(), &mut value), rest.as_bytes());
            prop_assert_eq!(value, text.parse::<u64>().unwrap());
            prop_assert_eq!(all(both.as_bytes()).is_some(), rest.is_empty());
        }
    }
}
