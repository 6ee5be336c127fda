//! The head of a file: its byte order mark, lines to skip, names of fields.

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

/// What the head of a file says to a block that starts at `start`.
pub(super) fn read(
    source: &mut Source,
    engine: &dyn Engine,
    spec: &ScanSpec,
    start: u64,
    content_bytes: u64,
) -> Result<Head, BlockError> {
    if let Some(data_start) = engine.data_start() {
        return Ok(Head {
            data_start: match content_bytes {
                UNKNOWN_END => source
                    .bytes(0, usize::try_from(data_start).unwrap_or(usize::MAX))?
                    .len() as u64,
                known => data_start.min(known),
            },
            ..Head::default()
        });
    }
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
            let fix = "check options quote and escape, or set header=false";
            return Err(BlockError::new(Kind::Record, "bad-header", rule)
                .at(0)
                .fix(fix));
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
        header_record: Some(content.to_vec()),
        ..Head::default()
    }))
}

/// The fields of a record, as texts.
pub(super) fn split(
    record: &[u8],
    grammar: &Grammar,
    trim_trailing: bool,
) -> Result<Vec<String>, String> {
    let item = Field::new("item", DataType::Utf8, true);
    let list = Field::new("columns", DataType::List(Arc::new(item)), true);
    let layout = Layout {
        shape: Shape::Items {
            most: usize::MAX,
            elements: None,
        },
        meaning: Meaning {
            trim_leading: grammar.dialect().trim_leading,
            trim_trailing,
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
