use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, TimeUnit};

use super::{Column, Pushed, Shape};
use crate::kinds::kind_name;
use crate::rules::Rules;

fn column(kind: DataType) -> Column {
    Column::new(&Field::new("c", kind, false), &Rules::default()).expect("a type that is supported")
}

fn list_of(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", kind, false)))
}

fn map_of(kind: DataType) -> DataType {
    let parts = [
        Field::new("key", DataType::Utf8, false),
        Field::new("value", kind, true),
    ];
    DataType::Map(
        Arc::new(Field::new(
            "entries",
            DataType::Struct(parts.into_iter().collect()),
            false,
        )),
        false,
    )
}

fn struct_of(parts: [(&str, DataType); 2]) -> DataType {
    DataType::Struct(
        parts
            .into_iter()
            .map(|(name, kind)| Field::new(name, kind, false))
            .collect(),
    )
}

fn numbers(array: &ArrayRef) -> Vec<Option<i32>> {
    array.as_primitive::<Int32Type>().iter().collect()
}

#[test]
fn texts_that_are_not_all_ascii_are_checked() {
    let texts = |parts: &[Option<&[u8]>]| {
        let mut column = column(DataType::Utf8);
        for part in parts {
            match part {
                Some(bytes) => column.push_bytes(bytes),
                None => column.push_null(),
            }
        }
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| column.finish())).ok()
    };
    for sound in [
        &[Some(&b"ab"[..]), None, Some(b""), Some(b"c")][..],
        &[Some("\u{e9}".as_bytes()), Some(b"c")],
    ] {
        let found = texts(sound).expect("they are UTF-8");
        found.to_data().validate_full().expect("what Arrow takes");
        let found: Vec<_> = found.as_string::<i32>().iter().collect();
        let expected = sound
            .iter()
            .map(|text| text.map(|text| std::str::from_utf8(text).expect("UTF-8")));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
    for broken in [&[Some(&b"a\xff"[..])][..], &[Some(b"\xc3"), Some(b"\xa9")]] {
        assert!(texts(broken).is_none(), "{broken:?}"); // the second is UTF-8 as a whole
    }
}

#[test]
fn every_type_is_cut_and_emptied() {
    let zone = Some("Europe/Berlin".into());
    for kind in [
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(10, 2),
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, zone),
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Utf8,
        DataType::Binary,
        DataType::Null,
        list_of(DataType::Int32),
        map_of(DataType::Utf8),
        struct_of([("a", DataType::Int8), ("b", list_of(DataType::Utf8))]),
    ] {
        let mut column = column(kind.clone());
        for _ in 0..2 {
            for text in ["1970", "true", "x", "7", "1"] {
                column.push_text(text);
                column.push_null();
            }
            column.truncate(9);
            column.truncate(20);
            assert_eq!(column.len(), 9);
            let array = column.finish();
            assert_eq!(array.len(), 9, "{kind}");
            assert_eq!(
                array
                    .to_data()
                    .validate_full()
                    .map_err(|error| error.to_string()),
                Ok(()),
                "{kind}"
            );
            assert!(column.is_empty());
        }
    }
}

#[test]
fn lists_end_where_they_are_ended() {
    let mut column = column(list_of(DataType::Int32));
    for (row, items) in [vec!["1", "2"], vec![], vec!["3"]].into_iter().enumerate() {
        let Shape::List(inside) = column.shape() else {
            panic!("a list")
        };
        items
            .iter()
            .for_each(|item| assert_eq!(inside.push_json(item, false, true), Pushed::Stored));
        match row {
            1 => column.push_null(),
            _ => column.push_list(),
        }
    }
    let Shape::List(inside) = column.shape() else {
        panic!("a list")
    };
    inside.push_null();
    column.push_null(); // what was begun is dropped
    column.truncate(3);
    let array = column.finish();
    let lists: Vec<Option<Vec<Option<i32>>>> = array
        .as_list::<i32>()
        .iter()
        .map(|list| list.map(|list| numbers(&list)))
        .collect();
    assert_eq!(
        lists,
        [Some(vec![Some(1), Some(2)]), None, Some(vec![Some(3)])]
    );
}

#[test]
fn members_are_as_long_as_their_struct() {
    let mut column = column(struct_of([
        ("a", DataType::Int32),
        ("b", list_of(DataType::Int32)),
    ]));
    for row in ["1", "2"] {
        let Shape::Struct([first, second]) = column.shape() else {
            panic!("a struct")
        };
        first.push_text(row);
        let Shape::List(items) = second.shape() else {
            panic!("a list")
        };
        items.push_text(row);
        second.push_list();
        column.push_struct();
    }
    column.push_null();
    let Shape::Struct([first, _]) = column.shape() else {
        panic!("a struct")
    };
    first.push_text("4");
    column.undo();
    column.truncate(3);
    let array = column.finish();
    let members = array.as_struct();
    assert_eq!(numbers(members.column(0)), [Some(1), Some(2), None]);
    assert_eq!(
        members.column(1).as_list::<i32>().value_offsets(),
        [0, 1, 2, 2]
    );
    assert!(members.is_null(2));
}

#[test]
fn maps_have_a_value_for_each_key() {
    let mut column = column(map_of(DataType::Int32));
    for (key, value) in [("a", "1"), ("b", "x")] {
        let Shape::Map(keys, values) = column.shape() else {
            panic!("a map")
        };
        keys.push_utf8(key);
        values.push_text(value);
    }
    column.push_list();
    column.push_null();
    let array = column.finish();
    let map = array.as_map();
    assert_eq!(
        map.keys().as_string::<i32>().iter().collect::<Vec<_>>(),
        [Some("a"), Some("b")]
    );
    assert_eq!(numbers(map.values()), [Some(1), None]);
    assert_eq!(
        (map.value_offsets(), map.is_null(1)),
        ([0, 2, 2].as_slice(), true)
    );
}

#[test]
fn bytes_are_counted_in_every_part() {
    let mut column = column(struct_of([
        ("a", list_of(DataType::Utf8)),
        ("b", DataType::Binary),
    ]));
    assert_eq!(column.text_bytes(), 0);
    let Shape::Struct([first, second]) = column.shape() else {
        panic!("a struct")
    };
    let Shape::List(items) = first.shape() else {
        panic!("a list")
    };
    items.push_utf8("abc");
    first.push_list();
    second.push_bytes(b"\xff\x00");
    column.push_struct();
    assert_eq!(column.text_bytes(), 3);
    column.truncate(0);
    assert_eq!(column.text_bytes(), 0);
}

#[test]
fn values_of_json_keep_to_their_types() {
    let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let naive = DataType::Timestamp(TimeUnit::Microsecond, None);
    let (stored, bad) = (Pushed::Stored, Pushed::Bad);
    for (kind, written, is_text, expected) in [
        (DataType::Int32, "1", false, stored),
        (DataType::Int32, "1", true, bad),
        (DataType::Int32, "1.0", false, bad),
        (DataType::Boolean, "true", true, bad),
        (zoned.clone(), "1", false, stored),
        (zoned.clone(), "1970", true, stored),
        (zoned.clone(), "1970-01-01 1:0 Europe/Berlin", true, stored),
        (zoned, "1970-01-01 1:0 Europe/Nowhere", true, bad),
        (naive.clone(), "1", false, bad),
        (naive, "1970", true, stored),
        (DataType::Date32, "1970", false, bad),
        (DataType::Decimal128(3, 1), "1.5", false, stored),
        (DataType::Decimal128(3, 1), "1.5", true, stored),
        (DataType::Binary, "YQ==", true, stored),
        (DataType::Binary, "1", false, bad),
        (DataType::Binary, "YWJj=", true, bad),
        (DataType::Utf8, "1", false, stored),
        (list_of(DataType::Utf8), "1", false, bad),
    ] {
        let mut column = column(kind.clone());
        assert_eq!(
            column.push_json(written, is_text, true),
            expected,
            "{kind} {written}"
        );
        assert_eq!(
            column.finish().null_count(),
            usize::from(expected != stored),
            "{kind} {written}"
        );
    }
    let mut flags = column(DataType::Boolean);
    assert_eq!(
        (
            flags.push_bool(true),
            column(DataType::Int8).push_bool(true)
        ),
        (stored, bad)
    );
}

#[test]
fn moments_are_kept_in_utc() {
    let mut column = column(DataType::Timestamp(
        TimeUnit::Microsecond,
        Some("Europe/Berlin".into()),
    ));
    column.push_text("1970-01-01T01:00+01:00");
    let array = column.finish();
    assert_eq!(array.as_primitive::<TimestampMicrosecondType>().value(0), 0);
    assert_eq!(
        array.data_type(),
        &DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into()))
    );
}

#[test]
fn other_types_and_patterns_without_meaning_are_refused() {
    for kind in [
        DataType::UInt8,
        DataType::LargeUtf8,
        DataType::Date64,
        DataType::Timestamp(TimeUnit::Second, None),
        list_of(DataType::Float16),
    ] {
        assert!(
            Column::new(&Field::new("c", kind.clone(), true), &Rules::default()).is_err(),
            "{kind}"
        );
    }
    let rules = Rules {
        date_format: Some("QQ".into()),
        ..Rules::default()
    };
    assert!(Column::new(&Field::new("c", DataType::Date32, true), &rules).is_err());
}

#[test]
fn types_have_the_names_of_spark() {
    for (kind, name) in [
        (
            list_of(map_of(DataType::Int8)),
            "array<map<string, tinyint>>",
        ),
        (
            struct_of([
                ("a", DataType::Boolean),
                ("b c", DataType::Timestamp(TimeUnit::Microsecond, None)),
            ]),
            "struct<a: boolean NOT NULL, `b c`: timestamp_ntz NOT NULL>",
        ),
        (
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            "timestamp",
        ),
    ] {
        assert_eq!(kind_name(&kind), name);
    }
}
