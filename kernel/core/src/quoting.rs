//! Texts in quotes: as JSON has them, and as people see them.

/// Append a text as a string of JSON, with escapes only where they must be.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

/// A text in quotes, as people see it.
pub(crate) fn quoted(text: &str) -> String {
    in_quotes(text, show)
}

/// The first bytes in quotes, as Python shows bytes: `most` of them, and how many there are if that is more.
pub(crate) fn quoted_bytes(data: &[u8], most: usize) -> String {
    let head = data.get(..most).unwrap_or(data);
    let text: String = head.iter().copied().map(char::from).collect();
    let shown = in_quotes(&text, |symbol, to| match symbol {
        '\0'..='\x7f' => show(symbol, to),
        _ => to.push_str(&format!("\\x{:02x}", symbol as u32)),
    });
    match data.len() {
        length if length > most => format!("b{shown}... ({length} bytes)"),
        _ => format!("b{shown}"),
    }
}

fn in_quotes(text: &str, show: impl Fn(char, &mut String)) -> String {
    let mark = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut shown = String::from(mark);
    for symbol in text.chars() {
        match symbol {
            '\'' if mark == '\'' => shown.push_str("\\'"),
            '\\' => shown.push_str("\\\\"),
            _ => show(symbol, &mut shown),
        }
    }
    shown.push(mark);
    shown
}

/// Append a character, or what Python's `repr` has in its place where it cannot be seen.
pub(crate) fn show(symbol: char, to: &mut String) {
    let code = symbol as u32;
    let seen = match symbol {
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        ' '..='~' => return to.push(symbol),
        _ if is_printable(symbol) => return to.push(symbol),
        _ if code < 0x100 => format!("\\x{code:02x}"),
        _ if code < 0x1_0000 => format!("\\u{code:04x}"),
        _ => format!("\\U{code:08x}"),
    };
    to.push_str(&seen);
}

fn is_printable(symbol: char) -> bool {
    let text = format!("a{symbol}"); // a mark that is added to a letter is seen
    text.escape_debug().nth(1) != Some('\\')
}

/// The members of one record.
#[derive(Default)]
pub(crate) struct Members {
    texts: Vec<(usize, String)>, // by field
}

impl Members {
    /// Keep the text of a field.
    pub(crate) fn keep(&mut self, field: usize, text: &str) {
        self.texts.push((field, text.to_string()));
    }

    /// The members in the order of fields as an object, which `tail` ends; `None` without any. None are left.
    pub(crate) fn take(&mut self, names: &[String], tail: &str) -> Option<String> {
        if self.texts.is_empty() {
            return None;
        }
        self.texts.sort_by_key(|(field, _)| *field);
        let mut object = String::from("{");
        for (number, (field, text)) in self.texts.drain(..).enumerate() {
            if number > 0 {
                object.push(',');
            }
            match names.get(field) {
                Some(name) => write_string(name, &mut object),
                None => write_string(&format!("_c{field}"), &mut object),
            }
            object.push(':');
            write_string(&text, &mut object);
        }
        object.push_str(tail);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_python_shows_them() {
        assert_eq!(quoted_bytes(b"a'\t\x00\xe9\\", 80), r#"b"a'\t\x00\xe9\\""#);
        assert_eq!(quoted_bytes(b"\"'", 2), r#"b'"\''"#);
        assert_eq!(quoted_bytes(b"abcdef", 3), "b'abc'... (6 bytes)");
    }

    #[test]
    fn members_are_in_the_order_of_fields_and_escaped() {
        let mut members = Members::default();
        members.keep(3, "x\u{1}\"");
        members.keep(0, "é\n");
        let names = ["a\\".to_string()];
        let object = members.take(&names, ",\"f\":1}");
        assert_eq!(
            object.as_deref(),
            Some("{\"a\\\\\":\"é\\n\",\"_c3\":\"x\\u0001\\\"\",\"f\":1}")
        );
        assert_eq!(members.take(&names, "}"), None);
    }
}
