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

/// Whether a number would lose a part of its text: a leading zero, or the letter of `12D`.
#[inline]
pub fn loses_digits(text: &str) -> bool {
    let unsigned = match without_blanks(text).as_bytes() {
        [b'-' | b'+', rest @ ..] => rest,
        rest => rest,
    };
    matches!(
        unsigned,
        [b'0', b'0'..=b'9', ..] | [b'0'..=b'9' | b'.', .., b'd' | b'D' | b'f' | b'F']
    )
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

/// White space of Unicode, and the four separators of ASCII.
pub(crate) fn is_space(symbol: char) -> bool {
    symbol.is_whitespace() || ('\x1c'..='\x1f').contains(&symbol)
}
