//! Texts to values, one grammar in each file. `None` is what no text of the type says.

pub mod base64;
pub mod boolean;
pub mod calendar;
pub mod clock;
pub mod date;
pub mod decimal;
mod digits;
pub mod float;
pub mod int;
pub mod pattern;
pub mod time;
pub mod timestamp;
pub mod zone;

/// The text without the blanks that may surround a number: spaces and tabs.
#[inline]
pub(crate) fn without_blanks(text: &str) -> &str {
    match text.as_bytes() {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => text.trim_matches([' ', '\t']),
        _ => text,
    }
}

/// Digits before the point that every double holds.
pub const DOUBLE_DIGITS: usize = 15;

const PHONE_DIGITS: usize = 7; // after a plus: fewer are a difference

/// Whether a number would lose a part of its text: a leading zero, the letter of `12D`, or the plus of `+4915112345678`.
#[inline]
pub fn loses_digits(text: &str) -> bool {
    let bare = without_blanks(text).as_bytes();
    let unsigned = match bare {
        [b'-' | b'+', rest @ ..] => rest,
        rest => rest,
    };
    match unsigned {
        [b'0', b'0'..=b'9', ..] | [b'0'..=b'9' | b'.', .., b'd' | b'D' | b'f' | b'F'] => true,
        _ => {
            bare.first() == Some(&b'+')
                && unsigned.len() >= PHONE_DIGITS
                && unsigned.iter().all(u8::is_ascii_digit)
        }
    }
}

/// Whether a double would lose a part of a number's text: there are more than [`DOUBLE_DIGITS`] before its point, or its
/// exponent makes it 0 or infinite.
#[inline]
pub fn outgrows_double(text: &str) -> bool {
    let bare = without_blanks(text);
    if bare.len() <= DOUBLE_DIGITS && !bare.contains(['e', 'E']) {
        return false;
    }
    let unsigned = bare.strip_prefix(['-', '+']).unwrap_or(bare);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    let rest = unsigned.get(whole..).unwrap_or_default();
    let fraction = rest.strip_prefix('.').unwrap_or_default();
    match rest.as_bytes() {
        [] => whole > DOUBLE_DIGITS,
        [b'.', ..] if digits(fraction) == fraction.len() => whole > DOUBLE_DIGITS,
        _ => {
            let mantissa = bare.split(['e', 'E']).next().unwrap_or_default();
            mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
                && bare
                    .parse::<f64>()
                    .is_ok_and(|value| value == 0.0 || value.is_infinite())
        }
    }
}

/// The text without the white space that may surround a time: what Python's `str.strip` takes for it, in any script.
#[inline]
pub(crate) fn without_space(text: &str) -> &str {
    let is_clear = |byte: &u8| byte.is_ascii_graphic();
    match text.as_bytes() {
        [first, .., last] if is_clear(first) && is_clear(last) => text,
        _ => text.trim_matches(is_space),
    }
}

/// The text without the blanks and control characters of ASCII that may surround a time of day.
pub(crate) fn without_controls(mut text: &[u8]) -> &[u8] {
    while let [0..=b' ' | 0x7f, rest @ ..] | [rest @ .., 0..=b' ' | 0x7f] = text {
        text = rest;
    }
    text
}

/// White space of Unicode, and the four separators of ASCII.
pub(crate) fn is_space(symbol: char) -> bool {
    symbol.is_whitespace() || ('\x1c'..='\x1f').contains(&symbol)
}
