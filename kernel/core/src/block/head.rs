//! The head of a file: its byte order mark, lines to skip, names of fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray};
use arrow_schema::{DataType, Field, Schema};

use super::cursor::{Source, truncated};
use super::engine::Engine;
use super::error::{BlockError, Kind};
use super::spec::{Format, Head, ScanSpec, UNKNOWN_END};
use crate::csv::{Grammar, Layout, Meaning, Parser, Shape};
use crate::rules::Rules;

const FIRST_BYTES: usize = 16 * 1024;
const LONGEST_BYTES: usize = 64 << 20;
const MARK: &[u8] = b"\xef\xbb\xbf";
const SHOWN_CHARS: usize = 80;

/// What the head of a file says to a block that starts at `start`.
pub(super) fn read(
    source: &mut Source,
    engine: &dyn Engine,
    spec: &ScanSpec,
    start: u64,
    content_bytes: u64,
) -> Result<Head, BlockError> {
    let (has_header, skipped) = match &spec.format {
        Format::Csv(own) => (own.header, own.skip_lines),
        _ => (false, 0),
    };
    if !has_header && skipped == 0 && start > MARK.len() as u64 {
        return Ok(Head::default());
    }
    let mut length = FIRST_BYTES;
    loop {
        let wanted = usize::try_from(content_bytes)
            .unwrap_or(usize::MAX)
            .min(length);
        let head = source.bytes(0, wanted)?;
        if head.len() < wanted && content_bytes < UNKNOWN_END {
            return Err(truncated(head.len() as u64, content_bytes));
        }
        let at_end = head.len() < wanted || head.len() as u64 == content_bytes;
        let is_torn = at_end && source.is_damaged();
        if let Some(found) = understand(&head, at_end && !is_torn, engine, has_header, skipped)? {
            return Ok(found);
        }
        if is_torn {
            return Ok(Head {
                data_start: head.len() as u64,
                ..Head::default()
            });
        }
        if length >= LONGEST_BYTES {
            let rule = format!("the header does not end within {LONGEST_BYTES} bytes");
            return Err(BlockError::new(Kind::Record, "bad-header", rule)
                .at(0)
                .fix("check options quote, escape and lineSep, or set header=false"));
        }
        length *= 4;
    }
}

fn understand(
    head: &[u8],
    at_end: bool,
    engine: &dyn Engine,
    has_header: bool,
    skipped: usize,
) -> Result<Option<Head>, BlockError> {
    if head.len() < MARK.len() && !at_end {
        return Ok(None);
    }
    let mut start = if head.starts_with(MARK) {
        MARK.len()
    } else {
        0
    };
    for _ in 0..skipped {
        match engine.resume_after(head.get(start..).unwrap_or_default(), at_end) {
            Some(step) => start += step,
            None => return Ok(None),
        }
    }
    if !has_header {
        return Ok(Some(Head {
            data_start: start as u64,
            ..Head::default()
        }));
    }
    let rest = head.get(start..).unwrap_or_default();
    let frames = engine.frame(rest, at_end);
    let ends = (frames.starts.first(), frames.stops.first());
    let (Some(&from), Some(&to)) = ends else {
        if !at_end {
            return Ok(None);
        }
        if frames.next_start < rest.len() {
            let rule = "the header's quotes never close";
            return Err(BlockError::new(Kind::Record, "bad-header", rule).at(0));
        }
        return Ok(Some(Head {
            data_start: head.len() as u64,
            header: Some(Vec::new()),
            ..Head::default()
        }));
    };
    let content = rest.get(from as usize..to as usize).unwrap_or_default();
    let following = frames
        .starts
        .get(1)
        .map_or(frames.next_start, |&next| next as usize);
    Ok(Some(Head {
        data_start: (start + following) as u64,
        header: Some(engine.names(content)?),
        ..Head::default()
    }))
}

/// The fields of a record, as texts.
pub(super) fn split(record: &[u8], grammar: &Grammar) -> Result<Vec<String>, String> {
    let item = Field::new("item", DataType::Utf8, true);
    let list = Field::new("columns", DataType::List(Arc::new(item)), true);
    let layout = Layout {
        shape: Shape::Items {
            most: usize::MAX,
            elements: None,
        },
        meaning: Meaning {
            trim_leading: grammar.dialect().trim_leading,
            ..Meaning::default()
        },
        max_field_chars: None,
    };
    let parser = Parser::new(
        grammar.clone(),
        Arc::new(Schema::new(vec![list])),
        layout,
        vec![Rules::default()],
    )?;
    let parsed = parser.parse_framed(record, &[0], &[record.len() as i64])?;
    let lists: Option<&ListArray> = parsed
        .columns
        .first()
        .and_then(|column| column.as_list_opt());
    let Some(lists) = lists.filter(|lists| !lists.is_empty()) else {
        return Err("a record has fields".into());
    };
    let names = lists.value(0);
    let names = names.as_string_opt::<i32>().ok_or("fields are texts")?;
    Ok(names
        .iter()
        .map(|name| name.unwrap_or_default().to_string())
        .collect())
}

/// Compare the header of a file with the names of the scan.
pub(super) fn check(spec: &ScanSpec, header: Option<&Vec<String>>) -> Result<(), BlockError> {
    let (Format::Csv(own), Some(header)) = (&spec.format, header) else {
        return Ok(());
    };
    let Some(names) = own
        .names
        .as_ref()
        .filter(|_| own.checks_header && !header.is_empty())
    else {
        return Ok(());
    };
    let found = unique_names(header);
    let lower = |names: &[String]| {
        names
            .iter()
            .map(|name| name.to_lowercase())
            .collect::<Vec<_>>()
    };
    if lower(&found) == lower(names) {
        return Ok(());
    }
    let at = lower(&found)
        .iter()
        .zip(lower(names).iter())
        .take_while(|(one, other)| one == other)
        .count();
    let shown = |names: &[String]| names.get(at).map_or("missing", String::as_str).to_string();
    let seen = format!(
        "column {} is {}, not {}: header {}; schema {}",
        at + 1,
        shown(&found),
        names.get(at).map_or("there", String::as_str),
        shown_names(header),
        shown_names(names)
    );
    Err(BlockError::new(Kind::Schema, "header-mismatch", "the header of a file does not agree with the schema")
        .at(0)
        .seen(seen)
        .fix(
            "correct the schema; or set header=true and headerMapping=byName to match columns by name, or \
             enforceSchema=true to take columns by position whatever the header says",
        ))
}

fn shown_names(names: &[String]) -> String {
    let joined = names.join(", ");
    let shown: String = joined
        .chars()
        .take(SHOWN_CHARS)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if joined.chars().count() <= SHOWN_CHARS {
        return shown;
    }
    format!("{shown}... ({} columns)", names.len())
}

/// Names of columns from a header, as Spark makes them: empty ones `_cN`, repeated ones with their position.
fn unique_names(header: &[String]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for name in header {
        *seen.entry(name.to_lowercase()).or_default() += 1;
    }
    let mut taken: std::collections::HashSet<String> = seen
        .iter()
        .filter(|(name, times)| !name.is_empty() && **times == 1)
        .map(|(name, _)| name.clone())
        .collect();
    let unique = |(index, name): (usize, &String)| {
        if !name.is_empty() && seen.get(&name.to_lowercase()) == Some(&1) {
            return name.clone();
        }
        let stem = if name.is_empty() { "_c" } else { name };
        let mut unique = format!("{stem}{index}");
        while taken.contains(&unique.to_lowercase()) {
            unique.push_str(&format!("_{index}"));
        }
        taken.insert(unique.to_lowercase());
        unique
    };
    header.iter().enumerate().map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_spark_makes_them() {
        let unique = |names: &[&str]| {
            unique_names(&names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(unique(&["a", "A", "", "b"]), ["a0", "A1", "_c2", "b"]);
        assert_eq!(unique(&["a1", "a", "a"]), ["a1", "a1_1", "a2"]);
    }
}
