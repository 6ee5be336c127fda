//! From the fields of one record after the other to rows.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use super::layout::{Layout, Named, Rescue, Shape};
use super::rescue::Members;
use super::texts::{Reader, Span};
use super::values::{filled, push_plain, shown};
use crate::columns::{self, Column, Pushed};
use crate::fault::{Code, Fault};
use crate::kinds::kind_name;
use crate::parsed::Parsed;
use crate::rules::Rules;

/// Most bytes that a byte of a record can become in a column: a control character of rescued data.
const MOST_GROWTH: usize = 6;

/// Rows while they are made.
pub(super) struct Rows<'a> {
    layout: &'a Layout,
    said: Vec<(Arc<str>, Arc<str>)>,
    columns: Vec<Column>,
    rescued: Option<Column>,
    members: Members,
    limit: usize, // most bytes of a column
    room: usize, // bytes of records that certainly fit into every column before its size is looked at again
    rows: usize,
    faults: Vec<Fault>,
    counts: Vec<(u32, u32)>,
    undecided: Vec<u32>,
}

impl<'a> Rows<'a> {
    /// No rows; `rules` are those of each column, and no column gets more bytes than `limit`. An error names what is not
    /// supported.
    pub(super) fn new(
        layout: &'a Layout,
        schema: &Schema,
        rules: &[&Rules],
        limit: usize,
    ) -> Result<Rows<'a>, String> {
        let columns = schema
            .fields()
            .iter()
            .zip(rules)
            .map(|(field, rules)| Column::new(field, rules));
        let rescued = match &layout.shape {
            Shape::Columns(Named {
                rescue: Some(Rescue { wanted: true, .. }),
                ..
            }) => Some(Column::new(
                &Field::new("", DataType::Utf8, true),
                &Rules::default(),
            )?),
            _ => None,
        };
        let said = match &layout.shape {
            Shape::Columns(named) => said(named, schema),
            _ => Vec::new(),
        };
        Ok(Rows {
            layout,
            said,
            columns: columns.collect::<Result<_, _>>()?,
            rescued,
            members: Members::default(),
            limit,
            room: 0,
            rows: 0,
            faults: Vec::new(),
            counts: Vec::new(),
            undecided: Vec::new(),
        })
    }

    /// Number of rows.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Whether a record of so many bytes fits into the columns, whatever it holds.
    #[inline]
    pub(super) fn has_room(&mut self, record_bytes: usize) -> bool {
        let needed = record_bytes.max(1);
        if needed > self.room {
            let columns = self.columns.iter().chain(&self.rescued);
            let used = columns.map(Column::text_bytes).max().unwrap_or(0);
            // A record of one byte or more adds at most that many times what each of its bytes may become.
            self.room =
                self.limit.saturating_sub(used) / MOST_GROWTH.saturating_add(self.fixed_bytes());
        }
        let fits = needed <= self.room;
        self.room -= if fits { needed } else { 0 };
        fits
    }

    /// What a record may add to a column besides its own bytes.
    fn fixed_bytes(&self) -> usize {
        let named = match &self.layout.shape {
            Shape::Columns(named) => {
                let blank = named
                    .blanks
                    .iter()
                    .filter_map(|(_, text)| text.as_ref())
                    .map(String::len)
                    .max()
                    .unwrap_or(0);
                let keys: usize = named
                    .names
                    .iter()
                    .map(|name| MOST_GROWTH.saturating_mul(name.len()) + 8)
                    .sum();
                blank
                    + named
                        .rescue
                        .as_ref()
                        .map_or(0, |rescue| keys + rescue.tail.len() + 32)
            }
            _ => 0,
        };
        named + MOST_GROWTH * self.layout.meaning.empty_value.len() + 32
    }

    /// Add a record.
    #[inline]
    pub(super) fn push(&mut self, spans: &[Span], reader: &Reader<'_>, is_malformed: bool) {
        let layout = self.layout;
        let fault = match &layout.shape {
            Shape::Columns(named) => self.push_columns(named, spans, reader),
            Shape::Items { most, elements } => {
                self.push_items(*most, elements.as_deref(), spans, reader)
            }
            Shape::Nothing => None,
        };
        let fault = if is_malformed {
            Some(self.fault(Code::UnclosedQuote, String::new()))
        } else {
            fault
        };
        if let Some(fault) = fault
            && self.undecided.last() != Some(&(self.rows as u32))
        {
            self.faults.push(fault);
        }
        self.rows += 1;
    }

    /// Add named fields to their columns.
    #[inline]
    fn push_columns(
        &mut self,
        named: &Named,
        spans: &[Span],
        reader: &Reader<'_>,
    ) -> Option<Fault> {
        let mut fault = None;
        if spans.len() != named.names.len() {
            fault = self.count(named, spans.len());
        }
        if fault.is_none()
            && self.is_too_long(
                spans.get(..named.names.len()).unwrap_or(spans),
                reader,
                &named.blanks,
            )
        {
            fault = Some(self.fault(Code::FieldTooLong, String::new()));
        }
        let mut columns = std::mem::take(&mut self.columns);
        let is_plain = reader.meaning.is_plain() && named.blanks.is_empty();
        let mut number = 0;
        while number < columns.len() {
            let rest = columns.get_mut(number..).unwrap_or_default();
            let wanted = named.wanted.get(number..).unwrap_or_default();
            let plain = if is_plain {
                push_plain(rest, wanted, spans, reader.texts.window)
            } else {
                (0, None)
            };
            number += plain.0;
            let (Some(column), Some(&index)) = (columns.get_mut(number), named.wanted.get(number))
            else {
                break;
            };
            let text = spans
                .get(index)
                .and_then(|&span| filled(index, span, reader, &named.blanks));
            let pushed = match (plain.1, &text) {
                (Some(pushed), _) => pushed,
                (None, Some(text)) => column.push_text(text),
                (None, None) => {
                    column.push_null();
                    Pushed::Stored
                }
            };
            if let Some(text) = text
                && pushed != Pushed::Stored
            {
                self.refuse(pushed, named, number, &text, &mut fault);
            }
            number += 1;
        }
        self.columns = columns;
        if let Some(rescue) = &named.rescue {
            self.push_rescued(named, rescue, spans, reader);
        }
        fault
    }

    /// A record that has another number of fields than expected.
    #[cold]
    fn count(&mut self, named: &Named, fields: usize) -> Option<Fault> {
        self.counts.push((self.rows as u32, fields as u32));
        let most = named
            .rescue
            .as_ref()
            .map_or(named.names.len(), |rescue| rescue.max_fields);
        let is_fault = fields < named.least || fields > most;
        is_fault.then(|| self.fault(Code::FieldCount, fields.to_string()))
    }

    fn fault(&self, code: Code, seen: String) -> Fault {
        Fault {
            record: self.rows,
            code,
            column: Arc::default(),
            seen,
            kind: Arc::default(),
        }
    }

    /// A text that is no value of its column, if it is not.
    #[cold]
    fn refuse(
        &mut self,
        pushed: Pushed,
        named: &Named,
        number: usize,
        text: &str,
        fault: &mut Option<Fault>,
    ) {
        let index = named.wanted.get(number).copied().unwrap_or_default();
        match pushed {
            Pushed::Stored => {}
            Pushed::Bad if named.rescue.is_some() => self.members.keep(index, text),
            Pushed::Bad if fault.is_some() => {} // of another column, or the whole record
            Pushed::Bad => {
                let (column, kind) = self.said.get(number).cloned().unwrap_or_default();
                *fault = Some(Fault {
                    column,
                    kind,
                    ..self.fault(Code::BadValue, shown(text))
                });
            }
            Pushed::Undecided => self.set_undecided(),
        }
    }

    #[cold]
    fn set_undecided(&mut self) {
        let row = self.rows as u32;
        if self.undecided.last() != Some(&row) {
            self.undecided.push(row);
        }
    }

    /// Whether the text of a field has more characters than allowed.
    #[inline]
    fn is_too_long(
        &self,
        spans: &[Span],
        reader: &Reader<'_>,
        blanks: &[(usize, Option<String>)],
    ) -> bool {
        self.layout.max_field_chars.is_some_and(|most| {
            let is_long = |(index, &span): (usize, &Span)| {
                filled(index, span, reader, blanks)
                    .is_some_and(|text| text.len() > most && text.chars().count() > most)
            };
            spans.iter().enumerate().any(is_long)
        })
    }

    /// Keep what does not fit: the values kept so far, fields that no column is of, and those beyond the expected ones.
    fn push_rescued(
        &mut self,
        named: &Named,
        rescue: &Rescue,
        spans: &[Span],
        reader: &Reader<'_>,
    ) {
        if let Some(rescued) = &mut self.rescued {
            for &index in &rescue.unmatched {
                if let Some(text) = spans
                    .get(index)
                    .and_then(|&span| filled(index, span, reader, &named.blanks))
                {
                    self.members.keep(index, &text);
                }
            }
            for (index, &span) in spans.iter().enumerate().skip(named.names.len()) {
                if let Some(text) = reader.text(span) {
                    self.members.keep(index, &text);
                }
            }
            match self.members.take(&named.names, &rescue.tail) {
                Some(text) => rescued.push_utf8(&text),
                None => rescued.push_null(),
            }
        } else {
            self.members.take(&named.names, "");
        }
    }

    /// Add fields as the items of a list.
    fn push_items(
        &mut self,
        most: usize,
        elements: Option<&[usize]>,
        spans: &[Span],
        reader: &Reader<'_>,
    ) -> Option<Fault> {
        let mut fault =
            (spans.len() > most).then(|| self.fault(Code::FieldCount, spans.len().to_string()));
        if fault.is_none() && self.is_too_long(spans, reader, &[]) {
            fault = Some(self.fault(Code::FieldTooLong, String::new()));
        }
        let last = elements.map_or(most, |elements| {
            elements.iter().max().map_or(0, |last| last + 1).min(most)
        });
        if let Some(column) = self.columns.first_mut()
            && let columns::Shape::List(items) = column.shape()
        {
            for (index, &span) in spans.iter().enumerate().take(last) {
                if elements.is_some_and(|elements| elements.binary_search(&index).is_err()) {
                    items.push_utf8("");
                    continue;
                }
                match reader.text(span) {
                    Some(text) => items.push_utf8(&text),
                    None => items.push_null(),
                }
            }
            column.push_list();
        }
        fault
    }

    /// The rows as arrays, with what is wrong with them.
    pub(super) fn finish(mut self) -> Parsed {
        Parsed {
            rows: self.rows,
            columns: self
                .columns
                .iter_mut()
                .chain(&mut self.rescued)
                .map(Column::finish)
                .collect(),
            faults: self.faults,
            counts: self.counts,
            undecided: self.undecided,
            ..Parsed::default()
        }
    }
}

/// What faults say of each column: its name, and that of its type.
fn said(named: &Named, schema: &Schema) -> Vec<(Arc<str>, Arc<str>)> {
    let of = |(&index, field): (&usize, &Arc<Field>)| {
        let name = named.names.get(index).map_or("", String::as_str);
        (name.into(), kind_name(field.data_type()).into())
    };
    named.wanted.iter().zip(schema.fields()).map(of).collect()
}
