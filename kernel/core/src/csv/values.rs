//! From one field to one value.

use std::borrow::Cow;

use super::steps::Written;
use super::texts::{Reader, Span, Window};
use crate::columns::{Column, Pushed};
use crate::limits::SHOWN_CHARS;

/// Fields without escapes where the text is the value, and where nothing is, null: one for each column, up to the
/// first that is none, or is refused. Returns how many were stored, and what became of the next if it was pushed.
#[inline(never)] // so that the loop has all registers
pub(super) fn push_plain(
    columns: &mut [Column],
    wanted: &[usize],
    spans: &[Span],
    texts: Window<'_>,
) -> (usize, Option<Pushed>) {
    let mut number = 0;
    for (column, &index) in columns.iter_mut().zip(wanted) {
        match spans.get(index) {
            Some(span) if span.start != span.stop => {
                let text = if span.written == Written::Escaped {
                    None
                } else {
                    texts.get(span.start, span.stop)
                };
                let Some(text) = text else {
                    return (number, None);
                };
                let pushed = column.push_text(text);
                if pushed != Pushed::Stored {
                    return (number, Some(pushed));
                }
            }
            _ => column.push_null(),
        }
        number = number.wrapping_add(1); // at most the number of columns
    }
    (number, None)
}

/// A value as faults show it.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((stop, _)) => format!("{}...", text.get(..stop).unwrap_or_default()),
        None => text.to_string(),
    }
}

/// The text of a field, or null, with what stands for blanks.
pub(super) fn filled<'a>(
    index: usize,
    span: Span,
    reader: &Reader<'a>,
    blanks: &[(usize, Option<String>)],
) -> Option<Cow<'a, str>> {
    let text = reader.written(span);
    if let Some((_, filling)) = blanks.iter().find(|(field, _)| *field == index) {
        let is_blank = |text: &Cow<'_, str>| text.bytes().all(|byte| byte == b' ' || byte == b'\t');
        if text.as_ref().is_none_or(is_blank) {
            return filling.clone().map(Cow::Owned);
        }
    }
    text.filter(|text| !reader.is_null(text))
}
