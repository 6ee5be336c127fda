//! Steps to rows: the columns of a batch, and which records are rows.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int8Array, Int16Array, Int32Array, Int64Array,
    StringArray, TimestampMicrosecondArray, UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use arrow_select::take::take;
use serde_json::Value;

use super::cursor::{RAW_BYTES, Skipped};
use super::error::{BlockError, Kind};
use super::filling::Fillings;
use super::kinds::field;
use super::layout::FileLayout;
use super::reader::{Batch, Noticed};
use super::rejects::{Reject, Words, is_structural};
use super::spec::{BlockSpec, Mode, Required, ScanSpec, Source};
use crate::charsets::Charset;
use crate::columns::{Column, Pushed};
use crate::fault::Fault;
use crate::kinds::nullable;
use crate::parsed::Parsed;
use crate::quoting::quoted;
use crate::rules::Rules;

/// Makes rows of one block.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<Planned>,
    mode: Mode,
    reports: bool,
    keeps_given_up: bool,
    fields: usize,
    charset: Charset,
    fillings: Fillings,
    layout: Option<FileLayout>,
    words: Words,
    found: u64, // rows, those beyond a limit included
}

#[derive(Debug)]
struct Planned {
    field: Field,
    source: Source,
    value: Option<Constant>,
    required: Option<Required>,
}

/// Values of a column that no record holds.
#[derive(Debug)]
struct Constant {
    values: ArrayRef,
    /// Offsets from which on each of the values after the first holds.
    borders: Vec<u64>,
}

impl Constant {
    /// The value of a block, or `{"starts": [...], "values": [...]}` of those that hold from some offsets on.
    fn new(said: Option<&Value>, field: &Field) -> Result<Constant, BlockError> {
        let parts = said.and_then(|said| said["starts"].as_array().zip(said["values"].as_array()));
        let Some((starts, values)) = parts else {
            let values = constant(said, field)?;
            let borders = Vec::new();
            return Ok(Constant { values, borders });
        };
        let borders: Option<Vec<u64>> = starts.iter().skip(1).map(Value::as_u64).collect();
        let made = values.iter().map(|value| constant(Some(value), field));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&dyn Array> = made.iter().map(AsRef::as_ref).collect();
        match borders {
            Some(borders) if starts.len() == parts.len() && !parts.is_empty() => Ok(Constant {
                values: concat(&parts).map_err(|error| BlockError::invariant(error.to_string()))?,
                borders,
            }),
            _ => Err(BlockError::bad_document(
                format!("values of column {} have offsets", field.name()),
                starts.len().to_string(),
            )),
        }
    }

    /// The values for records at these offsets.
    fn at(&self, offsets: impl Iterator<Item = u64>) -> Result<ArrayRef, BlockError> {
        let number = |offset| self.borders.partition_point(|&border| border <= offset) as u32;
        let places: UInt32Array = offsets.map(number).collect::<Vec<_>>().into();
        take(&self.values, &places, None).map_err(|error| BlockError::invariant(error.to_string()))
    }
}

/// Rows of a step, and what is told of its records.
pub(super) struct Delivered {
    pub batch: Batch,
    pub rejects: Vec<Reject>,
    pub last: Option<u64>, // offset of the last row
    /// The error that a null is where there must be none.
    pub lacking: Option<BlockError>,
}

impl Rows {
    pub(super) fn new(
        spec: &ScanSpec,
        block: &BlockSpec,
        charset: Charset,
    ) -> Result<Rows, BlockError> {
        let planned = |column: &super::spec::ColumnSpec| {
            let field = field(&column.name, &column.kind, column.nullable)?;
            let value = match column.source {
                Source::Constant => Some(Constant::new(block.constants.get(&column.name), &field)?),
                Source::Field(index) if index >= spec.fields.len() => {
                    return Err(BlockError::bad_document(
                        "columns are of fields",
                        index.to_string(),
                    ));
                }
                _ => None,
            };
            Ok(Planned {
                field,
                source: column.source,
                value,
                required: column.required.clone(),
            })
        };
        Ok(Rows {
            columns: spec.columns.iter().map(planned).collect::<Result<_, _>>()?,
            mode: spec.mode,
            reports: block.validate || spec.mode == Mode::FailFast,
            keeps_given_up: spec.keeps_given_up,
            fields: spec.fields.len(),
            charset,
            fillings: Fillings::of(spec)?,
            words: Words::of(spec, None),
            layout: None,
            found: 0,
        })
    }

    /// How the texts of the file are encoded.
    pub(super) fn charset(&self) -> &Charset {
        &self.charset
    }

    /// The fields of the file are known.
    pub(super) fn set_layout(&mut self, spec: &ScanSpec, layout: Option<FileLayout>) {
        self.words = Words::of(spec, layout.as_ref());
        self.layout = layout;
    }

    /// Says what is wrong with records.
    pub(super) fn words(&self) -> &Words {
        &self.words
    }

    /// Whether anything of the records must be decoded.
    pub(super) fn decodes(&self, validate: bool) -> bool {
        let speaks_of_values = |column: &Planned| {
            matches!(
                column.source,
                Source::Field(_) | Source::Corrupt | Source::Reason | Source::Rescued
            )
        };
        validate || self.mode != Mode::Permissive || self.columns.iter().any(speaks_of_values)
    }

    /// The fields of a batch.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Field> {
        self.columns.iter().map(|column| &column.field)
    }

    /// The rows of complete records: those of `data`, whose first byte is at `offset`; `most` rows are wanted.
    pub(super) fn deliver(
        &mut self,
        data: &[u8],
        offset: u64,
        parsed: Parsed,
        most: Option<u64>,
    ) -> Result<Delivered, BlockError> {
        let parsed = self.fill(parsed)?;
        self.deliver_filled(data, offset, parsed, most)
    }

    /// The columns of the scan's fields, defaults in them.
    pub(super) fn fill(&self, parsed: Parsed) -> Result<Parsed, BlockError> {
        self.fillings.fill(parsed, self.layout.as_ref())
    }

    /// The rows of records whose columns are filled.
    pub(super) fn deliver_filled(
        &mut self,
        data: &[u8],
        offset: u64,
        mut parsed: Parsed,
        most: Option<u64>,
    ) -> Result<Delivered, BlockError> {
        let records = parsed.frames.starts.len();
        let lacking = match self.mode {
            Mode::Permissive => HashSet::new(),
            _ => self.fillings.require(&mut parsed),
        };
        let dropped = |fault: &&Fault| {
            self.mode == Mode::DropMalformed
                && (is_structural(fault) || lacking.contains(&fault.record))
        };
        let mut keep: Option<Vec<bool>> = None;
        for fault in parsed.faults.iter().filter(dropped) {
            let keep = keep.get_or_insert_with(|| vec![true; records]);
            if let Some(kept) = keep.get_mut(fault.record) {
                *kept = false;
            }
        }
        let validated = needed(most, records, keep.as_deref());
        let rejects = self.rejects(data, offset, &parsed, validated, &dropped);
        let batch = self.assemble(data, offset, &parsed, records)?;
        let last = kept_rows(keep.as_deref(), records)
            .last()
            .and_then(|row| parsed.frames.starts.get(row))
            .map(|&start| offset + start as u64);
        let starts: Vec<u64> = if self.columns.iter().any(|column| column.required.is_some()) {
            let rows = kept_rows(keep.as_deref(), records);
            rows.map(|row| offset + span(&parsed, row).0 as u64)
                .collect()
        } else {
            Vec::new()
        };
        let batch = match keep {
            None => batch,
            Some(keep) => batch.keep(&BooleanArray::from(keep))?,
        };
        let lacking = self.lacking(&batch, most, &starts);
        self.found += batch.rows as u64;
        Ok(Delivered {
            batch,
            rejects,
            last,
            lacking,
        })
    }

    /// The error that a null is where there must be none, in the rows that are wanted.
    fn lacking(&self, batch: &Batch, most: Option<u64>, starts: &[u64]) -> Option<BlockError> {
        let wanted = most.and_then(|most| usize::try_from(most).ok());
        let wanted = wanted.unwrap_or(batch.rows).min(batch.rows);
        let mut columns = self.columns.iter().zip(&batch.columns);
        let (column, row) = columns.find_map(|(planned, column)| {
            let row = planned
                .required
                .as_ref()?
                .first_lacking(&column.slice(0, wanted))?;
            Some((planned.field.name(), row))
        })?;
        let number = self.found + row as u64;
        let rule = format!(
            "column {} is NOT NULL and has a null",
            quoted(&crate::fault::shown(column))
        );
        let mut error = BlockError::new(Kind::Schema, "null-in-not-null", rule)
            .seen(format!("a null in row {number} of what was read"))
            .fix(
                "drop NOT NULL from the schema; or give the column a default (columnOptions); or set \
                 mode=DROPMALFORMED to go on without such records",
            );
        error.place.offset = starts.get(row).copied();
        error.place.column = Some(column.clone());
        error.place.row = Some(number);
        Some(error)
    }

    /// The records that have more than columns take.
    pub(super) fn noticed(&self, data: &[u8], offset: u64, parsed: &Parsed) -> Vec<Noticed> {
        let kept = parsed.columns.get(self.fields);
        let Some(kept) = kept.and_then(|column| column.as_string_opt::<i32>()) else {
            return Vec::new();
        };
        let noticed = |(record, kept): (usize, Option<&str>)| {
            let (start, stop) = span(parsed, record);
            let record = data.get(start..stop).unwrap_or_default();
            Some(Noticed {
                offset: offset + start as u64,
                kept: kept?.to_string(),
                record: self.charset.text(record).into_owned(),
            })
        };
        kept.iter().enumerate().filter_map(noticed).collect()
    }

    fn rejects(
        &self,
        data: &[u8],
        offset: u64,
        parsed: &Parsed,
        validated: usize,
        is_dropped: &impl Fn(&&Fault) -> bool,
    ) -> Vec<Reject> {
        if !self.reports {
            return Vec::new();
        }
        let told = parsed
            .faults
            .iter()
            .take_while(|fault| fault.record < validated);
        told.map(|fault| {
            let (start, stop) = span(parsed, fault.record);
            let raw = data
                .get(start..stop.min(start + RAW_BYTES))
                .unwrap_or_default();
            Reject {
                offset: offset + start as u64,
                length: (stop - start) as u64,
                raw: raw.to_vec(),
                delivered: !is_dropped(&fault),
                ..Reject::of(fault)
            }
        })
        .collect()
    }

    fn assemble(
        &self,
        data: &[u8],
        offset: u64,
        parsed: &Parsed,
        rows: usize,
    ) -> Result<Batch, BlockError> {
        let column = |planned: &Planned| -> Result<ArrayRef, BlockError> {
            let kind = planned.field.data_type();
            let frames = &parsed.frames;
            Ok(match planned.source {
                Source::Field(index) => match parsed.columns.get(index) {
                    Some(found) => found.clone(),
                    None => return Err(BlockError::invariant("every field is decoded")),
                },
                Source::Constant => match &planned.value {
                    Some(value) => {
                        value.at(frames.starts.iter().map(|&start| start as u64 + offset))?
                    }
                    None => new_null_array(kind, rows),
                },
                Source::Corrupt => self.corrupt(data, parsed, rows),
                Source::Reason => {
                    let mut faults = parsed.faults.iter().peekable();
                    let texts = (0..rows).map(|record| {
                        let fault = faults.next_if(|fault| fault.record == record)?;
                        Some(self.words.text(&Reject::of(fault)))
                    });
                    Arc::new(texts.collect::<StringArray>())
                }
                Source::Rescued => match parsed.columns.get(self.fields) {
                    Some(found) => found.clone(),
                    None => new_null_array(kind, rows),
                },
                Source::RecordOffset => Arc::new(Int64Array::from_iter_values(
                    frames.starts.iter().map(|start| start + offset as i64),
                )),
                Source::RecordLength => {
                    let spans = frames.starts.iter().zip(&frames.stops);
                    Arc::new(Int64Array::from_iter_values(
                        spans.map(|(start, stop)| stop - start),
                    ))
                }
            })
        };
        let columns = self
            .columns
            .iter()
            .map(column)
            .collect::<Result<Vec<_>, _>>()?;
        if columns.iter().any(|column| column.len() != rows) {
            return Err(BlockError::invariant("every record becomes one row"));
        }
        Ok(Batch { columns, rows })
    }

    /// The texts of broken records.
    fn corrupt(&self, data: &[u8], parsed: &Parsed, rows: usize) -> ArrayRef {
        let mut broken = parsed.faults.iter().map(|fault| fault.record).peekable();
        let texts = (0..rows).map(|record| {
            broken.next_if_eq(&record)?;
            let (start, stop) = span(parsed, record);
            Some(self.charset.text(data.get(start..stop).unwrap_or_default()))
        });
        Arc::new(texts.collect::<StringArray>())
    }

    /// Records that are given up are no rows from now on: whoever counts adds them.
    pub(super) fn leave_out_given_up(&mut self) {
        self.keeps_given_up = false;
    }

    /// What is told of a record that was given up; a row, where there is a column for its text.
    pub(super) fn give_up(&mut self, skipped: Skipped) -> Result<Delivered, BlockError> {
        let reject = Reject {
            offset: skipped.offset,
            length: skipped.length,
            code: skipped.code,
            number: 0,
            column: Arc::default(),
            seen: String::new(),
            kind: Arc::default(),
            raw: skipped.raw,
            delivered: self.keeps_given_up,
        };
        if !self.keeps_given_up {
            return Ok(Delivered {
                batch: Batch {
                    columns: Vec::new(),
                    rows: 0,
                },
                rejects: vec![reject],
                last: None,
                lacking: None,
            });
        }
        let column = |planned: &Planned| -> Result<ArrayRef, BlockError> {
            let kind = &nullable(planned.field.data_type()); // as those of records that are read
            Ok(match planned.source {
                Source::Constant => match &planned.value {
                    Some(value) => value.at(std::iter::once(reject.offset))?,
                    None => new_null_array(kind, 1),
                },
                Source::Corrupt => Arc::new(StringArray::from_iter_values([self
                    .charset
                    .text(&reject.raw)])),
                Source::RecordOffset => Arc::new(Int64Array::from(vec![reject.offset as i64])),
                Source::RecordLength => Arc::new(Int64Array::from(vec![reject.length as i64])),
                Source::Reason => {
                    Arc::new(StringArray::from_iter_values([self.words.text(&reject)]))
                }
                Source::Field(field) => repeat(self.fillings.default(field), kind, 1)?,
                Source::Rescued => new_null_array(kind, 1),
            })
        };
        let columns = self.columns.iter().map(column).collect::<Result<_, _>>()?;
        let batch = Batch { columns, rows: 1 };
        let lacking = self.lacking(&batch, None, &[reject.offset]);
        self.found += 1;
        Ok(Delivered {
            batch,
            last: Some(reject.offset),
            rejects: vec![reject],
            lacking,
        })
    }
}

fn span(parsed: &Parsed, record: usize) -> (usize, usize) {
    let at = |positions: &[i64]| {
        positions
            .get(record)
            .map_or(0, |&position| position as usize)
    };
    (at(&parsed.frames.starts), at(&parsed.frames.stops))
}

fn kept_rows(keep: Option<&[bool]>, records: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..records).filter(move |&record| keep.is_none_or(|keep| keep.get(record) == Some(&true)))
}

/// How many of the records it takes to deliver so many rows; all of them, if they are not enough.
fn needed(most: Option<u64>, records: usize, keep: Option<&[bool]>) -> usize {
    let Some(most) = most.and_then(|most| usize::try_from(most).ok()) else {
        return records;
    };
    match most {
        0 => records,
        _ => kept_rows(keep, records)
            .nth(most - 1)
            .map_or(records, |row| row + 1),
    }
}

/// One row of a constant column. Dates are days, moments microseconds, as Arrow counts them; fractions are texts, bytes
/// numbers.
fn constant(value: Option<&Value>, field: &Field) -> Result<ArrayRef, BlockError> {
    let kind = field.data_type();
    let wrong = || {
        let seen = value.map_or("nothing".into(), Value::to_string);
        BlockError::bad_document(
            format!("a block has the value of column {}", field.name()),
            seen,
        )
    };
    let value = value.ok_or_else(wrong)?;
    if value.is_null() {
        return Ok(new_null_array(kind, 1));
    }
    let whole = value.as_i64();
    let made: Option<ArrayRef> = match kind {
        DataType::Utf8 => value
            .as_str()
            .map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef),
        DataType::Boolean => value
            .as_bool()
            .map(|flag| Arc::new(BooleanArray::from(vec![flag])) as ArrayRef),
        DataType::Int8 => {
            small(whole).map(|value| Arc::new(Int8Array::from_iter_values([value])) as ArrayRef)
        }
        DataType::Int16 => {
            small(whole).map(|value| Arc::new(Int16Array::from_iter_values([value])) as ArrayRef)
        }
        DataType::Int32 => {
            small(whole).map(|value| Arc::new(Int32Array::from_iter_values([value])) as ArrayRef)
        }
        DataType::Int64 => whole.map(|value| Arc::new(Int64Array::from(vec![value])) as ArrayRef),
        DataType::Date32 => small(whole)
            .map(|days| Arc::new(arrow_array::Date32Array::from_iter_values([days])) as ArrayRef),
        DataType::Time64(_) => whole.map(|time| {
            Arc::new(arrow_array::Time64MicrosecondArray::from_iter_values([
                time,
            ])) as ArrayRef
        }),
        DataType::Timestamp(_, zone) => whole.map(|moment| {
            let moments = TimestampMicrosecondArray::from(vec![moment]);
            Arc::new(moments.with_timezone_opt(zone.clone())) as ArrayRef
        }),
        DataType::Binary => value.as_array().and_then(|bytes| {
            let bytes = bytes.iter().map(|byte| small(byte.as_i64()));
            let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
            Some(Arc::new(BinaryArray::from_vec(vec![&bytes])) as ArrayRef)
        }),
        _ => value.as_str().and_then(|text| {
            let mut column = Column::new(field, &Rules::default()).ok()?;
            (column.push_text(text) == Pushed::Stored).then(|| column.finish())
        }),
    };
    made.ok_or_else(wrong)
}

fn small<T: TryFrom<i64>>(whole: Option<i64>) -> Option<T> {
    whole.and_then(|value| value.try_into().ok())
}

/// A column of one value; nulls where there is none.
pub(super) fn repeat(
    value: Option<&ArrayRef>,
    kind: &DataType,
    rows: usize,
) -> Result<ArrayRef, BlockError> {
    let Some(value) = value.filter(|value| !value.is_null(0)) else {
        return Ok(new_null_array(kind, rows));
    };
    let places = UInt32Array::from(vec![0; rows]);
    take(value, &places, None).map_err(|error| BlockError::invariant(error.to_string()))
}

impl Batch {
    fn keep(self, rows: &BooleanArray) -> Result<Batch, BlockError> {
        let kept = |column: &ArrayRef| {
            filter(column, rows).map_err(|error| BlockError::invariant(error.to_string()))
        };
        Ok(Batch {
            columns: self.columns.iter().map(kept).collect::<Result<_, _>>()?,
            rows: rows.true_count(),
        })
    }
}
