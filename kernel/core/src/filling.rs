//! Columns while records fill them, and what is wrong with the records.

use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};

use crate::columns::Column;
use crate::fault::{Code, Fault};
use crate::kinds::holds_variant;
use crate::limits::MAX_COLUMN_BYTES;
use crate::parsed::Parsed;
use crate::rules::Rules;

/// Bytes of a variant for one of its text, at most: `1e1,` is a double and where it begins, 13 bytes.
const VARIANT_GROWTH: usize = 4;

/// How data that does not fit is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// What ends the kept text of a record: `,"_file_path":"..."}`.
    pub tail: String,
    /// Whether the text is asked for; if not, what does not fit is no fault either.
    pub wanted: bool,
    /// Whether what does not fit is a fault all the same.
    pub is_fault: bool,
}

/// What became of a record.
pub(crate) enum Outcome {
    /// It is read.
    Read,
    /// Something is wrong with it.
    Fault(Fault),
    /// Only the reference engine can read it.
    Undecided,
}

impl Outcome {
    /// Of a record in which there may be a problem.
    pub(crate) fn of(problem: Option<Fault>) -> Outcome {
        problem.map_or(Outcome::Read, Outcome::Fault)
    }

    /// Of a record that is broken as a whole.
    pub(crate) fn of_record(code: Code, seen: String) -> Outcome {
        Outcome::Fault(Fault {
            record: 0,
            code,
            column: Arc::default(),
            seen,
            kind: Arc::default(),
        })
    }
}

/// The rows of records of which each is one text.
pub(crate) struct Filling<'p> {
    rescue: Option<&'p Rescue>,
    /// One for each field.
    pub columns: Vec<Column>,
    rescued: Option<Column>,
    text_bytes: usize, // of the records: no column has more, but for variants
    growth: usize,     // how many times as long as its text a value may be
    named: usize,      // how many times as long names of parts in values make it
    parsed: Parsed,
}

impl<'p> Filling<'p> {
    /// Records that tell how much room others need.
    pub(crate) const SAMPLE: usize = 64;

    pub(crate) fn new(
        schema: &SchemaRef,
        rules: &[Rules],
        rescue: Option<&'p Rescue>,
    ) -> Result<Filling<'p>, String> {
        let fields = schema.fields().iter().zip(rules);
        let columns = fields
            .map(|(field, rules)| Column::new(field, rules))
            .collect::<Result<_, _>>()?;
        let text = Field::new("rescued", DataType::Utf8, true);
        let wants = rescue.is_some_and(|rescue| rescue.wanted);
        Ok(Filling {
            rescue,
            columns,
            rescued: wants
                .then(|| Column::new(&text, &Rules::default()))
                .transpose()?,
            text_bytes: 0,
            growth: if schema
                .fields()
                .iter()
                .any(|field| holds_variant(field.data_type()))
            {
                VARIANT_GROWTH
            } else {
                1
            },
            named: 1,
            parsed: Parsed::default(),
        })
    }

    /// Count so many bytes for each one of a record, whose values hold names that it does not have.
    pub(crate) fn with_names(self, named: usize) -> Filling<'p> {
        Filling { named, ..self }
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.parsed.rows
    }

    /// Whether a record of so many bytes fits into the columns for sure.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let bytes = bytes.saturating_mul(self.named);
        let replaced = if self.parsed.rows == 0 {
            bytes
        } else {
            bytes.saturating_mul(3)
        }; // by characters of 3 bytes
        let rescued = self
            .rescued
            .as_ref()
            .zip(self.rescue)
            .map_or(0, |(column, rescue)| {
                let escaped = bytes.saturating_mul(6);
                escaped
                    .saturating_add(rescue.tail.len())
                    .saturating_add(column.text_bytes())
            });
        let texts = self.text_bytes.saturating_mul(self.named);
        let texts = texts.saturating_mul(self.growth);
        texts
            .saturating_add(replaced.saturating_mul(self.growth))
            .max(rescued)
            <= MAX_COLUMN_BYTES
    }

    /// Make room for more records like those that were read, in so many more bytes; once, as soon as some were read.
    pub(crate) fn expect(&mut self, bytes: usize, most_rows: usize) {
        if self.parsed.rows != Self::SAMPLE || self.text_bytes == 0 {
            return;
        }
        let more = |seen: usize| seen.saturating_mul(bytes / self.text_bytes.max(1)); // a whole number of samples
        let rows = more(Self::SAMPLE).min(most_rows);
        for column in self.columns.iter_mut().chain(&mut self.rescued) {
            let texts = column.text_bytes();
            column.reserve(rows, more(texts + texts / 8).min(bytes));
        }
    }

    /// What ends the kept text of a record, where that is asked for.
    pub(crate) fn tail(&self) -> Option<&'p str> {
        self.rescued.as_ref()?;
        self.rescue.map(|rescue| rescue.tail.as_str())
    }

    /// End the row of a record of so many bytes, of which each column has a value.
    #[inline]
    pub(crate) fn end_row(&mut self, bytes: usize, outcome: Outcome, rescued: Option<&str>) {
        self.text_bytes += bytes;
        if let Some(column) = &mut self.rescued {
            match rescued {
                Some(text) => column.push_utf8(text),
                None => column.push_null(),
            }
        }
        let record = self.parsed.rows;
        match outcome {
            Outcome::Read => {}
            Outcome::Undecided => self.parsed.undecided.push(record as u32),
            Outcome::Fault(problem)
                if problem.code != Code::BadValue
                    || self.rescue.is_none_or(|rescue| rescue.is_fault) =>
            {
                self.parsed.faults.push(Fault { record, ..problem });
            }
            Outcome::Fault(_) => {}
        }
        self.parsed.rows += 1;
    }

    /// End the rows of records that are as they should be, of so many bytes together.
    pub(crate) fn end_rows(&mut self, rows: usize, bytes: usize) {
        self.text_bytes += bytes;
        if let Some(column) = &mut self.rescued {
            (0..rows).for_each(|_| column.push_null());
        }
        self.parsed.rows += rows;
    }

    /// Append nulls for a record that cannot be read.
    #[cold]
    pub(crate) fn refuse(&mut self, bytes: usize, outcome: Outcome) {
        self.columns.iter_mut().for_each(Column::push_null);
        self.end_row(bytes, outcome, None);
    }

    /// The rows; frames are not in it.
    pub(crate) fn finish(mut self) -> Parsed {
        self.parsed.columns = self
            .columns
            .iter_mut()
            .chain(&mut self.rescued)
            .map(Column::finish)
            .collect();
        self.parsed
    }
}
