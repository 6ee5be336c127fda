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
pub(super) fn unescape(body: &[u8], dialect: &Dialect, text: &mut Vec<u8>) {
    if let (Some(escape), false) = (dialect.escape, dialect.escapes_itself()) {
        let special = dialect.escape_escape.unwrap_or(escape);
        let find = |rest: &[u8]| memchr2(escape.first(), special.first(), rest);
        return resolve(body, text, find, |at| match escape.after(body, at) {
            Some(next) => Some((next, dialect.quote?.after(body, next)?)),
            None => {
                let next = special.after(body, at)?;
                Some((next, escape.after(body, next)?))
            }
        });
    }
    let special = match dialect.doubled {
        true => dialect.quote,
        false => dialect.escape,
    };
    let Some(special) = special else {
        return text.extend_from_slice(body);
    };
    let find = |rest: &[u8]| memchr(special.first(), rest);
    resolve(body, text, find, |at| {
        let next = special.after(body, at)?;
        let hidden = special.after(body, next);
        let hidden = hidden.or_else(|| dialect.quote?.after(body, next));
        Some((next, hidden?))
    });
}

/// Append a text without what disappears: from a place that `find` gives to the first of those of `hidden`, which are
/// the ends of what it hides.
#[inline(always)]
fn resolve(
    body: &[u8],
    text: &mut Vec<u8>,
    find: impl Fn(&[u8]) -> Option<usize>,
    hidden: impl Fn(usize) -> Option<(usize, usize)>,
) {
    let (mut from, mut at) = (0, 0);
    while let Some(step) = body.get(at..).and_then(&find) {
        at += step;
        match hidden(at) {
            Some((next, end)) => {
                text.extend_from_slice(body.get(from..at).unwrap_or_default());
                (from, at) = (next, end);
            }
            None => at += 1,
        }
    }
    text.extend_from_slice(body.get(from..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::super::grammar::Mark;
    use super::*;

    fn dialect(escape: Option<u8>) -> Dialect {
        let escape = escape.map(Mark::from);
        Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'.into()),
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
        let mark = |text: &str| Mark::new(text.as_bytes()).ok();
        let mut long = Dialect {
            quote: mark("\u{ab}"),
            ..dialect(None)
        };
        let text = |body: &str, dialect: &Dialect| {
            let mut text = Vec::new();
            unescape(body.as_bytes(), dialect, &mut text);
            String::from_utf8(text).expect("UTF-8")
        };
        assert_eq!(
            text("\u{ab}\u{ab}\u{a9}\u{ab}", &long),
            "\u{ab}\u{a9}\u{ab}"
        );
        (long.escape, long.doubled) = (mark("\u{ac}"), false);
        long.escape_escape = mark("\u{bf}");
        assert_eq!(
            text("\u{bf}\u{ac}\u{ac}\u{ab}\u{bf}", &long),
            "\u{ac}\u{ab}\u{bf}"
        );
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
