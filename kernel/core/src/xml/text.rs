//! What texts and values mean: references, and the ends of lines.

/// The character that the reference at the front of `written` means, up to its semicolon.
pub(super) fn meaning(written: &[u8]) -> Option<char> {
    let end = memchr::memchr(b';', written)?;
    match written.get(1..end)? {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}

fn number(digits: &[u8], radix: u32) -> Option<char> {
    let mut number: u32 = 0;
    for &digit in digits {
        number = number * radix + char::from(digit).to_digit(radix)?;
        if number > u32::from(char::MAX) {
            return None;
        }
    }
    char::from_u32(number).filter(|symbol| match symbol {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        symbol => *symbol >= ' ',
    })
}

/// Append what the text of an element says.
pub(super) fn append_text(written: &str, out: &mut String) {
    append(written, '\n', |byte| matches!(byte, b'&' | b'\r'), out);
}

/// Append what CDATA says.
pub(super) fn append_cdata(written: &str, out: &mut String) {
    append(written, '\n', |byte| byte == b'\r', out);
}

/// Append what the value of an attribute says.
pub(super) fn append_value(written: &str, out: &mut String) {
    let is_special = |byte| matches!(byte, b'&' | b'\r' | b'\n' | b'\t');
    append(written, ' ', is_special, out);
}

/// Append a text with its references replaced, and every end of a line, or special white space, as `blank`.
fn append(written: &str, blank: char, is_special: impl Fn(u8) -> bool, out: &mut String) {
    let mut rest = written;
    while let Some(length) = rest.bytes().position(&is_special) {
        let (before, special) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(before);
        let mut used = 1;
        match special.as_bytes() {
            [b'&', ..] => {
                if let Some(symbol) = meaning(special.as_bytes()) {
                    out.push(symbol);
                    used = special.find(';').map_or(1, |end| end + 1);
                }
            }
            [b'\r', b'\n', ..] => {
                out.push(blank);
                used = 2;
            }
            _ => out.push(blank),
        }
        rest = special.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_mean_characters_of_xml() {
        for (written, symbol) in [
            ("&lt;", Some('<')),
            ("&#65;x;", Some('A')),
            ("&#x1F600;", Some('\u{1f600}')),
            ("&#9;", Some('\t')),
            ("&#8;", None),
            ("&#xd800;", None),
            ("&#xFFFE;", None),
            ("&#x110000;", None),
            ("&#99999999999999999999;", None),
            ("&nbsp;", None),
        ] {
            assert_eq!(meaning(written.as_bytes()), symbol, "{written}");
        }
    }

    #[test]
    fn ends_of_lines_are_line_feeds_in_texts_and_blanks_in_values() {
        let both = |written: &str| {
            let (mut text, mut value) = (String::new(), String::new());
            append_text(written, &mut text);
            append_value(written, &mut value);
            (text, value)
        };
        assert_eq!(
            both("a\r\nb\rc\nd\te"),
            ("a\nb\nc\nd\te".into(), "a b c d e".into())
        );
        assert_eq!(
            both("&#13;&#10;\u{e9}&amp;lt;"),
            ("\r\n\u{e9}&lt;".into(), "\r\n\u{e9}&lt;".into())
        );
    }
}
