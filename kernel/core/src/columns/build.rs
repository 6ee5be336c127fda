//! Columns that are filled, as arrays.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, NullArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::texts::Texts;
use super::{Column, Data};

/// The rows of a column; none are left in it. Buffers are handed over, not copied.
pub(super) fn array(column: &mut Column) -> ArrayRef {
    let rows = column.nulls.len();
    let nulls = column.nulls.take();
    let kind = &column.kind;
    match &mut column.data {
        Data::Void => Arc::new(NullArray::new(rows)),
        Data::Boolean(bits) => Arc::new(BooleanArray::new(bits.take(), nulls)),
        Data::Int8(values) => numbers::<Int8Type>(values, nulls, kind),
        Data::Int16(values) => numbers::<Int16Type>(values, nulls, kind),
        Data::Int32(values) => numbers::<Int32Type>(values, nulls, kind),
        Data::Int64(values) => numbers::<Int64Type>(values, nulls, kind),
        Data::Float32(values) => numbers::<Float32Type>(values, nulls, kind),
        Data::Float64(values) => numbers::<Float64Type>(values, nulls, kind),
        Data::Decimal(values) => numbers::<Decimal128Type>(values, nulls, kind),
        Data::Date(values) => numbers::<Date32Type>(values, nulls, kind),
        Data::Time(values) => numbers::<Time64MicrosecondType>(values, nulls, kind),
        Data::Timestamp(values) => numbers::<TimestampMicrosecondType>(values, nulls, kind),
        Data::Text(texts) => {
            let (offsets, bytes) = texts.take();
            Arc::new(strings(offsets, bytes, nulls))
        }
        Data::Binary(texts) => {
            let (offsets, bytes) = texts.take();
            Arc::new(BinaryArray::new(offsets, bytes, nulls))
        }
        Data::Variant(parts) => {
            let binary = |texts: &mut Texts| -> ArrayRef {
                let (offsets, bytes) = texts.take();
                Arc::new(BinaryArray::new(offsets, bytes, None))
            };
            let arrays = parts.iter_mut().map(binary).collect();
            Arc::new(members_of(kind, arrays, rows, nulls))
        }
        Data::Struct(members) => Arc::new(object(kind, members, rows, nulls)),
        Data::List(offsets, items) => {
            let DataType::List(item) = kind else {
                unreachable!("lists have the type of a list")
            };
            Arc::new(ListArray::new(
                item.clone(),
                offsets.take(),
                items.finish(),
                nulls,
            ))
        }
        Data::Map(offsets, entries) => {
            let DataType::Map(entry, sorted) = kind else {
                unreachable!("maps have the type of a map")
            };
            let rows = entries[0].len();
            let parts = object(entry.data_type(), entries.as_mut_slice(), rows, None);
            Arc::new(MapArray::new(
                entry.clone(),
                offsets.take(),
                parts,
                nulls,
                *sorted,
            ))
        }
    }
}

/// Texts. Arrow looks at every byte and at every offset; where all bytes are ASCII, one look at them is enough.
#[allow(unsafe_code)] // its reason is beside it
fn strings(offsets: OffsetBuffer<i32>, bytes: Buffer, nulls: Option<NullBuffer>) -> StringArray {
    let ends_in_bytes = offsets
        .last()
        .is_some_and(|&end| end as usize <= bytes.len());
    let rows = offsets.len() - 1; // it begins with a 0
    let is_one_a_row = nulls.as_ref().is_none_or(|nulls| nulls.len() == rows);
    if ends_in_bytes && is_one_a_row && bytes.is_ascii() {
        // SAFETY: offsets never go down (`OffsetBuffer`), and the last one is within the bytes; each of those is a
        // character, so texts begin and end anywhere; and nulls, if there are any, are as many as texts.
        unsafe { StringArray::new_unchecked(offsets, bytes, nulls) }
    } else {
        StringArray::new(offsets, bytes, nulls)
    }
}

fn numbers<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<NullBuffer>,
    kind: &DataType,
) -> ArrayRef {
    let values = ScalarBuffer::from(std::mem::take(values));
    Arc::new(PrimitiveArray::<T>::new(values, nulls).with_data_type(kind.clone()))
}

fn object(
    kind: &DataType,
    members: &mut [Column],
    rows: usize,
    nulls: Option<NullBuffer>,
) -> StructArray {
    let arrays = members.iter_mut().map(Column::finish).collect();
    members_of(kind, arrays, rows, nulls)
}

fn members_of(
    kind: &DataType,
    arrays: Vec<ArrayRef>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> StructArray {
    let DataType::Struct(fields) = kind else {
        unreachable!("objects have the type of a struct")
    };
    StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows)
        .expect("columns of these types and rows")
}
