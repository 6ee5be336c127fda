//! Strings as they are meant.

use super::scan::{Kind, Span};

/// The text of a string token, through `scratch` where it has escapes. Names without quotes are their own text.
pub(crate) fn meant<'a>(text: &'a str, token: Span, scratch: &'a mut String) -> &'a str {
    let inner = inner(text, token);
    if token.kind == Kind::Plain {
        return inner;
    }
    scratch.clear();
    unescape(inner, scratch);
    scratch
}

/// What is between the quotes.
pub(crate) fn inner(text: &str, token: Span) -> &str {
    let written = text.get(token.start..token.stop).unwrap_or_default();
    match written.as_bytes().first() {
        Some(b'"' | b'\'') => written.get(1..written.len() - 1).unwrap_or_default(),
        _ => written,
    }
}

/// Append a text without its escapes. A pair of surrogates is one character; a lone one is U+FFFD.
pub(crate) fn unescape(text: &str, out: &mut String) {
    let mut left = text;
    while let Some((plain, escaped)) = left.split_once('\\') {
        out.push_str(plain);
        let mut characters = escaped.chars();
        match characters.next() {
            Some('u') => {
                let (character, length) = by_number(escaped);
                out.push(character);
                left = escaped.get(length..).unwrap_or_default();
                continue;
            }
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(other) => out.push(other),
            None => {}
        }
        left = characters.as_str();
    }
    out.push_str(left);
}

/// The character that begins with `uXXXX`, and how much of the text it takes.
fn by_number(text: &str) -> (char, usize) {
    const LONE: char = char::REPLACEMENT_CHARACTER;
    let number = |from: usize| {
        text.get(from..from + 4)
            .and_then(|four| u32::from_str_radix(four, 16).ok())
    };
    match number(1) {
        Some(high @ 0xD800..=0xDBFF) if text.get(5..7) == Some("\\u") => match number(7) {
            Some(low @ 0xDC00..=0xDFFF) => {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                (char::from_u32(code).unwrap_or(LONE), 11)
            }
            _ => (LONE, 5),
        },
        code => (code.and_then(char::from_u32).unwrap_or(LONE), 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_are_joined_or_replaced() {
        for (written, meant) in [
            (r"a\u00e9\n\/\'", "a\u{e9}\n/'"),
            (r"\ud83d\ude00", "\u{1f600}"),
            (r"\ud83d\ud83d\ude00x", "\u{fffd}\u{1f600}x"),
            (r"\ude00\ud83dx", "\u{fffd}\u{fffd}x"),
            (r"\ud83d\u0041", "\u{fffd}A"),
            ("\\\u{e9}", "\u{e9}"),
        ] {
            let mut out = String::new();
            unescape(written, &mut out);
            assert_eq!(out, meant);
        }
    }
}
