//! Values that records lack: defaults, columns that a file does not have, and columns that must have a value.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow_schema::Field;
use arrow_select::zip::zip;

use super::error::BlockError;
use super::layout::FileLayout;
use super::rows::repeat;
use super::spec::{FieldSpec, Required, ScanSpec};
use crate::columns::{Column, Pushed};
use crate::fault::{Code, Fault};
use crate::parsed::Parsed;

/// How the columns that are decoded become those of a scan.
#[derive(Debug)]
pub(super) struct Fillings {
    fields: Vec<Filling>,
    is_needed: bool,
}

#[derive(Debug)]
struct Filling {
    field: Field,
    name: Arc<str>,
    default: Option<ArrayRef>, // one row
    fills_nulls: bool,
    is_required: bool,
}

impl Fillings {
    pub(super) fn of(spec: &ScanSpec) -> Result<Fillings, BlockError> {
        let fields = spec.fields.iter().map(|field| {
            Ok(Filling {
                field: super::kinds::field(&field.name, &field.kind, true)?,
                name: field.name.as_str().into(),
                default: default_of(field)?,
                fills_nulls: field.fills_nulls,
                is_required: field.is_required,
            })
        });
        let fields = fields.collect::<Result<Vec<_>, BlockError>>()?;
        Ok(Fillings {
            is_needed: fields.iter().any(|each| each.default.is_some()),
            fields,
        })
    }

    /// The default of a field.
    pub(super) fn default(&self, field: usize) -> Option<&ArrayRef> {
        self.fields.get(field)?.default.as_ref()
    }

    /// The columns of the scan's fields, then whatever else was decoded.
    pub(super) fn fill(
        &self,
        mut parsed: Parsed,
        layout: Option<&FileLayout>,
    ) -> Result<Parsed, BlockError> {
        let is_same = layout.is_none_or(|layout| {
            let sources = layout.sources.iter().enumerate();
            sources
                .into_iter()
                .all(|(number, source)| *source == Some(number))
        });
        if is_same && !self.is_needed {
            return Ok(parsed);
        }
        let decoded = layout.map_or(self.fields.len(), |layout| layout.named.wanted.len());
        let others = parsed.columns.split_off(decoded.min(parsed.columns.len()));
        let columns = self.fields.iter().enumerate().map(|(number, filling)| {
            let source = layout.map_or(Some(number), |layout| {
                layout.sources.get(number).copied().flatten()
            });
            match source.and_then(|source| parsed.columns.get(source)) {
                None if source.is_some() => Err(BlockError::invariant("every field is decoded")),
                None => repeat(
                    filling.default.as_ref(),
                    filling.field.data_type(),
                    parsed.rows,
                ),
                Some(column) => {
                    let place = layout.and_then(|layout| layout.place(number));
                    filling.fill(column, place, &parsed.counts)
                }
            }
        });
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        columns.extend(others);
        parsed.columns = columns;
        Ok(parsed)
    }

    /// Make a fault of every record that lacks a value of a column that is NOT NULL; those are no rows where broken
    /// records are none. Returns which they are.
    pub(super) fn require(&self, parsed: &mut Parsed) -> HashSet<usize> {
        let mut lacking = HashSet::new();
        let mut known: HashSet<usize> = parsed.faults.iter().map(|fault| fault.record).collect();
        let columns = self.fields.iter().zip(&parsed.columns);
        for (filling, column) in columns.filter(|(filling, _)| filling.is_required) {
            let nulls = (0..column.len()).filter(|&record| column.is_null(record));
            for record in nulls.take_while(|_| column.null_count() > 0) {
                lacking.insert(record);
                if known.insert(record) {
                    parsed.faults.push(Fault {
                        record,
                        code: Code::NullInNotNull,
                        column: filling.name.clone(),
                        seen: String::new(),
                        kind: Arc::default(),
                    });
                }
            }
        }
        if !lacking.is_empty() {
            parsed.faults.sort_by_key(|fault| fault.record);
        }
        lacking
    }
}

impl Filling {
    /// A column with defaults; records may have too few fields to have it, which is at `place`.
    fn fill(
        &self,
        column: &ArrayRef,
        place: Option<usize>,
        counts: &[(u32, u32)],
    ) -> Result<ArrayRef, BlockError> {
        let Some(default) = &self.default else {
            return Ok(column.clone());
        };
        let mut fills = vec![false; column.len()];
        for &(record, fields) in counts {
            if let Some(fills) = fills.get_mut(record as usize) {
                *fills = place.is_some_and(|place| fields as usize <= place);
            }
        }
        if self.fills_nulls && column.null_count() > 0 {
            for (row, fills) in fills.iter_mut().enumerate() {
                *fills |= column.is_null(row);
            }
        }
        if !fills.contains(&true) {
            return Ok(column.clone());
        }
        let filled = zip(
            &BooleanArray::from(fills),
            &Scalar::new(default.clone()),
            column,
        );
        filled.map_err(|error| BlockError::invariant(error.to_string()))
    }
}

/// The value that the text of a default is, as one row.
fn default_of(field: &FieldSpec) -> Result<Option<ArrayRef>, BlockError> {
    let Some(text) = &field.default else {
        return Ok(None);
    };
    let kind = super::kinds::field(&field.name, &field.kind, true)?;
    let column = Column::new(&kind, &field.rules.rules()?);
    let mut column =
        column.map_err(|what| BlockError::bad_document("a column has a type", what))?;
    if column.push_text(text) != Pushed::Stored {
        return Err(BlockError::bad_document(
            "a default is a value of its column",
            text,
        ));
    }
    Ok(Some(column.finish()))
}

impl Required {
    /// The first row with a null where there must be none.
    pub(super) fn first_lacking(&self, column: &ArrayRef) -> Option<usize> {
        if self.parts.iter().all(Option::is_none) && column.null_count() == 0 {
            return None;
        }
        (0..column.len()).find(|&row| self.is_lacking(column, row))
    }

    fn is_lacking(&self, column: &dyn Array, row: usize) -> bool {
        if column.is_null(row) {
            return self.not_null;
        }
        let part = |part: &Option<Required>, column: &dyn Array, row: usize| {
            part.as_ref()
                .is_some_and(|part| part.is_lacking(column, row))
        };
        if let Some(members) = column.as_struct_opt() {
            let mut members = self.parts.iter().zip(members.columns());
            return members.any(|(required, member)| part(required, member, row));
        }
        let (values, span) = if let Some(list) = column.as_list_opt::<i32>() {
            (list.values(), span(list.offsets(), row))
        } else if let Some(map) = column.as_map_opt() {
            (map.values(), span(map.offsets(), row))
        } else {
            return false;
        };
        let first = self.parts.first().unwrap_or(&None);
        span.into_iter().any(|item| part(first, values, item))
    }
}

fn span(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| offsets.get(row).map_or(0, |&offset| offset as usize);
    at(row)..at(row + 1)
}
