//! From the fields of a column to its values.

use std::borrow::Cow;

use super::steps::Written;
use super::tape::{Fields, Span};
use super::texts::{Reader, unescape};
use crate::columns::{Cells, Place, write_text};
use crate::limits::SHOWN_CHARS;

/// One field of each of some records.
pub(super) struct OneField<'a> {
    /// The records.
    pub fields: Fields<'a>,
    /// Number of the field.
    pub index: usize,
    /// How it becomes a text.
    pub reader: Reader<'a>,
    /// What stands for blanks.
    pub blanks: &'a [(usize, Option<String>)],
    /// Whether all bytes are UTF-8.
    pub is_text: bool,
}

impl OneField<'_> {
    /// Whether a record has the field.
    pub(super) fn is_there(&self, row: usize) -> bool {
        let record = self.fields.records.get(row);
        record.is_some_and(|record| self.fields.get(record, self.index).is_some())
    }

    /// Where the text of a field is that has no escapes; its bytes are UTF-8.
    #[inline(always)] // once a value
    fn within(&self, span: Span) -> Place {
        let meaning = self.reader.meaning;
        let (mut start, mut stop) = (span.start, span.stop);
        if span.written == Written::Plain && (meaning.trim_leading || meaning.trim_trailing) {
            (start, stop) = self.reader.trimmed(start, stop);
        }
        let is_null = |null: &str| self.reader.bytes.get(start..stop) == Some(null.as_bytes());
        match start == stop {
            true if span.written == Written::Quoted && !meaning.is_plain() => Place::Apart,
            true => Place::Nothing,
            false if !meaning.null_value.is_empty() && is_null(&meaning.null_value) => {
                Place::Nothing
            }
            false => Place::At(start, stop),
        }
    }
}

impl Cells for OneField<'_> {
    fn rows(&self) -> usize {
        self.fields.records.len()
    }

    fn bytes(&self) -> &[u8] {
        self.fields.bytes
    }

    #[inline(always)] // once a value
    fn place(&self, row: usize) -> Place {
        let record = self.fields.records.get(row);
        match record.and_then(|record| self.fields.get(record, self.index)) {
            None => Place::Nothing,
            Some(span) if self.is_text && span.written != Written::Escaped => self.within(span),
            Some(_) => Place::Apart,
        }
    }

    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        let span = self.fields.get(self.fields.records.get(row)?, self.index)?;
        filled(self.index, span, &self.reader, self.blanks)
    }

    fn write(&self, row: usize, text: &mut Vec<u8>) -> bool {
        let record = self.fields.records.get(row);
        let span = record.and_then(|record| self.fields.get(record, self.index));
        let is_plain = self.is_text && self.reader.meaning.is_plain();
        let escaped = span.filter(|span| is_plain && span.written == Written::Escaped);
        let Some(Span { start, stop, .. }) = escaped else {
            return write_text(self.text(row), text);
        };
        let before = text.len();
        let body = self.fields.bytes.get(start..stop).unwrap_or_default();
        unescape(body, self.reader.dialect, text);
        text.len() > before
    }
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
