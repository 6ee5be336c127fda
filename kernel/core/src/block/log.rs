//! Records of a log, for the loop.

use std::sync::Arc;

use arrow_schema::{Field, SchemaRef};

use super::engine::Engine;
use super::error::BlockError;
use super::lines::{Lines, Look};
use super::spec::LogSpec;
use crate::charsets::Charset;
use crate::fault::{Code, Fault};
use crate::filling::Rescue;
use crate::fixed::{Framing, Layout, Parser};
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, Taking, text};
use crate::log::{RecordPattern, Starts};
use crate::parsed::Parsed;
use crate::rules::Rules;

struct Log {
    lines: Lines,
    starts: Starts,
    values: Values,
}

enum Values {
    /// The groups of a pattern.
    Groups(Box<Parser>),
    /// The record is one text.
    Whole(text::Parser),
}

/// The engine of the records of a log.
pub(super) fn engine(
    own: &LogSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
) -> Result<Box<dyn Engine>, String> {
    let starts = Starts::new(own.start.as_deref(), own.continues)?;
    let values = match &own.pattern {
        Some(pattern) => {
            let framing = Framing::Log(starts.clone(), RecordPattern::new(pattern, &own.groups)?);
            let layout = Layout {
                null_value: own.null_value.clone(),
                ..Layout::default()
            };
            let rescue = own.rescue.map(|wanted| Rescue {
                tail: tail.to_string(),
                wanted,
                is_fault: false,
            });
            Values::Groups(Box::new(Parser::new(
                framing, schema, layout, rules, rescue,
            )?))
        }
        None => {
            let field: Option<&Field> = match schema.fields().as_ref() {
                [] => None,
                [field] => Some(field),
                _ => return Err("records that are one value in several columns".into()),
            };
            let lines = Grammar::new(None, None, 1, false)?;
            Values::Whole(text::Parser::new(lines, Charset::Utf8, field)?)
        }
    };
    Ok(Box::new(Log {
        lines: Lines::new(None, None)?,
        starts,
        values,
    }))
}

impl Log {
    fn found(&self, data: &[u8], bounds: Bounds) -> Parsed {
        let mut taking = Taking::new(bounds);
        self.starts.each(data, bounds.at_end, |start, stop, next| {
            taking.take(start, stop, next)
        });
        taking.finish(data.len())
    }
}

impl Engine for Log {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        match &self.values {
            Values::Groups(parser) => parser.parse(data, bounds).map_err(BlockError::invariant),
            Values::Whole(parser) => {
                let found = self.found(data, bounds);
                let stop = found.frames.stops.first().map_or(0, |&stop| stop as usize);
                let first = data.get(..stop).unwrap_or_default();
                let is_begun = found.rows == 0 || self.starts.is_begun(first);
                let mut parsed = parser.parse_framed(data, found.frames);
                parsed.stopped = found.stopped;
                parsed.faults = (!is_begun).then(not_begun).into_iter().collect();
                Ok(parsed)
            }
        }
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(self.found(data, bounds))
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.starts.frame(data, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        let mut counted = Counted::default();
        self.starts.each(data, false, |_, _, next| {
            counted.records += 1;
            counted.next_start = next;
            true
        });
        counted
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        match self.starts.second_line(data, at_end) {
            Some(line) => self.starts.first(data, line, at_end),
            None => at_end.then_some(data.len()),
        }
    }

    fn droppable(&self, data: &[u8]) -> usize {
        self.starts.droppable(data)
    }

    fn first_start(&self, before: &[u8], after: &[u8], at_start: bool, at_end: bool) -> Look {
        if at_start && before.is_empty() {
            return Look::Start(0);
        }
        match self.lines.first_start(before, after, at_start, at_end) {
            Look::Start(line) => {
                let found = self.starts.first(after, line, at_end);
                found.map_or(Look::After, Look::Start)
            }
            other => other,
        }
    }
}

fn not_begun() -> Fault {
    Fault {
        record: 0,
        code: Code::NotBegun,
        column: Arc::default(),
        seen: String::new(),
        kind: Arc::default(),
    }
}
