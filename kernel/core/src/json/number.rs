//! Numbers: how far the grammar lets them go, and their digits, in one look.

/// A number as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    /// After its last byte.
    pub stop: usize,
    /// Its digits, if there are at most [`MOST_DIGITS`].
    pub digits: u64,
    /// How many of them are after the point.
    pub places: usize,
    /// Whether `digits` and `places` are all of it, apart from a minus.
    pub is_plain: bool,
}

/// Digits that fit into 64 bits.
const MOST_DIGITS: usize = 19;

/// The number at `at`: as much as the grammar allows. It stops where it starts if there is none.
#[inline(always)] // returned in memory, it would be read again before it is there
pub(crate) fn number(text: &[u8], at: usize, allow_leading_zeros: bool) -> Number {
    let first = if text.get(at) == Some(&b'-') {
        at + 1
    } else {
        at
    };
    let mut digits = 0;
    let mut stop = take(text, first, &mut digits);
    if stop == first {
        return Number {
            stop: at,
            ..Number::default()
        };
    }
    if !allow_leading_zeros && text.get(first) == Some(&b'0') {
        (stop, digits) = (first + 1, 0);
    }
    let (mut count, mut places) = (stop - first, 0);
    if text.get(stop) == Some(&b'.') {
        let after = take(text, stop + 1, &mut digits);
        places = after - (stop + 1);
        if places > 0 {
            (stop, count) = (after, count + places);
        }
    }
    let mut is_plain = count <= MOST_DIGITS;
    if matches!(text.get(stop), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(stop + 1), Some(b'+' | b'-')));
        let after = take(text, stop + 1 + sign, &mut 0);
        if after > stop + 1 + sign {
            (stop, is_plain) = (after, false);
        }
    }
    Number {
        stop,
        digits,
        places,
        is_plain,
    }
}

/// Add the digits at `at` to `value`, which wraps around after 19 of them; answers where they end.
#[inline(always)] // numbers are short
fn take(text: &[u8], mut at: usize, value: &mut u64) -> usize {
    const POWERS: [u64; 9] = [
        1,
        10,
        100,
        1_000,
        10_000,
        100_000,
        1_000_000,
        10_000_000,
        100_000_000,
    ];
    while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let low = word.wrapping_sub(0x3030_3030_3030_3030); // a digit becomes 0 to 9
        let high = word.wrapping_add(0x4646_4646_4646_4646); // what is above 9 reaches the top bit of its byte
        let others = (low | high) & 0x8080_8080_8080_8080; // the first one is right: what it may spoil comes later
        let count = (others.trailing_zeros() / 8) as usize;
        let Some(missing) = 64u32.checked_sub(others.trailing_zeros() & !7) else {
            return at; // 64 at most
        };
        let digits = low.checked_shl(missing).unwrap_or(0);
        let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
        let number = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
        let power = POWERS.get(count).copied().unwrap_or(1);
        *value = value.wrapping_mul(power).wrapping_add(number);
        at = at.wrapping_add(count); // no further than the text
        if others != 0 {
            return at;
        }
    }
    while let Some(&byte) = text.get(at)
        && byte.is_ascii_digit()
    {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        at = at.wrapping_add(1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_one_after_the_other(
            text in prop::collection::vec(prop::sample::select(&b"0123456789012345678901234567890123456789./:-e\x80\xff\xba\xa0 "[..]), 0..40)
        ) {
            let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let expected = text[..count].iter().fold(0u64, |value, &byte| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
            let mut value = 0;
            prop_assert_eq!((take(&text, 0, &mut value), value), (count, expected));
        }
    }

    #[test]
    fn a_number_goes_as_far_as_the_grammar_allows() {
        let found = |text: &str, zeros| {
            let Number {
                stop,
                digits,
                places,
                is_plain,
            } = number(text.as_bytes(), 0, zeros);
            (stop, digits, places, is_plain)
        };
        assert_eq!(found("-12.50,", false), (6, 1250, 2, true));
        assert_eq!(found("007", false), (1, 0, 0, true));
        assert_eq!(found("007", true), (3, 7, 0, true));
        assert_eq!(found("1.x", false), (1, 1, 0, true));
        assert_eq!(found("1e", false), (1, 1, 0, true));
        assert_eq!(found("1.5E-2}", false), (6, 15, 1, false));
        assert_eq!(found("-", false).0, 0);
        assert!(!found("12345678901234567890", false).3);
    }
}
