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
use crate::parsed::{Parse, Parsed, Stopped};
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

/// The engine of the records of a log: found in the bytes of `marks`, and read in UTF-8.
pub(super) fn engine(
    own: &LogSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
    marks: &Charset,
) -> Result<Box<dyn Engine>, String> {
    let values = match &own.pattern {
        Some(pattern) => {
            let framing = Framing::Log(RecordPattern::new(pattern, &own.groups)?);
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
        starts: Starts::new(own.start.as_deref(), own.continues, marks)?,
        values,
    }))
}

impl Engine for Log {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let found = self.find(data, bounds)?;
        let parsed = self.parse_framed(data, found.frames, false)?;
        let stopped = match parsed.stopped {
            Stopped::End => found.stopped,
            other => other,
        };
        Ok(Parsed { stopped, ..parsed })
    }

    fn parse_framed(&self, data: &[u8], frames: Frames, _: bool) -> Result<Parsed, BlockError> {
        match &self.values {
            Values::Groups(parser) => {
                let parsed = parser.parse_framed(data, frames);
                parsed.map_err(BlockError::invariant)
            }
            Values::Whole(parser) => {
                let is_begun = frames.malformed.is_empty();
                let mut parsed = parser.parse_framed(data, frames);
                parsed.faults = (!is_begun).then(not_begun).into_iter().collect();
                Ok(parsed)
            }
        }
    }

    /// The first record is malformed if nothing begins it.
    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let mut taking = Taking::new(bounds);
        self.starts.each(data, bounds.at_end, |start, stop, next| {
            taking.take(start, stop, next)
        });
        let mut found = taking.finish(data.len());
        if let Some(&stop) = found.frames.stops.first()
            && !self
                .starts
                .is_begun(data.get(..stop as usize).unwrap_or_default())
        {
            found.frames.malformed.push(0);
        }
        Ok(found)
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
