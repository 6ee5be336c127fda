//! From the fields of one record after the other to rows.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use super::grammar::Dialect;
use super::layout::{Layout, Named, Object, Rescue, Shape};
use super::tape::{Fields, Record};
use super::texts::Reader;
use super::values::{OneField, filled, shown};
use super::variant::Writer;
use crate::columns::{self, Column};
use crate::fault::{Code, Fault};
use crate::kinds::{is_variant, kind_name};
use crate::parsed::Parsed;
use crate::quoting::Members;
use crate::rules::Rules;

/// Rows while they are made.
pub(super) struct Rows<'a> {
    pub layout: &'a Layout,
    said: Vec<(Arc<str>, Arc<str>)>,
    pub columns: Vec<Column>,
    pub rescued: Option<Column>,
    members: Members,
    pub limit: usize, // most bytes of a column
    pub room: usize, // bytes of records that certainly fit into every column before its size is looked at again
    pub rows: usize,
    is_utf8: bool, // all records so far
    faults: Vec<Fault>,
    counts: Vec<(u32, u32)>,
    refused: Vec<Refused>,
    variants: Option<Box<Writer>>, // where fields, or records, are some
    column: Arc<str>,              // of records
}

/// A value that is not in its column: row among those that are added, and column.
type Refused = (usize, usize);

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
        let typing = match &layout.shape {
            Shape::Object(object) => Some(object.typing),
            Shape::Columns(named) => named.typing,
            _ => None,
        };
        let mut fields = schema.fields().iter().zip(rules);
        let variant = fields.find(|(field, _)| is_variant(field.data_type()));
        let variants = match (typing, variant) {
            (Some(typing), Some((_, rules))) => Some(Box::new(Writer::new(typing, rules)?)),
            _ => None,
        };
        let said = match &layout.shape {
            Shape::Columns(named) => said(named, schema, variants.as_deref()),
            _ => Vec::new(),
        };
        let mut rows = Rows {
            layout,
            said,
            columns: columns.collect::<Result<_, _>>()?,
            rescued,
            members: Members::default(),
            limit,
            room: 0,
            rows: 0,
            is_utf8: true,
            faults: Vec::new(),
            counts: Vec::new(),
            refused: Vec::new(),
            variants,
            column: schema
                .fields()
                .first()
                .map_or("", |field| field.name())
                .into(),
        };
        rows.make_room();
        Ok(rows)
    }

    /// Add records.
    pub(super) fn push(&mut self, fields: Fields<'_>, dialect: &Dialect) {
        let mut from = 0;
        while from < fields.records.len() {
            let (to, is_text) = text_at(fields, from);
            self.push_part(fields.part(from, to), dialect, is_text);
            self.is_utf8 &= is_text;
            from = to;
        }
        self.make_room();
    }

    /// Add records that are UTF-8, or else may not be.
    fn push_part(&mut self, fields: Fields<'_>, dialect: &Dialect, is_text: bool) {
        let layout = self.layout;
        let reader = Reader {
            bytes: fields.bytes,
            dialect,
            meaning: &layout.meaning,
        };
        match &layout.shape {
            Shape::Columns(named) => self.push_columns(named, fields, reader, is_text),
            Shape::Items { most, elements } => {
                for record in fields.records {
                    let fault = self.push_items(*most, elements.as_deref(), fields, record, reader);
                    self.end_row(fault, record);
                }
            }
            Shape::Object(object) => {
                for record in fields.records {
                    let fault = self.push_object(object, fields, record, reader);
                    self.end_row(fault, record);
                }
            }
            Shape::Nothing => fields
                .records
                .iter()
                .for_each(|record| self.end_row(None, record)),
        }
    }

    /// Add named fields to their columns, one column after the other.
    fn push_columns(
        &mut self,
        named: &Named,
        fields: Fields<'_>,
        reader: Reader<'_>,
        is_text: bool,
    ) {
        let mut refused = std::mem::take(&mut self.refused);
        for (number, (column, &index)) in self.columns.iter_mut().zip(&named.wanted).enumerate() {
            let cells = OneField {
                fields,
                index,
                reader,
                blanks: &named.blanks,
                is_text: is_text && !named.blanks.iter().any(|(field, _)| *field == index),
            };
            let refuse = |row| refused.push((row, number));
            match &mut self.variants {
                Some(variants) if column.is_variant() => {
                    variants.push_fields(column, &cells, refuse)
                }
                _ => column.push_texts(&cells, refuse),
            }
        }
        let is_regular =
            |record: &Record| record.fields() == named.names.len() && !record.is_malformed();
        let asks = named.rescue.is_some() || self.layout.max_field_chars.is_some();
        if asks || !refused.is_empty() || !fields.records.iter().all(is_regular) {
            refused.sort_unstable();
            self.judge(named, fields, reader, &refused);
        } else {
            self.rows += fields.records.len();
        }
        refused.clear();
        self.refused = refused;
    }

    /// Say what is wrong with records whose values are in their columns: `refused` are those that are not, by row.
    fn judge(
        &mut self,
        named: &Named,
        fields: Fields<'_>,
        reader: Reader<'_>,
        refused: &[Refused],
    ) {
        let mut refused = refused.iter().peekable();
        for (row, record) in fields.records.iter().enumerate() {
            let mut fault = None;
            if record.fields() != named.names.len() {
                fault = self.count(named, record.fields());
            }
            if fault.is_none()
                && self.is_too_long(named.names.len(), fields, record, reader, &named.blanks)
            {
                fault = Some(self.fault(Code::FieldTooLong, String::new()));
            }
            while let Some(&(_, number)) = refused.next_if(|&&(at, _)| at == row) {
                let index = named.wanted.get(number).copied().unwrap_or_default();
                let span = fields.get(record, index);
                if let Some(text) =
                    span.and_then(|span| filled(index, span, &reader, &named.blanks))
                {
                    self.refuse(named, number, &text, &mut fault);
                }
            }
            if let Some(rescue) = &named.rescue {
                self.push_rescued(named, rescue, fields, record, reader);
            }
            self.end_row(fault, record);
        }
    }

    /// End the row of a record.
    fn end_row(&mut self, fault: Option<Fault>, record: &Record) {
        let fault = if record.is_malformed() {
            Some(self.fault(Code::UnclosedQuote, String::new()))
        } else {
            fault
        };
        self.faults.extend(fault);
        self.rows += 1;
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
    fn refuse(&mut self, named: &Named, number: usize, text: &str, fault: &mut Option<Fault>) {
        let index = named.wanted.get(number).copied().unwrap_or_default();
        if named.rescue.is_some() {
            self.members.keep(index, text);
        } else if fault.is_none() {
            let (column, kind) = self.said.get(number).cloned().unwrap_or_default();
            *fault = Some(Fault {
                column,
                kind,
                ..self.fault(Code::BadValue, shown(text))
            });
        } // else it is of another column, or the whole record
    }

    /// Whether the text of one of the first fields has more characters than allowed.
    #[inline]
    fn is_too_long(
        &self,
        most_fields: usize,
        fields: Fields<'_>,
        record: &Record,
        reader: Reader<'_>,
        blanks: &[(usize, Option<String>)],
    ) -> bool {
        self.layout.max_field_chars.is_some_and(|most| {
            fields.of(record).take(most_fields).any(|(index, span)| {
                filled(index, span, &reader, blanks)
                    .is_some_and(|text| text.len() > most && text.chars().count() > most)
            })
        })
    }

    /// Keep what does not fit: the values kept so far, fields that no column is of, and those beyond the expected ones.
    fn push_rescued(
        &mut self,
        named: &Named,
        rescue: &Rescue,
        fields: Fields<'_>,
        record: &Record,
        reader: Reader<'_>,
    ) {
        let Some(rescued) = &mut self.rescued else {
            self.members.take(&named.names, "");
            return;
        };
        for &index in &rescue.unmatched {
            if let Some(text) = fields
                .get(record, index)
                .and_then(|span| filled(index, span, &reader, &named.blanks))
            {
                self.members.keep(index, &text);
            }
        }
        for (index, span) in fields.of(record).skip(named.names.len()) {
            if let Some(text) = reader.text(span) {
                self.members.keep(index, &text);
            }
        }
        match self.members.take(&named.names, &rescue.tail) {
            Some(text) => rescued.push_utf8(&text),
            None => rescued.push_null(),
        }
    }

    /// Add fields as the items of a list.
    fn push_items(
        &mut self,
        most: usize,
        elements: Option<&[usize]>,
        fields: Fields<'_>,
        record: &Record,
        reader: Reader<'_>,
    ) -> Option<Fault> {
        let count = record.fields();
        let mut fault = (count > most).then(|| self.fault(Code::FieldCount, count.to_string()));
        if fault.is_none() && self.is_too_long(count, fields, record, reader, &[]) {
            fault = Some(self.fault(Code::FieldTooLong, String::new()));
        }
        let last = elements.map_or(most, |elements| {
            elements.iter().max().map_or(0, |last| last + 1).min(most)
        });
        if let Some(column) = self.columns.first_mut()
            && let columns::Shape::List(items) = column.shape()
        {
            for (index, span) in fields.of(record).take(last) {
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

    /// Add fields as the members of a variant.
    fn push_object(
        &mut self,
        object: &Object,
        fields: Fields<'_>,
        record: &Record,
        reader: Reader<'_>,
    ) -> Option<Fault> {
        let count = record.fields();
        let is_fault = match &object.names {
            Some(names) => count != names.len(),
            None => count > object.most,
        };
        let mut fault = is_fault.then(|| self.fault(Code::FieldCount, count.to_string()));
        let named = object.names.as_ref().map_or(count, Vec::len);
        if fault.is_none() && self.is_too_long(named, fields, record, reader, &[]) {
            fault = Some(self.fault(Code::FieldTooLong, String::new()));
        }
        let (Some(column), Some(variants)) = (self.columns.first_mut(), &mut self.variants) else {
            return fault;
        };
        match variants.object(object, fields.of(record).map(|(_, span)| reader.text(span))) {
            Ok((value, metadata)) => column.push_variant(value, metadata),
            Err(reason) => {
                column.push_null();
                if fault.is_none() {
                    fault = Some(Fault {
                        column: self.column.clone(),
                        kind: format!("variant: {reason}").into(),
                        ..self.fault(Code::BadValue, format!("{count} fields"))
                    });
                }
            }
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
            is_utf8: self.is_utf8,
            ..Parsed::default()
        }
    }
}

/// Records from one on that are UTF-8, up to the first that is not; or else that one.
fn text_at(fields: Fields<'_>, from: usize) -> (usize, bool) {
    let rest = fields.records.get(from..).unwrap_or_default();
    let (Some(first), Some(last)) = (rest.first(), rest.last()) else {
        return (from, true);
    };
    let range = first.start as usize..last.stop();
    let bytes = fields.bytes.get(range).unwrap_or_default();
    let checked = match bytes.is_ascii() {
        true => Ok(""),
        false => std::str::from_utf8(bytes),
    };
    let Err(error) = checked else {
        return (fields.records.len(), true);
    };
    let valid = first.start as usize + error.valid_up_to();
    match rest.partition_point(|record| record.stop() <= valid) {
        0 => (from + 1, false),
        sound => (from + sound, true),
    }
}

/// What faults say of each column: its name, and that of its type.
fn said(named: &Named, schema: &Schema, variants: Option<&Writer>) -> Vec<(Arc<str>, Arc<str>)> {
    let of = |(&index, field): (&usize, &Arc<Field>)| {
        let name = named.names.get(index).map_or("", String::as_str);
        let kind = kind_name(field.data_type());
        let kind = match variants.filter(|_| is_variant(field.data_type())) {
            Some(variants) => format!("{kind}: {}", variants.too_long()),
            None => kind,
        };
        (name.into(), kind.into())
    };
    named.wanted.iter().zip(schema.fields()).map(of).collect()
}
