//! The texts of fields.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::grammar::{Dialect, LAST_BLANK};
use super::layout::Meaning;
use super::steps::Written;
use super::tape::Span;

/// How spans become texts.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    pub dialect: &'a Dialect,
    pub meaning: &'a Meaning,
}

impl<'a> Reader<'a> {
    /// What a field is, apart from null values: its text; `None` where nothing is. What is no UTF-8 becomes U+FFFD.
    ///
    /// A quoted field that is empty is the empty value, unless that is null.
    pub(super) fn written(&self, span: Span) -> Option<Cow<'a, str>> {
        let meaning = self.meaning;
        let bytes = self.bytes.get(span.start..span.stop).unwrap_or_default();
        let text =
            match span.written {
                Written::Plain => {
                    let (start, stop) = self.trimmed(span.start, span.stop);
                    let bytes = self.bytes.get(start..stop).unwrap_or_default();
                    return (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes));
                }
                Written::Quoted => String::from_utf8_lossy(bytes),
                Written::Escaped => {
                    let mut text = Vec::with_capacity(bytes.len());
                    unescape(bytes, self.dialect, &mut text);
                    Cow::Owned(String::from_utf8(text).unwrap_or_else(|error| {
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

    /// A field that is not quoted without the white space at its edges that is dropped.
    #[inline]
    pub(super) fn trimmed(&self, mut start: usize, mut stop: usize) -> (usize, usize) {
        let is_blank = |at: usize| self.bytes.get(at).is_some_and(|&byte| byte <= LAST_BLANK);
        while self.meaning.trim_leading && start < stop && is_blank(start) {
            start += 1;
        }
        while self.meaning.trim_trailing && start < stop && is_blank(stop - 1) {
            stop -= 1;
        }
        (start, stop)
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

/// The content of a quoted field with doubled quotes and escapes resolved, appended to a text.
///
/// An escape before the quote or another escape disappears; before anything else it is data. Where another byte makes
/// escapes data, that one disappears before an escape, and an escape before the quote alone.
pub(super) fn unescape(mut body: &[u8], dialect: &Dialect, text: &mut Vec<u8>) {
    if let (Some(escape), false) = (dialect.escape, dialect.escapes_itself()) {
        let special = dialect.escape_escape.unwrap_or(escape);
        while let Some(at) = memchr2(escape, special, body) {
            let (front, rest) = body.split_at(at);
            text.extend_from_slice(front);
            let (first, second) = (rest.first().copied(), rest.get(1).copied());
            let hidden = match first == Some(escape) {
                true => second.filter(|_| second == dialect.quote),
                false => second.filter(|&next| next == escape),
            };
            text.extend(hidden.or(first));
            body = rest
                .get(if hidden.is_some() { 2 } else { 1 }..)
                .unwrap_or_default();
        }
        text.extend_from_slice(body);
        return;
    }
    let special = match dialect.doubled {
        true => dialect.quote,
        false => dialect.escape,
    };
    while let Some(special) = special
        && let Some(at) = memchr(special, body)
    {
        let hides = |next: u8| next == special || Some(next) == dialect.quote;
        let (front, rest) = body.split_at(at);
        text.extend_from_slice(front);
        let hidden = rest.get(1).copied().filter(|&next| hides(next));
        text.push(hidden.unwrap_or(special));
        body = rest
            .get(if hidden.is_some() { 2 } else { 1 }..)
            .unwrap_or_default();
    }
    text.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(escape: Option<u8>) -> Dialect {
        Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'),
            escape,
            escape_escape: escape,
            doubled: escape.is_none(),
            skips_values: false,
            comment: None,
            line_sep: None,
            multi_line: true,
            trim_leading: false,
        }
    }

    #[test]
    fn escapes_disappear_where_they_hide_something() {
        let unescaped = |body: &[u8], escape| {
            let mut text = Vec::new();
            unescape(body, &dialect(escape), &mut text);
            text
        };
        assert_eq!(unescaped(br#"a""b"""#, None), br#"a"b""#);
        assert_eq!(unescaped(br#"a\"b\\\n\"#, Some(b'\\')), br#"a"b\\n\"#);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_others_are_not() {
        let (dialect, meaning) = (dialect(None), Meaning::default());
        let reader = Reader {
            bytes: b"ab\xe2\x82,\xc3\xa9",
            dialect: &dialect,
            meaning: &meaning,
        };
        let of = |start, stop, written| {
            let span = Span {
                start,
                stop,
                written,
            };
            reader.text(span).expect("a text")
        };
        assert_eq!(of(0, 4, Written::Plain), "ab\u{fffd}");
        assert_eq!(of(0, 7, Written::Escaped), "ab\u{fffd},é");
        assert_eq!(of(5, 7, Written::Quoted), "é");
    }
}
