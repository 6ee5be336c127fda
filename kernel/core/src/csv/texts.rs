//! The texts of fields.

use std::borrow::Cow;

use super::grammar::{Dialect, LAST_BLANK};
use super::layout::Meaning;
use super::steps::{Sink, Written};

/// Where one field is, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub stop: usize,
    pub written: Written,
}

impl Sink for Vec<Span> {
    #[inline(always)] // part of the hot loop
    fn field(&mut self, start: usize, stop: usize, written: Written) {
        self.push(Span {
            start,
            stop,
            written,
        });
    }
}

/// How many bytes are checked to be UTF-8 at a time: few enough to be read from the cache afterwards.
const WINDOW: usize = 1 << 14;

/// A part of some bytes that is UTF-8.
#[derive(Clone, Copy)]
pub(super) struct Window<'a> {
    base: usize,
    text: &'a str,
}

impl<'a> Window<'a> {
    /// The text of these bytes, if they are in the window and no character is cut.
    #[inline(always)] // in the loop over columns
    pub(super) fn get(self, start: usize, stop: usize) -> Option<&'a str> {
        self.text
            .get(start.wrapping_sub(self.base)..stop.wrapping_sub(self.base))
    }
}

/// Bytes, and a window of them. Records are looked at from left to right.
pub(super) struct Texts<'a> {
    data: &'a [u8],
    /// What is known to be UTF-8.
    pub window: Window<'a>,
}

impl<'a> Texts<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Texts {
            data,
            window: Window { base: 0, text: "" },
        }
    }

    /// Get ready for the fields of a record.
    #[inline]
    pub(super) fn enter(&mut self, start: usize, stop: usize) {
        if start < self.window.base
            || stop > self.window.base.saturating_add(self.window.text.len())
        {
            self.check(start, stop);
        }
    }

    /// Check a window that begins with a record; it ends early where the bytes are no UTF-8.
    fn check(&mut self, start: usize, stop: usize) {
        let mut end = stop.max(start.saturating_add(WINDOW)).min(self.data.len());
        while end > stop && self.data.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
            end -= 1; // not inside a character
        }
        let bytes = self.data.get(start..end).unwrap_or_default();
        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        });
        self.window = Window { base: start, text };
    }

    /// The text of some bytes of the record that was entered; what is no UTF-8 becomes U+FFFD.
    #[inline]
    fn get(&self, start: usize, stop: usize) -> Cow<'a, str> {
        match self.window.get(start, stop) {
            Some(text) => Cow::Borrowed(text),
            None => String::from_utf8_lossy(self.bytes(start, stop)),
        }
    }

    fn bytes(&self, start: usize, stop: usize) -> &'a [u8] {
        self.data.get(start..stop).unwrap_or_default()
    }
}

/// How spans become texts.
pub(super) struct Reader<'a> {
    pub texts: Texts<'a>,
    pub dialect: &'a Dialect,
    pub meaning: &'a Meaning,
}

impl<'a> Reader<'a> {
    /// What a field is, apart from null values: its text; `None` where nothing is.
    ///
    /// A quoted field that is empty is the empty value, unless that is null.
    pub(super) fn written(&self, span: Span) -> Option<Cow<'a, str>> {
        let meaning = self.meaning;
        let text =
            match span.written {
                Written::Plain => {
                    let text = trimmed(self.texts.get(span.start, span.stop), meaning);
                    return (!text.is_empty()).then_some(text);
                }
                Written::Quoted => self.texts.get(span.start, span.stop),
                Written::Escaped => {
                    let bytes = unescaped(self.texts.bytes(span.start, span.stop), self.dialect);
                    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| {
                        String::from_utf8_lossy(error.as_bytes()).into_owned()
                    }))
                }
            };
        if !text.is_empty() {
            return Some(text);
        }
        let is_null = meaning.null_value.is_empty() && meaning.empty_value.is_empty();
        (!is_null).then(|| Cow::Owned(meaning.empty_value.clone()))
    }

    /// What a field is: its text, or null.
    pub(super) fn text(&self, span: Span) -> Option<Cow<'a, str>> {
        self.written(span).filter(|text| !self.is_null(text))
    }

    /// Whether a text means null.
    pub(super) fn is_null(&self, text: &str) -> bool {
        !self.meaning.null_value.is_empty() && text == self.meaning.null_value
    }
}

fn trimmed<'a>(text: Cow<'a, str>, meaning: &Meaning) -> Cow<'a, str> {
    let is_blank = |c: char| c <= char::from(LAST_BLANK);
    let trim = |text: &str| {
        let rest = if meaning.trim_leading {
            text.trim_start_matches(is_blank)
        } else {
            text
        };
        let kept = if meaning.trim_trailing {
            rest.trim_end_matches(is_blank)
        } else {
            rest
        };
        let start = text.len() - rest.len();
        start..start + kept.len()
    };
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(trim(text)).unwrap_or_default()),
        Cow::Owned(text) => Cow::Owned(text.get(trim(&text)).unwrap_or_default().to_string()),
    }
}

/// The content of a quoted field with doubled quotes and escapes resolved.
///
/// An escape before the quote or another escape disappears; before anything else it is data.
fn unescaped(body: &[u8], dialect: &Dialect) -> Vec<u8> {
    let Some(quote) = dialect.quote else {
        return body.to_vec();
    };
    let special = if dialect.doubled {
        Some(quote)
    } else {
        dialect.escape
    };
    let mut text = Vec::with_capacity(body.len());
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let hidden =
            bytes.next_if(|&next| Some(byte) == special && (next == quote || next == byte));
        text.push(hidden.unwrap_or(byte));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(escape: Option<u8>) -> Dialect {
        Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'),
            escape,
            doubled: escape.is_none(),
            comment: None,
            line_sep: None,
            multi_line: true,
            trim_leading: false,
        }
    }

    #[test]
    fn escapes_disappear_where_they_hide_something() {
        assert_eq!(unescaped(br#"a""b"""#, &dialect(None)), br#"a"b""#);
        assert_eq!(
            unescaped(br#"a\"b\\\n\"#, &dialect(Some(b'\\'))),
            br#"a"b\\n\"#
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_others_are_not() {
        let data = b"ab\xe2\x82,\xc3\xa9";
        let mut texts = Texts::new(data);
        texts.enter(0, data.len());
        assert_eq!(texts.get(0, 4), "ab\u{fffd}");
        assert_eq!(texts.get(5, 7), "é");
        texts.enter(5, 7);
        assert_eq!(texts.window.get(5, 7), Some("é"));
    }
}
