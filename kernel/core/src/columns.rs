//! Columns while they are filled: values that grow, handed to Arrow without copying.

mod build;
mod bulk;
mod cells;
mod nulls;
mod reading;
mod texts;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, TimeUnit};

pub use cells::{Cells, Place, write_text};

use crate::kinds::{is_variant, nullable};
use crate::rules::Rules;
use nulls::{Bits, Nulls};
use reading::Reading;
use texts::{Offsets, Texts};

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

/// One column of a batch while it is filled. Every `push` adds one row.
#[derive(Debug)]
pub struct Column {
    kind: DataType,
    nulls: Nulls,
    data: Data,
    reading: Reading,
    is_exact: bool, // a number that would lose digits of its text is none
}

/// The values of a column; a null has one too, except in a list.
#[derive(Debug)]
enum Data {
    Void,
    Boolean(Bits),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>),
    Date(Vec<i32>),
    Time(Vec<i64>), // of day
    Timestamp(Vec<i64>),
    Text(Texts),
    Binary(Texts),
    Variant(Box<[Texts; 2]>), // values, metadata
    Struct(Vec<Column>),
    List(Offsets, Box<Column>),
    Map(Offsets, Box<[Column; 2]>),
}

/// What a value must be for a column, with the columns of its parts.
#[derive(Debug)]
pub enum Shape<'a> {
    /// Always null.
    Void,
    /// True or false: [`Column::push_bool`].
    Boolean,
    /// Text: [`Column::push_utf8`].
    Text,
    /// Another scalar: [`Column::push_json`].
    Scalar,
    /// An object with these members; after one value is pushed to each, [`Column::push_struct`].
    Struct(&'a mut [Column]),
    /// A list of these items; after them [`Column::push_list`].
    List(&'a mut Column),
    /// Keys and values; after as many of both [`Column::push_list`].
    Map(&'a mut Column, &'a mut Column),
}

impl Column {
    /// An empty column; an error names what is not supported.
    pub fn new(field: &Field, rules: &Rules) -> Result<Column, String> {
        let kind = nullable(field.data_type());
        let column = |field: &Field| Column::new(field, rules);
        let data = match &kind {
            DataType::Null => Data::Void,
            DataType::Boolean => Data::Boolean(Bits::default()),
            DataType::Int8 => Data::Int8(Vec::new()),
            DataType::Int16 => Data::Int16(Vec::new()),
            DataType::Int32 => Data::Int32(Vec::new()),
            DataType::Int64 => Data::Int64(Vec::new()),
            DataType::Float32 => Data::Float32(Vec::new()),
            DataType::Float64 => Data::Float64(Vec::new()),
            DataType::Decimal128(..) => Data::Decimal(Vec::new()),
            DataType::Date32 => Data::Date(Vec::new()),
            DataType::Time64(TimeUnit::Microsecond) => Data::Time(Vec::new()),
            DataType::Timestamp(..) => Data::Timestamp(Vec::new()),
            DataType::Utf8 => Data::Text(Texts::new()),
            DataType::Binary => Data::Binary(Texts::new()),
            kind if is_variant(kind) => Data::Variant(Box::new([Texts::new(), Texts::new()])),
            DataType::Struct(parts) => Data::Struct(
                parts
                    .iter()
                    .map(|part| column(part))
                    .collect::<Result<_, _>>()?,
            ),
            DataType::List(item) => Data::List(Offsets::new(), Box::new(column(item)?)),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(parts) if parts.len() == 2 => Data::Map(
                    Offsets::new(),
                    Box::new([column(&parts[0])?, column(&parts[1])?]),
                ),
                other => return Err(format!("a map of {other} is not supported")),
            },
            other => return Err(format!("columns of type {other} are not supported")),
        };
        let reading = Reading::new(&kind, rules)?;
        Ok(Column {
            kind,
            nulls: Nulls::default(),
            data,
            reading,
            is_exact: rules.exact_numbers,
        })
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What its values must be.
    #[inline]
    pub fn shape(&mut self) -> Shape<'_> {
        match &mut self.data {
            Data::Void => Shape::Void,
            Data::Boolean(_) => Shape::Boolean,
            Data::Text(_) => Shape::Text,
            Data::Struct(members) => Shape::Struct(members),
            Data::List(_, items) => Shape::List(items),
            Data::Map(_, entries) => {
                let [keys, values] = entries.as_mut();
                Shape::Map(keys, values)
            }
            _ => Shape::Scalar,
        }
    }

    /// Whether it is a column of text: then [`Column::push_utf8`] is what [`Column::push_text`] does.
    #[inline]
    pub fn is_text(&self) -> bool {
        matches!(self.data, Data::Text(_))
    }

    /// Whether it is a column of variants: [`Column::push_variant`].
    #[inline]
    pub fn is_variant(&self) -> bool {
        matches!(self.data, Data::Variant(_))
    }

    /// The most bytes that the texts, or items that the lists, of one column have, parts of nested ones included. At
    /// most [`MAX_COLUMN_BYTES`](crate::limits::MAX_COLUMN_BYTES), or a push is a bug of the caller.
    pub fn text_bytes(&self) -> usize {
        match &self.data {
            Data::Text(texts) | Data::Binary(texts) => texts.bytes(),
            Data::Variant(parts) => parts.iter().map(Texts::bytes).max().unwrap_or(0),
            Data::Struct(members) => members.iter().map(Column::text_bytes).max().unwrap_or(0),
            Data::List(_, items) => items.len().max(items.text_bytes()),
            Data::Map(_, entries) => entries
                .iter()
                .map(|part| part.len().max(part.text_bytes()))
                .max()
                .unwrap_or(0),
            _ => 0,
        }
    }

    /// Make room for more rows, and for bytes of text.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        match &mut self.data {
            Data::Void => {}
            Data::Boolean(bits) => bits.reserve(rows),
            Data::Int8(values) => values.reserve(rows),
            Data::Int16(values) => values.reserve(rows),
            Data::Int32(values) | Data::Date(values) => values.reserve(rows),
            Data::Int64(values) | Data::Time(values) | Data::Timestamp(values) => {
                values.reserve(rows)
            }
            Data::Float32(values) => values.reserve(rows),
            Data::Float64(values) => values.reserve(rows),
            Data::Decimal(values) => values.reserve(rows),
            Data::Text(texts) | Data::Binary(texts) => texts.reserve(rows, bytes),
            Data::Variant(parts) => parts.iter_mut().for_each(|part| part.reserve(rows, bytes)),
            Data::Struct(members) => members
                .iter_mut()
                .for_each(|member| member.reserve(rows, 0)),
            Data::List(offsets, _) | Data::Map(offsets, _) => offsets.reserve(rows),
        }
    }

    /// Append a null. Items or members that were pushed since the last row was ended are dropped.
    pub fn push_null(&mut self) {
        if matches!(self.data, Data::Struct(_) | Data::List(..) | Data::Map(..)) {
            self.undo();
        }
        match &mut self.data {
            Data::Void => {}
            Data::Boolean(bits) => bits.push(false),
            Data::Int8(values) => values.push(0),
            Data::Int16(values) => values.push(0),
            Data::Int32(values) | Data::Date(values) => values.push(0),
            Data::Int64(values) | Data::Time(values) | Data::Timestamp(values) => values.push(0),
            Data::Float32(values) => values.push(0.0),
            Data::Float64(values) => values.push(0.0),
            Data::Decimal(values) => values.push(0),
            Data::Text(texts) | Data::Binary(texts) => texts.push(b""),
            Data::Variant(parts) => parts.iter_mut().for_each(|part| part.push(b"")),
            Data::Struct(members) => members.iter_mut().for_each(Column::push_null),
            Data::List(offsets, _) | Data::Map(offsets, _) => offsets.push(offsets.last()),
        }
        self.nulls.push_null();
    }

    /// Drop rows from the end, in the parts of nested columns too: items of a list that was not ended with
    /// [`Column::push_list`], and members of an object without its [`Column::push_struct`], are gone as well.
    pub fn truncate(&mut self, rows: usize) {
        match &mut self.data {
            Data::Void => {}
            Data::Boolean(bits) => bits.truncate(rows),
            Data::Int8(values) => values.truncate(rows),
            Data::Int16(values) => values.truncate(rows),
            Data::Int32(values) | Data::Date(values) => values.truncate(rows),
            Data::Int64(values) | Data::Time(values) | Data::Timestamp(values) => {
                values.truncate(rows)
            }
            Data::Float32(values) => values.truncate(rows),
            Data::Float64(values) => values.truncate(rows),
            Data::Decimal(values) => values.truncate(rows),
            Data::Text(texts) | Data::Binary(texts) => texts.truncate(rows),
            Data::Variant(parts) => parts.iter_mut().for_each(|part| part.truncate(rows)),
            Data::Struct(members) => members.iter_mut().for_each(|member| member.truncate(rows)),
            Data::List(offsets, items) => items.truncate(offsets.truncate(rows)),
            Data::Map(offsets, entries) => {
                let kept = offsets.truncate(rows);
                entries.iter_mut().for_each(|part| part.truncate(kept));
            }
        }
        self.nulls.truncate(rows);
    }

    /// Append a text to a column of texts or bytes: the text is the value.
    ///
    /// # Panics
    /// If the column is of another type.
    #[inline]
    pub fn push_utf8(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Append bytes to a column of bytes; to a column of texts only if they are UTF-8.
    ///
    /// # Panics
    /// If the column is of another type. What is no UTF-8 panics in [`Column::finish`].
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        match &mut self.data {
            Data::Text(texts) | Data::Binary(texts) => texts.push(bytes),
            _ => panic!("a text for a column of type {}", self.kind),
        }
        self.nulls.push_valid();
    }

    /// Append what JSON has as `true` or `false`.
    pub fn push_bool(&mut self, value: bool) -> Pushed {
        let Data::Boolean(bits) = &mut self.data else {
            self.push_null();
            return Pushed::Bad;
        };
        bits.push(value);
        self.nulls.push_valid();
        Pushed::Stored
    }

    /// Append a variant: its value, and its metadata.
    ///
    /// # Panics
    /// If the column is of another type.
    pub fn push_variant(&mut self, value: &[u8], metadata: &[u8]) {
        let Data::Variant(parts) = &mut self.data else {
            panic!("a variant for a column of type {}", self.kind)
        };
        let [values, all_metadata] = parts.as_mut();
        values.push(value);
        all_metadata.push(metadata);
        self.nulls.push_valid();
    }

    /// End an object: one value was pushed to each of its members.
    ///
    /// # Panics
    /// If the column is of another type, or a member has another number of rows.
    pub fn push_struct(&mut self) {
        let rows = self.len() + 1;
        match &self.data {
            Data::Struct(members) => assert!(
                members.iter().all(|member| member.len() == rows),
                "one value a member"
            ),
            _ => panic!("an object for a column of type {}", self.kind),
        }
        self.nulls.push_valid();
    }

    /// End a list or a map with what was pushed to its items, or keys and values, since the last one.
    ///
    /// # Panics
    /// If the column is of another type, or there are more keys than values.
    pub fn push_list(&mut self) {
        match &mut self.data {
            Data::List(offsets, items) => offsets.push(items.len()),
            Data::Map(offsets, entries) => {
                assert_eq!(entries[0].len(), entries[1].len(), "a value for each key");
                offsets.push(entries[0].len());
            }
            _ => panic!("a list for a column of type {}", self.kind),
        }
        self.nulls.push_valid();
    }

    /// Drop the items, or members, that were pushed since the last row was ended: where a list or an object turns out
    /// to be none of its type.
    pub fn undo(&mut self) {
        self.truncate(self.len());
    }

    /// The rows as an array; the column is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        build::array(self)
    }
}

#[cfg(test)]
mod tests;
