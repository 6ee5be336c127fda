//! Columns while they are filled.

use arrow_array::ArrayRef;
use arrow_schema::Field;

use crate::rules::Rules;

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It is in the column.
    Stored,
    /// It is not of the column's type; the column holds null.
    Bad,
    /// Only the reference engine can tell; the column holds null.
    Undecided,
}

/// One column of a batch while it is filled.
pub struct Column {}

impl Column {
    /// An empty column; an error names what is not supported.
    pub fn new(_field: &Field, _rules: &Rules) -> Result<Column, String> {
        Err("not written yet".into())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Append a null.
    pub fn push_null(&mut self) {}

    /// Append the value that a text is, as CSV has it.
    pub fn push_text(&mut self, _text: &str) -> Pushed {
        Pushed::Bad
    }

    /// Drop rows from the end.
    pub fn truncate(&mut self, _rows: usize) {}

    /// The rows as an array; the column is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        unimplemented!("columns are filled in by the next change")
    }
}
