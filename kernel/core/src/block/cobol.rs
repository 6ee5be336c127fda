//! Records by a copybook, for the loop.

use arrow_schema::SchemaRef;

use super::engine::Engine;
use super::error::BlockError;
use crate::cobol::{CobolSpec, Parser};
use crate::frames::{Counted, Frames};
use crate::lines::{Bounds, Taking, equal_pieces};
use crate::parsed::{Parsed, Stopped};
use crate::rules::Rules;

struct Cobol {
    spec: CobolSpec,
    parser: Parser,
}

/// The engine of records by a copybook.
pub(super) fn engine(
    own: &CobolSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
) -> Result<Box<dyn Engine>, String> {
    Ok(Box::new(Cobol {
        parser: Parser::new(own, schema, rules, tail)?,
        spec: own.clone(),
    }))
}

impl Cobol {
    /// The bytes in front of a trailer, as far as they are known.
    fn content<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let shown = data.len().saturating_sub(self.spec.file_end);
        data.get(..shown).unwrap_or_default()
    }
}

impl Engine for Cobol {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let found = self.find(data, bounds)?;
        let parsed = self.parser.fill(data, found.frames, found.stopped);
        parsed.map_err(BlockError::invariant)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let content = self.content(data);
        let mut taking = Taking::new(bounds);
        equal_pieces(content, self.spec.record_length, bounds.at_end, &mut taking);
        let mut found = taking.finish(content.len());
        if found.stopped == Stopped::End {
            found.frames.next_start = data.len();
        }
        let last = found.frames.starts.last().zip(found.frames.stops.last());
        let length = self.spec.record_length.get() as i64;
        if last.is_some_and(|(start, stop)| stop - start < length) {
            found.frames.malformed.push((found.rows - 1) as u32);
        }
        Ok(found)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        let bounds = Bounds {
            stop: usize::MAX,
            at_end,
            rows: usize::MAX,
            record_bytes: usize::MAX,
        };
        self.find(data, bounds)
            .map(|found| found.frames)
            .unwrap_or_default()
    }

    fn count(&self, data: &[u8]) -> Counted {
        let records = self.content(data).len() / self.spec.record_length;
        Counted {
            records,
            next_start: records * self.spec.record_length.get(),
        }
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        match self.spec.file_end {
            end if end == 0 || data.len() > end => Some(0),
            _ => at_end.then_some(data.len()),
        }
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let length = self.spec.record_length.get();
        let is_known = at_end || data.len() >= length + self.spec.file_end;
        is_known.then_some(length.min(data.len()))
    }

    /// None: no record is longer than the length that was compared with the limit.
    fn droppable(&self, _: &[u8]) -> usize {
        0
    }

    fn data_start(&self) -> Option<u64> {
        Some(self.spec.file_start)
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        let length = self.spec.record_length.get() as u64;
        let passed = position.saturating_sub(data_start);
        Some(data_start + passed.div_ceil(length) * length)
    }
}
