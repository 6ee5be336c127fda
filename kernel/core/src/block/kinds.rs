//! Types by their names in Spark's DDL.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::error::BlockError;

/// A field of Arrow from its spelling.
pub(super) fn field(name: &str, kind: &str, nullable: bool) -> Result<Field, BlockError> {
    let mut reading = Reading(kind);
    let found = reading.kind().filter(|_| reading.0.is_empty());
    let found = found.ok_or_else(|| {
        BlockError::bad_document(format!("column {name} has a type of Spark's DDL"), kind)
    })?;
    Ok(Field::new(name, found, nullable))
}

/// What is left of a spelling.
struct Reading<'a>(&'a str);

impl<'a> Reading<'a> {
    fn kind(&mut self) -> Option<DataType> {
        if self.take("array<") {
            let item = self.kind()?;
            return self.take(">").then(|| list(item));
        }
        if self.take("map<") {
            let key = self.kind()?;
            let value = self.take(", ").then(|| self.kind())??;
            return self.take(">").then(|| map(key, value));
        }
        if self.take("struct<") {
            return self.members();
        }
        let stop = match self.0.find([',', '>', ' ', '(']) {
            Some(open) if self.0.get(open..)?.starts_with('(') => self.0.find(')')? + 1,
            Some(stop) => stop,
            None => self.0.len(),
        };
        let (name, rest) = self.0.split_at_checked(stop)?;
        self.0 = rest;
        scalar(name)
    }

    fn members(&mut self) -> Option<DataType> {
        let mut fields = Vec::new();
        while !self.take(">") {
            if !fields.is_empty() && !self.take(", ") {
                return None;
            }
            let name = self.name()?;
            let kind = self.take(": ").then(|| self.kind())??;
            let nullable = !self.take(" NOT NULL");
            fields.push(Field::new(name, kind, nullable));
        }
        Some(DataType::Struct(fields.into()))
    }

    /// A word, or anything in back quotes.
    fn name(&mut self) -> Option<String> {
        if !self.take("`") {
            let (name, rest) = self.0.split_at_checked(self.0.find(": ")?)?;
            self.0 = rest;
            return Some(name.to_string());
        }
        let mut name = String::new();
        loop {
            let (part, rest) = self.0.split_once('`')?;
            name.push_str(part);
            self.0 = rest;
            if !self.take("`") {
                return Some(name);
            }
            name.push('`');
        }
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

/// Lists and maps as PyArrow names their parts.
fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

fn map(key: DataType, value: DataType) -> DataType {
    let parts: Fields = vec![
        Field::new("key", key, false),
        Field::new("value", value, true),
    ]
    .into();
    DataType::Map(
        Arc::new(Field::new("entries", DataType::Struct(parts), false)),
        false,
    )
}

fn scalar(kind: &str) -> Option<DataType> {
    Some(match kind {
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "boolean" => DataType::Boolean,
        "tinyint" => DataType::Int8,
        "smallint" => DataType::Int16,
        "int" => DataType::Int32,
        "bigint" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "time(6)" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "variant" => crate::kinds::variant(),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        other => {
            let (precision, scale) = other
                .strip_prefix("decimal(")?
                .strip_suffix(')')?
                .split_once(',')?;
            DataType::Decimal128(precision.parse().ok()?, scale.parse().ok()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_inside_each_other_are_read() {
        let kind = |text| field("a", text, true).map(|field| field.data_type().clone());
        let members = vec![
            Field::new("x", list(DataType::Decimal128(4, 1)), true),
            Field::new("a`: >", map(DataType::Utf8, DataType::Date32), false),
        ];
        let text = "struct<x: array<decimal(4,1)>, `a``: >`: map<string, date> NOT NULL>";
        assert_eq!(kind(text).ok(), Some(DataType::Struct(members.into())));
        assert_eq!(
            kind("struct<>").ok(),
            Some(DataType::Struct(Fields::empty()))
        );
        for wrong in ["", "array<int", "int>", "struct<a int>", "map<int>", "text"] {
            assert!(kind(wrong).is_err(), "{wrong}");
        }
    }
}
