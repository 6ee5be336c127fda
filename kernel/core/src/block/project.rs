//! Fewer columns and members of a scan: its document, as Python writes it for them alone.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde_json::{Value, json};

use super::kinds::field;
use super::spec::Required;
use crate::kinds::{is_variant, kind_name};

/// Name of the column of all that is known of a record beside its bytes; each of its members is a column of the document.
const METADATA: &str = "_metadata";

/// The document of a scan that delivers some of its columns, in an order of their own; `None` if it has not all of them.
///
/// What no column needs is not decoded, of structs neither. All fields stay whole where a column speaks of all of them,
/// and in mode DROPMALFORMED those that must not be null, so that the number of rows depends on no projection. A batch
/// may have members more than are wanted.
///
/// `wanted` is a struct in Spark's JSON. The document's `metadata` are columns that the members of [`METADATA`] stand
/// for: a batch has them in its place, one for each wanted member.
pub fn project(mut scan: Value, wanted: &Value) -> Option<Value> {
    let known = scan["columns"].as_array()?.clone();
    let hidden = scan.as_object_mut()?.remove("metadata");
    let speaks = |column: &Value| {
        ["corrupt", "reason", "rescued"]
            .map(Value::from)
            .contains(&column["source"])
    };
    let mut columns: Vec<Value> = Vec::new();
    let mut narrowed: Vec<Option<&Value>> = Vec::new();
    for asked in wanted["fields"].as_array()? {
        if let Some(members) = metadata_members(asked, &known) {
            for member in members {
                let name = format!("{METADATA}.{}", member["name"].as_str()?);
                columns.push(named(hidden.as_ref()?.as_array()?, &name)?);
                narrowed.push(None);
            }
        } else {
            columns.push(named(&known, asked["name"].as_str()?)?);
            narrowed.push(Some(&asked["type"]));
        }
    }
    let (speaks, drops) = (columns.iter().any(speaks), scan["mode"] == "DROPMALFORMED");
    let stays = |column: &&Value| speaks || (drops && column["nullable"] == false);
    let mut decoded: Vec<usize> = Vec::new();
    let others = known.iter().filter(stays);
    for field in columns.iter().chain(others).filter_map(field_of) {
        if !decoded.contains(&field) {
            decoded.push(field);
        }
    }
    let fields = scan["fields"].as_array().map_or(0, Vec::len);
    decoded.extend(
        (0..fields)
            .filter(|field| speaks && !decoded.contains(field))
            .collect::<Vec<_>>(),
    );
    scan["fields"] = pick(&scan["fields"], &decoded)?;
    let mut has_less = narrowed.iter().flatten().count() < known.len();
    for (column, wanted) in columns.iter_mut().zip(narrowed) {
        let Some(number) = field_of(column) else {
            continue;
        };
        let number = decoded.iter().position(|&each| each == number)?;
        column["source"]["field"] = number.into();
        if let Some(kind) = narrow_column(column, wanted?, speaks)? {
            scan["fields"][number]["type"] = kind.into();
            has_less = true;
        }
    }
    for (format, parts) in [
        ("fixed_width", "places"),
        ("log", "groups"),
        ("cobol", "nodes"),
    ] {
        if let Some(own) = scan["format"].get_mut(format) {
            own[parts] = pick(&own[parts], &decoded)?;
        }
    }
    let keeps = columns.iter().any(|column| column["source"] == "rescued");
    if let Some(own) = scan["format"].as_object_mut()?.values_mut().next() {
        match own.get_mut("rescue") {
            Some(Value::Bool(text)) => *text = keeps,
            Some(Value::Object(rescue)) => drop(rescue.insert("wanted".into(), keeps.into())),
            _ => {}
        }
    }
    if has_less && scan.get("notices").is_some() {
        scan["notices"] = false.into();
    }
    scan["columns"] = columns.into();
    Some(scan)
}

/// The members that are wanted of [`METADATA`], if a column is that, and none of the scan's own.
pub fn metadata_members<'a>(asked: &'a Value, known: &[Value]) -> Option<&'a Vec<Value>> {
    let is_own = known.iter().any(|column| column["name"] == METADATA);
    (asked["name"] == METADATA && !is_own)
        .then(|| asked["type"]["fields"].as_array())
        .flatten()
}

fn named(columns: &[Value], name: &str) -> Option<Value> {
    let mut columns = columns.iter();
    columns.find(|column| column["name"] == name).cloned()
}

/// Leave the members of a column that are wanted, and say its type then, if that is another. Where all are decoded, it
/// is no other, but no member must not be null that is not wanted.
fn narrow_column(column: &mut Value, wanted: &Value, all: bool) -> Option<Option<String>> {
    let written = column["type"].as_str()?;
    if !written.contains("struct<") {
        return Some(None);
    }
    let whole = field("", written, true).ok()?;
    let whole = whole.data_type();
    let left = narrow(whole, wanted)?;
    if &left == whole {
        return Some(None);
    }
    let decoded = if all { whole } else { &left };
    if !column["required"].is_null() {
        let required: Required = serde_json::from_value(column["required"].take()).ok()?;
        let required = narrow_required(&required, whole, decoded, &left);
        column["required"] = required.map_or(Value::Null, |left| spelled(&left));
    }
    let name = kind_name(decoded);
    column["type"] = name.clone().into();
    Some((!all).then_some(name))
}

/// A type without the members that are not wanted; those of maps stay.
fn narrow(kind: &DataType, wanted: &Value) -> Option<DataType> {
    match kind {
        kind if is_variant(kind) => Some(kind.clone()),
        DataType::Struct(parts) => {
            let asked = wanted["fields"].as_array()?;
            let mut left: Vec<Field> = Vec::new();
            for part in parts {
                if let Some(member) = asked
                    .iter()
                    .find(|each| each["name"] == part.name().as_str())
                {
                    let inner = narrow(part.data_type(), &member["type"])?;
                    left.push(part.as_ref().clone().with_data_type(inner));
                }
            }
            (left.len() == asked.len()).then(|| DataType::Struct(Fields::from(left)))
        }
        DataType::List(item) => {
            let inner = narrow(item.data_type(), &wanted["elementType"])?;
            let item = item.as_ref().clone().with_data_type(inner);
            Some(DataType::List(Arc::new(item)))
        }
        other => Some(other.clone()),
    }
}

/// What must not be null of a decoded type, in those of its parts that are left.
fn narrow_required(
    required: &Required,
    whole: &DataType,
    decoded: &DataType,
    left: &DataType,
) -> Option<Required> {
    let parts = match (whole, decoded, left) {
        _ if required.parts.is_empty() => Vec::new(),
        (DataType::Struct(all), DataType::Struct(some), DataType::Struct(wanted)) => some
            .iter()
            .map(|member| {
                let (index, before) = all.find(member.name())?;
                let (_, after) = wanted.find(member.name())?;
                let part = required.parts.get(index)?.as_ref()?;
                let kinds = [before, member, after].map(|part| part.data_type());
                narrow_required(part, kinds[0], kinds[1], kinds[2])
            })
            .collect(),
        (DataType::List(before), DataType::List(item), DataType::List(after)) => {
            let kinds = [before, item, after].map(|part| part.data_type());
            let part = required.parts.first().and_then(Option::as_ref);
            vec![part.and_then(|part| narrow_required(part, kinds[0], kinds[1], kinds[2]))]
        }
        _ => required.parts.clone(),
    };
    let is_somewhere = parts.iter().any(Option::is_some);
    let parts = if is_somewhere { parts } else { Vec::new() };
    let not_null = required.not_null;
    (not_null || is_somewhere).then_some(Required { not_null, parts })
}

fn spelled(required: &Required) -> Value {
    let parts = required.parts.iter();
    let parts: Vec<Value> = parts
        .map(|part| part.as_ref().map_or(Value::Null, spelled))
        .collect();
    json!({"not_null": required.not_null, "parts": parts})
}

fn field_of(column: &Value) -> Option<usize> {
    usize::try_from(column["source"]["field"].as_u64()?).ok()
}

fn pick(list: &Value, numbers: &[usize]) -> Option<Value> {
    numbers
        .iter()
        .map(|&number| list.get(number).cloned())
        .collect::<Option<Vec<_>>>()
        .map(Value::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scan(mode: &str) -> Value {
        json!({
            "format": {"csv": {"rescue": {"wanted": true}}},
            "fields": ["c", "a", "b"], "notices": true, "mode": mode,
            "columns": [
                {"name": "c", "type": "int", "nullable": true, "source": {"field": 0}},
                {"name": "a", "type": "int", "nullable": false, "source": {"field": 1}},
                {"name": "b", "type": "int", "nullable": true, "source": {"field": 2}},
                {"name": "rest", "nullable": true, "source": "rescued"},
                {"name": "path", "nullable": true, "source": "constant"},
            ],
        })
    }

    fn projected(mode: &str, columns: &[&str]) -> Option<Value> {
        let fields: Vec<Value> = columns
            .iter()
            .map(|name| json!({"name": name, "type": "int"}))
            .collect();
        project(scan(mode), &json!({"fields": fields}))
    }

    #[test]
    fn fields_are_those_of_the_columns_in_their_order() {
        let found = projected("PERMISSIVE", &["b", "path", "c"]).expect("it has these");
        assert_eq!(found["fields"], json!(["b", "c"]));
        let sources: Vec<&Value> = found["columns"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|column| &column["source"])
            .collect();
        assert_eq!(
            sources,
            [
                &json!({"field": 0}),
                &json!("constant"),
                &json!({"field": 1})
            ]
        );
        assert_eq!(found["format"]["csv"]["rescue"]["wanted"], json!(false));
        assert_eq!(found["notices"], json!(false));
        assert_eq!(projected("PERMISSIVE", &["d"]), None);
    }

    #[test]
    fn fields_on_which_other_columns_and_rows_depend_stay() {
        let found = projected("PERMISSIVE", &["b", "rest"]).expect("it has these");
        assert_eq!(found["fields"], json!(["b", "c", "a"]));
        assert_eq!(found["format"]["csv"]["rescue"]["wanted"], json!(true));
        let found = projected("DROPMALFORMED", &["c"]).expect("it has it");
        assert_eq!(found["fields"], json!(["c", "a"]));
        let all = ["c", "a", "b", "rest", "path"];
        assert_eq!(projected("FAILFAST", &all), Some(scan("FAILFAST")));
    }

    #[test]
    fn members_are_those_that_are_wanted_and_must_not_be_null_where_they_are() {
        let part = json!({"not_null": true, "parts": []});
        let scan = json!({
            "format": {"json": {"rescue": null}}, "mode": "FAILFAST",
            "fields": [{"type": "array<struct<a: int, b: struct<c: int NOT NULL, d: int>>>"}],
            "columns": [{
                "name": "x", "type": "array<struct<a: int, b: struct<c: int NOT NULL, d: int>>>", "nullable": true,
                "required": {"not_null": false, "parts": [
                    {"not_null": false, "parts": [null, {"not_null": false, "parts": [part, null]}]}]},
                "source": {"field": 0},
            }],
        });
        let asked = |member: Value| {
            let b = json!({"name": "b", "type": {"type": "struct", "fields": [member]}});
            let x = json!({"type": "array", "elementType": {"type": "struct", "fields": [b]}});
            json!({"fields": [{"name": "x", "type": x}]})
        };
        let found = project(
            scan.clone(),
            &asked(json!({"name": "c", "type": "integer"})),
        )
        .expect("it has it");
        assert_eq!(
            found["columns"][0]["type"],
            "array<struct<b: struct<c: int NOT NULL>>>"
        );
        assert_eq!(found["fields"][0]["type"], found["columns"][0]["type"]);
        let b = json!({"not_null": false, "parts": [part]});
        let item = json!({"not_null": false, "parts": [b]});
        assert_eq!(
            found["columns"][0]["required"],
            json!({"not_null": false, "parts": [item]})
        );
        let found = project(
            scan.clone(),
            &asked(json!({"name": "d", "type": "integer"})),
        )
        .expect("it has it");
        assert_eq!(found["columns"][0]["required"], Value::Null);
        assert_eq!(
            project(scan, &asked(json!({"name": "e", "type": "integer"}))),
            None
        );
    }

    #[test]
    fn metadata_are_columns_of_their_own_and_no_part_of_the_document() {
        let mut whole = scan("FAILFAST");
        whole["metadata"] = json!([{"name": "_metadata.file_name", "source": "constant"}]);
        let member = json!({"name": "file_name", "type": "string"});
        let metadata = json!({"name": "_metadata", "type": {"type": "struct", "fields": [member]}});
        let all = ["c", "a", "b", "rest", "path"].map(|name| json!({"name": name, "type": "int"}));
        let fields: Vec<Value> = all.into_iter().chain([metadata]).collect();
        let found = project(whole.clone(), &json!({"fields": fields})).expect("it has these");
        assert_eq!(found["columns"][5]["name"], "_metadata.file_name");
        assert_eq!(found["notices"], true);
        assert_eq!(found.get("metadata"), None);
        let unknown =
            json!({"name": "_metadata", "type": {"fields": [{"name": "x", "type": "int"}]}});
        assert_eq!(project(whole, &json!({"fields": [unknown]})), None);
    }
}
