//! Types that were found, for Python. Names may hold any character, so they do not cross as Arrow's C strings.

use arrow_schema::{DataType, Fields};
use pyo3::prelude::*;

/// The name of a type, or what is in one: members, items, or the digits of a decimal and those after its point.
#[derive(IntoPyObject)]
pub enum Kind {
    /// As `pyarrow.type_for_alias` knows it.
    Plain(&'static str),
    /// The members of a struct.
    Members(Vec<(String, Kind)>),
    /// The type of the items of an array, alone in its list.
    Items((Vec<Kind>,)),
    /// Precision and scale.
    Decimal((u8, i8)),
}

/// Fields by their names and types.
pub fn kinds(fields: &Fields) -> Vec<(String, Kind)> {
    let fields = fields.iter();
    fields
        .map(|field| (field.name().clone(), kind(field.data_type())))
        .collect()
}

fn kind(found: &DataType) -> Kind {
    match found {
        DataType::Null => Kind::Plain("null"),
        DataType::Boolean => Kind::Plain("bool"),
        DataType::Int64 => Kind::Plain("int64"),
        DataType::Float64 => Kind::Plain("double"),
        DataType::Decimal128(digits, scale) => Kind::Decimal((*digits, *scale)),
        DataType::Struct(members) => Kind::Members(kinds(members)),
        DataType::List(items) => Kind::Items((vec![kind(items.data_type())],)),
        _ => Kind::Plain("string"),
    }
}
