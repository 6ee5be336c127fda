//! Types: which ones there are, and what people call them.

use std::sync::Arc;

use arrow_schema::{DataType, Field};

/// Spark's name of a type, as in its DDL.
///
/// # Examples
/// ```
/// use arrow_schema::DataType;
/// use splitscan_kernel_core::kinds::kind_name;
/// assert_eq!(kind_name(&DataType::Int64), "bigint");
/// assert_eq!(kind_name(&DataType::Decimal128(10, 2)), "decimal(10,2)");
/// ```
pub fn kind_name(kind: &DataType) -> String {
    match kind {
        DataType::Boolean => "boolean".into(),
        DataType::Int8 => "tinyint".into(),
        DataType::Int16 => "smallint".into(),
        DataType::Int32 => "int".into(),
        DataType::Int64 => "bigint".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Utf8 => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Date32 => "date".into(),
        DataType::Time64(_) => "time(6)".into(),
        DataType::Timestamp(_, None) => "timestamp_ntz".into(),
        DataType::Timestamp(_, Some(_)) => "timestamp".into(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        DataType::Null => "void".into(),
        DataType::List(item) => format!("array<{}>", kind_name(item.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) => {
                let names: Vec<String> = parts
                    .iter()
                    .map(|part| kind_name(part.data_type()))
                    .collect();
                format!("map<{}>", names.join(", "))
            }
            other => format!("map<{}>", kind_name(other)),
        },
        kind if is_variant(kind) => "variant".into(),
        DataType::Struct(parts) => {
            let members: Vec<String> = parts.iter().map(|part| member_name(part)).collect();
            format!("struct<{}>", members.join(", "))
        }
        other => other.to_string(),
    }
}

/// The type of variants, as Spark has it.
pub fn variant() -> DataType {
    let tag = [("variant".to_string(), "true".to_string())];
    let part = |name| Field::new(name, DataType::Binary, false);
    let parts = [part("value"), part("metadata").with_metadata(tag.into())];
    DataType::Struct(parts.to_vec().into())
}

/// Whether a type is that of variants.
pub fn is_variant(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(parts) => parts
            .last()
            .is_some_and(|part| part.metadata().contains_key("variant")),
        _ => false,
    }
}

/// Whether a type is that of variants, or has a part that is.
pub fn holds_variant(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(parts) => {
            is_variant(kind) || parts.iter().any(|part| holds_variant(part.data_type()))
        }
        DataType::List(part) | DataType::Map(part, _) => holds_variant(part.data_type()),
        _ => false,
    }
}

fn member_name(field: &Field) -> String {
    let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
    format!(
        "{}: {}{not_null}",
        quoted(field.name()),
        kind_name(field.data_type())
    )
}

/// A name as DDL has it: in back quotes, unless it is a word.
fn quoted(name: &str) -> String {
    let is_word = name
        .chars()
        .all(|symbol| symbol.is_alphanumeric() || symbol == '_');
    match name.chars().next() {
        Some(first) if is_word && !first.is_numeric() => name.into(),
        _ => format!("`{}`", name.replace('`', "``")),
    }
}

/// The same type, with every part nullable that may be null while it is filled: a null in a `NOT NULL` part is not
/// refused here. Keys of maps stay as they are.
pub fn nullable(kind: &DataType) -> DataType {
    match kind {
        kind if is_variant(kind) => kind.clone(),
        DataType::List(item) => DataType::List(Arc::new(nullable_field(item))),
        DataType::Struct(parts) => {
            DataType::Struct(parts.iter().map(|part| nullable_field(part)).collect())
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(parts) = entries.data_type() else {
                return kind.clone();
            };
            let parts = parts.iter().enumerate().map(|(index, part)| match index {
                0 => part.as_ref().clone().with_nullable(false),
                _ => nullable_field(part),
            });
            let entries = Field::new(entries.name(), DataType::Struct(parts.collect()), false);
            DataType::Map(Arc::new(entries), *sorted)
        }
        other => other.clone(),
    }
}

fn nullable_field(field: &Field) -> Field {
    Field::new(field.name(), nullable(field.data_type()), true)
}
