//! Fewer columns of a scan: its document, as Python writes it for them alone.

use serde_json::Value;

/// The document of a scan that delivers some of its columns, in an order of their own; `None` if it has not all of them.
///
/// What no column needs is not decoded. All fields stay where a column speaks of all of them, and in mode DROPMALFORMED
/// those that must not be null, so that the number of rows depends on no projection.
pub fn project(mut scan: Value, columns: &[String]) -> Option<Value> {
    let known = scan["columns"].as_array()?.clone();
    let column = |name: &String| known.iter().find(|column| column["name"] == name.as_str());
    let mut wanted: Vec<Value> = columns
        .iter()
        .map(|name| column(name).cloned())
        .collect::<Option<_>>()?;
    let speaks = |column: &Value| {
        ["corrupt", "reason", "rescued"]
            .map(Value::from)
            .contains(&column["source"])
    };
    let (speaks, drops) = (wanted.iter().any(speaks), scan["mode"] == "DROPMALFORMED");
    let stays = |column: &&Value| speaks || (drops && column["nullable"] == false);
    let mut decoded: Vec<usize> = Vec::new();
    let others = known.iter().filter(stays);
    for field in wanted.iter().chain(others).filter_map(field_of) {
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
    for column in &mut wanted {
        if let Some(field) = field_of(column) {
            column["source"]["field"] = decoded.iter().position(|&each| each == field)?.into();
        }
    }
    scan["fields"] = pick(&scan["fields"], &decoded)?;
    for (format, parts) in [("fixed_width", "places"), ("log", "groups")] {
        if let Some(own) = scan["format"].get_mut(format) {
            own[parts] = pick(&own[parts], &decoded)?;
        }
    }
    let keeps = wanted.iter().any(|column| column["source"] == "rescued");
    if let Some(own) = scan["format"].as_object_mut()?.values_mut().next() {
        match own.get_mut("rescue") {
            Some(Value::Bool(text)) => *text = keeps,
            Some(Value::Object(rescue)) => drop(rescue.insert("wanted".into(), keeps.into())),
            _ => {}
        }
    }
    if wanted.len() < known.len() && scan.get("notices").is_some() {
        scan["notices"] = false.into();
    }
    scan["columns"] = wanted.into();
    Some(scan)
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
                {"name": "c", "nullable": true, "source": {"field": 0}},
                {"name": "a", "nullable": false, "source": {"field": 1}},
                {"name": "b", "nullable": true, "source": {"field": 2}},
                {"name": "rest", "nullable": true, "source": "rescued"},
                {"name": "path", "nullable": true, "source": "constant"},
            ],
        })
    }

    fn projected(mode: &str, columns: &[&str]) -> Option<Value> {
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        project(scan(mode), &columns)
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
}
