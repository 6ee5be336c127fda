//! From texts to the values of a column.

use arrow_schema::DataType;

use super::nulls::Nulls;
use super::{Column, Data, Pushed};
use crate::rules::Rules;
use crate::value::float::Named;
use crate::value::{Cell, boolean, float, int};

/// What reading the texts of a column needs, besides its type.
#[derive(Debug)]
pub(super) enum Reading {
    /// Nothing.
    Plain,
    /// Numbers that have names.
    Float(Named),
}

impl Reading {
    pub(super) fn new(kind: &DataType, rules: &Rules) -> Result<Reading, String> {
        Ok(match kind {
            DataType::Float32 | DataType::Float64 => Reading::Float(Named::new(rules)),
            DataType::Decimal128(..) | DataType::Date32 | DataType::Timestamp(..) => {
                return Err(format!("columns of type {kind} are not supported yet"));
            }
            _ => Reading::Plain,
        })
    }
}

impl Column {
    /// Append the value that a text is, as CSV has it.
    #[inline]
    pub fn push_text(&mut self, text: &str) -> Pushed {
        let nulls = &mut self.nulls;
        match (&mut self.data, &self.reading) {
            (Data::Int8(values), _) => store(values, nulls, int::parse(text)),
            (Data::Int16(values), _) => store(values, nulls, int::parse(text)),
            (Data::Int32(values), _) => store(values, nulls, int::parse(text)),
            (Data::Int64(values), _) => store(values, nulls, int::parse(text)),
            (Data::Float32(values), Reading::Float(named)) => {
                store(values, nulls, float::parse(text, named))
            }
            (Data::Float64(values), Reading::Float(named)) => {
                store(values, nulls, float::parse(text, named))
            }
            (Data::Text(texts) | Data::Binary(texts), _) => {
                texts.push(text.as_bytes());
                nulls.push_valid();
                Pushed::Stored
            }
            (Data::Boolean(bits), _) => match boolean::parse(text) {
                Cell::Value(value) => {
                    bits.push(value);
                    nulls.push_valid();
                    Pushed::Stored
                }
                _ => self.push_bad(),
            },
            _ => self.push_bad(),
        }
    }

    /// Append a number or a string of JSON.
    ///
    /// # Arguments
    /// * `written`: the number as it is written, or the string.
    /// * `is_text`: whether it is a string.
    /// * `allow_named`: whether strings such as `"NaN"` are numbers.
    #[inline]
    pub fn push_json(&mut self, written: &str, is_text: bool, allow_named: bool) -> Pushed {
        let nulls = &mut self.nulls;
        match (&mut self.data, is_text) {
            (Data::Boolean(_), _) => self.push_bad(),
            (Data::Int8(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int16(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int32(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int64(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int8(_) | Data::Int16(_) | Data::Int32(_) | Data::Int64(_), true) => {
                self.push_bad()
            }
            (Data::Float32(values), _) => store(
                values,
                nulls,
                float::parse_json(written, is_text, allow_named),
            ),
            (Data::Float64(values), _) => store(
                values,
                nulls,
                float::parse_json(written, is_text, allow_named),
            ),
            _ => self.push_text(written),
        }
    }

    /// Append a null for a value that is not of the column's type.
    pub fn push_bad(&mut self) -> Pushed {
        self.push_null();
        Pushed::Bad
    }
}

#[inline]
fn store<T: Default>(values: &mut Vec<T>, nulls: &mut Nulls, cell: Cell<T>) -> Pushed {
    if let Cell::Value(value) = cell {
        values.push(value);
        nulls.push_valid();
        return Pushed::Stored;
    }
    values.push(T::default());
    nulls.push_null();
    match cell {
        Cell::Undecided => Pushed::Undecided,
        _ => Pushed::Bad,
    }
}
