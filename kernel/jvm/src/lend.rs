//! Arrow arrays as numbers for Java: where their buffers are.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde_json::Value;
use splitscan_kernel_core::kinds::is_variant;

const OFFSET: usize = size_of::<i32>(); // of a text or a list

/// Say where the buffers of an array are, and those of its children, depth first.
///
/// Five numbers for each array, as `ArrowColumn` of the connector takes them: nulls, address of the validity, its first
/// bit, address of the values (or of the offsets of texts and lists), and address of the bytes of texts (of booleans
/// the first bit). They hold as long as the array lives.
///
/// `wanted` is the type in Spark's JSON: of structs only the members that it has are lent.
///
/// # Errors
/// A sentence, if Spark has no such type, or a member is not there.
pub fn lend(array: &ArrayRef, wanted: &Value, places: &mut Vec<i64>) -> Result<(), String> {
    let data = array.to_data();
    let (validity, first_valid) = data.nulls().map_or((0, 0), |nulls| {
        (address(nulls.validity().as_ptr()), nulls.offset() as i64)
    });
    places.extend([array.null_count() as i64, validity, first_valid]);
    let buffer = |number: usize| address(data.buffers()[number].as_ptr());
    let from = |row_bytes: usize| buffer(0) + (data.offset() * row_bytes) as i64;
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            places.extend([address(values.values().as_ptr()), values.offset() as i64]);
        }
        DataType::Utf8 | DataType::Binary => places.extend([from(OFFSET), buffer(1)]),
        kind if is_variant(kind) => {
            places.extend([0, 0]);
            for part in array.as_struct().columns() {
                lend(part, wanted, places)?;
            }
        }
        DataType::Struct(_) => {
            places.extend([0, 0]);
            for member in list(&wanted["fields"]) {
                let name = member["name"].as_str().unwrap_or_default();
                let child = array.as_struct().column_by_name(name);
                let child = child.ok_or_else(|| format!("a struct has no member {name}"))?;
                lend(child, &member["type"], places)?;
            }
        }
        DataType::List(_) => {
            places.extend([from(OFFSET), 0]);
            lend(
                array.as_list::<i32>().values(),
                &wanted["elementType"],
                places,
            )?;
        }
        DataType::Map(_, _) => {
            places.extend([from(OFFSET), 0]);
            lend(array.as_map().keys(), &wanted["keyType"], places)?;
            lend(array.as_map().values(), &wanted["valueType"], places)?;
        }
        DataType::Null => places.extend([0, 0]),
        kind => {
            let bytes = kind.primitive_width();
            places.extend([
                from(bytes.ok_or_else(|| format!("Java is lent no {kind}"))?),
                0,
            ]);
        }
    }
    Ok(())
}

/// A struct without a null, whose members follow.
pub fn lend_struct(places: &mut Vec<i64>) {
    places.extend([0; 5]);
}

/// What a document lists; nothing if that is no list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn address<T>(pointer: *const T) -> i64 {
    pointer as usize as i64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Decimal128Type, Int32Type, TimestampMicrosecondType};
    use arrow_array::{
        BinaryArray, BooleanArray, Float64Array, ListArray, MapArray, PrimitiveArray, StringArray,
        StructArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    use serde_json::json;

    use super::*;

    /// Reads one array as `ArrowColumn` of the connector does; a mistake in either shows as wrong text.
    struct Lent<'a>(&'a [i64]);

    impl Lent<'_> {
        fn at<T: Copy>(&self, place: usize, row: usize) -> T {
            // SAFETY: the arrays of the test live, and have this row.
            unsafe {
                (self.0[place] as usize as *const T)
                    .add(row)
                    .read_unaligned()
            }
        }

        fn bit(&self, place: usize, bit: i64) -> bool {
            self.at::<u8>(place, (bit >> 3) as usize) >> (bit & 7) & 1 == 1
        }

        fn is_null(&self, row: usize) -> bool {
            self.0[0] > 0 && !self.bit(1, self.0[2] + row as i64)
        }

        fn range(&self, row: usize) -> std::ops::Range<usize> {
            self.at::<i32>(3, row) as usize..self.at::<i32>(3, row + 1) as usize
        }

        fn bytes(&self, row: usize) -> Vec<u8> {
            self.range(row).map(|at| self.at(4, at)).collect()
        }

        fn show(&self, row: usize, kind: &DataType) -> String {
            if self.is_null(row) {
                return "null".into();
            }
            match kind {
                DataType::Boolean => self.bit(3, self.0[4] + row as i64).to_string(),
                DataType::Int32 => self.at::<i32>(3, row).to_string(),
                DataType::Timestamp(_, _) => self.at::<i64>(3, row).to_string(),
                DataType::Float64 => self.at::<f64>(3, row).to_string(),
                DataType::Decimal128(_, _) => self.at::<i128>(3, row).to_string(),
                DataType::Utf8 => String::from_utf8(self.bytes(row)).unwrap(),
                DataType::Binary => format!("{:?}", self.bytes(row)),
                DataType::List(item) => {
                    let child = Lent(&self.0[5..]);
                    let shown: Vec<_> = self
                        .range(row)
                        .map(|at| child.show(at, item.data_type()))
                        .collect();
                    format!("[{}]", shown.join(" "))
                }
                DataType::Map(_, _) => {
                    let (keys, values) = (Lent(&self.0[5..]), Lent(&self.0[10..]));
                    let shown = self.range(row).map(|at| {
                        keys.show(at, &DataType::Utf8) + "=" + &values.show(at, &DataType::Int32)
                    });
                    shown.collect::<Vec<_>>().join(" ")
                }
                DataType::Struct(parts) => {
                    let shown = parts.iter().enumerate();
                    let shown = shown
                        .map(|(i, part)| Lent(&self.0[5 * (i + 1)..]).show(row, part.data_type()));
                    format!("({})", shown.collect::<Vec<_>>().join(" "))
                }
                other => panic!("{other}"),
            }
        }
    }

    /// A type of the test in Spark's JSON, as far as it has members.
    fn wanted(kind: &DataType) -> Value {
        match kind {
            DataType::Struct(parts) => {
                let parts = parts.iter();
                let members = parts
                    .map(|part| json!({"name": part.name(), "type": wanted(part.data_type())}));
                json!({"fields": members.collect::<Vec<_>>()})
            }
            _ => Value::Null,
        }
    }

    fn shown(array: &ArrayRef) -> Vec<String> {
        let mut places = Vec::new();
        lend(array, &wanted(array.data_type()), &mut places).unwrap();
        (0..array.len())
            .map(|row| Lent(&places).show(row, array.data_type()))
            .collect()
    }

    fn arrays() -> Vec<(ArrayRef, [&'static str; 4])> {
        let ints = PrimitiveArray::<Int32Type>::from(vec![Some(1), None, Some(-3), Some(4)]);
        let texts = StringArray::from(vec![Some("a"), Some(""), None, Some("döner")]);
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let list = ListArray::new(
            item.clone(),
            OffsetBuffer::new(vec![0, 2, 2, 3, 4].into()),
            Arc::new(ints.clone()),
            Some(vec![true, false, true, true].into()),
        );
        let parts = vec![
            Arc::new(Field::new("k", DataType::Utf8, false)),
            Arc::new(Field::new("v", DataType::Int32, true)),
        ];
        let keys = StringArray::from(vec!["p", "q", "r", "s"]);
        let entries = StructArray::new(
            parts.into(),
            vec![Arc::new(keys), Arc::new(ints.clone())],
            None,
        );
        let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let map = MapArray::new(
            entry,
            OffsetBuffer::new(vec![0, 1, 3, 3, 4].into()),
            entries,
            None,
            false,
        );
        let members = vec![item, Arc::new(Field::new("t", DataType::Utf8, true))];
        let pair = StructArray::new(
            members.into(),
            vec![Arc::new(ints.clone()), Arc::new(texts.clone())],
            Some(vec![true, true, false, true].into()),
        );
        let decimals =
            PrimitiveArray::<Decimal128Type>::from(vec![Some(i128::MAX), None, Some(-1), Some(0)]);
        let moments = PrimitiveArray::<TimestampMicrosecondType>::from(vec![
            None,
            Some(-5),
            Some(7),
            Some(0),
        ]);
        vec![
            (Arc::new(ints), ["1", "null", "-3", "4"]),
            (Arc::new(texts), ["a", "", "null", "döner"]),
            (
                Arc::new(BooleanArray::from(vec![
                    Some(true),
                    None,
                    Some(false),
                    Some(true),
                ])),
                ["true", "null", "false", "true"],
            ),
            (
                Arc::new(Float64Array::from(vec![0.5, 1.5, -2.0, 3.0])),
                ["0.5", "1.5", "-2", "3"],
            ),
            (
                Arc::new(BinaryArray::from(vec![
                    Some(&[1, 2][..]),
                    Some(&[]),
                    None,
                    Some(&[3]),
                ])),
                ["[1, 2]", "[]", "null", "[3]"],
            ),
            (
                Arc::new(decimals),
                ["170141183460469231731687303715884105727", "null", "-1", "0"],
            ),
            (Arc::new(moments), ["null", "-5", "7", "0"]),
            (Arc::new(list), ["[1 null]", "null", "[-3]", "[4]"]),
            (Arc::new(map), ["p=1", "q=null r=-3", "", "s=4"]),
            (Arc::new(pair), ["(1 a)", "(null )", "null", "(4 döner)"]),
        ]
    }

    #[test]
    fn arrays_and_every_slice_of_them_are_lent_as_they_are() {
        for (array, rows) in arrays() {
            for start in 0..=rows.len() {
                for stop in start..=rows.len() {
                    let slice = array.slice(start, stop - start);
                    assert_eq!(
                        shown(&slice),
                        rows[start..stop],
                        "{} {start} {stop}",
                        array.data_type()
                    );
                    let again = arrow_array::make_array(slice.to_data());
                    assert_eq!(
                        shown(&again),
                        rows[start..stop],
                        "{} from its data",
                        array.data_type()
                    );
                }
            }
        }
    }

    #[test]
    fn a_type_that_spark_has_not_is_refused() {
        let array: ArrayRef = Arc::new(arrow_array::LargeStringArray::from(vec!["a"]));
        assert!(lend(&array, &Value::Null, &mut Vec::new()).is_err());
    }

    #[test]
    fn members_are_lent_that_are_wanted_in_that_order() {
        let (array, _) = arrays().pop().unwrap();
        let mut places = Vec::new();
        lend(
            &array,
            &json!({"fields": [{"name": "t", "type": "string"}]}),
            &mut places,
        )
        .unwrap();
        assert_eq!(places.len(), 10);
        assert_eq!(Lent(&places[5..]).show(3, &DataType::Utf8), "döner");
        let other = json!({"fields": [{"name": "u", "type": "string"}]});
        assert!(lend(&array, &other, &mut places).is_err());
    }
}
